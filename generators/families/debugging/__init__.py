"""Families of the domain debugging."""
