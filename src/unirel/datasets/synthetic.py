"""A dataset whose answer is known."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unirel.errors import check_whole_number

Values = NDArray[np.float64]


def make_planted(
    n_samples: int = 500,
    n_informative: int = 5,
    n_copies: int = 5,
    n_noise: int = 90,
    random_state: int | None = 0,
) -> Bunch:
    """Make a table with useful features, noisy copies of them and noise, in random order.

    Parameters
    ----------
    n_samples : int
        Rows.
    n_informative : int
        Features that decide the class together, none of which can replace another.
    n_copies : int
        Features that repeat an informative one with a little noise, one after the other; so the first informative
        features have a copy and no unique relevance, and the others, if any, have it.
    n_noise : int
        Features that tell nothing.
    random_state : int, optional
        Seed.

    Returns
    -------
    sklearn.utils.Bunch
        ``data``, ``target`` (0 or 1, equally frequent), ``feature_names``, ``target_names``, ``name``, ``DESCR``, and
        the positions of the columns of each kind: ``informative``, ``copies`` and ``noise``; ``copied`` has for each
        copy the position of its original.

    Notes
    -----
    The class is 1 where the sum of the informative features, which are independent and normal, plus normal noise of
    standard deviation 0.5 is above its median. A copy is its original plus normal noise of standard deviation 0.1.

    Examples
    --------
    >>> from unirel import selection_path
    >>> from unirel.datasets import make_planted
    >>> planted = make_planted(300, n_informative=3, n_copies=0, n_noise=7)
    >>> order = selection_path(planted.data, planted.target, criteria="mim", betas=0, n_features_to_select=3)
    >>> sorted(order.order("mim", 0)) == sorted(planted.informative)
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
