"""`unirel explain` and `unirel report`."""

import json

import numpy as np
import pytest


def test_a_copy_could_replace_what_it_repeats(unirel, table):
    done = unirel("explain", table, "copy", "-t", "class", "-k", 2, "--exclude", "copy")
    assert (done.code, done.err) == (0, "")
    words = " ".join(done.out.split())
    assert "copy: 1st of 4 by relevance (" in words or "copy: 2nd of 4 by relevance (" in words
    assert "not selected. Given the 2 selected features it adds nothing detectable." in words
    assert "Nearly the same as a (rank correlation 1.00) and could take its place (" in words


def test_noise_adds_nothing_and_stands_for_nobody(unirel, table):
    words = " ".join(unirel("explain", table, "noise", "-t", "class", "-k", 2).out.split())
    assert "Given the 2 selected features it adds nothing detectable. Not like any of them (the closest is " in words


def test_what_is_needed_adds(unirel, table):
    done = unirel("explain", table, "b", "-t", "class", "-k", 2, "--include", "a", "--json")
    content = json.loads(done.out)
    assert content["schema"] == "unirel/explanation"
    assert content["with_all"] > content["alone"] + 0.1
    assert any(sentence.startswith("Given a it adds ") for sentence in content["words"])


def test_numbers_are_those_of_mutual_information(unirel, table):
    import pandas as pd

    from unirel import mutual_information

    data = pd.read_csv(table)
    options = ["-t", "class", "-k", 3, "--exclude", "noise", "--json"]
    content = json.loads(unirel("explain", table, "noise", *options).out)
    names = [row["name"] for row in content["beside"]]
    assert content["alone"] == pytest.approx(mutual_information(data[names], data["class"]))
    assert content["with_all"] == pytest.approx(mutual_information(data[[*names, "noise"]], data["class"]))
    swapped = [mutual_information(data[["noise", *np.delete(names, n)]], data["class"]) for n in range(3)]
    assert [row["instead"] for row in content["beside"]] == pytest.approx(swapped)


def test_an_unknown_feature(unirel, table):
    done = unirel("explain", table, "copi", "-t", "class")
    assert done.code == 2
    assert done.error == "FEATURE: there is no column 'copi'; did you mean 'copy'?"


def test_a_page_named_after_the_data(unirel, table, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    done = unirel("report", table, "-t", "class", "-k", 2)
    assert done.code == 0
    assert done.error == "the page is in 'table.html'"
    assert (tmp_path / "table.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert done.out.splitlines()[-1] == f"Next: unirel report {table} -t class -k 2 --save selection.json"
