"""The command line: `unirel`. Each command parses, calls the library and prints."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        from unirel.cli.app import run
    except ModuleNotFoundError as error:
        import sys

        print(
            f"unirel: the command line needs {error.name}; install it with: pip install 'unirel[cli]'", file=sys.stderr
        )
        return 1
    return run(arguments)
