"""Families of the domain scientific computing."""
