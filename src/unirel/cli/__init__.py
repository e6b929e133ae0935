"""The command line: `unirel`. Each command parses, calls the library and prints."""

import os
import sys
import time
from collections.abc import Sequence

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    code = None
    try:
        # First of all, because what follows takes a second to import.
        from unirel.cli.interrupts import end_now, interrupts, listening

        if arguments is None:
            # Processes that look after others for them would complain of those that are ended.
            os.environ.setdefault("PYTHONWARNINGS", "ignore")
        with listening():
            code = _run(arguments)
            if interrupts.pending:  # swallowed, and too late to keep anything from being printed
                code = _INTERRUPTED
                print("unirel: interrupted", file=sys.stderr)
            if arguments is None:
                _settle()
                if code == _INTERRUPTED:
                    end_now()  # threads and processes that were given up are not waited for
    except KeyboardInterrupt:
        if code is None:
            code = _INTERRUPTED
            print("unirel: interrupted before there was anything to print", file=sys.stderr)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        from unirel.cli.app import run
    except Exception as error:
        from unirel.cli.interrupts import interrupts

        # Imports that compiled code asks for make another error of Ctrl-C. Who listens for it may not have had a turn.
        time.sleep(0.05)
        interrupts.stop_if_pending()
        if not isinstance(error, ModuleNotFoundError):
            raise
        needed = f"the command line needs {error.name}; install it with: pip install 'unirel[cli]'"
        print(f"unirel: {needed}", file=sys.stderr)
        return 1
    return run(arguments)


def _settle() -> None:
    """Everything is said: nobody can be interrupted any more, only end."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
