"""Measurements of the search tools and of the retrieval server, from a checkout: python -m benchmarks.retrieval.NAME."""
