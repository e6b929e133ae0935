"""What a newcomer does, timed: clone, the first command of the README, and the page it wrote in a browser.

Run as ``python tests/newcomer.py [CHECKOUT]`` or ``make newcomer``. What is committed is cloned into an empty folder,
with an environment of its own, and deleted afterwards. Before every line stand the seconds since the start.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Headless, as in the tests of the report; the time it may take to draw is counted by the browser's own clock.
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --virtual-time-budget=10000 --dump-dom".split()
START = time.monotonic()


def say(line: str) -> None:
    """Print a line behind the time."""
    print(f"{time.monotonic() - START:6.1f} s  {line}", flush=True)


def run(command: list[str], folder: Path) -> None:
    """Run a command as in a new shell, and say what it says."""
    say(f"$ {' '.join(command)}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        say(line.rstrip())
    if process.wait() != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")


def first_command(readme: str) -> list[str]:
    """The first line of the first block of shell commands."""
    return re.findall(r"```bash\n(.*?)(?:#.*)?\n", readme)[0].split()


def open_page(page: Path, profile: Path) -> None:
    """Open a page in a browser, and make sure that its charts are drawn."""
    if CHROMIUM is None:
        sys.exit("there is no Chromium to open the page with; install it, such as: apt install chromium")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", page.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    charts = drawn.count('class="marks"')
    if charts == 0:
        sys.exit(f"the browser drew no chart of {page}")
    say(f"the page stands in the browser, with {charts} charts ({page.stat().st_size / 2**20:.1f} MiB)")


def main(checkout: Path) -> None:
    """Clone, run, look; then run once more, as one does on the second day."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "unirel"
        run(["git", "clone", "--quiet", "--no-local", str(checkout), str(clone)], Path(folder))
        command = first_command((clone / "README.md").read_text(encoding="utf-8"))
        run(command, clone)
        (page,) = (clone / "build").glob("*.html")
        open_page(page, Path(folder) / "profile")
        begin = time.monotonic()
        run(command, clone)
        say(f"the second time it took {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve())
