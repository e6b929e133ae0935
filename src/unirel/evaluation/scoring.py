"""How many rows a tuned classifier predicts correctly, and the curve over numbers of features."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unirel.classifiers.registry import Classifier, Labels, Values, standardise

Counts = NDArray[np.int64]


def count_correct(
    classifier: Classifier,
    X: Values,
    y: Labels,
    rows: Sequence[NDArray[np.intp]],
    subsets: Sequence[NDArray[np.intp]],
    random_state: int,
) -> list[Counts]:
    """Correct predictions with each of some subsets of features.

    Parameters
    ----------
    classifier : Classifier
        What to tune.
    X, y : ndarray
        All rows.
    rows : three arrays
        Rows to train on, to validate with and to test with. Nothing is learnt from the last two.
    subsets : list of ndarray
        Columns to use.
    random_state : int
        Seed of a random classifier.

    Returns
    -------
    list of ndarray of shape (n_settings, 2)
        For each subset, correct predictions of validation and test rows.
    """
    train, *others = rows
    counts = []
    for columns in subsets:
        inputs = X[:, columns].astype(np.float64, copy=False)
        if classifier.scaled:
            inputs = standardise(inputs, train)
        predictions = classifier.predict(inputs[train], y[train], [inputs[other] for other in others], random_state)
        correct = [(labels == y[other]).sum(axis=1) for labels, other in zip(predictions, others, strict=True)]
        counts.append(np.stack(correct, axis=1).astype(np.int64))
    return counts


class Curve:
    """Accuracies over numbers of features, each with the setting that is best on the validation rows."""

    def __init__(self, counts: Sequence[Counts], n_validation: int, n_test: int) -> None:
        validation, test = np.moveaxis(np.array(counts), -1, 0)
        self.settings = np.argmax(validation, axis=1)  # the first of equals is the smallest
        positions = np.arange(len(counts))
        self.best = int(np.argmax(validation.max(axis=1)))
        self.validation: list[float] = (validation[positions, self.settings] / n_validation).tolist()
        self.test: list[float] = (test[positions, self.settings] / n_test).tolist()
