"""Datasets by name: those that come with scikit-learn, and a synthetic one whose answer is known."""

import difflib
from typing import Any

import numpy as np
from sklearn import datasets as builtin
from sklearn.utils import Bunch

from unirel._runtime import check_whole_number
from unirel.data import Values

__all__ = ["describe", "load", "make_planted"]

# Each is `load_...` of sklearn.datasets.
TITLES = {
    "breast_cancer": "Breast cancer Wisconsin (diagnostic)",
    "diabetes": "Diabetes progression after a year",
    "digits": "Handwritten digits, 8 x 8 pixels",
    "iris": "Iris plants",
    "wine": "Wine recognition",
}


def load(name: str) -> Bunch:
    """Load a dataset of scikit-learn by its name.

    There are "breast_cancer", "diabetes", "digits", "iris" and "wine". The Bunch has ``data`` of shape (n_samples,
    n_features), ``target``, ``feature_names``, ``target_names`` if the target has classes, ``name`` and ``DESCR``.

    Examples
    --------
    >>> from unirel.data.datasets import load
    >>> load("iris").data.shape
    (150, 4)
    """
    if name not in TITLES:
        close = difflib.get_close_matches(str(name).lower().replace("-", "_"), TITLES)
        guess = f"did you mean {' or '.join(map(repr, close))}? There are" if close else "there are"
        raise ValueError(f"there is no dataset {name!r}; {guess} {', '.join(TITLES)}")
    bunch = getattr(builtin, f"load_{name}")()
    facts: dict[str, Any] = {"data": bunch.data, "target": bunch.target, "name": name, "DESCR": bunch.DESCR}
    if "target_names" in bunch:
        facts["target_names"] = list(map(str, bunch.target_names))
    return Bunch(feature_names=list(map(str, bunch.feature_names)), **facts)


def describe() -> list[dict[str, Any]]:
    """The name, n_samples, n_features, n_classes (None for a continuous target) and title of each dataset of `load`.

    Examples
    --------
    >>> from unirel.data.datasets import describe
    >>> [dataset["name"] for dataset in describe()]
    ['breast_cancer', 'diabetes', 'digits', 'iris', 'wine']
    """
    rows = []
    for name, title in TITLES.items():
        bunch = load(name)
        shape = dict(zip(("n_samples", "n_features"), bunch.data.shape, strict=True))
        rows.append({"name": name, **shape, "n_classes": len(bunch.get("target_names", ())) or None, "title": title})
    return rows


def make_planted(
    n_samples: int = 500, n_informative: int = 5, n_copies: int = 5, n_noise: int = 90, random_state: int | None = 0
) -> Bunch:
    """Make a synthetic dataset of informative features, noisy copies of them and noise, in random order.

    Parameters
    ----------
    n_samples, n_noise : int
        Rows, and features that are independent of the target.
    n_informative : int
        Features, independent and normal, that decide the class together: it is 1 where their sum plus normal noise of
        standard deviation 0.5 is above its median.
    n_copies : int
        Features that repeat an informative one, one after the other, with normal noise of standard deviation 0.1; so
        the first informative features have a copy and no unique relevance, and the others, if any, have it.
    random_state : int, optional
        Seed.

    Returns
    -------
    sklearn.utils.Bunch
        As of `load`, and the positions of the columns of each kind: ``informative``, ``copies`` and ``noise``;
        ``copied`` has for each copy the position of its original.

    Examples
    --------
    >>> from unirel import BURSelector
    >>> from unirel.data.datasets import make_planted
    >>> planted = make_planted(300, n_informative=3, n_copies=0, n_noise=7)
    >>> selector = BURSelector("mim", 3, beta=0).fit(planted.data, planted.target)
    >>> sorted(selector.order_) == sorted(planted.informative)
    True
    """
    check_whole_number("n_samples", n_samples, 2)
    check_whole_number("n_informative", n_informative, 1)
    check_whole_number("n_copies", n_copies, 0)
    check_whole_number("n_noise", n_noise, 0)
    rng = np.random.default_rng(random_state)
    informative: Values = rng.standard_normal((n_samples, n_informative))
    score = informative.sum(axis=1) + 0.5 * rng.standard_normal(n_samples)
    originals = np.arange(n_copies) % n_informative
    copies = informative[:, originals] + 0.1 * rng.standard_normal((n_samples, n_copies))
    noise = rng.standard_normal((n_samples, n_noise))
    names = [f"informative_{i}" for i in range(n_informative)]
    names += [f"copy_{i}_of_{original}" for i, original in enumerate(originals)]
    names += [f"noise_{i}" for i in range(n_noise)]
    shuffled = rng.permutation(len(names))
    positions = np.argsort(shuffled)
    return Bunch(
        data=np.ascontiguousarray(np.hstack([informative, copies, noise])[:, shuffled]),
        target=(score > np.median(score)).astype(np.int64),
        feature_names=[names[i] for i in shuffled],
        target_names=["0", "1"],
        name="planted",
        DESCR=f"Synthetic: {n_informative} informative features, {n_copies} copies, {n_noise} of noise",
        informative=positions[:n_informative],
        copies=positions[n_informative : n_informative + n_copies],
        copied=positions[originals],
        noise=positions[n_informative + n_copies :],
    )
