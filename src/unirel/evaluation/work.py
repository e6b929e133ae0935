"""Does the pieces of work of a plan that are missing, and keeps each of them at once."""

import math
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from unirel._runtime import OutOfTime, Progress, call_apart, check_jobs, end_of, until
from unirel.errors import UnirelWarning
from unirel.evaluation.journal import Records
from unirel.evaluation.plan import Dataset, Plan, Rows, Split, seed_of, split_rows
from unirel.evaluation.results import Outcome
from unirel.evaluation.scoring import Counts, Curve, count_correct
from unirel.evaluation.selection import Ask, Key, OwnSelector, find_order, find_orders, find_values
from unirel.evaluation.statistics import area
from unirel.search.folds import KnownScores


class _Task(NamedTuple):
    """A piece of work for any process."""

    about: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    unit: Key = ()


@cache
def _leave_with(process: int) -> None:
    """Let this worker end when the process that it works for does, even if that was killed and could say nothing."""

    def watch() -> None:
        while os.getppid() == process:  # an orphan is given to another one
            time.sleep(0.5)
        os._exit(1)

    # Threads, and workers of another kind, are not ours to end. That process may be gone before there was time to look.
    if multiprocessing.current_process().name.startswith("LokyProcess"):
        Thread(target=watch, daemon=True).start()


def _perform_for(process: int, task: _Task, ends: float) -> tuple[_Task, Any, list[str]]:
    """Do a piece of work for another process."""
    _leave_with(process)
    return _perform(task, ends)


def _perform(task: _Task, ends: float) -> tuple[_Task, Any, list[str]]:
    """Do a piece of work; warnings come back as texts, since those of other processes would be lost.

    Apart, because a classifier may take minutes and looks neither at the clock nor for Ctrl-C. The end of the time is
    given by the clock on the wall, which all processes share.
    """
    with warnings.catch_warnings(record=True) as caught, until(time.monotonic() + ends - time.time()):
        warnings.simplefilter("always")
        try:
            result = call_apart(task.function, *task.arguments)
        except Exception as error:
            error.add_note(f"while comparing: {task.about}")
            raise
    # What was sent need not come back.
    return task._replace(arguments=()), result, [str(warning.message) for warning in caught]


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which a terminal sends to all: this one ends them without their words.

    Processes inherit which signals are held back. One that comes for this process meanwhile is heard afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The first lock starts a process that looks after locks, and that lets all signals in again: so it comes first.
    multiprocessing.get_context("spawn").Lock()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Work:
    """Does what is missing in the records, run by run, and keeps every piece at once."""

    def __init__(self, plan: Plan, records: Records, n_jobs: int | None, progress: Progress | None) -> None:
        check_jobs(n_jobs)
        self._plan, self._records = plan, records
        self._n_jobs, self._n_workers = n_jobs, effective_n_jobs(n_jobs)
        self._progress = progress
        self._done = self._total = 0
        self._ends = math.inf
        self._warned: set[str] = set()

    def run(self, n_runs: int, max_seconds: float | None = None) -> bool:
        """Do all that is missing; False if interrupted, or if the time does not suffice."""
        missing = [key for key in self._plan.units(range(n_runs)) if key not in self._records]
        self._total = len(missing) + sum(map(len, self._needed(missing)))
        self._ends = time.time() + end_of(max_seconds) - time.monotonic()
        try:
            for data in self._plan.datasets:
                # A block of runs keeps all workers busy; its runs are complete before others begin.
                for start in range(0, n_runs, self._n_workers):
                    self._run_block(data, range(start, min(start + self._n_workers, n_runs)))
        except (KeyboardInterrupt, OutOfTime):
            return False
        return True

    def _needed(self, units: Iterable[Key]) -> tuple[dict[Key, Key], dict[Key, Key]]:
        """Selections that are missing for some units, and unique relevances that are missing for those; by key."""
        selections: dict[Key, Key] = {}
        values: dict[Key, Key] = {}
        for unit in units:
            selection = self._plan.selection_key(unit)
            if selection in self._records or selection in selections:
                continue
            selections[selection] = unit
            value = self._plan.values_key(selection)
            if value is not None and value not in self._records:
                values.setdefault(value, selection)
        return selections, values

    def _run_block(self, data: Dataset, runs: Sequence[int]) -> None:
        self.find(data, [key for key in self._plan.units_of(data, runs) if key not in self._records])

    def find(self, data: Dataset, units: Sequence[Key]) -> None:
        """Find outcomes on a dataset, and all that they depend on."""
        splits = {run: split_rows(data.y, self._plan.random_state, run) for _, _, run, _, _ in units}
        selections, values = self._needed(units)
        self._find([self._values_task(data, splits, *pair) for pair in values.items()])
        self._find(self._selection_tasks(data, splits, list(selections)))
        self._find_outcomes(data, splits, units)

    def _find(self, tasks: Sequence[_Task]) -> None:
        """Do tasks that make records."""
        for _, found in self._perform_all(tasks):
            for key, record in found.items():
                self._keep(key, record)

    def _values_task(self, data: Dataset, splits: Mapping[int, Split], key: Key, selection: Key) -> _Task:
        _, dataset, run, label, name = selection
        train = splits[run].train
        seed = seed_of(self._plan.random_state, run, "classifier")
        trained = None if name is None else self._plan.classifiers[name].estimator(seed)
        arguments = (data.X[train], data.y[train], data.max_features, key, self._plan.selectors[label], trained)
        return _Task(f"{dataset}, run {run}, unique relevance for {label}", find_values, arguments)

    def _selection_tasks(self, data: Dataset, splits: Mapping[int, Split], keys: Sequence[Key]) -> list[_Task]:
        families: dict[Key, list[Ask]] = {}
        tasks = []
        for key in keys:
            _, dataset, run, label, name = key
            selector, train = self._plan.selectors[label], splits[run].train
            if isinstance(selector, OwnSelector):
                # A time budget is one selector's own.
                own = None if selector.options["max_seconds"] is None else key
                families.setdefault((run, selector.family, own), []).append(self._ask(key, selector))
                continue
            seed = seed_of(self._plan.random_state, run, "selector")
            classifier = None if name is None else self._plan.classifiers[name]
            arguments = (data.X[train], data.y[train], data.max_features, key, selector, classifier, seed)
            tasks.append(_Task(f"{dataset}, run {run}, {label}", find_order, arguments))
        for (run, *_), asks in families.items():
            train = splits[run].train
            labels = ", ".join(dict.fromkeys(ask.key[3] for ask in asks))
            shared = (data.X[train], data.y[train], data.max_features, asks)
            tasks.append(_Task(f"{data.name}, run {run}, {labels}", find_orders, shared))
        return tasks

    def _ask(self, key: Key, selector: OwnSelector) -> Ask:
        value = self._plan.values_key(key)
        if value is None:
            return Ask(key, selector, None, 0.0)
        record = self._records[value]
        return Ask(key, selector, np.array(record["values"], dtype=float), record["seconds"])

    def _find_outcomes(self, data: Dataset, splits: Mapping[int, Split], units: Sequence[Key]) -> None:
        """One selector after the other, so that each finds the subsets that others have tried before."""
        tried = {(run, name): KnownScores[Counts]() for _, _, run, _, name in units}
        for label in self._plan.selectors:
            mine = [unit for unit in units if unit[3] == label]
            missing = {unit: tried[unit[2], unit[4]].missing(self._asked(unit)) for unit in mine}
            tasks = [self._count_task(data, splits, unit, subsets) for unit, subsets in missing.items()]
            for task, counts in self._perform_all(tasks):
                unit = task.unit
                known = tried[unit[2], unit[4]]
                for subset, count in zip(missing[unit], counts, strict=True):
                    known.add(subset, count)
                self._keep(unit, self._choose(splits[unit[2]], unit, known).to_dict())

    def _asked(self, unit: Key) -> list[tuple[list[int], list[int]]]:
        """Orders that an outcome depends on, each with the numbers of features to try."""
        orders = self._records[self._plan.selection_key(unit)]["orders"]
        return [(order, self._plan.grid(len(order))) for order in orders]

    def _count_task(self, data: Dataset, splits: Mapping[int, Split], unit: Key, subsets: Sequence[Rows]) -> _Task:
        _, dataset, run, label, name = unit
        seed = seed_of(self._plan.random_state, run, "classifier")
        arguments = (self._plan.classifiers[name], data.X, data.y, splits[run], subsets, seed)
        return _Task(f"{dataset}, run {run}, {label}, {name}", count_correct, arguments, unit)

    def _choose(self, split: Split, unit: Key, known: KnownScores[Counts]) -> Outcome:
        """The outcome with the weight of unique relevance that is best on the validation rows."""
        _, dataset, run, label, name = unit
        record = self._records[self._plan.selection_key(unit)]
        settings = self._plan.classifiers[name].settings(len(split.train))
        found: list[Outcome] = []
        for beta, (order, grid) in zip(record["betas"], self._asked(unit), strict=True):
            curve = Curve(known.of(order, grid), len(split.validation), len(split.test))
            best = curve.best
            outcome = Outcome(
                dataset=dataset,
                run=run,
                selector=label,
                classifier=name,
                beta=beta,
                n_features=grid[best],
                setting=settings[int(curve.settings[best])],
                validation_accuracy=curve.validation[best],
                test_accuracy=curve.test[best],
                validation_area=area(curve.validation),
                test_area=area(curve.test),
                features=tuple(order[: grid[best]]),
                seconds=record["seconds"],
                grid=tuple(grid),
                validation_curve=tuple(curve.validation),
                test_curve=tuple(curve.test),
            )
            found.append(outcome)
        return max(found, key=lambda one: (one.validation_accuracy, one.validation_area, -(one.beta or 0.0)))

    def _perform_all(self, tasks: Sequence[_Task]) -> Iterator[tuple[_Task, Any]]:
        """Results of tasks as they come."""
        if len(tasks) < 2 or self._n_workers == 1:
            yield from self._results(_perform(task, self._ends) for task in tasks)
            return
        # The context starts everything but the processes, which sets signals to its own liking, and ends them.
        with Parallel(n_jobs=self._n_jobs, batch_size=1, return_as="generator_unordered") as pool:
            with _deaf_to_interrupts():
                running = pool(delayed(_perform_for)(os.getpid(), task, self._ends) for task in tasks)
            yield from self._results(self._as_they_come(running))

    def _as_they_come(self, running: Iterator[Any]) -> Iterator[Any]:
        """Wait for other processes apart: they may not have begun to look at the clock."""
        while True:
            with until(time.monotonic() + self._ends - time.time()):
                found = call_apart(next, running, None)
            if found is None:
                return
            yield found

    def _results(self, running: Iterable[tuple[_Task, Any, list[str]]]) -> Iterator[tuple[_Task, Any]]:
        for task, result, messages in running:
            yield task, result
            self._pass_on(task, messages)

    def _keep(self, key: Key, record: dict[str, Any]) -> None:
        self._records.add(key, record)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _pass_on(self, task: _Task, messages: Sequence[str]) -> None:
        """Warn once of what concerns the same selectors on the same dataset in several runs."""
        dataset, _, what = task.about.split(", ", 2)
        for message in messages[:1]:
            if (about := f"{dataset}, {what}") not in self._warned:
                self._warned.add(about)
                warnings.warn(f"{task.about}: {message}", UnirelWarning, stacklevel=2)
