"""Runs units: one after another, or in a pool of processes. A cluster engine would run the same units from the same data."""

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from benchmarks.threads import limit_threads
from benchmarks.units import Json, Unit, is_finished, run_unit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Task = TypeVar("Task", bound="DataclassInstance")
Work: TypeAlias = Callable[[Json, str], object]
"""Does a task, given as JSON, in a directory."""


def run_units(units: Sequence[Unit], root: Path, workers: int, done: Callable[[Unit], None]) -> None:
    """Runs the units that have left no result yet. None may depend on another.

    Args:
        units: the units.
        root: the run's directory.
        workers: how many processes; 1 runs them in this one.
        done: called in this process after each unit, finished ones included.
    """
    run_tasks(run_unit, units, [is_finished(root, unit.id) for unit in units], root, workers, done)


def run_tasks(
    work: Work, tasks: Sequence[Task], finished: Sequence[bool], root: Path, workers: int, done: Callable[[Task], None]
) -> None:
    """Does the tasks that are not finished, each by one call of a function. None may depend on another.

    Args:
        work: does one task; is called with the task as JSON and the directory, here or in another process.
        tasks: dataclasses of JSON values.
        finished: for each task whether it is done already.
        root: the directory that all of them write to.
        workers: how many processes; 1 does them in this one.
        done: called in this process after each task, finished ones included.
    """
    pending = [task for task, over in zip(tasks, finished, strict=True) if not over]
    for task, over in zip(tasks, finished, strict=True):
        if over:
            done(task)
    if workers == 1 or len(pending) <= 1:
        for task in pending:
            work(asdict(task), str(root))
            done(task)
    else:
        _run_in_pool(work, pending, root, min(workers, len(pending)), done)


def _run_in_pool(work: Work, tasks: Sequence[Task], root: Path, workers: int, done: Callable[[Task], None]) -> None:
    # Spawned, not forked: a forked child inherits locks that threads of the parent (progress bars, BLAS) may hold.
    context = multiprocessing.get_context("spawn")
    limit_threads()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    try:
        futures = {pool.submit(work, asdict(task), str(root)): task for task in tasks}
        for future in as_completed(futures):
            future.result()
            done(futures[future])
    except BaseException:
        # Also on Ctrl-C: stop at once. Finished units are in place; a unit cut short leaves nothing but a directory to discard.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    pool.shutdown()


def _start_worker() -> None:
    """Leaves Ctrl-C to the parent, and ends with it: a worker outliving a killed parent would write beside a resumed run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _keep_locks_private()


def _keep_locks_private() -> None:
    """Gives tqdm, which bm25s uses where it is installed, a lock of this process alone.

    Its own is a semaphore between processes: a worker stopped by Ctrl-C could not give it back, and Python would say so after
    the advice on how to go on.
    """
    try:
        progress = importlib.import_module("tqdm")
    except ImportError:
        return
    progress.tqdm.set_lock(threading.RLock())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
