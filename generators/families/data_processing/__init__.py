"""Families of the domain data processing."""
