"""What must hold for a table: the package beside the oracle, and beside itself after changes that must not matter."""

import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np
import pandas as pd
from fuzz import oracle

import unirel
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.estimation.binned import Binned
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.knn import KNN

CLOSE = 1e-8
# What chance gives within levels of more than 16 rows is interpolated, see `kernels.chance.COARSE`: it is wrong by less
# than 3e-6 for each level of the other side.
INTERPOLATED = 1e-5
# Where a number is wrong, all choices of so many distances that rounding may have moved are tried.
MOST_NEAR = 10
# What was compared so far, and what could not be decided.
COUNTS = Counter()


class Wrong(AssertionError):
    """What came out is not what must come out."""


@dataclass(frozen=True)
class Case:
    """A table, what is asked of it, and how; its text is a program that makes it again."""

    check: str
    columns: dict
    target: list
    options: dict = field(default_factory=dict)

    @cached_property
    def frame(self):
        return pd.DataFrame({name: _series(values) for name, values in self.columns.items()})

    @property
    def n_rows(self):
        return len(self.target)

    def with_columns(self, columns):
        return replace(self, columns=columns)

    def take(self, rows):
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return replace(self, columns=columns, target=[self.target[row] for row in rows])

    def option(self, name, default=None):
        return self.options.get(name, default)


def _series(values):
    present = [value for value in values if value is not None]
    if any(isinstance(value, str | bool) for value in present):
        return pd.Series(values, dtype=object if len(present) < len(values) or isinstance(present[0], str) else bool)
    return pd.Series(
        np.array([np.nan if v is None else v for v in values], float) if len(present) < len(values) else values
    )


def run(case):
    """Check a case; None if all is well, otherwise what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # of the oracle, where numbers are very large
        oracle.NEAR.clear()
        try:
            CHECKS[case.check](case)
        except Wrong as wrong:
            if not _is_undecided(case):
                return str(wrong)
            COUNTS["undecided"] += 1
        except ValueError as error:
            if not any(words in str(error) and is_due(case) for words, is_due in REFUSALS.items()):
                return f"ValueError: {error}"
            COUNTS["refused"] += 1
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


def _numbers(case):
    everything = [*case.columns.values(), case.target]
    return [v for values in everything for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _kinds(case):
    return [case.option("kinds") or oracle.kind_of(values) for values in case.columns.values()]


# What the package says when it refuses a table, and when it has reason to.
REFUSALS = {
    "overflows": lambda case: max(map(abs, _numbers(case)), default=0) > 1e100,
    "no feature is left": lambda case: set(_kinds(case)) == {"ignored"},
    "one class only": lambda case: len(set(case.target)) < 2,
    "a single sample in every class": lambda case: len(set(case.target)) == case.n_rows,
}


def _is_undecided(case):
    """Whether all is well if some distances that rounding could move across the limit of a tie are moved across it.

    Ties are distances that differ by less than a billionth. 10,000,000,000 - 34 and 10,000,000,000 - 44 differ by that
    and less than doubles round, and the package may find to either side of the limit what the oracle, in long double,
    finds to the other. Nothing else is excused: all distances that are off the limit by more than doubles round, which
    is nearly all of them, must be told apart as they are, and every number must be right then.
    """
    if case.check not in AGAINST_ORACLE:
        return False
    counted, reached = COUNTS.copy(), _reached(case)
    while reached is not None and _get_further(case, reached):
        reached = _reached(case)
    oracle.MOVED.clear()
    COUNTS.clear()
    COUNTS.update(counted)
    return reached is None


def _reached(case):
    """How many numbers are right before the first wrong one; None if there is none."""
    before = COUNTS["right"]
    oracle.NEAR.clear()
    try:
        CHECKS[case.check](case)
    except Wrong:
        return COUNTS["right"] - before
    return None


def _get_further(case, reached):
    """Move some of the distances that a wrong number could hang on, the last ones first, until it is right."""
    near = [(call, row, other) for call, pairs in enumerate(oracle.NEAR) for row, other in pairs][: -MOST_NEAR - 1 : -1]
    before = oracle.MOVED.copy()
    for chosen in chain.from_iterable(combinations(near, size) for size in range(1, len(near) + 1)):
        oracle.MOVED.clear()
        oracle.MOVED.update(before.symmetric_difference(chosen))
        now = _reached(case)
        if now is None or now > reached:
            return True
    return False


def same(found, expected, what, close=CLOSE):
    """Complain if numbers differ; positions without a number must agree."""
    COUNTS["comparisons"] += 1
    found, expected = np.atleast_1d(np.asarray(found, float)), np.atleast_1d(np.asarray(expected, float))
    if found.shape != expected.shape or (np.isnan(found) != np.isnan(expected)).any():
        raise Wrong(f"{what}: {found.tolist()} instead of {expected.tolist()}")
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(found - expected) <= close * np.maximum(1, np.abs(expected))) & (found != expected)
    wrong &= ~np.isnan(found)
    COUNTS["right"] += int(np.argmax(wrong)) if wrong.any() else len(wrong)
    if wrong.any():
        raise Wrong(f"{what}: {found.tolist()} instead of {expected.tolist()}")


# The package and the oracle


class Setting:
    """A case as the oracle sees it."""

    def __init__(self, case, estimator=None):
        estimator = estimator or _name_of(case)
        by_neighbors = estimator == "knn"
        scale = case.option("scale", "standard") if by_neighbors else "standard"
        self.kinds = _kinds(case)
        columns = zip(case.columns.values(), self.kinds, strict=True)
        self.all = [None if kind == "ignored" else oracle.Column(values, kind, scale) for values, kind in columns]
        self.places = [place for place, column in enumerate(self.all) if column is not None]
        self.features = [self.all[place] for place in self.places]
        kind = case.option("target_kind", "auto")
        kind = oracle.kind_of(case.target, 32, 2) if kind == "auto" else kind
        self.target = [oracle.Column(case.target, kind, scale)]
        named = ("n_neighbors", "metric", "correction") if by_neighbors else ("n_bins", "correction")
        given = {name: case.options[name] for name in named if name in case.options}
        if given.get("n_bins", "auto") == "auto" and self.target[0].discrete:
            given["n_bins"] = 8
        unit = oracle.unit_of(self.features, scale)
        self.rules = oracle.Rules(estimator=estimator, unit=unit, **given)

    def spread(self, values):
        """Values of the features in use among all features."""
        result = np.full(len(self.all), np.nan)
        result[self.places] = np.array(values, float)
        return result


def _name_of(case, automatic="knn"):
    """The estimator of a case; `automatic` is what "auto" stands for."""
    name = case.option("estimator", "auto")
    return automatic if name == "auto" else name


def _estimator(case, name):
    """The estimator of that name with the options of a case."""
    known = ("n_neighbors", "metric", "scale", "correction") if name == "knn" else ("n_bins", "correction")
    given = {option: case.options[option] for option in known if option in case.options}
    return KNN(**given) if name == "knn" else Binned(**given)


def _reading(case):
    kinds = {None: "auto", "continuous": False, "discrete": True}[case.option("kinds")]
    return {"discrete_features": kinds, "target_type": case.option("target_kind", "auto")}


def _measuring(case):
    return {"mi_estimator": _estimator(case, _name_of(case)), **_reading(case)}


def _selector(case, **more):
    """What selects from a case: its estimator, or the one that is the default."""
    options = {
        "unique_relevance": case.option("unique_relevance", "both"),
        "keep_copies": True,
        **_reading(case),
        **more,
    }
    return unirel.BURSelector(mi_estimator=_estimator(case, _name_of(case, "binned")), **options)


def check_relevance(case):
    setting, clip = Setting(case), case.option("clip", True)
    found = np.asarray(unirel.relevance(case.frame, case.target, clip=clip, **_measuring(case)))
    expected = [oracle.information([x], setting.target, rules=setting.rules) for x in setting.features]
    if clip:
        pairs = zip(expected, setting.features, strict=True)
        expected = [oracle.bounded(value, [x], setting.target, rules=setting.rules) for value, x in pairs]
    same(found, setting.spread(expected), "relevance")


def check_joint(case):
    setting = Setting(case)
    found = unirel.mutual_information(case.frame, case.target, clip=False, **_measuring(case))
    same(found, oracle.information(setting.features, setting.target, rules=setting.rules), "mutual_information")


def check_conditional(case):
    """The last column is what is known."""
    setting = Setting(case)
    if len(setting.all) < 2 or setting.all[-1] is None or len(setting.features) < 2:
        return
    *asked, given = setting.features
    frame = case.frame
    if case.option("block"):
        found = unirel.mutual_information(
            frame.iloc[:, :-1], case.target, conditional_on=frame.iloc[:, -1:], clip=False, **_measuring(case)
        )
        rules = setting.rules
        if setting.rules.estimator == "knn" and case.option("scale", "standard") is None:  # what is given is no feature
            rules = replace(rules, unit=oracle.unit_of(asked, None))
        same(found, oracle.information(asked, setting.target, [given], rules), "mutual_information given the last")
        return
    name = str(frame.columns[-1])
    found = np.asarray(unirel.conditional_relevance(frame, case.target, [name], clip=False, **_measuring(case)))
    expected = [oracle.information([x], setting.target, [given], setting.rules) for x in asked]
    same(found, setting.spread([*expected, 0]), "conditional_relevance given the last")


def check_irrelevance(case):
    setting = Setting(case)
    found = np.asarray(unirel.irrelevance(case.frame, case.target, **_measuring(case)))
    for place, x in zip(setting.places, setting.features, strict=True):
        if not x.discrete and setting.rules.estimator == "knn" and x.deviation == 0:
            continue  # minus infinity, or nothing to measure
        value = oracle.information([x], setting.target, rules=setting.rules)
        value = oracle.bounded(value, [x], setting.target, rules=setting.rules)
        same(found[place], oracle.entropy(x, setting.rules) - value, f"irrelevance of column {place}")


def check_unique(case):
    setting, knn = Setting(case, "knn"), _estimator(case, "knn")
    if case.option("method") == "reference":
        members = setting.places[: max(1, len(setting.places) // 2)]
        knn.set_params(n_neighbors=10, metric="euclidean" if knn.metric == "auto" else knn.metric)
        # A whole number that is the name of a column is no position.
        named = [list(case.frame.columns)[member] for member in members] if hasattr(case.frame, "columns") else members
        found = np.asarray(
            unirel.unique_relevance(case.frame, case.target, method=knn, reference=named, **_reading(case))
        )
        rules = replace(setting.rules, n_neighbors=10, metric=knn.metric)
        inside = [setting.places.index(member) for member in members]
        expected = oracle.beside_reference(setting.features, setting.target, inside, rules)
    else:
        found = np.asarray(unirel.unique_relevance(case.frame, case.target, method=knn, clip=False, **_reading(case)))
        expected = oracle.loss_without_each(setting.features, setting.target, setting.rules)
    same(found, setting.spread(expected), f"unique_relevance ({case.option('method', 'ksg')})")


def _path(case, **more):
    asked = {"criteria": case.options["criterion"], "betas": [0.0, case.option("beta", 0.3)]}
    return unirel.selection_path(case.frame, case.target, selector=_selector(case, **more), **asked)


def check_selection(case):
    """Every selected feature has the best score beside those before it, and the score that it is said to have."""
    setting = Setting(case, _name_of(case, "binned"))
    criterion, beta = case.options["criterion"], case.option("beta", 0.3)
    path = _path(case)
    estimates = oracle.Estimates(setting.features, setting.target, setting.rules)
    plain = path.selection(criterion, 0.0)
    _follow(plain, setting, estimates, criterion, None)
    kind, boosted = case.option("unique_relevance", "both"), path.selection(criterion, beta)
    reference = [setting.places.index(place) for place in plain.order.tolist()]
    _follow(boosted, setting, estimates, criterion, _boost(kind, beta, setting, reference, case))


def _boost(kind, beta, setting, reference, case):
    rules = replace(setting.rules, estimator="knn")
    if kind == "ksg":
        values = np.maximum(np.array(oracle.loss_without_each(setting.features, setting.target, rules)), 0)
        return oracle.Boost(beta, values, rescale=False)
    rules = replace(rules, n_neighbors=10, metric="euclidean" if rules.metric == "auto" else rules.metric)
    values = None
    if kind in ("reference", "both"):
        values = oracle.beside_reference(setting.features, setting.target, reference, rules)
    share = {"reference": "0", "selected": "1", "both": "0.4"}[kind]
    gaussian = _gaussian(setting, case) if kind == "both" and not oracle.is_label(setting.target) else None
    return oracle.Boost(beta, values, oracle.LONG(share), stepwise=rules, gaussian=gaussian)


def _gaussian(setting, case):
    """Information given the selected features by the package's own estimator, which has twins of its own."""
    information = Gaussian(shrinkage=0.05).on(Table.from_data(case.frame, case.target, **_reading(case)))
    places = np.array(setting.places)
    return lambda candidates, selected: information.conditional_relevance(places[candidates], places[selected])


def _follow(selection, setting, estimates, criterion, boost):
    selected = []
    order = [setting.places.index(place) for place in selection.order.tolist()]
    if len(set(order)) != len(order) or len(order) != min(10, len(setting.features)):
        raise Wrong(f"{criterion}: the order {order} of {len(setting.features)} features")
    for place, score in zip(order, selection.scores.tolist(), strict=True):
        candidates = [x for x in range(len(setting.features)) if x not in selected]
        scores = oracle.step_scores(estimates, criterion, selected, candidates, boost)
        own = scores[candidates.index(place)]
        about = f"{criterion} with {'no boost' if boost is None else boost.beta} after {selected}"
        same(score, own, f"score of {place} by {about}", INTERPOLATED)
        if own < np.max(scores) - INTERPOLATED * max(1, abs(float(np.max(scores)))):
            raise Wrong(f"{about}: {place} was selected, but the scores of {candidates} are {scores.tolist()}")
        selected.append(place)


# The package and itself


def _facts(case, **more):
    """Numbers and orders that the package finds in a table."""
    options = {**_measuring(case), **more}
    values = np.asarray(unirel.relevance(case.frame, case.target, clip=False, **options))
    joint = unirel.mutual_information(case.frame, case.target, clip=False, **options)
    return values, joint


def check_rows(case):
    """The order of rows does not matter."""
    order = np.random.default_rng(case.option("seed", 0)).permutation(case.n_rows).tolist()
    before, after = _facts(case), _facts(case.take(order))
    same(after[0], before[0], "relevance with rows in another order", 1e-9)
    same(after[1], before[1], "mutual_information with rows in another order", 1e-9)


def check_columns(case):
    """The order of columns does not matter."""
    names = list(case.columns)
    order = np.random.default_rng(case.option("seed", 0)).permutation(len(names)).tolist()
    before, after = (
        _facts(case),
        _facts(case.with_columns({names[place]: case.columns[names[place]] for place in order})),
    )
    same(after[0], before[0][order], "relevance with columns in another order", 0)
    same(after[1], before[1], "mutual_information with columns in another order", 1e-9)


def check_monotone(case):
    """Where ranks are used, other numbers in the same order tell the same."""
    rng = np.random.default_rng(case.option("seed", 0))
    changed = {}
    for name, values in case.columns.items():
        present = sorted({v for v in values if v is not None and not isinstance(v, str | bool)})
        steps = dict(zip(present, np.cumsum(np.exp(3 * rng.standard_normal(len(present)))).tolist(), strict=True))
        changed[name] = [steps.get(value, value) if not isinstance(value, str | bool) else value for value in values]
    estimator = _estimator(case, _name_of(case))
    if isinstance(estimator, KNN):
        estimator.set_params(scale="rank")
    before, after = (_facts(one, mi_estimator=estimator) for one in (case, case.with_columns(changed)))
    same(after[0], before[0], f"relevance after increasing functions, {estimator}", 1e-9)
    same(after[1], before[1], f"mutual_information after increasing functions, {estimator}", 1e-9)


def check_units(case):
    """A factor of a power of two changes no bit of a number but its exponent, and no result."""
    rng = np.random.default_rng(case.option("seed", 0))
    changed = {}
    for name, values in case.columns.items():
        factor = 2.0 ** int(rng.integers(-20, 20))
        changed[name] = [v * factor if isinstance(v, int | float) and not isinstance(v, bool) else v for v in values]
    if case.option("scale", "standard") is None:
        return
    before, after = _facts(case), _facts(case.with_columns(changed))
    same(after[0], before[0], "relevance in other units", 1e-9)
    same(after[1], before[1], "mutual_information in other units", 1e-9)


def check_jobs(case):
    """Any number of threads finds the same bits; so does the selector."""
    one, two = _facts(case, n_jobs=1), _facts(case, n_jobs=2)
    same(two[0], one[0], "relevance in two threads", 0)
    same(two[1], one[1], "mutual_information in two threads", 0)
    criterion, beta = case.options["criterion"], case.option("beta", 0.3)
    one, two = (_path(case, n_jobs=n).selection(criterion, beta) for n in (1, 2))
    fitted = _selector(case, criterion=criterion, beta=beta, n_jobs=2).fit(_with_one_type_of_names(case), case.target)
    for other, what in ((two.order, "the path in two threads"), (fitted.order_, "the selector")):
        if other.tolist() != one.order.tolist():
            raise Wrong(f"{what} selects {other.tolist()}, one thread {one.order.tolist()}")
    same(two.scores, one.scores, "scores in two threads", 0)
    same(fitted.selection_scores_, one.scores, "scores of the selector", 0)


def _with_one_type_of_names(case):
    """The frame; scikit-learn refuses one whose names are texts and numbers, so that all are texts then."""
    frame = case.frame
    return frame if len(set(map(type, case.columns))) == 1 else frame.rename(columns=str)


def check_names(case):
    """A whole number is a name where a column has that name, and a position where none has."""
    plain = case.with_columns({f"c{place}": values for place, values in enumerate(case.columns.values())})
    places = Setting(case).places
    for place in places:
        name = list(case.columns)[place]
        found, expected = (
            unirel.conditional_relevance(one.frame, one.target, [given], clip=False, **_measuring(one))
            for one, given in ((case, name), (plain, f"c{place}"))
        )
        same(found, expected, f"conditional_relevance given {name!r}", 0)
        if place not in case.columns:  # no column has the name of this position
            found = np.asarray(
                unirel.conditional_relevance(case.frame, case.target, [place], clip=False, **_measuring(case))
            )
            same(found, expected, f"conditional_relevance given position {place}", 0)
    asked = dict.fromkeys(_whole_numbers(case), True)
    if asked and case.option("kinds") is None:
        plainly = {f"c{list(case.columns).index(name)}": kind for name, kind in asked.items()}
        found, expected = (
            unirel.relevance(one.frame, one.target, clip=False, mi_estimator="binned", discrete_features=kinds)
            for one, kinds in ((case, asked), (plain, plainly))
        )
        same(found, expected, f"relevance with discrete_features={asked}", 0)
    if len(places) < 2 or len(set(map(type, case.columns))) > 1:
        return
    first, last = (list(case.columns)[place] for place in (places[0], places[-1]))
    options = {"beta": 0, "include": [last], "exclude": [first]}
    order = _selector(case, criterion="mim", **options).fit(case.frame, case.target).order_.tolist()
    if order[0] != places[-1] or places[0] in order:
        raise Wrong(f"include={[last]}, exclude={[first]} of {list(case.columns)} select {order}")


def _whole_numbers(case):
    """Names of columns of whole numbers, which may be discrete or not."""
    return [name for name, values in case.columns.items() if {type(value) for value in values} == {int}]


def check_sparse(case):
    """A sparse matrix is the same table."""
    import scipy.sparse

    rows = [
        [0.0 if value is None or isinstance(value, str) else float(value) for value in c] for c in case.columns.values()
    ]
    dense = np.array(rows).T
    binned = _estimator(case, "binned")
    before = unirel.relevance(dense, case.target, mi_estimator=binned)
    after = unirel.relevance(scipy.sparse.csr_array(dense), case.target, mi_estimator=binned)
    same(after, before, "relevance of a sparse matrix", 1e-12)


def check_prefix(case):
    """A shorter selection is the beginning of a longer one, and a boost of weight 0 is none."""
    criterion, n_features = case.options["criterion"], len(case.columns)
    whole, first = _path(case), _path(case, n_features_to_select=max(1, n_features // 2))
    for beta in (0.0, case.option("beta", 0.3)):
        long, short = whole.selection(criterion, beta), first.selection(criterion, beta)
        if long.order.tolist()[: len(short)] != short.order.tolist():
            raise Wrong(f"{criterion}: {short.order.tolist()} is not the beginning of {long.order.tolist()}")
        same(short.scores, long.scores[: len(short)], f"scores of a shorter selection by {criterion}", 0)


def check_redundancy(case):
    """Every feature of the saturated selection has one part, and the rate is the share of one of them."""
    selector = _selector(case, criterion=case.options["criterion"], beta=case.option("beta", 0.3))
    found = unirel.redundancy_analysis(case.frame, case.target, selector=selector)
    parts = [np.asarray(part).tolist() for part in (found.unique, found.conditional, found.redundant)]
    saturated = np.asarray(found.saturated).tolist()
    if sorted([place for part in parts for place in part]) != sorted(saturated) or not saturated:
        raise Wrong(f"{parts} are not the parts of {saturated}")
    same(found.rate, len(parts[2]) / len(saturated), "redundancy rate", 1e-12)
    if not np.isfinite(found.curve).all():
        raise Wrong(f"the curve {found.curve} is not finite")


def check_weights(case):
    """Whole weights are repeated rows, and the unit of other weights does not matter."""
    rng = np.random.default_rng(case.option("seed", 0))
    weights = rng.integers(0, 4, case.n_rows)
    weights[[0, next(row for row in range(case.n_rows) if case.target[row] != case.target[0])]] = 1
    table, binned = Table.from_data(case.frame, case.target, **_reading(case)), _estimator(case, "binned")
    features = table.features
    repeated = binned.on(table.take(features, np.repeat(np.arange(case.n_rows), weights)))
    weighted = binned.on(table, sample_weight=weights).relevance(features)
    same(weighted, repeated.relevance(range(len(features))), "relevance with whole weights", 1e-12)
    weights = rng.exponential(size=case.n_rows) if rng.random() < 0.5 else rng.integers(1, 4, case.n_rows) / 3
    far = rng.random() < 0.2
    units = 1 / weights.sum(), 10.0 ** (int(rng.integers(-290, 290)) if far else rng.uniform(-6, 6))
    for estimator in (binned, Gaussian()):
        before, after = (estimator.on(table, sample_weight=weights * unit).relevance(features) for unit in units)
        same(after, before, f"relevance by {estimator.name} with weights times {units}", 1e-9)
    criterion, beta, frame = case.options["criterion"], case.option("beta", 0.3), _with_one_type_of_names(case)
    selector = unirel.BURSelector(criterion, mi_estimator=binned, beta=beta, **_reading(case))
    before, after = (selector.fit(frame, case.target, sample_weight=weights * unit).selection_ for unit in units)
    if after.order.tolist() != before.order.tolist():
        raise Wrong(f"weights times {units} select {before.order.tolist()} and {after.order.tolist()}")
    same(after.scores, before.scores, f"scores with weights times {units}", 1e-9)


AGAINST_ORACLE = ("relevance", "joint", "conditional", "irrelevance", "unique", "selection")
CHECKS = {
    "relevance": check_relevance,
    "joint": check_joint,
    "conditional": check_conditional,
    "irrelevance": check_irrelevance,
    "unique": check_unique,
    "selection": check_selection,
    "rows": check_rows,
    "columns": check_columns,
    "monotone": check_monotone,
    "units": check_units,
    "jobs": check_jobs,
    "sparse": check_sparse,
    "prefix": check_prefix,
    "weights": check_weights,
    "names": check_names,
    "redundancy": check_redundancy,
}
