"""The library of attacks that must never score."""
