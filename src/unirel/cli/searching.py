"""A selection for the command line: with progress, Ctrl-C and a time budget."""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from unirel.cli.exits import BadInput
from unirel.cli.messages import Messages

if TYPE_CHECKING:
    from unirel.cli.problem import Problem
    from unirel.report.accuracy import Accuracy
    from unirel.results import Selection, SelectionPath
    from unirel.table import Table
    from unirel.work import Progress


def parse_n_features(text: str | None, n_features: int) -> Any:
    """``20``, ``0.2`` or ``auto`` as the library takes it; 10 or all there are if nothing is given."""
    if text is None:
        return min(10, n_features)
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"-k {text!r} must be a whole number, a share such as 0.2, or auto") from None


@dataclass
class Interruption:
    """Whether Ctrl-C was pressed. The search that runs keeps what it has; all that follow end at their first step."""

    happened: bool = field(default=False)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the first Ctrl-C; a second one ends the program at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def handle(number: int, frame: FrameType | None) -> None:
            self.happened = True
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def checking(self, progress: "Progress | None", n_searches: int) -> "Progress":
        """A progress that also ends a search which starts after Ctrl-C."""

        def step(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total)
            # Between two searches nobody would catch it.
            if self.happened and done % max(total // n_searches, 1):
                raise KeyboardInterrupt

        return step


def run_search(
    table: "Table",
    criterion: str,
    betas: Sequence[float],
    options: dict[str, Any],
    messages: Messages,
    interruption: Interruption,
    quiet: bool,
) -> "SelectionPath":
    """Select features for one criterion and several weights; warnings become notes."""
    from unirel.path import SearchOptions, run_path
    from unirel.work import ProgressBar

    progress = interruption.checking(None if quiet else ProgressBar("selecting"), len(betas))
    with messages.catching_warnings(), interruption.watching():
        return run_path(table, [criterion], list(betas), SearchOptions(progress=progress, **options))


def run_accuracy(
    accuracy: str,
    problem: "Problem",
    table: "Table",
    selection: "Selection",
    options: dict[str, Any],
    messages: Messages,
    interruption: Interruption,
    quiet: bool,
) -> "Accuracy | None":
    """Cross-validate a classifier with the first features; None, with a note, if time does not allow it."""
    from unirel.path import SearchOptions
    from unirel.report.accuracy import measure_accuracy
    from unirel.work import ProgressBar

    if not selection.complete:
        messages.note("the accuracy was not measured, because the selection is incomplete")
        return None
    bar = None if quiet else ProgressBar("measuring accuracy")
    progress = _until(options["max_seconds"], interruption, bar)
    try:
        with messages.catching_warnings(), interruption.watching():
            search = SearchOptions(**options)
            return measure_accuracy(accuracy, problem.X, problem.y, table, selection, search, progress)
    except TimeoutError:
        messages.note(
            "the accuracy was not measured, because the time budget was used up; give more with --max-seconds"
        )
    except KeyboardInterrupt:
        interruption.happened = True
    return None


def _until(max_seconds: float | None, interruption: Interruption, progress: "Progress | None") -> "Progress":
    """A progress that ends the work when time is up, or after a Ctrl-C that a search has kept to itself."""
    started = time.monotonic()

    def step(done: int, total: int) -> None:
        if progress is not None:
            progress(done, total)
        if interruption.happened:
            raise KeyboardInterrupt
        if max_seconds is not None and time.monotonic() - started > max_seconds:
            raise TimeoutError

    return step
