"""Families of the domain system administration."""
