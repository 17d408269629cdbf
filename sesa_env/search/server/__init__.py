"""The retrieval server: `POST /retrieve` as Search-R1's clients speak it, over any retriever. Needs the `serve` extra."""
