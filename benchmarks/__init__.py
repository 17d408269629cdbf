"""Questions asked of the system: the seven benchmarks, statistics, tables and figures."""
