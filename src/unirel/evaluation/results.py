"""What a comparison returns: plain data that tables, plots, reports and files are made from."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from unirel.data.frames import make_frame
from unirel.evaluation.statistics import average_ranks, paired_difference, stability
from unirel.options import check_choice


@dataclass(frozen=True)
class Outcome:
    """What one selector achieved with one classifier in one run on one dataset.

    Attributes
    ----------
    dataset, run, selector, classifier
        Which one it is; runs count from 0.
    beta : float or None
        Weight of unique relevance, as chosen; None for what has none.
    n_features : int
        Number of features with the best validation accuracy.
    setting : Any
        Setting of the classifier with which it was reached.
    validation_accuracy, test_accuracy : float
        With that number of features and setting.
    validation_area, test_area : float
        Mean over all numbers of features, each with its best setting.
    features : tuple of int
        Positions of the features, first selected first.
    seconds : float
        Time of the selection on the training rows. What several selectors of one criterion share counts for each of
        them.
    grid : tuple of int
        Numbers of features that were tried.
    validation_curve, test_curve : tuple of float
        Accuracy for each of them; empty, as is the grid, if read from a compact journal.
    """

    dataset: str
    run: int
    selector: str
    classifier: str
    beta: float | None
    n_features: int
    setting: Any
    validation_accuracy: float
    test_accuracy: float
    validation_area: float
    test_area: float
    features: tuple[int, ...]
    seconds: float
    grid: tuple[int, ...] = ()
    validation_curve: tuple[float, ...] = ()
    test_curve: tuple[float, ...] = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Outcome":
        """The outcome that `to_dict` describes."""
        facts: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in values.items()}
        return cls(**facts)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


# Columns of a table with one row for each run.
_RUN = (
    *("dataset", "run", "classifier", "selector", "beta", "n_features", "setting"),
    *("validation_accuracy", "test_accuracy", "validation_area", "test_area", "seconds"),
)
_COMPARED = ("test_accuracy", "validation_accuracy", "test_area", "validation_area", "n_features")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Outcomes of a comparison.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each dataset, run, selector and classifier.
    n_features : dict
        How many features each dataset has.
    baselines : dict
        For each boosted selector the plain one of the same criterion, if it took part.
    settings : dict
        Everything that decided the results.
    versions : dict
        Versions of the libraries that made them.
    complete : bool
        False if the comparison was interrupted.
    """

    outcomes: tuple[Outcome, ...]
    n_features: Mapping[str, int]
    baselines: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def to_frame(self) -> Any:
        """One row for each dataset, run, classifier and selector."""
        return make_frame({name: [getattr(outcome, name) for outcome in self.outcomes] for name in _RUN})

    def summary(self) -> Any:
        """One row for each dataset, classifier and selector.

        Mean and standard deviation over runs of the test accuracy, mean number of features, mean validation accuracy
        and areas, stability of the selected features, and mean seconds of selection.
        """
        return _frame(self.summary_rows())

    def differences(self, baseline: str | None = None, *, metric: str = "test_accuracy", **test: float) -> Any:
        """One row for each dataset, classifier and selector that has a baseline: how they differ over the same runs.

        Parameters
        ----------
        baseline : str, optional
            Selector to compare all others with; by default each boosted one with the plain one of its criterion.
        metric : str
            What to compare: "test_accuracy", "validation_accuracy", "test_area", "validation_area" or "n_features".
        **test
            ``confidence`` and ``overlap``, as in `paired_difference`.

        Returns
        -------
        frame
        """
        return _frame(self.difference_rows(baseline, metric, **test))

    def average_ranks(self) -> Any:
        """One row for each classifier and selector: mean rank over datasets by mean test accuracy; 1 is best."""
        return _frame(self.rank_rows())

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: what is not known is None."""
        return {
            "complete": self.complete,
            "settings": dict(self.settings),
            "versions": dict(self.versions),
            "summary": self.summary_rows(),
            "differences": self.difference_rows(),
            "average_ranks": self.rank_rows(),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }

    def summary_rows(self) -> list[dict[str, Any]]:
        """`summary` as plain dictionaries."""
        return [self._summarise(key, group) for key, group in self._groups().items()]

    def difference_rows(
        self, baseline: str | None = None, metric: str = "test_accuracy", **test: float
    ) -> list[dict[str, Any]]:
        """`differences` as plain dictionaries."""
        check_choice("metric", metric, _COMPARED)
        groups = self._groups()
        labels = dict.fromkeys(outcome.selector for outcome in self.outcomes)
        if baseline is not None and baseline not in labels:
            raise ValueError(f"baseline={baseline!r} did not take part; there are {', '.join(map(repr, labels))}")
        rows = []
        for (dataset, classifier, selector), group in groups.items():
            other = self.baselines.get(selector) if baseline is None else baseline
            beside = groups.get((dataset, classifier, other or ""), {})
            runs = sorted(set(group) & set(beside))
            if selector == other or not runs:
                continue
            values, base = ([getattr(side[run], metric) for run in runs] for side in (group, beside))
            difference = paired_difference(values, base, **test)
            row = {"dataset": dataset, "classifier": classifier, "selector": selector, "baseline": other}
            rows.append({**row, **{name: _known(value) for name, value in difference._asdict().items()}})
        return rows

    def rank_rows(self) -> list[dict[str, Any]]:
        """`average_ranks` as plain dictionaries."""
        means = {key: _mean(group, "test_accuracy") for key, group in self._groups().items()}
        rows = []
        for classifier in dict.fromkeys(classifier for _, classifier, _ in means):
            names = list(dict.fromkeys(selector for _, other, selector in means if other == classifier))
            datasets = dict.fromkeys(dataset for dataset, _, _ in means)
            full = [d for d in datasets if all((d, classifier, name) in means for name in names)]
            if full:
                ranks = average_ranks([[means[dataset, classifier, name] for name in names] for dataset in full])
                rows += [
                    {"classifier": classifier, "selector": name, "average_rank": float(rank), "n_datasets": len(full)}
                    for name, rank in zip(names, ranks, strict=True)
                ]
        return rows

    def _groups(self) -> dict[tuple[str, str, str], dict[int, Outcome]]:
        """Outcomes by dataset, classifier and selector, then by run."""
        groups: dict[tuple[str, str, str], dict[int, Outcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault((outcome.dataset, outcome.classifier, outcome.selector), {})[outcome.run] = outcome
        # Outcomes come run by run; a table has datasets, classifiers and selectors in the order in which they came.
        names = [list(dict.fromkeys(part)) for part in zip(*groups, strict=True)]
        order = sorted(groups, key=lambda key: [known.index(part) for known, part in zip(names, key, strict=True)])
        return {key: groups[key] for key in order}

    def _summarise(self, key: tuple[str, str, str], group: Mapping[int, Outcome]) -> dict[str, Any]:
        dataset, classifier, selector = key
        accuracies = [outcome.test_accuracy for outcome in group.values()]
        chosen = [outcome.features for outcome in group.values()]
        return {
            "dataset": dataset,
            "classifier": classifier,
            "selector": selector,
            "n_runs": len(group),
            "test_accuracy": _mean(group, "test_accuracy"),
            "test_accuracy_std": float(np.std(accuracies, ddof=1)) if len(group) > 1 else None,
            "n_features": _mean(group, "n_features"),
            "validation_accuracy": _mean(group, "validation_accuracy"),
            "test_area": _mean(group, "test_area"),
            "validation_area": _mean(group, "validation_area"),
            "stability": _known(stability(chosen, self.n_features[dataset])),
            "seconds": _mean(group, "seconds"),
        }


def _mean(group: Mapping[int, Outcome], name: str) -> float:
    return float(np.mean([getattr(outcome, name) for outcome in group.values()]))


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


def _frame(rows: list[dict[str, Any]]) -> Any:
    return make_frame({name: [row[name] for row in rows] for name in rows[0]} if rows else {})
