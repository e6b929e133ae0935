"""What pages about the paper say, counted here by other means."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def replayed():
    spec = importlib.util.spec_from_file_location("replayed", DOCS / "replayed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_says_where_the_hours_went(replayed):
    lines = pd.read_csv(DOCS / "results" / "hours.csv")
    rows = replayed.hours_table()
    assert sum(row["times given"] for row in rows) == len(lines)
    total = lines["processor seconds"].sum() / 3600
    assert sum(float(row["hours"]) for row in rows) == pytest.approx(total, abs=0.005 * len(rows))
    assert replayed.hours() == f"{total:.1f}"
    full = lines[lines["command"].str.contains("full --datasets leukemia")]["processor seconds"].item()
    (row,) = (one for one in rows if one["preset"] == "full" and one["datasets"] == "leukemia")
    assert row["minutes of a split, today"] == f"{full / 20 / 60:.1f}"


def test_the_page_says_what_the_tables_of_genes_hold(replayed):
    told = replayed.conclusions_of_genes()
    ranks = pd.read_csv(DOCS / "results" / "genes_ranks.csv", dtype=str)
    places = ranks[["plain", "BUR-KSG", "BUR-REF"]].apply(pd.to_numeric, errors="coerce").fillna(np.inf)
    for boost in ("BUR-KSG", "BUR-REF"):
        forward, back = (places[boost] < places["plain"]).sum(), (places[boost] > places["plain"]).sum()
        assert f"{boost} brings a named gene forward in {forward} of {len(ranks)} cases" in told
        assert f"and back in {back};" in told
    known = ranks[ranks["UR"] != "none"]["gene"].nunique()
    assert f"UR above 0: {known} of the {ranks['gene'].nunique()} named genes" in told
    subsets = pd.read_csv(DOCS / "results" / "genes_subsets.csv").set_index(["subset", "algorithm"])
    change = subsets["svm"]["S with both"] - subsets["svm"]["S"]
    assert f"{change.min():+.1f} to {change.max():+.1f} (svm)" in told
