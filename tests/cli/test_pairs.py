"""`unirel interactions` and `unirel drift`."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from unirel import compare_relevance, interactions


def make_frame(n_rows=300, seed=0):
    """An XOR of two columns, and two others, one of them a category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)).round(3), columns=["heat", "force", "noise"])
    frame["site"] = rng.choice(["north", "south"], n_rows)
    return frame.assign(outcome=np.where((frame.heat > 0) ^ (frame.force > 0), "yes", "no"))


@pytest.fixture
def pair(tmp_path):
    path = tmp_path / "pair.csv"
    make_frame().to_csv(path, index=False)
    return path


@pytest.fixture
def two(tmp_path):
    """A table, and a later one in which 'noise' tells all and 'site' is called otherwise."""
    old, new = tmp_path / "old.csv", tmp_path / "new.parquet"
    make_frame().to_csv(old, index=False)
    later = make_frame(200, seed=1).rename(columns={"site": "place"})
    later["noise"] = np.where(later.outcome == "yes", 1, -1) * later.noise.abs()
    later.to_parquet(new)
    return old, new


def test_interactions(unirel, pair):
    done = unirel("interactions", pair, "-t", "outcome", "-n", 3)
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].split("  ")[0] == "first"
    assert lines[2].split()[:2] == ["heat", "force"]
    assert [line.split()[-1] for line in lines[2:5]] == ["yes", "no", "no"]
    words = " ".join(done.out.split())
    assert "Of 6 pairs, 1 tells significantly more about 'outcome' together than the sum of both features" in words
    assert "'heat' and 'force' matter only together: 0.5" in words


def test_interactions_equal_those_of_the_library(unirel, pair):
    found = json.loads(unirel("interactions", pair, "-t", "outcome", "--json", "--seed", 3, "--columns", "heat").out)
    frame = pd.read_csv(pair)
    expected = interactions(frame.drop(columns="outcome"), frame["outcome"], columns=["heat"], random_state=3).to_dict()
    assert [row.pop("significant") for row in found["pairs"]] == ["yes", "no", "no"]
    assert found["pairs"] == expected["pairs"]
    assert (found["schema"], found["n_pairs"], found["complete"]) == ("unirel/interactions", 3, True)


def test_interactions_of_noise_may_be_chance(unirel, tmp_path):
    path = tmp_path / "noise.csv"
    make_frame().assign(outcome=np.arange(300) % 2).to_csv(path, index=False)
    done = unirel("interactions", path, "-t", "outcome")
    assert "None of 6 pairs is significant" in done.out


def test_interactions_that_are_interrupted_say_so(unirel, pair, monkeypatch):
    def stop(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr("unirel.inference.interactions.progress_of", lambda *_: stop)
    done = unirel("interactions", pair, "-t", "outcome")
    assert done.code == 130
    assert "only 3 pairs were looked at" in done.error
    assert done.error.endswith("for all of them give more with --max-seconds")
    assert done.out.splitlines()[2].split()[:2] == ["heat", "force"]


def test_drift(unirel, two):
    done = unirel("drift", *two, "-t", "outcome")
    assert done.code == 0
    assert done.err.splitlines() == [
        "unirel: only the first file has 'site': not compared",
        "unirel: only the second file has 'place': not compared",
    ]
    rows = [line.split() for line in done.out.splitlines()[2:5]]
    assert (rows[0][0], [row[-1] for row in rows]) == ("noise", ["yes", "no", "no"])
    words = " ".join(done.out.split())
    assert "Of 3 features, 1 gained and 0 lost information about 'outcome'" in words
    assert "Gained, in nats: 'noise' (0.00 to 0.6" in words


def test_drift_equals_that_of_the_library(unirel, two):
    done = unirel("drift", *two, "-t", "outcome", "--json", "--common-bins", "--permutations", 99, "-q")
    found = json.loads(done.out)
    old, new = pd.read_csv(two[0]), pd.read_parquet(two[1])
    with pytest.warns(UserWarning, match="not compared"):
        expected = compare_relevance(
            *(old.drop(columns="outcome"), old["outcome"], new.drop(columns="outcome"), new["outcome"]),
            common_bins=True,
            n_permutations=99,
        ).to_dict()
    for row in found["features"]:
        del row["significant"]
    assert found["features"] == expected["features"]
    assert (found["only_before"], found["only_after"], done.err) == (["site"], ["place"], "")


def test_drift_of_nothing(unirel, pair):
    done = unirel("drift", pair, pair, "-t", "outcome", "-n", 1)
    assert "None of 4 features has changed significantly" in done.out
    assert "3 more are not shown (--top 0)." in done.out
    rows = list(csv.DictReader(io.StringIO(unirel("drift", pair, pair, "-t", "outcome", "--csv").out)))
    assert {row["p_value"] for row in rows} == {"1.0"}


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_pictures(unirel, two, tmp_path, suffix, start):
    pytest.importorskip("matplotlib")
    for name, files in (("interactions", two[:1]), ("drift", two)):
        path = tmp_path / f"{name}{suffix}"
        done = unirel(name, *files, "-t", "outcome", "--plot", path)
        assert done.code == 0
        assert done.err.splitlines()[-1] == f"unirel: wrote {path}"
        assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("command", "about"),
    [
        (["interactions", "--columns", "heats"], "--columns: there is no column 'heats'; did you mean 'heat'?"),
        (["interactions", "--plot", "a.bmp"], "--plot a.bmp: pictures are .png, .svg or .pdf"),
        (["interactions", "--drop", "force,noise,site"], "there is no pair to look at among the 1 columns"),
        (["drift", "nothing.csv"], "there is no file 'nothing.csv'"),
    ],
)
def test_wrong_usage_is_one_line(unirel, pair, command, about):
    done = unirel(command[0], pair, *command[1:], "-t", "outcome")
    assert done.code == 2
    assert about in done.error


def test_files_without_a_common_column(unirel, pair, tmp_path):
    other = tmp_path / "other.csv"
    pd.DataFrame({"a": [1.5, 2.5, 3.5], "outcome": ["yes", "no", "yes"]}).to_csv(other, index=False)
    done = unirel("drift", pair, other, "-t", "outcome")
    assert done.code == 2
    assert done.error.startswith("the two files share no column: ['heat'")
