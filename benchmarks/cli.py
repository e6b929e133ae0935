"""Start-up of the command line beside that of the interpreter."""

import subprocess
import sys

from benchmarks.timing import best_of

HELP = "import sys; from unirel.cli import main; sys.exit(main(['--help']))"


def start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def main(quick: bool) -> None:
    """Print seconds and their ratio; `unirel --help` should stay under 0.4 s."""
    repeats = 2 if quick else 9
    start(HELP)
    ours, _ = best_of(lambda: start(HELP), repeats)
    bare, _ = best_of(lambda: start("pass"), repeats)
    print(f"\nstart-up: unirel --help {ours:.3f} s, python -c pass {bare:.3f} s, ratio {ours / bare:.1f}x ")
