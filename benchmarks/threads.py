"""One thread for each process. Imports nothing but `os`, so that it can come before anything that imports numpy."""

import os

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def limit_threads() -> None:
    """Gives this process and its children one thread each, unless the caller's environment says otherwise.

    Workers share the machine by processes. It also keeps the order of floating-point sums, and so the records, the same for any
    number of workers. Numerical libraries read these variables when they are first imported.
    """
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
