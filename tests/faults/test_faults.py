"""A few trials of each kind; `make faults` runs many."""

import os
import shutil
import signal

import pytest
from faults.trials import APPLY, SELECT, STABILITY, WORKERS, Faults, Program

from unirel.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and groups of processes")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return Faults(tmp_path_factory.mktemp("faults"), (SELECT, APPLY))


@pytest.mark.parametrize("kind", ["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("program", [SELECT, APPLY], ids=lambda program: program.name)
def test_a_signal_leaves_nothing_wrong_behind(faults, program, kind):
    # "late" is for idle machines to judge.
    moment = 0.4 * faults.seconds[program.name]
    ended, found = faults.attempt(program, getattr(signal, kind), moment)
    assert not set(found) - {"late"}, ended


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


def test_a_full_disk_leaves_the_old_file(faults, tmp_path):
    for name in APPLY.reads:
        shutil.copy(faults.folder / name, tmp_path / name)
    (tmp_path / "scratch").mkdir()
    whole = APPLY.run(tmp_path)
    assert (tmp_path / APPLY.writes).stat().st_size > 3000, whole
    (tmp_path / APPLY.writes).write_text("old")
    ended = Program("full", (*APPLY.arguments, "-q"), code=FULL).run(tmp_path)
    assert ended.code == 1
    assert ended.err == f"unirel: '{APPLY.writes}' cannot be written: File too large\n"
    assert (tmp_path / APPLY.writes).read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {*APPLY.reads, APPLY.writes, "scratch"}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(faults, tmp_path, capsys):
    tmp_path.chmod(0o500)
    data = str(faults.folder / "data.csv")
    assert main(["select", data, "--target", "label", "-k", "2", "--save", str(tmp_path / "x.json"), "-q"]) == 1
    assert "cannot be written" in capsys.readouterr().err
