"""One protocol for every language model: adapters for providers, and layers that cache, book, limit and retry."""
