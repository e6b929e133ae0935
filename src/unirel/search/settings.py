"""What a search is asked for: the parameters of a selector, checked, in one object that is passed on whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal

from unirel._runtime import check_jobs
from unirel.criteria import Criterion, make_criterion
from unirel.errors import check_beta, check_choice, check_fraction, check_whole_number
from unirel.estimation.base import Information, find_estimator

# What `n_features_to_select` means by default, where there are that many features.
DEFAULT_N_FEATURES = 10
# Kinds of unique relevance that a search can boost.
BOOSTS = ("both", "reference", "selected", "ksg", "classifier")
# Parameters that change nothing about the result.
_SILENT = ("n_jobs", "verbose")


@dataclass(frozen=True)
class SearchSettings:
    """The parameters of `BURSelector`, as they are described there; a wrong one is refused."""

    criterion: str | Criterion = "cmim"
    n_features_to_select: int | float | Literal["auto", "all"] = DEFAULT_N_FEATURES
    beta: float = 0.5
    unique_relevance: Any = "both"
    mi_estimator: str | Information = "auto"
    discrete_features: Any = "auto"
    target_type: Literal["auto", "discrete", "continuous"] = "auto"
    include: Sequence[int | str] = ()
    exclude: Sequence[int | str] = ()
    max_candidates: int | Literal["auto"] | None = "auto"
    alpha: float = 0.05
    max_seconds: float | None = None
    random_state: int | None = 0
    n_jobs: int | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        make_criterion(self.criterion)
        check_beta(self.beta)
        if isinstance(self.unique_relevance, str):
            check_choice("unique_relevance", self.unique_relevance, BOOSTS)
        self.estimator.check_parameters()
        if self.max_candidates is not None and self.max_candidates != "auto":
            check_whole_number("max_candidates", self.max_candidates, 1, or_name="auto")
        check_fraction("alpha", self.alpha, "for example 0.05")
        if self.max_seconds is not None and (not isinstance(self.max_seconds, Real) or not self.max_seconds >= 0):
            raise ValueError(f"max_seconds={self.max_seconds!r} must be None or a number from 0 on")
        if self.random_state is not None:
            check_whole_number("random_state", self.random_state, 0)
        check_jobs(self.n_jobs)

    @property
    def estimator(self) -> Information:
        """The estimator of information; "auto" counts in bins."""
        return find_estimator(self.mi_estimator, "binned")

    def to_dict(self) -> dict[str, Any]:
        """What decides the result, as plain values that JSON can hold."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _SILENT}
        return {name: _plain(name, value) for name, value in named.items()}


def _plain(name: str, value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if name == "unique_relevance" and isinstance(value, list | tuple):
        return "given values"
    if isinstance(value, Criterion):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _plain("", one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain("", one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def settings_of(selector: Any) -> SearchSettings:
    """The settings of a `BURSelector`; the defaults if there is none."""
    if selector is None:
        return SearchSettings()
    if not hasattr(selector, "settings"):
        raise TypeError(f"selector={selector!r} is no BURSelector; pass one with the parameters of the search")
    settings: SearchSettings = selector.settings()
    return settings
