"""The greedy search against a slow twin that writes every formula down, and what must not change the answer."""

from functools import cache, partial

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from test_measures import make_case

from unirel import KNN, ClassifierLoss, Criterion, Gaussian, selection_path
from unirel import BURSelector as Selector
from unirel.criteria import make_criterion
from unirel.data.table import Table
from unirel.estimation.base import Memo, make_information
from unirel.search.boost import Blend
from unirel.search.greedy import Limits, search

BURSelector = partial(Selector, keep_copies=True)  # The twin passes nothing over.
pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

# Those of the paper, and cmim: they differ in what they ask of an estimator. tests/criteria has all.
CRITERIA = ("mim", "mrmr", "jmi", "jmim", "cmim", "gsa")
BETAS = [0, 0.1, 0.5, 1]
CLOSE = {"rtol": 0, "atol": 1e-10}
STYLES = {
    "numbers": ["normal"] * 7,
    "ties": ["grid", "normal", "counts", "inflated", "large", "grid"],
    "mixed": ["normal", "strings", "normal with gaps", "codes", "grid", "flags"],
    "levels": ["codes", "strings", "strings with gaps", "flags", "codes with gaps"],
}


@cache
def table_of(styles, target, seed=0, n_rows=45):
    """A random table whose second column comes once more at the end."""
    case = make_case(np.random.default_rng(seed), n_rows, STYLES[styles], target)
    last = f"c{len(case.columns)}"
    case.columns[last], case.kinds[last] = case.columns["c1"], case.kinds["c1"]
    return case


@cache
def estimates(styles, target, estimator):
    case = table_of(styles, target)
    return reference.Estimates(case.features(), case.target_block(), estimator=estimator)


def losses(n_features):
    """What a classifier loses without each feature; the classifier itself is tested elsewhere."""
    return np.random.default_rng(9).exponential(size=n_features)


def given_values(n_features):
    """Unique relevance that somebody passes: negative values, and equal ones."""
    return np.random.default_rng(5).normal(size=n_features).round(1) / 5


def twin_of_boost(info, kind, criterion, reference_size=20):
    """Unique relevance of all features, and whether it is rescaled."""
    if kind == "given":
        return given_values(len(info.features)), False
    if kind == "classifier":
        return reference.stretched(losses(len(info.features))), False
    if kind == "ksg":
        return reference.unique_beside_all(info.features, info.target), False
    members = reference.greedy(info, criterion, reference_size)[0]
    return reference.unique_beside_reference(info.features, info.target, members), True


def types_of(case):
    discrete = {name: kind == "discrete" for name, kind in case.kinds.items()}
    return {"discrete_features": discrete, "target_type": case.target_kind}


def ours(case, criteria=CRITERIA, betas=(0,), n_features_to_select=None, **parameters):
    n_features = len(case.columns) if n_features_to_select is None else n_features_to_select
    published = {"mi_estimator": "knn", "unique_relevance": "reference", "n_features_to_select": n_features}
    selector = BURSelector(**(types_of(case) | published | parameters))
    return selection_path(case.frame, case.target, selector=selector, criteria=criteria, betas=betas)


def assert_equals_twin(case, info, path, boost_of, **options):
    for selection in path:
        unique, rescale = boost_of(selection.criterion) if selection.beta > 0 else (None, False)
        order, scores, margins = reference.greedy(
            info,
            selection.criterion,
            len(selection),
            beta=selection.beta,
            unique=unique,
            rescale=rescale,
            **options,
        )
        about = f"{selection.criterion}, beta={selection.beta}, margins {margins}"
        assert selection.order.tolist() == order, about
        assert_allclose(selection.scores, scores, **CLOSE, err_msg=about)
        assert len(order) == len(selection)
        assert selection.complete


# Equal to the twin


@pytest.fixture
def classifier_of_random_losses(monkeypatch):
    monkeypatch.setattr(ClassifierLoss, "losses", lambda self, table, *_: losses(table.n_features))


any_table = pytest.mark.parametrize("styles", STYLES)
any_target = pytest.mark.parametrize("target", ["three", "two", "normal", "grid"])
both_targets = pytest.mark.parametrize("target", ["two", "normal"])


ESTIMATORS = {"ksg": "knn", "classifier": "binned", "given": "binned", "reference": "knn"}


@pytest.mark.parametrize(
    # Each kind with each table and each target, and nearly each table with each target.
    ("styles", "kind", "target"),
    [
        (styles, kind, ("three", "normal", "grid")[(row + column) % 3])
        for row, styles in enumerate(STYLES)
        for column, kind in enumerate(ESTIMATORS)
    ],
)
@pytest.mark.usefixtures("classifier_of_random_losses")
def test_order_equals_twin(styles, kind, target):
    estimator = ESTIMATORS[kind]
    case, info = table_of(styles, target), estimates(styles, target, estimator)
    asked = given_values(len(case.columns)) if kind == "given" else kind
    # Two candidates have the same spread in J and in rescaled UR, which is a tie at beta 0.5 if they disagree.
    n_features = len(case.columns) - 3 * (kind == "reference")
    path = ours(case, betas=BETAS, n_features_to_select=n_features, unique_relevance=asked, mi_estimator=estimator)
    assert len(path) == len(CRITERIA) * len(BETAS)
    assert_equals_twin(case, info, path, cache(lambda criterion: twin_of_boost(info, kind, criterion)))


@pytest.mark.parametrize("styles", ["ties", "mixed"])
@both_targets
@pytest.mark.parametrize(("kind", "share"), [("selected", 1.0), ("both", 0.4)])
def test_order_with_a_stepwise_term_equals_twin(styles, target, kind, share):
    case, info = table_of(styles, target), estimates(styles, target, "binned")
    # With two candidates left every term has the same spread, and they may tie.
    n_features = len(case.columns) - 3
    asked = {"unique_relevance": kind, "mi_estimator": "binned", "n_features_to_select": n_features}
    path = ours(case, ["jmi", "jmim"], [0.4], **asked)

    @cache
    def boost_of(criterion):
        return twin_of_boost(info, "reference", criterion) if kind == "both" else (None, True)

    gaussian = None
    if kind == "both" and target == "normal":
        table = Table.from_data(case.frame, case.target, **types_of(case))
        gaussian = Gaussian(shrinkage=0.05).on(table).conditional_relevance
    assert_equals_twin(case, info, path, boost_of, share=share, gaussian=gaussian)


@both_targets
@pytest.mark.parametrize(("styles", "size"), [("numbers", 1), ("ties", 3), ("mixed", 1), ("levels", 3)])
def test_features_outside_the_reference_equal_twin(monkeypatch, styles, target, size):
    monkeypatch.setattr("unirel.search.greedy.REFERENCE_SIZE", size)
    case, info = table_of(styles, target), estimates(styles, target, "knn")
    path = ours(case, betas=BETAS[1:], n_features_to_select=len(case.columns) - 3)
    assert_equals_twin(case, info, path, cache(lambda criterion: twin_of_boost(info, "reference", criterion, size)))


@pytest.mark.parametrize("criterion", ["mim", "jmi"])
def test_twenty_reference_features_equal_twin(criterion):
    case = make_case(np.random.default_rng(3), 50, ["normal", "grid", "codes"] * 8, "two")
    info = reference.Estimates(case.features(), case.target_block())
    path = ours(case, [criterion], [0.1, 1], 21)
    assert_equals_twin(case, info, path, cache(lambda criterion: twin_of_boost(info, "reference", criterion)))


@any_target
def test_constant_and_empty_columns_equal_twin(target):
    case = make_case(np.random.default_rng(2), 40, ["constant", "normal", "grid", "one level", "empty"], target)
    info = reference.Estimates(case.features(), case.target_block())
    path = ours(case, betas=BETAS, unique_relevance="ksg")
    assert_equals_twin(case, info, path, cache(lambda criterion: twin_of_boost(info, "ksg", criterion)))


@pytest.mark.parametrize("options", [{"n_neighbors": 6}, {"metric": "manhattan"}, {"metric": "euclidean"}], ids=str)
@both_targets
def test_options_of_the_estimator_reach_criterion_and_boost(options, target):
    case = table_of("mixed", target)
    info = reference.Estimates(case.features(), case.target_block(), **options)
    unique = reference.unique_beside_all(info.features, info.target, **options)
    path = ours(case, betas=BETAS, unique_relevance="ksg", mi_estimator=KNN(**options))
    assert_equals_twin(case, info, path, lambda _: (unique, False))


def test_a_real_classifier_is_stretched_and_blended():
    case, info = table_of("numbers", "two"), estimates("numbers", "two", "knn")
    raw = ClassifierLoss("knn").losses(Table.from_data(case.frame, case.target))
    path = ours(case, ["jmi"], BETAS, unique_relevance=ClassifierLoss("knn"))
    assert_equals_twin(case, info, path, lambda _: (reference.stretched(raw), False))


@any_table
@both_targets
def test_forced_and_excluded_equal_twin(styles, target):
    case, info = table_of(styles, target), estimates(styles, target, "knn")
    include, exclude = [3, 1], [0]
    n_features = len(case.columns) - 3
    path = ours(case, betas=[0, 0.1], n_features_to_select=n_features, unique_relevance="ksg", include=include)
    boost = cache(lambda criterion: twin_of_boost(info, "ksg", criterion))
    assert_equals_twin(case, info, path, boost, include=include)
    path = ours(
        case, betas=[0.1], n_features_to_select=n_features, unique_relevance="ksg", include=include, exclude=exclude
    )
    assert_equals_twin(case, info, path, boost, include=include, exclude=exclude)
    assert all(selection.order[:2].tolist() == include and 0 not in selection.order for selection in path)


def test_every_criterion_has_a_twin():
    missing = set(CRITERIA) - set(reference.CRITERIA)
    assert not missing, f"write the formula of {sorted(missing)} into tests/reference.py and its CRITERIA"


# What must not change the answer


KINDS = {"ksg": "ksg", "reference": "reference", "given": given_values(8)}
any_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def same(one, other):
    """Equal bit for bit."""
    for a, b in zip(one, other, strict=True):
        assert_array_equal(a.order, b.order)
        assert_array_equal(a.scores, b.scores)
        assert a.reason == b.reason


@both_targets
@any_kind
def test_beta_0_is_the_plain_criterion_and_needs_no_boost(monkeypatch, target, kind):
    case = table_of("numbers", target)
    boosted = [selection for selection in ours(case, betas=[0.5, 0], unique_relevance=kind) if selection.beta == 0]
    monkeypatch.setattr(
        "unirel.search.greedy.find_blend", lambda *_, **__: pytest.fail("beta=0 asked for unique relevance")
    )
    plain = ours(case, betas=[0], unique_relevance=kind)
    same(boosted, plain)
    assert all(selection.unique_relevance is None for selection in plain)


@both_targets
@any_kind
def test_beta_1_is_the_order_of_unique_relevance(target, kind):
    for selection in ours(table_of("numbers", target), betas=[1], unique_relevance=kind):
        expected = np.argsort(-selection.unique_relevance, kind="stable")
        assert_array_equal(selection.order, expected, err_msg=selection.criterion)


@both_targets
@any_kind
def test_permuted_columns_permute_the_answer(rng, target, kind):
    case = make_case(np.random.default_rng(8), 60, ["normal"] * 8, target)
    order = rng.permutation(8)
    X = case.frame.to_numpy()
    betas = [0, 0.1] if isinstance(kind, str) and kind == "ksg" else [0, 0.1, 1]  # clipped values tie at beta 1
    selector = BURSelector(n_features_to_select=6, mi_estimator="knn")
    given = isinstance(kind, np.ndarray)
    kind = np.linspace(0, 0.2, 8) if given else kind
    selector.set_params(unique_relevance=kind)
    path = selection_path(X, case.target, selector=selector, criteria=CRITERIA, betas=betas)
    selector.set_params(unique_relevance=kind[order] if given else kind)
    permuted = selection_path(X[:, order], case.target, selector=selector, criteria=CRITERIA, betas=betas)
    for one, other in zip(path, permuted, strict=True):
        assert_array_equal(one.order, order[other.order], err_msg=one.criterion)
        assert_allclose(one.scores, other.scores, **CLOSE)


@pytest.mark.parametrize("target", ["three", "normal"])
@pytest.mark.parametrize("styles", ["numbers", "mixed"])
def test_threads_change_nothing(styles, target):
    case = make_case(np.random.default_rng(4), 130, STYLES[styles] * 2, target)
    one, two = (ours(case, betas=[0.5], n_features_to_select=4, n_jobs=n_jobs) for n_jobs in (1, 2))
    same(one, two)


@both_targets
@any_kind
def test_a_shorter_selection_is_the_start_of_a_longer_one(target, kind):
    case = table_of("numbers", target)
    full = ours(case, betas=BETAS, unique_relevance=kind)
    for n_features in (1, 4, 7):
        for short, long in zip(ours(case, (*CRITERIA,), BETAS, n_features, unique_relevance=kind), full, strict=True):
            assert_array_equal(short.order, long.order[:n_features])
            assert_array_equal(short.scores, long.scores[:n_features])


@any_table
@both_targets
def test_of_two_copies_the_first_wins(styles, target):
    case = table_of(styles, target)
    last = len(case.columns) - 1
    for selection in ours(case, betas=[0, 0.1], unique_relevance="ksg"):
        order = selection.order.tolist()
        assert order.index(1) < order.index(last), selection.criterion


@both_targets
def test_a_tie_that_rounding_hides_goes_to_the_lowest_column(target):
    # Where J and rescaled UR disagree on the last two, they have the same score at beta 0.5.
    case, info = table_of("numbers", target), estimates("numbers", target, "knn")
    path = ours(case, betas=[0.5])
    assert_equals_twin(case, info, path, cache(lambda criterion: twin_of_boost(info, "reference", criterion)))


def test_a_copy_of_a_selected_feature_and_a_constant_tie_in_cmim():
    # Both add nothing, whatever the last bit of the two estimates of the same information is.
    styles = ["normal", "strings", "normal with gaps", "codes", "constant", "grid", "flags"]
    case = make_case(np.random.default_rng(0), 45, styles, "normal")
    case.columns["c7"], case.kinds["c7"] = case.columns["c1"], "discrete"
    info = reference.Estimates(case.features(), case.target_block())
    assert_equals_twin(case, info, ours(case, ["cmim"]), None)


# Lazy steps and estimates that are made once


class Spy:
    """An estimator that writes down what it is asked for."""

    def __init__(self, information):
        self.information = information
        self.pairs, self.joints = [], []

    def __getattr__(self, name):
        return getattr(self.information, name)

    def pairwise(self, candidates, column):
        self.pairs += [(int(candidate), int(column)) for candidate in candidates]
        return self.information.pairwise(candidates, column)

    def joint(self, candidates, selected):
        self.joints += [(int(candidate), frozenset(map(int, selected))) for candidate in candidates]
        return self.information.joint(candidates, selected)


@pytest.fixture
def many():
    """A table where a few features matter, so that most candidates drop out of a minimum at once."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 90))
    return Table.from_data(X, X[:, :6].sum(axis=1) > 0)


def run(table, criterion, n_features=12, **options):
    spy = Spy(make_information(table))
    criterion = make_criterion(criterion)
    return search(Memo(spy), criterion, Limits(n_features), **options), spy


@pytest.mark.parametrize("criterion", ["jmim", "cmim"])
@pytest.mark.parametrize("batch", [1, 32, 1000])
@pytest.mark.parametrize("beta", [0, 0.3])
def test_lazy_minimum_equals_eager_and_asks_for_less(monkeypatch, many, criterion, batch, beta):
    boost = Blend(np.append(np.random.default_rng(0).random(90) / 20, np.nan))
    monkeypatch.setattr("unirel.search.steps._BATCH", batch)
    lazy, spy = run(many, criterion, beta=beta, boost=boost)
    monkeypatch.setattr("unirel.criteria.Scores.can_only_fall", property(lambda self: False))
    eager, eager_spy = run(many, criterion, beta=beta, boost=boost)
    same([lazy], [eager])
    assert len(eager_spy.joints) == sum(90 - step for step in range(1, 12))
    assert len(spy.joints) <= len(eager_spy.joints) * (0.8 if batch < 1000 else 1)


@both_targets
@any_table
def test_lazy_minimum_equals_eager_with_ties(monkeypatch, styles, target):
    case = table_of(styles, target)
    monkeypatch.setattr("unirel.search.steps._BATCH", 1)
    lazy = ours(case, ["jmim", "cmim"], [0, 0.2], unique_relevance="ksg")
    monkeypatch.setattr("unirel.criteria.Scores.can_only_fall", property(lambda self: False))
    same(lazy, ours(case, ["jmim", "cmim"], [0, 0.2], unique_relevance="ksg"))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_search_asks_for_every_value_once(many, criterion):
    _, spy = run(many, criterion)
    assert len(spy.pairs) == len(set(spy.pairs))
    assert len(spy.joints) == len(set(spy.joints))
    assert [column for _, column in spy.pairs].count(many.target) == 90
    assert bool(spy.joints) == (criterion not in ("mim", "mrmr"))


def test_a_path_asks_for_every_value_once(monkeypatch):
    spies = []

    def make_memo(information):
        spies.append(Spy(information))
        return Memo(spies[-1])

    monkeypatch.setattr("unirel.search.greedy.Memo", make_memo)
    ours(table_of("mixed", "two"), betas=BETAS)
    assert len(spies) == 1
    assert len(spies[0].pairs) == len(set(spies[0].pairs))
    assert len(spies[0].joints) == len(set(spies[0].joints))


def test_no_candidate_is_asked_for_that_cannot_be_selected(many):
    spy = Spy(make_information(many))
    search(Memo(spy), make_criterion("jmi"), Limits(5, exclude=list(range(10, 90))))
    assert {candidate for candidate, _ in spy.joints} <= set(range(10))


# Criteria of the user


class Distance(Criterion, name="distance"):
    """Relevance less a share of the largest redundancy, to see parameters and a score of one's own."""

    fold = "latest"

    def __init__(self, weight=0.5):
        self.weight = weight

    def term(self, source, candidates, selected):
        return np.max([source.pairwise(candidates, int(column)) for column in selected], axis=0)

    def score(self, relevance, folded):
        return relevance - self.weight * folded


class Sum(Criterion, name="sum"):
    """JMI as published, a sum."""

    fold = "sum"

    def term(self, source, candidates, selected):
        return source.joint(candidates, selected[-1:])


@both_targets
@pytest.mark.parametrize("beta", [0, 0.3])
def test_an_instance_of_the_user(monkeypatch, target, beta):
    def formula(info, x, selected):
        return info.relevance(x) - 0.25 * max(info.pairwise(x, s) for s in selected)

    monkeypatch.setitem(reference.CRITERIA, "distance", formula)
    case, info = table_of("numbers", target), estimates("numbers", target, "knn")
    path = ours(case, Distance(0.25), [beta], unique_relevance="ksg")
    assert_equals_twin(case, info, path, lambda criterion: twin_of_boost(info, "ksg", criterion))
    assert path.criteria == ["distance"]


def test_sum_has_the_order_of_mean():
    case = table_of("mixed", "two")
    total, mean = ours(case, [Sum(), "jmi"])
    assert_array_equal(total.order, mean.order)
    assert_allclose(total.scores[1:], mean.scores[1:] * np.arange(1, len(mean)), **CLOSE)


def test_a_term_that_is_missing_is_said():
    class Empty(Criterion, name="empty"):
        fold = "mean"

    with pytest.raises(NotImplementedError, match=r"criterion 'empty' has fold='mean' and needs a method term"):
        ours(table_of("numbers", "two"), Empty())


# Planted truth


def planted(seed, coins=False):
    """Five features of equal strength, a copy of each, 90 columns of noise, shuffled; and the origin of each column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 95))
    if coins:
        X = (X > 0).astype(float)
    informative = X[:, :5]
    y = informative.sum(axis=1) if coins else informative.sum(axis=1) > 0
    X = np.column_stack([informative, X])
    order = rng.permutation(100)
    return X[:, order], y, np.r_[:5, :5, np.full(90, -1)][order]


def informative(selection, origin):
    found = origin[selection.order]
    return found[found >= 0].tolist()


# Of numbers not jmi: beside three others a copy loses a quarter of a pair's gain, less than these estimates scatter.
@pytest.mark.parametrize("coins", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_no_copies_among_the_first_five(seed, coins):
    X, y, origin = planted(seed, coins)
    criteria = ["jmi" if coins else "mrmr", "jmim", "cmim", "gsa"]
    selector = BURSelector(n_features_to_select=5, mi_estimator="knn")
    for selection in selection_path(X, y, criteria=criteria, betas=0, selector=selector):
        assert sorted(informative(selection, origin)) == [0, 1, 2, 3, 4], selection.criterion


def test_relevance_alone_takes_the_copies():
    X, y, origin = planted(0)
    (selection,) = selection_path(X, y, criteria="mim", betas=0, selector=BURSelector(n_features_to_select=4))
    first, second = origin[selection.order[:4:2]]
    assert origin[selection.order].tolist() == [first, first, second, second]


@pytest.mark.parametrize("coins", [True, False])
@pytest.mark.parametrize("estimator", ["binned", "knn"])
def test_auto_stops_behind_the_informative_features(coins, estimator):
    X, y, origin = planted(2, coins)
    selector = Selector(n_features_to_select="auto", max_seconds=300, mi_estimator=estimator)
    for selection in selection_path(X, y, criteria=["jmi", "jmim", "cmim", "gsa"], betas=0, selector=selector):
        assert selection.complete
        assert sorted(origin[selection.order]) == [0, 1, 2, 3, 4], selection.criterion
