"""`unirel select` with several targets."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unirel import BURSelector, Selection


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 5)).round(3), columns=["age", "dose", "rate", "weight", "size"])
    sick = np.where(X["age"] + 1.5 * X["dose"] > 0, "yes", "no")
    return X.assign(sick=sick, price=(X["rate"] + 1.5 * X["dose"]).round(3))


@pytest.fixture
def path(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.mark.parametrize("targets", [["-t", "sick,price"], ["-t", "sick", "-t", "price"]])
def test_it_selects_what_the_library_selects(unirel, path, frame, targets):
    done = unirel("select", path, *targets, "-k", 3, "--json")
    assert done.code == 0
    answer = json.loads(done.out)
    X, Y = frame.drop(columns=["sick", "price"]), frame[["sick", "price"]]
    expected = BURSelector(n_features_to_select=3).fit(X, Y).selection_
    assert [row["name"] for row in answer["features"]] == expected.selected_names
    assert [row["relevance_price"] for row in answer["features"]] == expected.relevance_per_target[
        expected.order, 1
    ].tolist()
    assert answer["targets"] == expected.targets
    assert answer["data"]["classes"] is None


def test_people_see_mean_percents_and_those_of_each_target(unirel, path):
    done = unirel("select", path, "-t", "sick,price", "-k", 3)
    assert done.code == 0
    header, first = done.out.splitlines()[0], done.out.splitlines()[2]
    assert header.split()[-2:] == ["sick", "price"]
    assert first.split()[1] == "dose"
    mean, sick, price = (
        float(word) for word, unit in zip(first.split(), first.split()[1:], strict=False) if unit == "%"
    )
    assert mean == pytest.approx((sick + price) / 2, abs=1)
    words = " ".join(done.out.split())
    assert "2 targets, 'sick' (0.69 nats) and 'price' (1.39 nats): 400 rows" in words
    assert "percentages are means over the targets of shares of their entropies" in words


def test_the_file_and_the_page(unirel, path, tmp_path):
    saved, page = tmp_path / "selection.json", tmp_path / "page.html"
    assert unirel("select", path, "-t", "sick,price", "-k", 3, "--save", saved, "--report", page).code == 0
    assert list(Selection.from_json(Path(saved)).targets) == ["sick", "price"]
    text = page.read_text()
    assert "Of 2 targets the first, sick, is drawn" in text
    assert "data[[&#39;sick&#39;, &#39;price&#39;]]" in text or "data[['sick', 'price']]" in text
    assert unirel("apply", saved, path, "-o", tmp_path / "small.csv").code == 0


def test_rows_without_one_of_the_targets_are_left_out(unirel, frame, tmp_path):
    frame = frame.assign(price=frame["price"].where(frame.index > 9), sick=frame["sick"].where(frame.index < 395))
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    refused = unirel("select", tmp_path / "gaps.csv", "-t", "sick,price")
    assert refused.code == 2
    assert "column 'sick' of y has 5 missing values (NaN); --drop-missing-target drops those rows" in refused.error
    done = unirel("select", tmp_path / "gaps.csv", "-t", "sick,price", "--drop-missing-target", "--json")
    assert done.code == 0
    assert json.loads(done.out)["data"]["rows"] == 385


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select", "-t", "sick,prize"], "--target: there is no column 'prize'; did you mean 'price'"),
        (["select", "-t", "sick,price", "--drop", "price"], "--drop names the target 'price'"),
        (["relevance", "-t", "sick,price"], "--target names 2 columns, but this explains one; name one of them"),
        (["explain", "age", "-t", "sick,price"], "--target names 2 columns, but this explains one; name one of them"),
        (["select", "-t", "sick,price", "--report", "page.html", "--accuracy", "knn"], "is measured for one target"),
    ],
)
def test_what_cannot_be_is_one_line(unirel, path, arguments, message):
    command, *rest = arguments
    refused = unirel(command, path, *rest)
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.error
