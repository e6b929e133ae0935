"""A journal survives being killed, cut and damaged, and knows what it was written for."""

import json
import os
import subprocess
import sys

import pytest
from sklearn.svm import LinearSVC

import unirel
from unirel import BURSelector
from unirel.evaluation import Tuned, compare
from unirel.evaluation.journal import Journal, write_compact

VERSIONS = {"unirel": "1"}
CLASSIFIERS = {"svm": Tuned(LinearSVC(dual=False), "C", (0.01, 1.0), scaled=True)}
SELECTORS = {"mim": "mim", "boosted": BURSelector("mim", beta=0.1)}
OTHER, RANKS = BURSelector("mim", beta=0.2), BURSelector("mim", beta=0, scale="rank")
CURVES = ("grid", "validation_curve", "test_curve")
OPTIONS = {"n_runs": 3, "max_features": 3}


def without_times(evaluation):
    return [{**outcome.to_dict(), "seconds": 0} for outcome in evaluation]


def run(path, **changes):
    steps = []
    options = {**OPTIONS, "selectors": SELECTORS, **changes}
    selectors = options.pop("selectors")
    evaluation = compare(
        "iris", selectors, CLASSIFIERS, journal=path, progress=lambda done, total: steps.append(total), **options
    )
    return without_times(evaluation), len(steps)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Bytes of a complete journal, what it says, and how many pieces of work it holds."""
    path = tmp_path_factory.mktemp("journal") / "runs.jsonl"
    outcomes, n_steps = run(path)
    return path.read_bytes(), outcomes, n_steps


@pytest.fixture
def path(finished, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(finished[0])
    return path


def test_a_journal_changes_no_result(finished):
    assert finished[1] == without_times(compare("iris", SELECTORS, CLASSIFIERS, **OPTIONS))
    assert finished[2] == 3 * (2 + 2)


def test_every_line_is_json_with_settings_first(finished):
    lines = [json.loads(line)["content"] for line in finished[0].splitlines()]
    assert [line["type"] for line in lines] == ["header"] + ["record"] * finished[2]
    assert lines[0]["settings"]["max_features"] == {"iris": 3}
    assert lines[0]["versions"]["unirel"] == unirel.__version__


def test_a_finished_journal_is_read_and_nothing_done(finished, path):
    assert run(path) == (finished[1], 0)
    assert path.read_bytes() == finished[0]


@pytest.mark.parametrize("kept", [1, 2, 5, 9])
def test_what_is_missing_is_done(finished, path, kept):
    lines = finished[0].splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:kept]))
    assert run(path) == (finished[1], len(lines) - kept)


@pytest.mark.parametrize("cut", [1, 2, 40, -1])
def test_a_cut_last_record_is_done_again(finished, path, cut):
    *others, last = finished[0].splitlines(keepends=True)
    path.write_bytes(b"".join(others) + last[:cut])
    assert run(path) == (finished[1], 1)
    assert run(path) == (finished[1], 0)
    assert len(path.read_bytes().splitlines()) == len(others) + 1


def test_a_damaged_last_record_is_done_again(finished, path):
    *others, last = finished[0].splitlines(keepends=True)
    path.write_bytes(b"".join(others) + last.replace(b'"test_accuracy":0', b'"test_accuracy":1'))
    assert run(path) == (finished[1], 1)


def test_a_damaged_record_further_up_is_done_again_with_a_warning(finished, path):
    lines = finished[0].splitlines(keepends=True)
    lines[-2] = lines[-2][:50] + b"\r?" + lines[-2][52:]
    path.write_bytes(b"".join(lines))
    with pytest.warns(unirel.UnirelWarning, match=rf"runs.jsonl.*line {len(lines) - 1} is damaged; that work is done"):
        assert run(path) == (finished[1], 1)


def test_a_header_that_was_never_finished_is_written_again(finished, path):
    for length in (0, 3, 60):
        path.write_bytes(finished[0][:length])
        assert run(path)[0] == finished[1]


def test_a_damaged_header_is_refused(finished, path):
    path.write_bytes(finished[0].replace(b'"random_state":0', b'"random_state":1', 1))
    with pytest.raises(ValueError, match="the first line, which holds the settings, is damaged"):
        run(path)


def test_another_file_is_refused_and_left_alone(path):
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is no journal of unirel; name another file"):
        run(path)
    assert path.read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"random_state": 7}, "random_state is 0 there and 7 here"),
        ({"max_features": 2}, "max_features.iris is 3 there and 2 here"),
        ({"n_grid": 2}, "n_grid is 'all' there and 2 here"),
        ({"selectors": {**SELECTORS, "boosted": OTHER}}, "selectors.boosted.beta is 0.1 there and 0.2"),
        ({"selectors": {**SELECTORS, "mim": RANKS}}, "selectors.mim.scale is 'standard' there and 'rank'"),
    ],
)
def test_other_settings_are_refused(finished, path, change, difference):
    with pytest.raises(ValueError, match=f"runs.jsonl.*other settings: .*{difference}.*name another file"):
        run(path, **change)
    assert path.read_bytes() == finished[0]


def test_other_data_are_refused(tmp_path):
    path = tmp_path / "a"
    rows = [[float(i), float(i % 7)] for i in range(40)]
    labels = [i % 2 for i in range(40)]
    compare(("mine", rows, labels), ["mim"], CLASSIFIERS, n_runs=1, journal=path)
    with pytest.raises(ValueError, match=r"datasets.mine.sha256 is '\w+' there"):
        compare(("mine", [[2 * a, b] for a, b in rows], labels), ["mim"], CLASSIFIERS, n_runs=1, journal=path)


def test_more_runs_go_on(finished, path):
    outcomes, n_steps = run(path, n_runs=4)
    assert (outcomes[:6], n_steps) == (finished[1], 4)
    assert run(path, n_runs=2) == (finished[1][:4], 0)


def test_selectors_and_classifiers_may_join_and_leave(finished, path):
    fewer, n_steps = run(path, selectors={"mim": "mim"})
    assert (fewer, n_steps) == ([one for one in finished[1] if one["selector"] == "mim"], 0)
    assert path.read_bytes() == finished[0]
    joined, n_steps = run(path, selectors={"mim": "mim", "other": OTHER})
    assert n_steps == 3 * 2
    assert joined == run(None, selectors={"mim": "mim", "other": OTHER})[0]
    assert run(path) == (finished[1], 0)
    with pytest.raises(ValueError, match=r"selectors.other.beta is 0.2 there and 0.1 here"):
        run(path, selectors={"other": SELECTORS["boosted"]})


def test_a_compact_journal_has_the_outcomes_and_can_be_gone_on_from(finished, path, tmp_path):
    compact = tmp_path / "compact.jsonl"
    write_compact(path, compact, [name for name in finished[1][0] if name not in CURVES])
    assert len(compact.read_bytes()) < len(finished[0])
    known, n_steps = run(compact)
    assert n_steps == 0
    assert known == [{**one, **{name: [] for name in CURVES}} for one in finished[1]]
    more, n_steps = run(compact, n_runs=4)
    assert n_steps == 2 + 2
    assert more[6:] == run(None, n_runs=4)[0][6:]


def test_other_versions_are_recorded_with_a_warning(tmp_path):
    path = tmp_path / "a"
    with Journal(path, {}, VERSIONS) as journal:
        journal.add(("a", 1, ("b", None)), {"x": 0.1})
    with pytest.warns(unirel.UnirelWarning, match="unirel is '1' there and '2' here"):
        Journal(path, {}, {"unirel": "2"}).close()
    with Journal(path, {}, {"unirel": "2"}) as journal:
        assert journal["a", 1, ("b", None)] == {"x": 0.1}


def test_two_writers_are_refused(tmp_path):
    pytest.importorskip("fcntl")
    with Journal(tmp_path / "a", {}, VERSIONS), pytest.raises(ValueError, match="being written by another process"):
        Journal(tmp_path / "a", {}, VERSIONS)


def test_bad_input_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="no dataset"):
        compare("irsi", ["mim"], CLASSIFIERS, journal=tmp_path / "a")
    assert not list(tmp_path.iterdir())


# Imports once; each child is forked, killed at a random moment, and the next goes on.
KILLING = """
import json, os, random, signal, sys, time
from unirel import BURSelector
from unirel.evaluation import compare

ksg = BURSelector("mrmr", beta=0.3, unique_relevance="ksg")
selectors = {"mim": "mim", "jmi": "jmi", "boosted": BURSelector("jmi", beta=0.1), "ksg": ksg}

def table(journal):
    evaluation = compare("wine", selectors, ["svm", "knn"], n_runs=4, max_features=8, journal=journal)
    return [{**outcome.to_dict(), "seconds": 0} for outcome in evaluation]

def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0

undisturbed = table(sys.argv[1] + ".whole")
total = size(sys.argv[1] + ".whole")
random.seed(int(sys.argv[2]))
sizes, n_killed = [], 0
for _ in range(10):
    wanted = size(sys.argv[1]) + random.randint(1, total // 8)
    child = os.fork()
    if child == 0:
        table(sys.argv[1])
        os._exit(0)
    # By what is written, not by the clock, so that a busy machine does not matter.
    ended = (0, 0)
    while size(sys.argv[1]) < wanted and ended == (0, 0):
        time.sleep(0.0005)
        ended = os.waitpid(child, os.WNOHANG)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        n_killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    sizes.append(size(sys.argv[1]))
print(json.dumps({"same": table(sys.argv[1]) == undisturbed, "sizes": sizes, "n_killed": n_killed}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_killed_at_ten_moments_and_resumed_the_table_is_the_same(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLING, str(tmp_path / "runs.jsonl"), "3"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["same"]
    assert answer["n_killed"] >= 5
    assert answer["sizes"] == sorted(answer["sizes"])
    assert len(set(answer["sizes"])) > 3
