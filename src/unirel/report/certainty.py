"""How sure a selection is: what chance could have told as well, and how often parts of the rows select the same."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unirel.data.table import Table
from unirel.estimation.base import make_information
from unirel.options import EstimationOptions, SelectorOptions, SignificanceOptions, complete
from unirel.report.reasons import listed
from unirel.report.words import quoted
from unirel.results import RelevanceTest, Selection, Stability

# Adjusted values up to this are called significant.
ALPHA = 0.05
# Features that one is exchanged for, to be named beside it.
_MOST_NAMED = 3
# Enough where a tenth of the features tell something; where fewer do, there are more.
_PERMUTATIONS = 200


@dataclass(frozen=True, eq=False)
class Certainty:
    """What is known of how sure a selection is; None for what was not looked at.

    Parameters
    ----------
    test : RelevanceTest, optional
        Which of all features tell something by themselves, beyond what chance would let them tell.
    stability : Stability, optional
        How often features are selected from halves of the rows.
    """

    test: RelevanceTest | None = None
    stability: Stability | None = None

    def significant(self, feature: int) -> str | None:
        """Whether a feature is significant by itself, "yes" or "no"; None if that was not tested."""
        if self.test is None or np.isnan(self.test.adjusted[feature]):
            return None
        return "yes" if self.test.adjusted[feature] <= ALPHA else "no"

    def selected_in(self, feature: int) -> str | None:
        """In which share of the subsamples a feature is selected."""
        return None if self.stability is None else f"{self.stability.frequency[feature]:.0%}"

    def sentences(self, feature: int, selection: Selection) -> list[str]:
        """What makes a feature unsure: chance would tell as much, or another one takes its place."""
        said = []
        if self.test is not None and self.significant(feature) == "no":
            p_value, n_tested = float(self.test.p_value[feature]), int(np.isfinite(self.test.p_value).sum())
            among = f", and among {n_tested:,} features some would" if p_value <= ALPHA else ""
            said.append(
                "Not significant by itself: a feature that has nothing to do with the target would tell as much in "
                f"{_share(p_value)} of cases{among}."
            )
        pairs = [] if self.stability is None else self.stability.exchangeable
        others = [
            f"{quoted(selection.names[pair.other if pair.one == feature else pair.one])} (one of the two in "
            f"{pair.either:.0%} of subsamples, both in {pair.both:.0%})"
            for pair in pairs
            if feature in (pair.one, pair.other)
        ]
        if others:
            said.append(f"It can be exchanged for {listed(others[:_MOST_NAMED], 'or')}.")
        return said

    def words(self, selection: Selection) -> list[str]:
        """Paragraphs about the whole selection, with what the numbers mean."""
        if len(selection) == 0:
            return []
        return [*self._stability_in_words(), *self._test_in_words(selection)]

    def _stability_in_words(self) -> list[str]:
        found = self.stability
        if found is None:
            return []
        low, high = found.interval
        agreement = (
            "They all select the same."
            if np.isnan(found.index)
            else f"Their stability is {found.index:.2f} ({low:.2f} to {high:.2f} with other halves): 1 means the same "
            "features every time, 0 no more agreement than chance gives."
        )
        return [
            f"The selection was repeated on {len(found.selected)} random halves of the rows (subsamples), each anew. "
            f"{agreement} A half says less than all rows do, so the shares of subsamples are rather too low. That a "
            "feature comes out every time does not make it a good one."
        ]

    def _test_in_words(self, selection: Selection) -> list[str]:
        if self.test is None:
            return []
        marks = [self.significant(feature) for feature in selection.order.tolist()]
        n_tested, n_found = sum(mark is not None for mark in marks), marks.count("yes")
        unsure = [quoted(selection.names[f]) for f, mark in zip(selection.order, marks, strict=True) if mark == "no"]
        if n_tested == 0:
            return []
        if not unsure:
            found = (
                "The selected feature is significant by itself."
                if n_tested == 1
                else f"All {n_tested:,} selected features are significant by themselves."
            )
        else:
            names = listed(unsure) if len(unsure) <= 10 else f"{', '.join(unsure[:10])} and {len(unsure) - 10:,} more"
            found = (
                f"Of the {n_tested:,} selected features {n_found:,} {'is' if n_found == 1 else 'are'} significant by "
                f"{'itself' if n_found == 1 else 'themselves'}, {names} not: what is told by what is not significant "
                "may be chance."
            )
        all_tested = int(np.isfinite(self.test.p_value).sum())
        meaning = (
            f"Tested were all {all_tested:,} features, counted in bins, against targets without any relation to them; "
            f"of those that are called significant {ALPHA:.0%} or less are expected to be so by chance."
        )
        also = (
            "A feature that is not significant may still matter: there may be too few rows to see it, or it tells "
            "something only together with others."
        )
        return [" ".join([found, meaning, *([also] if unsure else [])])]


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.095 else f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


def find_significant(table: Table, options: SelectorOptions) -> RelevanceTest | None:
    """Test of every feature by itself, by counts, whatever estimator the search has; None for tables in parts.

    Counts in bins are quick, and see weak relations better than a few nearest neighbours do.
    """
    if table.is_parted or table.n_samples < 2:
        return None
    from unirel.estimation.binned import few_bins
    from unirel.inference.tests import permutation_test

    asked: dict[str, Any] = {"estimator": "binned", "n_bins": few_bins(table.n_samples), "n_jobs": options["n_jobs"]}
    information = make_information(table, complete(EstimationOptions, asked, "report"))

    def test(n_permutations: int) -> RelevanceTest:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few permutations are seen below
            return permutation_test(
                information, complete(SignificanceOptions, {**asked, "n_permutations": n_permutations}, "report")
            )

    found = test(_PERMUTATIONS)
    needed = _needed(found)
    return test(needed) if needed > _PERMUTATIONS else found


def _needed(test: RelevanceTest) -> int:
    """Permutations with which features that none has reached can become significant among all that are tested.

    Only these go on so far, so that costs no more than a few for every feature.
    """
    never = (test.n_permutations == _PERMUTATIONS) & (test.p_value * (_PERMUTATIONS + 1) < 1.5)
    if not never.any() or test.adjusted[never].min() <= ALPHA:
        return 0
    return int(np.ceil(np.isfinite(test.p_value).sum() / (ALPHA * never.sum())))


def check_stability(stability: int, table: Table, unique_relevance: Any) -> None:
    """Refuse early what cannot be selected again from parts of the rows."""
    if table.is_parted:
        raise ValueError(f"stability={stability} needs all rows in memory; measure it on a sample of them")
    if not isinstance(unique_relevance, str):
        raise ValueError(
            f"stability={stability} selects features anew in every subsample, which values of unique_relevance found "
            "on all rows do not allow; name a method, such as unique_relevance='reference'"
        )


def measure_stability(
    n_subsamples: int, X: Any, y: Any, options: SelectorOptions, *, verbose: bool = False
) -> Stability:
    """Select anew, with the same options, from random halves of the rows.

    Raises `OutOfTime` if the time budget around it is used up.
    """
    from unirel.inference.stability import selection_stability
    from unirel.selectors import BURSelector

    given: Mapping[str, Any] = {**options, "verbose": False, "max_seconds": None}
    selector = BURSelector(**{name: given[name] for name in BURSelector().get_params()})
    with warnings.catch_warnings():
        # What single halves warn of has been said of all rows, or is counted.
        warnings.simplefilter("ignore")
        return selection_stability(selector, X, y, n_subsamples=n_subsamples, n_jobs=options["n_jobs"], verbose=verbose)
