"""Ctrl-C at moments that the tests choose; `make faults` sends many at random moments."""

import signal
import sys
import time

import pytest

from unirel.cli import Exit
from unirel.data.table import Table

NOTHING = "interrupted before there was anything to print"


def interrupt():
    signal.raise_signal(signal.SIGINT)
    time.sleep(5)  # it is raised before that is over


def swallow():
    """What compiled code does that imports something, such as a conversion to numpy."""
    try:
        interrupt()
    except KeyboardInterrupt:
        pass


def misunderstand():
    try:
        interrupt()
    except KeyboardInterrupt:
        raise ImportError("cannot import name 'x'") from None


def forget():
    """What happens where nothing can be raised, as in a callback of an import."""

    class Dying:
        def __del__(self):
            interrupt()

    Dying()


@pytest.fixture
def reading(monkeypatch):
    """Do something else before a table is read."""
    read = Table.from_data

    def install(before):
        monkeypatch.setattr(Table, "from_data", lambda *given, **options: (before(), read(*given, **options))[1])

    return install


@pytest.mark.parametrize("command", ["select", "relevance", "redundancy"])
def test_before_there_is_a_result(unirel, table, reading, command):
    reading(interrupt)
    done = unirel(command, table, "--target", "class", "-q")
    assert (done.code, done.out, done.error) == (Exit.INTERRUPTED, "", NOTHING)


@pytest.mark.parametrize(
    ("happens", "said"), [(swallow, "interrupted"), (forget, "interrupted"), (misunderstand, NOTHING)]
)
def test_what_others_make_of_it_does_not_count(unirel, table, reading, happens, said):
    reading(happens)
    done = unirel("relevance", table, "--target", "class", "-q")
    assert (done.code, done.error) == (Exit.INTERRUPTED, said)


def test_while_flags_are_read(unirel, table, monkeypatch):
    monkeypatch.setattr("typer.main.get_command", lambda *_: interrupt())
    done = unirel("select", table, "--target", "class")
    assert (done.code, done.error) == (Exit.INTERRUPTED, NOTHING)


def test_while_the_program_is_imported(unirel, table, monkeypatch):
    class Finder:
        def find_spec(self, name, *_):
            if name == "unirel.cli.measures":
                misunderstand()

    monkeypatch.delattr("unirel.cli.measures")
    monkeypatch.delitem(sys.modules, "unirel.cli.measures")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    done = unirel("select", table, "--target", "class", "-q")
    assert (done.code, done.error) == (Exit.INTERRUPTED, NOTHING)


def test_afterwards_everything_is_as_before(unirel, table):
    handler = signal.getsignal(signal.SIGINT)
    assert unirel("relevance", table, "--target", "class", "-q").code == 0
    assert signal.getsignal(signal.SIGINT) is handler
