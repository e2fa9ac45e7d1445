"""Engines: one protocol, one file each."""
