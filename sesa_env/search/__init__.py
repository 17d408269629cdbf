"""The search tool: corpora in memory, BM25, saved indices."""
