"""Progress of long work: a callable `progress(done, total)`, and one that draws a bar."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

Progress = Callable[[int, int], None]


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
