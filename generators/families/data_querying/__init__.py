"""Families of the domain data querying."""
