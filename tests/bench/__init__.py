"""Measurements, not tests: `make bench`. Ratios are taken side by side in one run, since machines are noisy."""
