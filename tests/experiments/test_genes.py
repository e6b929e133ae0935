"""The tables of genes, on a stand-in for the data."""

import csv

import numpy as np
import pytest
from sklearn.utils import Bunch

from unirel.experiments import accuracy, genes, run
from unirel.experiments.tables import read_expected

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


@pytest.fixture
def stand_in(monkeypatch):
    """Few genes, the named ones first; Hsa.8 alone nearly decides the class."""

    def load(name, data_home=None):
        rng = np.random.default_rng(0)
        named = [row["feature"] for row in read_expected("interpretable_features") if row["dataset"] == name]
        X = rng.normal(size=(60, 25))
        place = named.index("Hsa.8") if "Hsa.8" in named else 0
        y = ((X[:, place] > 0) ^ (rng.random(60) < 0.05)).astype(np.int64)
        suffix = "_at" if name == "leukemia" else ""
        names = [f"{gene}{suffix}" for gene in named] + [f"g{j}" for j in range(25 - len(named))]
        return Bunch(data=X, target=y, feature_names=names)

    monkeypatch.setattr(genes, "load", load)
    monkeypatch.setattr(accuracy, "load", load)


def test_tables(stand_in, tmp_path):
    journal = tmp_path / "runs.jsonl"
    tables = run("genes", preset="smoke", journal=journal, output=tmp_path / "out").tables
    subsets, ranks = tables["genes_subsets"], tables["genes_ranks"]
    assert [(row["algorithm"], row["subset"]) for row in subsets[:3]] == [
        ("MIM-BUR-KSG", "S"),
        ("MIM-BUR-KSG", "S without both"),
        ("MIM-BUR-KSG", "S with both"),
    ]
    published = [row["knn paper"] for row in subsets]
    assert published == [85.0, 83.2, None, None, None, None, 85.5, 84.1, None, None, None, None]
    # A gene that decides the class is selected, and missed when it is left out.
    assert subsets[0]["selected either"] == "2 of 2"
    assert subsets[0]["knn"] > subsets[1]["knn"] + 10
    named = [row["feature"] for row in read_expected("interpretable_features")]
    assert {row["gene"] for row in ranks} == set(named)
    assert len(ranks) == 5 * len(named)
    assert {row["plain"] for row in ranks if row["gene"] == "Hsa.8"} == {"1"}
    with open(tmp_path / "out" / "genes_ranks.csv", encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) == len(ranks)
    again = run("genes", preset="smoke", journal=journal)
    assert again.to_markdown() == (tmp_path / "out" / "genes.md").read_text(encoding="utf-8")


def test_nothing_left_is_a_guess(stand_in):
    bunch = genes.load("colon")
    place = list(bunch.feature_names).index("Hsa.8")

    class OnlyOne:
        run, classifier, features = 0, "knn", (place,)

    X, y = bunch.data.astype(float), bunch.target
    (row,) = genes._accuracies(X, y, [OnlyOne], [place])
    assert row[0] == row[2]
    assert row[1] == pytest.approx(100 * max(np.mean(y), 1 - np.mean(y)), abs=10)
