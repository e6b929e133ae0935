"""`unirel select` with groups of columns, costs and a budget."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def clinic(tmp_path):
    """A category in columns of 0 and 1, a dear measurement and a cheap one that tells about as much."""
    rng = np.random.default_rng(0)
    severity, ward = rng.normal(size=400), rng.integers(0, 4, 400)
    X = pd.DataFrame({"scan": severity + 0.5 * rng.normal(size=400), "blood": severity + rng.normal(size=400)})
    X = X.round(3).join(pd.get_dummies(ward, prefix="ward", dtype=int))
    path = tmp_path / "clinic.csv"
    X.assign(ill=np.where(severity + 0.6 * (ward % 2) > 0.3, "yes", "no")).to_csv(path, index=False)
    return path


def test_one_hot_columns_are_offered_as_a_group_and_not_grouped(unirel, clinic):
    done = unirel("select", clinic, "-t", "ill", "-k", 6)
    assert done.error == (
        "of 'ward_*' (4 columns) exactly one is 1 in every row, as of a category; to select each as one, "
        "pass --group 'ward=ward_*'"
    )
    assert "6 of 6 features selected" in done.out


def test_groups_costs_and_a_budget(unirel, clinic, tmp_path):
    given = ["--group", "ward=ward_*", "--cost", "scan=300,blood=40", "--cost", "ward=5", "--budget", 100]
    saved, small = tmp_path / "selection.json", tmp_path / "small.csv"
    done = unirel("select", clinic, "-t", "ill", *given, "--save", saved)
    assert (done.code, done.err) == (0, "")
    table, words = done.out.splitlines(), " ".join(done.out.split())
    assert table[0].split()[-3:] == ["cost", "in", "all"]
    assert [(line.split()[1], line.split()[-1]) for line in table[2:4]] == [("ward", "5"), ("blood", "45")]
    assert "2 of 3 features selected" in words
    assert "Selected as one, with all of their columns: 'ward' (4)." in words
    assert "All selected features cost 45, and what is left of the budget is enough for no other." in words
    found = json.loads(unirel("select", clinic, "-t", "ill", *given, "--json").out)
    assert found["ending"] == "budget used up"
    assert [row["total_cost"] for row in found["features"]] == [5, 45]
    assert found["features"][0]["columns"] == [f"ward_{ward}" for ward in range(4)]
    assert found["settings"]["groups"] == {"ward": ["ward_*"]}
    assert unirel("apply", saved, clinic, "-o", small).code == 0
    assert small.read_text().splitlines()[0] == "ward_0,ward_1,ward_2,ward_3,blood"
    assert unirel("select", clinic, "-t", "ill", *given, "--csv").out.splitlines()[0].endswith(",cost,total_cost")


def test_groups_by_lists_and_forced_groups(unirel, clinic):
    given = ["--group", "one=ward_0,ward_1", "--group", "other=ward_2", "--group", "other=ward_3", "--include", "other"]
    found = json.loads(unirel("select", clinic, "-t", "ill", "--json", *given).out)
    assert found["features"][0]["columns"] == ["ward_2", "ward_3"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--group", "ward_*"], "--group 'ward_*': write NAME=COLUMNS, such as 'soil=Soil_*'"),
        (["--group", "ward=wart_*"], "--group: no column is like 'wart_*'; did you mean"),
        (["--group", "ward=ward_9"], "--group: there is no column 'ward_9'; did you mean"),
        (["--cost", "scan"], "--cost 'scan': write COLUMN=NUMBER, such as mri=300"),
        (["--cost", "scam=3"], "--cost: there is no column 'scam'; did you mean 'scan'?"),
        (["--cost", "scan=0"], "costs of 'scan': 0 must be a number above 0"),
        (["--cost", "scan=30", "--budget", "10", "--include", "scan"], "include costs 30, more than --budget"),
    ],
)
def test_errors_say_the_remedy(unirel, clinic, given, message):
    done = unirel("select", clinic, "-t", "ill", *given)
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(f"unirel: {message}")  # the offer may stand above


def test_a_group_is_explained(unirel, clinic):
    given = ["explain", clinic, "ward", "-t", "ill", "--group", "ward=ward_*", "-k", 2]
    done = unirel(*given)
    assert (done.code, done.err) == (0, "")
    assert "ward: 3rd of 3 by relevance" in " ".join(done.out.split())
    given[2] = "ward_0"
    assert (
        unirel(*given).error == "column 'ward_0' is in the group 'ward', which is selected or left as one; name 'ward'"
    )
