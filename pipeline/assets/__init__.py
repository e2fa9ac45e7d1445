"""Assets: a file per group. They only connect plain functions; what is done stands in `pipeline.stages` and below."""
