"""A few trials of each kind; `make faults` runs many."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from faults.trials import APPLY, SELECT, WORKERS, Faults, Trial

from unirel.cli import main
from unirel.evaluation.journal import Journal
from unirel.evaluation.protocol import compare

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and groups of processes")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")

# The main thread lets nobody in, as compiled code does, and the signal goes to another one.
DEAF = """
import ctypes, os, signal, sys
from unirel.cli import main
from unirel.cli import request

def wait(*_):
    os.write(int(os.environ["READY"]), b".")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    ctypes.CDLL(None).sleep(60)

request.clean = wait
sys.exit(main())
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return Faults(tmp_path_factory.mktemp("faults"), (SELECT, APPLY))


@pytest.mark.parametrize("kind", ["SIGINT", "SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("trial", [SELECT, APPLY], ids=lambda trial: trial.name)
def test_a_signal_leaves_nothing_wrong_behind(faults, trial, kind):
    # "late" is for idle machines to judge.
    moment = 0.4 * faults.seconds[trial.name]
    ended, found = faults.attempt(trial, getattr(signal, kind), moment)
    assert not set(found) - {"late"}, ended


@pytest.mark.slow
def test_workers_end_without_a_word(tmp_path):
    faults = Faults(tmp_path, (WORKERS,))
    for share in (0.1, 0.3, 0.6, 0.9):
        ended, found = faults.attempt(WORKERS, signal.SIGINT, share * faults.seconds[WORKERS.name])
        assert not set(found) - {"late"}, ended


DEAF_WORKERS = """
import signal
from unirel.evaluation import compare

def is_deaf(X, y, max_features):
    return [0] if signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []) else []

evaluation = compare("iris", {"mine": is_deaf}, ["knn"], n_runs=2, max_features=1, n_jobs=2)
print(len(evaluation))
"""


def test_workers_do_not_hear_what_a_terminal_sends_to_all():
    done = subprocess.run([sys.executable, "-c", DEAF_WORKERS], capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr


BUSY_WORKERS = """
import os, time
from unirel.evaluation import compare

def busy(X, y, max_features):
    print(os.getpid(), flush=True)
    time.sleep(120)

compare("iris", {"mine": busy}, ["knn"], n_runs=2, max_features=1, n_jobs=2)
"""


def test_workers_end_with_a_process_that_is_killed():
    """They would go on for minutes, with nobody to work for."""
    process = subprocess.Popen([sys.executable, "-c", BUSY_WORKERS], stdout=subprocess.PIPE, text=True)
    workers = {int(process.stdout.readline()) for _ in range(2)}
    process.kill()
    process.wait()
    # The last of them closes what they print to.
    ended = threading.Thread(target=process.stdout.read, daemon=True)
    ended.start()
    ended.join(30)
    left = ended.is_alive()
    for worker in workers if left else ():
        os.kill(worker, signal.SIGKILL)
    process.stdout.close()
    assert not left


def test_what_does_not_listen_is_ended(faults):
    """A program whose main thread is in compiled code for a minute ends in seconds."""
    deaf = Trial("deaf", SELECT.arguments, code=DEAF)
    ended = deaf.run(faults.folder, 0.2)
    assert ended.code == 130
    assert ended.seconds < 20
    assert ended.err == "unirel: interrupted before there was anything to print\n"


# Disks and folders


# A file that may not grow fails as one on a full disk does: after some of it was written.
FULL = """
import os, resource, sys
from unirel.cli import main
os.write(int(os.environ["READY"]), b".")
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
sys.exit(main())
"""


@pytest.mark.parametrize("trial", [SELECT, APPLY], ids=lambda trial: trial.name)
def test_a_full_disk_leaves_the_old_file(faults, tmp_path, trial):
    for name in trial.reads:
        shutil.copy(faults.folder / name, tmp_path / name)
    whole = trial.run(tmp_path)
    assert (tmp_path / trial.writes).stat().st_size > 3000, whole
    (tmp_path / trial.writes).write_text("old")
    ended = Trial("full", (*trial.arguments, "-q"), code=FULL).run(tmp_path)
    assert ended.code == 1
    assert ended.err == f"unirel: '{trial.writes}' cannot be written: File too large\n"
    assert (tmp_path / trial.writes).read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {*trial.reads, trial.writes}


def compare_few(journal, **options):
    return compare("wine", ["mim"], ["knn"], n_runs=3, max_features=3, journal=journal, **options)


def test_a_journal_on_a_full_disk_keeps_what_it_had(tmp_path, monkeypatch):
    journal, write, lines = tmp_path / "journal.jsonl", os.write, []

    def nearly_full(file, content):
        if content.startswith(b'{"check"'):
            lines.append(1)
            if len(lines) > 3:  # half a line gets through
                return write(file, content[: len(content) // 2])
        return write(file, content)

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OSError, match="bytes could be written"):
        compare_few(journal)
    monkeypatch.undo()
    again, whole = compare_few(journal), compare_few(None)
    assert again.complete
    assert [one.test_curve for one in again.outcomes] == [one.test_curve for one in whole.outcomes]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(faults, tmp_path, capsys):
    tmp_path.chmod(0o500)
    data = str(faults.folder / "data.csv")
    assert main(["select", data, "--target", "label", "-k", "2", "--save", str(tmp_path / "x.json"), "-q"]) == 1
    assert "cannot be written" in capsys.readouterr().err


def hold(path, ready, release):
    with Journal(path, {"a": 1}, {}):
        ready.set()
        release.wait(60)


def test_two_processes_do_not_write_one_journal(tmp_path):
    path, context = tmp_path / "journal.jsonl", multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    other = context.Process(target=hold, args=(path, ready, release))
    other.start()
    assert ready.wait(120)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is being written by another process"):
        Journal(path, {"a": 1}, {})
    assert path.read_bytes() == before
    release.set()
    other.join()
    Journal(path, {"a": 1}, {}).close()
