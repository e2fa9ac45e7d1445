"""`python -m pipeline.cli` is `termforge`."""

from pipeline.cli.main import main

main()
