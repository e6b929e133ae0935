"""A selection for the command line: with progress, Ctrl-C and a time budget."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from unirel.cli.exits import BadInput
from unirel.cli.messages import Messages

if TYPE_CHECKING:
    from unirel.progress import Progress
    from unirel.results import SelectionPath
    from unirel.table import Table


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
    from unirel.progress import ProgressBar

    progress = interruption.checking(None if quiet else ProgressBar("selecting"), len(betas))
    with messages.catching_warnings(), interruption.watching():
        return run_path(table, [criterion], list(betas), SearchOptions(progress=progress, **options))
