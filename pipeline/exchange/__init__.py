"""Formats in which tasks travel."""
