"""Datasets by name, and a synthetic one whose answer is known."""

import numpy as np
import pytest

import unirel
from unirel.data.datasets import TITLES, describe, load, make_planted


@pytest.mark.parametrize("name", TITLES)
def test_datasets_of_scikit_learn(name):
    bunch = load(name)
    (row,) = [one for one in describe() if one["name"] == name]
    assert bunch.data.shape == (row["n_samples"], row["n_features"]) == (len(bunch.target), len(bunch.feature_names))
    if row["n_classes"] is None:
        assert "target_names" not in bunch
    else:
        assert len(np.unique(bunch.target)) == row["n_classes"] == len(bunch.target_names)
    assert unirel.datasets.load is load


@pytest.mark.parametrize(
    ("name", "message"), [("breast-cancer", "did you mean 'breast_cancer'"), ("sonar", "there are breast_cancer, diab")]
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=f"there is no dataset '{name}'; {message}"):
        load(name)


def test_planted_features_have_their_positions():
    planted = make_planted(500, n_informative=2, n_copies=3, n_noise=5, random_state=1)
    kinds = [planted.informative, planted.copies, planted.noise]
    assert sorted(np.concatenate(kinds)) == list(range(10))
    for kind, columns in zip(("informative", "copy", "noise"), kinds, strict=True):
        assert all(planted.feature_names[column].startswith(kind) for column in columns)
    assert np.bincount(planted.target).tolist() == [250, 250]
    difference = planted.data[:, planted.copies] - planted.data[:, planted.copied]
    np.testing.assert_allclose(difference.std(axis=0), 0.1, rtol=0.15)
    assert planted.copied[0] == planted.copied[2]


def test_seed_decides_all():
    one, same, other = make_planted(random_state=3), make_planted(random_state=3), make_planted(random_state=4)
    np.testing.assert_array_equal(one.data, same.data)
    assert not np.array_equal(one.data, other.data)


def test_only_what_has_no_copy_is_unique():
    planted = make_planted(1000, n_informative=3, n_copies=1, n_noise=0, random_state=0)
    unique = unirel.unique_relevance(planted.data, planted.target)
    copied = [*planted.copied, *planted.copies]
    assert unique[np.setdiff1d(planted.informative, copied)].min() > 3 * unique[copied].max()


@pytest.mark.parametrize(("name", "value"), [("n_informative", 0), ("n_copies", -1), ("n_noise", 0.5)])
def test_bad_numbers_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        make_planted(10, **{name: value})
