"""Long work: the one place that starts threads and keeps time; progress is a callable `progress(done, total)`."""

import builtins
import math
import sys
import time
from bisect import bisect
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from numbers import Integral
from queue import SimpleQueue
from threading import Thread
from typing import Any, TextIO, TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
# By which reading, or what is said about a result, may go over a time budget: without it there is nothing to return.
READING_SECONDS = 1.0


class OutOfTime(TimeoutError):
    """The time budget was used up within a piece of work."""


@dataclass
class _Limit:
    """When work has to end, in seconds of the monotonic clock."""

    ends: float


_NO_LIMIT = _Limit(math.inf)
_limit: ContextVar[_Limit] = ContextVar("limit")
# Whether this is a thread of `map_tasks`, which starts no others: there are as many as were asked for.
_is_worker: ContextVar[bool] = ContextVar("is_worker", default=False)


def end_of(max_seconds: float | None) -> float:
    """The moment when a budget that begins now is used up, or one around it if that is earlier."""
    ends = math.inf if max_seconds is None else time.monotonic() + max_seconds
    return min(ends, _limit.get(_NO_LIMIT).ends)


@contextmanager
def until(ends: float) -> Iterator[None]:
    """Let the work inside end at that moment: from then on `check_time` and `map_tasks` raise `OutOfTime`."""
    token = _limit.set(_Limit(ends))
    try:
        yield
    finally:
        _limit.reset(token)


def check_time() -> None:
    """End the work if its time is used up."""
    _check(_limit.get(_NO_LIMIT))


def _check(limit: _Limit) -> None:
    if limit.ends < math.inf and time.monotonic() > limit.ends:
        raise OutOfTime("the time budget was used up before there was anything to return; give more with max_seconds=")


def call_apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a thread of its own, so that Ctrl-C and the end of the time are noticed whatever it does.

    Compiled code of others looks at neither for minutes. What it would have returned is then lost: the thread ends with
    the program or, if it comes to work of ours, there.
    """
    check_time()
    results: list[Result] = []
    errors: list[BaseException] = []
    inside = _Limit(math.inf)  # whoever waits keeps the time

    def run() -> None:
        _limit.set(inside)
        try:
            results.append(function(*arguments))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
            check_time()
    finally:
        inside.ends = -math.inf
    if errors:
        raise errors[0]
    return results[0]


def pieces(items: Any, size: int) -> list[Any]:
    """An array or list cut into parts of `size` items, of at least one; the last part may be smaller."""
    size = max(1, size)
    return [items[start : start + size] for start in range(0, len(items), size)]


def map_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None, progress: Progress | None = None
) -> list[Result]:
    """Results of `function` for every task, in the order of `tasks`.

    Threads, not processes: kernels release the GIL and share the table. `n_jobs` is read as in scikit-learn: None is
    one thread unless a joblib context says otherwise, -1 one for each core. The clock is looked at before each task.
    """
    from joblib import effective_n_jobs  # slow to import, and not needed to name an option

    check_jobs(n_jobs)
    limit = _limit.get(_NO_LIMIT)  # that of the caller, which other threads do not know

    def in_time(task: Task) -> Result:
        _check(limit)
        return function(task)

    n_threads = 1 if _is_worker.get() else min(effective_n_jobs(n_jobs), len(tasks))
    if n_threads < 2:
        return _collect(map(in_time, tasks), len(tasks), progress)
    with closing(_in_threads(in_time, tasks, n_threads)) as results:
        return _collect(results, len(tasks), progress)


def _in_threads(function: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int) -> Generator[Result]:
    """Results in the order of the tasks, from threads that nobody has to wait for: they end with the program.

    Pools of joblib take 13 ms to start and to stop, these threads half a millisecond, many times in a search.
    """
    waiting, finished = deque(enumerate(tasks)), SimpleQueue[tuple[int, Result | None, BaseException | None]]()

    def work() -> None:
        _is_worker.set(True)
        while True:
            try:
                place, task = waiting.popleft()
            except IndexError:
                return
            try:
                finished.put((place, function(task), None))
            except BaseException as error:
                finished.put((place, None, error))

    for _ in range(n_threads):
        Thread(target=copy_context().run, args=(work,), daemon=True).start()
    results: dict[int, Result] = {}
    try:
        for place in range(len(tasks)):
            while place not in results:
                done, result, error = finished.get()
                if error is not None:
                    raise error
                results[done] = cast(Result, result)
            yield results.pop(place)
    finally:
        waiting.clear()


def check_jobs(n_jobs: int | None) -> None:
    """Refuse to work with nobody, and what is no number of workers."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool)):
        raise ValueError(f"n_jobs={n_jobs!r} must be None or a whole number, such as -1 for one for each core")
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
    """Progress with the time that is left: a bar on a terminal or in a notebook, now and then a line in a log.

    Parameters
    ----------
    title : str
        What is being done.
    stream : file, optional
        Where to draw, standard error by default.
    hint : str
        What makes it faster, said once if it takes long.
    """

    _WIDTH = 24
    _LOG_SECONDS = 10.0  # between two lines of a log
    _FIRST_SECONDS = 2.0  # until the first of them, if more than those ten are to come

    def __init__(self, title: str, stream: TextIO | None = None, hint: str = "") -> None:
        self._title = title
        self._hint = hint
        self._stream = stream or sys.stderr
        self._start = self._drawn = time.monotonic()
        self._clock = Clock()
        self._line = ""
        self._ended = False

    def __call__(self, done: int, total: int) -> None:
        """Draw the bar, at most ten times a second, or write a line to a log, at most every ten seconds."""
        now = time.monotonic()
        self._clock.mark(done, now)
        live = self._stream.isatty() or hasattr(builtins, "get_ipython")  # the stream of a notebook is no terminal
        ending = done >= total and (live or bool(self._line))
        due = now - self._drawn >= (0.1 if live else self._LOG_SECONDS)
        took = now - self._start
        may_be_long = not (live or self._line) and took >= self._FIRST_SECONDS
        if self._ended or not (ending or due or may_be_long):
            return
        left = took if done >= total else self._clock.left(total)
        is_long = done < total and left is not None and left > self._LOG_SECONDS
        if not (ending or due or is_long):
            return
        if is_long and self._hint:
            self._stream.write(("\r" if live else "") + self._hint.ljust(len(self._line)) + "\n")
            self._hint = ""
        self._drawn = now
        self._ended = done >= total
        words = "" if left is None else f", {_duration(left)}" + ("" if self._ended else " left")
        filled = self._WIDTH * done // max(total, 1)
        bar = f" [{'#' * filled}{'.' * (self._WIDTH - filled)}]" if live else ""
        line = f"{self._title}{bar} {done}/{total}{words}"
        # A shorter line must cover a longer one.
        start, end = ("\r", "\n" if self._ended else "") if live else ("", "\n")
        self._stream.write(start + (line.ljust(len(self._line)) if live else line) + end)
        self._stream.flush()
        self._line = line


class Clock:
    """Estimates how long the rest of some work takes, from the later half of what is done and how it compares."""

    # Steps that must be done, and the share of all, before there is anything to say.
    _FEWEST, _LEAST = 4, 0.05

    def __init__(self) -> None:
        self._marks: list[tuple[int, float]] = []

    def mark(self, done: int, now: float) -> None:
        """Note when how much was done."""
        if not self._marks or done > self._marks[-1][0]:
            self._marks.append((done, now))

    def left(self, total: int) -> float | None:
        """Seconds until all is done; None before there is evidence."""
        if not self._marks or self._marks[-1][0] < max(self._FEWEST, self._LEAST * total) or len(self._marks) < 3:
            return None
        (first, begin), (done, now) = self._marks[0], self._marks[-1]
        middle, between = self._marks[min(bisect(self._marks, ((first + done) / 2,)), len(self._marks) - 2)]
        early, late = (between - begin) / (middle - first), (now - between) / (done - middle)
        # Steps may get dearer as features are selected, up to in proportion to their number; they may get cheaper, but
        # nobody should count on that.
        growth = 0.0
        if 0 < early < late:
            growth = min(1.0, math.log(late / early) / math.log((middle + done) / (first + middle)))
        typical = (middle + done) / 2  # the step that took `late`
        rest: float = late / typical**growth * (total ** (growth + 1) - done ** (growth + 1)) / (growth + 1)
        return rest


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


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


class Compiling:
    """Says that kernels are being compiled, to whoever would look at nothing meanwhile.

    Compiled kernels are kept on disk, so this is heard once per installation. Nobody is told before `announce`.
    """

    _SECONDS = 3.0  # between two lines

    def __init__(self) -> None:
        self._heard = False
        self._depth = self._count = 0
        self._start = self._told = 0.0

    def announce(self) -> None:
        """From now on say it on standard error."""
        self._heard = True

    def begin(self) -> None:
        """A kernel is being compiled, maybe on behalf of another one."""
        if self._depth == 0 and self._count == 0:
            self._start = self._told = time.monotonic()
            self._tell("compiling, once per installation; this takes some seconds")
        self._depth += 1

    def end(self) -> None:
        """A kernel has been compiled."""
        self._depth -= 1
        self._count += 1
        now = time.monotonic()
        if now - self._told >= self._SECONDS:
            self._told = now
            self._tell(f"compiling, once per installation: {self._count} kernels in {now - self._start:.0f} s")

    def _tell(self, text: str) -> None:
        if self._heard:
            print(f"unirel: {text}", file=sys.stderr, flush=True)


COMPILING = Compiling()


def progress_of(verbose: bool, title: str, hint: str = "") -> Progress | None:
    """A progress bar, if somebody wants to see one."""
    if not verbose:
        return None
    COMPILING.announce()
    return ProgressBar(title, hint=hint)
