"""What the two tables of accuracies share: presets, what each says about itself, and the tables beside the paper's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paper.conclusions import conclude
from paper.datasets import load
from paper.protocol import CLASSIFIERS, SEED, Data, Outcome, Selector, evaluate, read_journal
from paper.tables import ReplayTables, Row, Rows, read_expected
from unirel.evaluation import paired_difference

DATASETS = ("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor")
# The names of the paper.
TITLES = {"mim": "MIM", "mrmr": "mRMR", "jmi": "JMI", "jmim": "JMIM", "gsa": "GSA"}
# The table of the paper that has the plain criteria.
_PLAIN = "accuracy_mrwmr_vs_bur_ksg"
# Numbers of features that preset medium tries: all up to here, and then some of them.
FINE, COARSE = 60, 10
MEDIUM_SIZES = (*range(1, FINE + 1), *range(FINE + COARSE, 200, COARSE))
# One line of a table: the row of the paper if it has one, a classifier and an algorithm.
Line = tuple[int | None, str, str]


@dataclass(frozen=True)
class Asked:
    """What is asked of a replay: how much to compute, from which data, and parts of the preset to replace."""

    preset: str = "small"
    data: str | Path | None = None
    n_jobs: int | None = None
    journal: Path | None = None
    datasets: tuple[str, ...] | None = None
    classifiers: tuple[str, ...] | None = None
    n_runs: int | None = None
    tables_only: bool = False


@dataclass(frozen=True)
class Preset:
    """How much is computed.

    Attributes
    ----------
    datasets, classifiers : tuple of str
        Names.
    n_runs : int
        Random splits of every dataset.
    max_features : int or dict
        How many features are selected at most, for all or for each dataset.
    sizes : int, sequence of int or "all"
        Which numbers of features are tried: multiples of a step, those of a list, or all.
    max_rows : int, optional
        Datasets with more rows are cut down to that many, chosen at random.
    """

    datasets: tuple[str, ...]
    classifiers: tuple[str, ...]
    n_runs: int
    max_features: int | Mapping[str, int]
    sizes: Any = "all"
    max_rows: int | None = None

    def grid(self, n_features: int) -> list[int]:
        """Numbers of features to try."""
        if isinstance(self.sizes, tuple):
            return sorted({1, n_features, *(size for size in self.sizes if size < n_features)})
        step = 1 if self.sizes == "all" else self.sizes
        return sorted({1, n_features, *range(step, n_features + 1, step)})

    def in_words(self, n_runs: str) -> str:
        """In words, with how many runs there are."""
        tried = f"1 and the multiples of {self.sizes} as numbers"
        if self.sizes == "all":
            tried = "all numbers"
        elif self.sizes == MEDIUM_SIZES:
            tried = f"numbers 1 to {FINE} and then every {COARSE}th"
        most = self.max_features
        limit = str(most) if isinstance(most, int) else ", ".join(f"{most[name]} ({name})" for name in self.datasets)
        rows = f" Datasets with more rows are cut to {self.max_rows} of them, drawn with seed {SEED}."
        return (
            f"runs {n_runs}, each a random split 60/20/20 (seed {SEED}); classifiers {', '.join(self.classifiers)}; "
            f"{tried} of features up to {limit}, chosen with the classifier's setting by validation accuracy."
            f"{rows if self.max_rows else ''}"
        )


_MOST = {"colon": 100, "sonar": 60, "madelon": 100, "leukemia": 100, "isolet": 150, "gas_sensor": 128}
PRESETS = {
    "smoke": Preset(("sonar",), ("knn",), 2, 6, 3),
    "small": Preset(DATASETS, CLASSIFIERS, 5, 30, 5, 1000),
    "medium": Preset(DATASETS, CLASSIFIERS, 10, _MOST, MEDIUM_SIZES, 3000),
    "full": Preset(DATASETS, CLASSIFIERS, 20, _MOST),
}


def choose_preset(presets: Mapping[str, Preset], asked: Asked) -> Preset:
    """The preset that is asked for, with parts of it replaced."""
    others = {name: getattr(asked, name) for name in ("datasets", "classifiers", "n_runs")}
    return replace(presets[asked.preset], **{name: value for name, value in others.items() if value is not None})


def load_rows(name: str, preset: Preset, folder: Any) -> Data:
    """A dataset, or a random choice of its rows."""
    bunch = load(name, folder)
    X, y = np.asarray(bunch.data, float), np.unique(bunch.target, return_inverse=True)[1]
    if preset.max_rows is not None and len(y) > preset.max_rows:
        rows = np.sort(np.random.default_rng(SEED).choice(len(y), preset.max_rows, replace=False))
        X, y = X[rows], y[rows]
    most = preset.max_features if isinstance(preset.max_features, int) else preset.max_features[name]
    return Data(name, X, y, min(most, X.shape[1]))


def journal_of(journal: Path, dataset: str) -> Path:
    """The journal of one dataset: ``runs.jsonl`` becomes ``runs.sonar.jsonl``."""
    return journal.with_name(f"{journal.stem}.{dataset}{journal.suffix}")


def against_plain(boost: str) -> list[tuple[str, str]]:
    """Every criterion with a boost, and the same without."""
    return [(f"{title}-{boost}", title) for title in TITLES.values()]


@dataclass(frozen=True)
class AccuracyTable:
    """What one replay of an accuracy table has of its own.

    Attributes
    ----------
    name, title, about : str
        Its file, and what is said on top of the page.
    paper : str
        The published table.
    selectors : callable
        From a dataset and the name of the preset to selectors by their name in the table.
    boosts : tuple of str
        Follow the plain form of every criterion in the table, and have it as baseline.
    pairs : mapping from str to list of (str, str)
        Groups of algorithms and what they are compared with.
    remark : callable
        From the name of the preset to what else decides the results.
    presets : mapping from str to Preset
        How much is computed.
    wrappers : tuple of str
        Algorithms after the criteria, for those classifiers with which the paper has them.
    ours : tuple of str
        Algorithms after the criteria that the paper does not have.
    """

    name: str
    title: str
    about: str
    paper: str
    selectors: Callable[[str, str], Mapping[str, Selector]]
    boosts: tuple[str, ...]
    pairs: Mapping[str, Sequence[tuple[str, str]]]
    remark: Callable[[str], str]
    presets: Mapping[str, Preset]
    wrappers: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()

    def compute(self, asked: Asked) -> ReplayTables:
        """All tables."""
        chosen = choose_preset(self.presets, asked)
        outcomes = Outcomes([one for name in chosen.datasets for one in self.outcomes(name, chosen, asked)])
        paper = read_expected(self.paper)
        published = [*paper, *(row for row in read_expected(_PLAIN) if row["algorithm"] in TITLES.values())]
        baselines = dict(pair for boost in self.boosts for pair in against_plain(boost))
        cells = make_cells(outcomes, self._lines(paper, chosen.classifiers), published, baselines)
        pooled = make_pooled(outcomes, self.pairs, chosen.classifiers)
        by_dataset = _by_dataset(cells)
        page: list[str | Rows] = [
            self.about,
            f"Settings: preset {asked.preset}: {chosen.in_words(outcomes.n_runs())} {self.remark(asked.preset)}",
            "Test accuracy in percent, mean +- standard deviation over the runs, and mean number of features; "
            "in brackets the paper's accuracy. A dash is what was not run.",
            by_dataset,
            "Differences in test accuracy (and in its mean over all numbers of features, the area) to the baseline in "
            "points, averaged within each run, with the 95 % interval and Wilcoxon's p over datasets and runs:",
            pooled,
            "\n".join(f"- {sentence}" for sentence in conclude(cells, pooled)) or "Nothing was run.",
            "Every row beside the paper's:",
            cells,
        ]
        tables = {"": cells, "_table": by_dataset, "_pooled": pooled, "_runs": make_runs(outcomes)}
        return ReplayTables(self.name, self.title, page, {f"{self.name}{end}": rows for end, rows in tables.items()})

    def outcomes(self, name: str, chosen: Preset, asked: Asked) -> list[Outcome]:
        """Outcomes on a dataset: computed, or of the journal if that is all that is asked for."""
        selectors, table = self.selectors(name, asked.preset), f"{self.name} {asked.preset}"
        journal = None if asked.journal is None else journal_of(asked.journal, name)
        if asked.tables_only:
            if journal is None:
                raise ValueError(f"{self.name}: --tables-only needs --journal with outcomes to make tables of")
            return whole_runs(read_journal(journal, table), selectors, chosen.classifiers)
        data = load_rows(name, chosen, asked.data)
        given = (data, selectors, chosen.classifiers, chosen.n_runs, chosen.grid)
        return evaluate(*given, table, journal, asked.n_jobs)

    def _lines(self, paper: Sequence[Mapping[str, str]], classifiers: Sequence[str]) -> list[Line]:
        """For each classifier each plain criterion before its boosted forms, then the wrappers that suit it."""
        numbers = {(row["classifier"], row["algorithm"]): int(row["row"]) for row in paper}
        suffixes = ("", *(f"-{boost}" for boost in self.boosts))
        algorithms = [f"{title}{suffix}" for title in TITLES.values() for suffix in suffixes]
        lines = [
            (numbers.get((name, algorithm)), name, algorithm)
            for name in dict.fromkeys([*CLASSIFIERS, *classifiers])
            for algorithm in (*algorithms, *self.wrappers, *self.ours)
        ]
        return [line for line in lines if line[0] is not None or line[2] not in self.wrappers]


def whole_runs(
    outcomes: Sequence[Outcome], selectors: Mapping[str, Selector], classifiers: Sequence[str]
) -> list[Outcome]:
    """Outcomes of runs in which a classifier has been through all selectors, in the order of a computed table."""
    known = {one.key: one for one in outcomes}
    kept = []
    for dataset, run in sorted({one.key[:2] for one in outcomes}):
        wanted = [(label, name) for label, one in selectors.items() for name in classifiers if one.suits(name)]
        missing = {name for label, name in wanted if (dataset, run, label, name) not in known}
        kept += [known[dataset, run, label, name] for label, name in wanted if name not in missing]
    return kept


def _by_dataset(cells: Rows) -> Rows:
    """A row for each classifier and algorithm, a column for each dataset: ours, and the paper's in brackets."""
    rows: dict[tuple[str, str], Row] = {}
    names = list(dict.fromkeys(cell["dataset"] for cell in cells))
    for cell in cells:
        key = (cell["classifier"], cell["algorithm"])
        start = {"classifier": key[0], "algorithm": key[1]}
        row = rows.setdefault(key, {**start, **dict.fromkeys(names, "")})
        row[cell["dataset"]] = _show(cell)
    return list(rows.values())


def _show(cell: Row) -> str:
    ours = "-"
    if cell["accuracy"] is not None:
        ours = f"{cell['accuracy']:.1f} +- {cell['std'] or 0:.1f}, {cell['n_features']:.0f}"
    return ours if cell["paper_accuracy"] is None else f"{ours} ({cell['paper_accuracy']:g})"


class Outcomes:
    """Outcomes of all datasets, found by dataset, classifier and algorithm."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.all = list(outcomes)
        self.datasets = list(dict.fromkeys(outcome.dataset for outcome in self.all))
        self._groups: dict[tuple[str, str, str], dict[int, Outcome]] = {}
        for outcome in self.all:
            key = (outcome.dataset, outcome.classifier, outcome.selector)
            self._groups.setdefault(key, {})[outcome.run] = outcome

    def n_runs(self) -> str:
        """How many runs each algorithm went through with a classifier on a dataset, the fewest and the most."""
        numbers = {len(group) for group in self._groups.values()} or {0}
        return " to ".join(map(str, sorted({min(numbers), max(numbers)})))

    def of(self, dataset: str, classifier: str, algorithm: str) -> dict[int, Outcome]:
        """Outcomes by run."""
        return self._groups.get((dataset, classifier, algorithm), {})

    def differences(
        self, dataset: str, classifier: str, pair: tuple[str, str], metric: str = "test_accuracy"
    ) -> dict[int, float]:
        """In points, by run, for an algorithm and its baseline."""
        ours, base = (self.of(dataset, classifier, algorithm) for algorithm in pair)
        return {run: 100 * (getattr(ours[run], metric) - getattr(base[run], metric)) for run in ours if run in base}


def make_cells(
    outcomes: Outcomes, lines: Sequence[Line], paper: Sequence[Mapping[str, str]], baselines: Mapping[str, str]
) -> list[Row]:
    """A cell for each line and dataset, those of the paper always."""
    published = {(row["classifier"], row["algorithm"], row["dataset"]): row for row in paper}
    names = [*DATASETS, *(name for name in outcomes.datasets if name not in DATASETS)]
    return [_cell(outcomes, line, dataset, published, baselines) for line in lines for dataset in names]


def _cell(
    outcomes: Outcomes,
    line: Line,
    dataset: str,
    published: Mapping[tuple[str, str, str], Mapping[str, str]],
    baselines: Mapping[str, str],
) -> Row:
    number, classifier, algorithm = line
    group = list(outcomes.of(dataset, classifier, algorithm).values())
    accuracies = [100 * outcome.test_accuracy for outcome in group]
    row = published.get((classifier, algorithm, dataset))
    base = baselines.get(algorithm)
    base_row = published.get((classifier, base or "", dataset))
    theirs = float(row["accuracy_percent"]) if row else None
    return {
        "row": number,
        "classifier": classifier,
        "algorithm": algorithm,
        "dataset": dataset,
        "n_runs": len(group),
        "accuracy": _round(np.mean(accuracies)) if group else None,
        "std": _round(np.std(accuracies, ddof=1)) if len(group) > 1 else None,
        "n_features": _round(np.mean([outcome.n_features for outcome in group]), 1) if group else None,
        "paper_accuracy": theirs,
        "paper_std": float(row["std_percent"]) if row else None,
        "paper_n_features": int(row["n_features"]) if row else None,
        "difference": _round(np.mean(accuracies) - theirs) if group and theirs is not None else None,
        "baseline": base,
        **_test(list(outcomes.differences(dataset, classifier, (algorithm, base)).values()) if base else []),
        "paper_change": _round(theirs - float(base_row["accuracy_percent"])) if theirs and base_row else None,
    }


def make_pooled(
    outcomes: Outcomes, pairs: Mapping[str, Sequence[tuple[str, str]]], classifiers: Sequence[str]
) -> list[Row]:
    """Differences of groups of (algorithm, baseline), over all, by dataset, by classifier and by criterion."""
    everything = outcomes.datasets
    rows = []
    for group, members in pairs.items():
        rows.append(_pool(outcomes, group, "all", everything, classifiers, members))
        rows += [_pool(outcomes, group, dataset, [dataset], classifiers, members) for dataset in everything]
        rows += [_pool(outcomes, group, name, everything, [name], members) for name in classifiers]
        if len(members) > 1:
            rows += [_pool(outcomes, group, pair[0], everything, classifiers, [pair]) for pair in members]
    return rows


def _pool(
    outcomes: Outcomes,
    group: str,
    over: str,
    datasets: Sequence[str],
    classifiers: Sequence[str],
    pairs: Sequence[tuple[str, str]],
) -> Row:
    """Averages within each run, since what shares a split is not independent."""
    row: Row = {"group": group, "over": over}
    for metric in ("test_accuracy", "test_area"):
        by_run: dict[tuple[str, int], list[float]] = {}
        for dataset in datasets:
            for classifier in classifiers:
                for pair in pairs:
                    for run, change in outcomes.differences(dataset, classifier, pair, metric).items():
                        by_run.setdefault((dataset, run), []).append(change)
        found = _test([float(np.mean(changes)) for changes in by_run.values()])
        prefix = "" if metric == "test_accuracy" else "area_"
        row.setdefault("n", len(by_run))
        row |= {f"{prefix}{name}": value for name, value in found.items()}
    return row


def _test(changes: Sequence[float]) -> Row:
    """Mean, interval, and p of differences."""
    if not changes:
        return dict.fromkeys(("change", "low", "high", "p_value"))
    exact = np.round(changes, 9)  # the same counts in another order must not differ
    found = paired_difference(exact, np.zeros(len(exact)))
    return {
        "change": _round(found.mean),
        "low": _round(found.low) if len(exact) > 1 else None,
        "high": _round(found.high) if len(exact) > 1 else None,
        "p_value": float(f"{found.p_value:.2g}"),
    }


def make_runs(outcomes: Outcomes) -> list[Row]:
    """Every run, in plain numbers."""
    rows = []
    for one in outcomes.all:
        row: Row = {"dataset": one.dataset, "run": one.run, "classifier": one.classifier, "algorithm": one.selector}
        row |= {"beta": one.beta, "n_features": one.n_features, "setting": one.setting}
        measured = ("validation_accuracy", "test_accuracy", "test_area")
        rows.append(row | {name: _round(100 * getattr(one, name), 4) for name in measured})
    return rows


def _round(value: Any, digits: int = 2) -> float:
    return round(float(value), digits) + 0.0  # no negative zero
