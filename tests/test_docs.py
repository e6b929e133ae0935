"""Every piece of code in the documentation runs, fits its box, and uses public names."""

import doctest
import os
import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.glob("**/*.rst")) if not {"generated", "auto_examples"} & {*page.parts}]
# Those that take more than a few seconds.
SLOW = {
    *("command_line", "evaluation", "first_command_line", "how_many", "how_sure", "how_sure_many"),
    *("first_python", "interactions", "reading_the_report", "report", "searching", "selectors"),
}
WIDEST = 88
PUBLIC = {f"unirel.{name}" for name in ("datasets", "evaluation", "plotting", "report")}


class Block(NamedTuple):
    language: str
    options: str
    code: str
    line: int


def blocks(page):
    """The code blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"( *)\.\. code-block:: (\w+)", line)
        if found is None:
            continue
        margin = len(found[1])
        body = []
        for follower in lines[number + 1 :]:
            if follower.strip() and len(follower) - len(follower.lstrip()) <= margin:
                break
            body.append(follower)
        options = [one for one in body if re.match(r" *:\w+:", one)]
        code = textwrap.dedent("\n".join(one for one in body if one not in options)).strip("\n") + "\n"
        yield Block(found[2], " ".join(options), code, number + 1)


def run_session(block, page, namespace):
    """Run an interactive session and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.code, namespace, page.name, str(page), block.line)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    report = []
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)
    assert result.attempted
    namespace.update(test.globs)


def commands(block):
    """The commands of this package in a block, as words; those that install it have had their turn."""
    for line in re.sub(r"\\\n *", "", block.code).splitlines():
        words = shlex.split(line.removeprefix("$ ").removeprefix("time "), comments=True)
        if words and words[0] == "unirel":
            yield words[1:]


def run_command(words):
    """Run a command; one about files in folders that nobody here has only has to be understood, as one of hours."""
    from unirel.cli import main

    if any("/" in word for word in words):
        understand_command(words)
    else:
        assert main(words) == 0, words


def understand_command(words):
    from unirel.cli import make_command

    name, *arguments = words
    make_command().commands[name].make_context(name, arguments)


with_code = [page for page in PAGES if any(block.language != "text" for block in blocks(page))]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.stem in SLOW else ()) for page in with_code],
    ids=lambda page: page.stem,
)
@pytest.mark.filterwarnings("default")
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    for library in ("pandas", "typer", "pyarrow", "matplotlib", "vl_convert"):
        pytest.importorskip(library)
    if page.stem == "from_feature_engine":
        pytest.importorskip("feature_engine")
    if any("mrmr" in block.code for block in blocks(page)):
        pytest.importorskip("mrmr")
    import matplotlib as mpl

    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    write_measurements()
    namespace = {"__name__": "page"}
    for block in blocks(page):
        if "needs-data" in block.options and not os.environ.get("UNIREL_DATA"):
            continue
        if block.language == "python":
            exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
        elif block.language == "pycon":
            run_session(block, page, namespace)
        elif block.language in ("bash", "console"):
            for words in commands(block):
                (run_command if block.language == "bash" else understand_command)(words)
        else:
            assert block.language in ("text", "r"), f"{page.name}:{block.line}"


def write_measurements():
    """The file that the pages speak of."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    table = data.data.iloc[:, :8].assign(diagnosis=data.target_names[data.target])
    table.to_csv("measurements.csv", index=False)


def code_shown():
    """Every piece of code that readers see, with the place it is at."""
    for page in PAGES:
        for block in blocks(page):
            if block.language != "text":
                yield f"{page.name}:{block.line}", block.code
    for example in sorted((ROOT / "examples").glob("plot_*.py")):
        yield example.name, example.read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for found in re.finditer(r"```(?:python|bash)\n(.*?)```", readme, re.S):
        yield "README.md", found[1]


def test_code_fits_its_box():
    assert [place for place, code in code_shown() if max(map(len, code.splitlines())) > WIDEST] == []


def test_code_uses_public_names():
    for place, code in code_shown():
        assert "noqa" not in code, place
        modules = re.findall(r"(?:from|import) (unirel[\w.]*)", code)
        assert {*modules} <= PUBLIC | {"unirel"}, place


def test_every_page_has_a_place_in_one_of_the_parts():
    named = set()
    for page in PAGES:
        for body in re.findall(r"\.\. toctree::\n((?: .*\n|\n)*)", page.read_text(encoding="utf-8")):
            entries = [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith(":")]
            for entry in entries:
                named |= {
                    str(found.relative_to(DOCS).with_suffix("")) for found in page.parent.glob(f"{entry}.rst")
                } or {entry}
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES} - {"index"}
    assert pages <= named


def test_there_are_many_examples_each_with_a_question():
    titles = [example.read_text(encoding="utf-8").split("\n")[1] for example in (ROOT / "examples").glob("plot_*.py")]
    assert len(titles) >= 12
    assert all(title.endswith("?") for title in titles), titles
