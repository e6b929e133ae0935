"""The one place that starts threads."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from unirel.progress import Progress

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None, progress: Progress | None = None
) -> list[Result]:
    """Results of `function` for every task, in the order of `tasks`.

    Threads, not processes: kernels release the GIL and share the table. `n_jobs` is read as in scikit-learn: None is
    one thread unless a joblib context says otherwise, -1 one for each core.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 means no worker at all; pass 1 for one, or -1 for one for each core")
    if len(tasks) < 2 or effective_n_jobs(n_jobs) == 1:
        return _collect(map(function, tasks), len(tasks), progress)
    pool = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    running = pool(delayed(function)(task) for task in tasks)
    try:
        return _collect(running, len(tasks), progress)
    finally:
        # Joblib warns of tasks that an exception leaves undone; whoever raised it knows.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            running.close()


def _collect(results: Iterable[Result], total: int, progress: Progress | None) -> list[Result]:
    collected = []
    for done, result in enumerate(results, start=1):
        collected.append(result)
        if progress is not None:
            progress(done, total)
    return collected
