"""A dataset whose answer is known."""

import numpy as np
import pytest

import unirel
from unirel.datasets import make_planted


def test_every_column_has_its_place():
    planted = make_planted(50, n_informative=3, n_copies=4, n_noise=5, random_state=1)
    assert planted.data.shape == (50, 12)
    kinds = [planted.informative, planted.copies, planted.noise]
    assert sorted(np.concatenate(kinds)) == list(range(12))
    for kind, columns in zip(("informative", "copy", "noise"), kinds, strict=True):
        assert all(planted.feature_names[column].startswith(kind) for column in columns)
    assert np.bincount(planted.target).tolist() == [25, 25]


def test_copies_are_near_their_originals():
    planted = make_planted(500, n_informative=2, n_copies=3, n_noise=0)
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
