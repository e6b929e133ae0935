"""Measure two ways of doing the same thing in one run, and print them side by side."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def best_of(function: Callable[[], Any], repeats: int, patience: float = 10.0) -> tuple[float, Any]:
    """Shortest time of some runs, and the result of the last; after so many seconds no further run starts."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < patience:
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


@dataclass
class Comparison:
    """One line of the table; `scale` is what the peer's time is multiplied by when it did only a part of the work."""

    case: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    scale: float = 1.0
    repeats: int = 3
    part: int | None = None  # how many of our values the peer has computed, None for all
    same: Callable[[], Any] | None = None  # our values without what the peer leaves out; those of `ours` if None

    def run(self) -> str:
        self.ours()  # compile
        seconds, values = best_of(self.ours, self.repeats)
        peer_seconds, peer_values = best_of(self.peer, self.repeats)
        peer_seconds *= self.scale
        values = values if self.same is None else self.same()
        values, peer_values = np.atleast_1d(values)[: self.part], np.atleast_1d(peer_values)
        difference = np.max(np.abs(values - peer_values))
        estimate = "~" if self.scale > 1 else " "
        return (
            f"{self.case:<58}{seconds:>10.4f}{estimate}{peer_seconds:>11.3f}"
            f"{peer_seconds / seconds:>9.1f}x{difference:>12.1e}"
        )


HEADER = f"{'':<58}{'unirel/s':>10}{'peer/s':>12}{'ratio':>10}{'difference':>12}"


def report(title: str, comparisons: list[Comparison]) -> None:
    """Print a table, a line as soon as it is known."""
    print(f"\n{title}\n{HEADER}")
    for comparison in comparisons:
        print(comparison.run(), flush=True)
