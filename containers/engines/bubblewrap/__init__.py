"""The embedded engine: bubblewrap over overlay layers, no daemon."""
