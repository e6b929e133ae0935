"""Long work: the one place that starts threads, and progress as a callable `progress(done, total)`."""

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]


def map_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None, progress: Progress | None = None
) -> list[Result]:
    """Results of `function` for every task, in the order of `tasks`.

    Threads, not processes: kernels release the GIL and share the table. `n_jobs` is read as in scikit-learn: None is
    one thread unless a joblib context says otherwise, -1 one for each core.
    """
    from joblib import Parallel, delayed, effective_n_jobs  # slow to import, and not needed to name an option

    check_jobs(n_jobs)
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


def check_jobs(n_jobs: int | None) -> None:
    """Refuse to work with nobody."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 means no worker at all; pass 1 for one, or -1 for one for each core")


def _collect(results: Iterable[Result], total: int, progress: Progress | None) -> list[Result]:
    collected = []
    for done, result in enumerate(results, start=1):
        collected.append(result)
        if progress is not None:
            progress(done, total)
    return collected


class ProgressBar:
    """A bar on a terminal's standard error with the time that is left; silent where nobody watches.

    Parameters
    ----------
    title : str
        What is being done.
    stream : file, optional
        Where to draw, standard error by default.
    """

    _WIDTH = 24

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._start = self._drawn = time.monotonic()
        self._ended = False

    def __call__(self, done: int, total: int) -> None:
        """Draw the bar, at most ten times a second."""
        now = time.monotonic()
        if self._ended or not self._stream.isatty() or (done < total and now - self._drawn < 0.1):
            return
        self._drawn = now
        filled = self._WIDTH * done // max(total, 1)
        left = (now - self._start) / max(done, 1) * (total - done)
        bar = "#" * filled + "." * (self._WIDTH - filled)
        self._ended = done >= total
        end = "\n" if self._ended else ""
        self._stream.write(f"\r{self._title} [{bar}] {done}/{total}, {left:.0f} s left {end}")
        self._stream.flush()


@dataclass
class Stages:
    """Progress over several pieces of work, each of which counts from 0."""

    progress: Progress | None
    total: int
    done: int = 0

    def step(self, done: int, _: int) -> None:
        """Report how far the piece is that is being done."""
        if self.progress is not None:
            self.progress(min(self.done + done, self.total), self.total)

    def finish(self, n_steps: int) -> None:
        """Count a piece as done, even if it has ended early."""
        self.done += n_steps
        self.step(0, 0)


def progress_of(options: Mapping[str, Any], title: str) -> Progress | None:
    """What the options `progress` and `verbose` ask for."""
    wanted: Progress | None = options["progress"]
    return ProgressBar(title) if wanted is None and options["verbose"] else wanted
