"""Families of the domain data science."""
