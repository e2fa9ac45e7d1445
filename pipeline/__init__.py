"""The roof: Dagster assets, checks, releases and the command line."""
