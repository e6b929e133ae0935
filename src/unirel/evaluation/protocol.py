"""The protocol: selectors compared by the accuracy of classifiers on rows that nobody has seen."""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal

from unirel._runtime import Progress, ProgressBar
from unirel.evaluation.journal import Journal, Records
from unirel.evaluation.plan import make_plan
from unirel.evaluation.results import Evaluation, Outcome
from unirel.evaluation.work import Work
from unirel.options import check_whole_number

_LIBRARIES = ("unirel", "numpy", "scipy", "scikit-learn", "numba", "joblib")


def compare(
    datasets: Any,
    selectors: Any,
    classifiers: Any = ("rf", "knn", "svm"),
    *,
    n_runs: int = 20,
    max_features: int | Mapping[str, int] = 50,
    n_grid: Literal["all"] | int | Sequence[int] = "all",
    random_state: int = 0,
    n_jobs: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    data_home: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
    verbose: bool = False,
) -> Evaluation:
    """Compare selectors by the accuracy of classifiers, over random splits of datasets.

    Parameters
    ----------
    datasets : name, (name, X, y), or list of them
        Names that `unirel.datasets.load` knows, or tables of your own: numbers without missing values, and classes.
    selectors : mapping
        Selectors by label: a `BURSelector`, a `ChosenBeta`, the name of a criterion, a `Wrapper`, an instance of any
        other scikit-learn selector, or a function ``(X, y, max_features) -> order``, which gets the training rows with
        classes as numbers from 0 on, and returns positions of columns, best first.
    classifiers : names or mapping
        Of "rf", "knn", "svm" and "logistic"; or a mapping from names of your own to these, to `Tuned` or to
        scikit-learn classifiers.
    n_runs : int
        Random splits. A journal may be continued with more.
    max_features : int or mapping
        How many features to select at most; a mapping gives a number for each dataset. A `BURSelector` selects that
        many unless it has been given a smaller number of its own, or "auto".
    n_grid : "all", int or list of int
        Numbers of features to try: all from 1 to `max_features`; or 1, `max_features` and the multiples of a step, or
        the numbers of a list.
    random_state : int
        Seed of splits and random classifiers. Run r is the same however many runs there are.
    n_jobs : int, optional
        Processes, as in scikit-learn. The result does not depend on them.
    journal : path, optional
        File to which every finished piece of work is written at once. With the same settings a later call goes on where
        an earlier one was stopped, and gives the same result. More selectors and classifiers may join later.
    data_home : path, optional
        As in `unirel.datasets.load`.
    max_seconds : float, optional
        Time budget; what is not finished by then is left out. With a journal a later call goes on from there.
    progress : callable, optional
        Called as ``progress(done, total)`` with pieces of work, those that are in the journal already not counted.
    verbose : bool
        Draw a progress bar on standard error.

    Returns
    -------
    Evaluation
        After Ctrl-C, or when the time is used up, with what was finished, marked incomplete.

    Notes
    -----
    In each run the rows are split at random, by class, into 60 % to train, 20 % to validate and 20 % to test, the same
    for all selectors. A selector sees the training rows and orders the features. With the first n features of that
    order, for each n, every setting of a classifier is trained on the training rows and tried on the validation rows.
    The n with the best validation accuracy (ties: the smallest n, then the smallest setting) gives the test accuracy.
    Columns are standardised by the training rows where the classifier depends on scale. Classifiers get the columns of
    a subset in the order of the table, so selectors that agree on a subset share one fit.

    Examples
    --------
    >>> from unirel import BURSelector
    >>> from unirel.evaluation import compare
    >>> selectors = {"mim": "mim", "mim boosted": BURSelector("mim", beta=0.1)}
    >>> evaluation = compare("wine", selectors, ["svm"], n_runs=2, max_features=5)
    >>> len(evaluation)
    4
    """
    check_whole_number("n_runs", n_runs, 1)
    check_whole_number("random_state", random_state, 0)
    plan = make_plan(datasets, selectors, classifiers, max_features, n_grid, random_state, data_home)
    settings, versions = plan.settings(), _versions()
    if progress is None and verbose:
        progress = ProgressBar("comparing")
    # Opened last, so that bad input leaves no file behind.
    with Records() if journal is None else Journal(journal, settings, versions) as records:
        work = Work(plan, records, n_jobs, progress)
        complete = work.run(n_runs, max_seconds)
        outcomes = tuple(Outcome.from_dict(records[key]) for key in plan.units(range(n_runs)) if key in records)
    return Evaluation(
        outcomes=outcomes,
        n_features={dataset.name: dataset.X.shape[1] for dataset in plan.datasets},
        baselines=plan.baselines(),
        settings={**settings, "n_runs": n_runs},
        versions=versions,
        complete=complete,
    )


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{library: version(library) for library in _LIBRARIES}}
