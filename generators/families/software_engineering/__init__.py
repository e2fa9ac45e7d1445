"""Families of the domain software engineering."""
