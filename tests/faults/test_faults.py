"""A few trials of each kind; `make faults` runs many."""

import json
import os
import signal
from dataclasses import replace

import pytest
from faults.trials import APPLY, SELECT, STABILITY, WORKERS, Faults, make_data

from unirel.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and groups of processes")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")


ONE = [(SELECT, signal.SIGINT)]
OTHERS = [(SELECT, signal.SIGKILL), (APPLY, signal.SIGKILL), (APPLY, signal.SIGINT)]


@pytest.mark.parametrize("trials", [ONE, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["one", "others"])
def test_a_signal_leaves_nothing_wrong_behind(tmp_path, trials):
    faults = Faults(tmp_path, tuple({program: None for program, _ in trials}), n_before=1)
    for program, kind in trials:
        ended, found = faults.attempt(program, kind, 0.4 * faults.seconds[program.name])
        assert not set(found) - {"late"}, ended  # which is for idle machines to judge


@pytest.mark.slow
@pytest.mark.parametrize("program", [WORKERS, STABILITY], ids=lambda program: program.name)
def test_workers_and_journals(tmp_path, program):
    faults = Faults(tmp_path, (program,))
    for share in (0.1, 0.3, 0.6, 0.9):
        ended, found = faults.attempt(program, signal.SIGINT, share * faults.seconds[program.name])
        assert not set(found) - {"late"}, ended


# A file that may not grow fails as one on a full disk does: after some of it was written.
FULL = """
import os, resource, sys
from unirel.cli import main
os.write(int(os.environ["READY"]), b".")
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
sys.exit(main())
"""


def test_a_full_disk_leaves_the_old_file(tmp_path):
    make_data(tmp_path)
    features = [{"name": f"f{column}"} for column in range(5)]
    (tmp_path / "saved.json").write_text(
        json.dumps({"schema": "unirel/selection", "version": 1, "features": features}), encoding="utf-8"
    )
    (tmp_path / APPLY.writes).write_text("old")
    ended = replace(APPLY, code=FULL).run(tmp_path)
    assert ended.code == 1
    assert ended.err == f"unirel: '{APPLY.writes}' cannot be written: File too large\n"
    assert (tmp_path / APPLY.writes).read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {*APPLY.reads, APPLY.writes}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert main(["select", "iris", "-k", "2", "--save", str(tmp_path / "x.json"), "-q"]) == 1
    assert "cannot be written" in capsys.readouterr().err
