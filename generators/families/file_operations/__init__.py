"""Families of the domain file operations."""
