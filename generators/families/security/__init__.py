"""Families of the domain security."""
