"""What every call shares: how values are checked, warnings, time budgets, threads, progress, and files."""

import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from inspect import currentframe, signature
from numbers import Integral, Real
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any, Self, TypeVar

from unirel.errors import UnirelWarning

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # progress(done, total)
# By which reading, or what is said about a result, may go over a time budget: without it there is nothing to return.
READING_SECONDS = 1.0
_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)


class Parameters:
    """What stores the parameters of `__init__` as they are, so that scikit-learn can clone, tune and print it.

    Its `BaseEstimator` does the same, but to import that takes half of what a short command takes.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters and, if deep, those of parameters that have some, as ``name__inner``."""
        own = {name: getattr(self, name) for name in signature(type(self)).parameters}
        nested = [(name, value) for name, value in own.items() if deep and hasattr(value, "get_params")]
        inner = {f"{name}__{key}": value for name, one in nested for key, value in one.get_params().items()}
        return own | inner

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a parameter as ``name__inner``."""
        names = signature(type(self)).parameters
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            own, _, rest = name.partition("__")
            if own not in names:
                listed = ", ".join(map(repr, names)) or "none"
                raise ValueError(f"Invalid parameter {own!r} of {type(self).__name__}; its parameters are {listed}")
            if rest:
                getattr(self, own).set_params(**{rest: value})
            else:
                setattr(self, own, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: parameter.default for name, parameter in signature(type(self)).parameters.items()}
        given = sorted((name, repr(value)) for name, value in self.get_params(deep=False).items())
        changed = [f"{name}={value}" for name, value in given if value != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"


def check_choice(parameter: str, value: Any, allowed: Iterable[str | None]) -> None:
    allowed = tuple(allowed)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        raise ValueError(f"{parameter}={value!r} is not one of {', '.join(map(repr, allowed))}")


def check_whole_number(
    parameter: str, value: Any, lowest: int, or_name: str = "", highest: float = float("inf")
) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not lowest <= int(value) <= highest:
        other = f"{or_name!r} or " if or_name else ""
        until = f"to {highest:,}" if isinstance(value, Integral) and int(value) > highest else "on"
        raise ValueError(f"{parameter}={value!r} must be {other}a whole number from {lowest} {until}")
    return int(value)


def check_fraction(parameter: str, value: Any, remedy: str = "such as 0.95") -> float:
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{parameter}={value!r} must be a number above 0 and below 1, {remedy}")
    return float(value)


def check_beta(value: Any, parameter: str = "beta") -> float:
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        remedy = "it must be from 0 (no boost) to 1 (unique relevance alone)"
        raise ValueError(f"{parameter}={value!r} is out of range; {remedy}")
    return float(value)


def check_jobs(n_jobs: Any) -> None:
    """Refuse to work with nobody, and what is no number of workers."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool)):
        raise ValueError(f"n_jobs={n_jobs!r} must be None or a whole number, such as -1 for one for each core")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 means no worker at all; pass 1 for one, or -1 for one for each core")


def warn(message: str) -> None:
    """Issue a `UnirelWarning` that points at the call from outside the package, unless within `quietly`."""
    if _is_quiet.get():
        return
    frame, depth = currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "unirel":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, UnirelWarning, stacklevel=depth + 1)


@contextmanager
def quietly() -> Iterator[None]:
    """Let the work inside issue no `UnirelWarning`; in threads, where `warnings.catch_warnings` would not be safe."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


class OutOfTime(TimeoutError):
    """The time budget was used up within a piece of work."""


@dataclass(frozen=True)
class Deadline:
    """When work has to end, in seconds of the monotonic clock."""

    ends: float = math.inf

    @classmethod
    def after(cls, max_seconds: float | None) -> "Deadline":
        """The end of a budget that begins now, or of one around it if that is earlier."""
        ends = math.inf if max_seconds is None else time.monotonic() + max_seconds
        return cls(min(ends, _deadline.get().ends))

    def at_least(self, seconds: float) -> "Deadline":
        """The same, or that many seconds from now if that is later."""
        return Deadline(max(self.ends, time.monotonic() + seconds))

    @contextmanager
    def applied(self, grace: float = 0.0) -> Iterator[None]:
        """Let the work inside end then, or that many seconds later: `check_time` and `map_tasks` raise `OutOfTime`."""
        token = _deadline.set(Deadline(self.ends + grace))
        try:
            yield
        finally:
            _deadline.reset(token)


_NEVER = Deadline()
_deadline: ContextVar[Deadline] = ContextVar("deadline", default=_NEVER)
# Whether this is a thread of `map_tasks`, which starts no others: there are as many as were asked for.
_is_worker: ContextVar[bool] = ContextVar("is_worker", default=False)


def check_time() -> None:
    if time.monotonic() > _deadline.get().ends:
        about = "the time budget was used up before there was anything to return"
        raise OutOfTime(f"{about}; give more with max_seconds=")


def call_apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a thread of its own, so that Ctrl-C and the end of the time are noticed whatever it does."""
    check_time()
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    while not wait([future], 0.1).done:
        check_time()
    return future.result()


@contextmanager
def starting_workers() -> Iterator[None]:
    """Let processes that are started inside never hear Ctrl-C: who started them ends them, and says so in one line."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pieces(items: Any, size: int) -> list[Any]:
    """An array or list cut into parts of `size` items, of at least one; the last part may be smaller."""
    size = max(1, size)
    return [items[start : start + size] for start in range(0, len(items), size)]


def no_progress(done: int, total: int) -> None:
    """Progress that nobody wants to see."""


def reported(results: Iterable[Result], total: int, progress: Progress) -> Iterator[Result]:
    """The same results; progress is reported when one of them has been dealt with."""
    for done, result in enumerate(results, start=1):
        yield result
        progress(done, total)


def map_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None, progress: Progress = no_progress
) -> list[Result]:
    """Results of `function` for every task, in the order of `tasks`."""
    # Threads, not processes: kernels release the GIL and share the table. `n_jobs` is read as in scikit-learn: None is
    # one thread unless a joblib context says otherwise, -1 one for each core. The clock is looked at before each task.
    from joblib import effective_n_jobs  # slow to import, and not needed to name a parameter

    check_jobs(n_jobs)

    def in_time(task: Task) -> Result:
        check_time()
        return function(task)

    n_threads = 1 if _is_worker.get() else min(effective_n_jobs(n_jobs), len(tasks))
    if n_threads < 2:
        return list(reported(map(in_time, tasks), len(tasks), progress))
    context = copy_context()  # with the deadline of the caller
    context.run(_is_worker.set, True)
    pool = ThreadPoolExecutor(n_threads)
    try:
        futures = [pool.submit(context.copy().run, in_time, task) for task in tasks]
        return list(reported((future.result() for future in futures), len(tasks), progress))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C nobody waits for what has begun


class ProgressBar:
    """Progress with the time that is left, on standard error: a bar on a terminal, in a log a line now and then."""

    def __init__(self, title: str) -> None:
        from tqdm import tqdm  # type: ignore[import-untyped]

        seconds = 0.1 if sys.stderr.isatty() else 10.0
        self._bar = tqdm(desc=title, mininterval=seconds, maxinterval=seconds, delay=2, ncols=79)

    def __call__(self, done: int, total: int) -> None:
        """Draw how much is done; what takes less than two seconds leaves no trace."""
        self._bar.total = total
        self._bar.update(max(0, done - self._bar.n))
        if done >= total:
            self._bar.close()


def progress_of(verbose: bool, title: str) -> Progress:
    if not verbose:
        return no_progress
    COMPILING.announce()
    return ProgressBar(title)


class Compiling:
    """Says that kernels are being compiled, if it was told to: once in a process, and only if that takes a while."""

    # They are kept on disk: a kernel is compiled by the first call that uses it, and by no later one.
    _SECONDS = 1.0

    def __init__(self) -> None:
        self._wanted, self._said, self._depth = False, False, 0
        self._started, self._spent = 0.0, 0.0

    def announce(self) -> None:
        self._wanted = True

    def begin(self) -> None:
        """A kernel is being compiled, perhaps on behalf of another."""
        if self._depth == 0:
            self._started = time.monotonic()
        self._depth += 1
        self._say()

    def end(self) -> None:
        self._say()
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.monotonic() - self._started

    def _say(self) -> None:
        # No thread watches the clock: numba reports each of the functions that a kernel is made of.
        spent = self._spent + time.monotonic() - self._started
        if self._wanted and not self._said and spent > self._SECONDS:
            self._said = True
            print(
                "unirel: compiling what is used here for the first time; it is kept for later calls",
                file=sys.stderr,
                flush=True,
            )


COMPILING = Compiling()


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A path to write to, in the same folder, which replaces `path` once all has gone well."""
    # A link stays: what it leads to is replaced. What is no file, such as a pipe or a device, is written to as it is.
    if path.exists() and not path.is_file():
        yield path
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{token_hex(4)}")
    temporary.touch(exist_ok=False)  # with the permissions that a new file has
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
