"""Files as people have them, and files that cannot be used."""

import gzip
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def columns_of(n_rows=80):
    rng = np.random.default_rng(1)
    a, noise = rng.standard_normal((2, n_rows)).round(4)
    return {"a": a, "noise": noise, "class": np.where(a > 0, "yes", "no")}


def csv_bytes(columns, delimiter=",", encoding="utf-8"):
    rows = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return ("\n".join(rows) + "\n").encode(encoding)


def selected(done):
    assert done.code == 0, done.err
    return [feature["name"] for feature in json.loads(done.out)["features"]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(unirel, tmp_path, delimiter):
    path = tmp_path / "data.txt"
    quoted = {f'"{name}"': [f'"{value}"' for value in column] for name, column in columns_of().items()}
    path.write_bytes(csv_bytes(quoted, delimiter))
    assert selected(unirel("select", path, "-t", "class", "-k", 1, "--json")) == ["a"]
    path.write_bytes(csv_bytes(columns_of(), delimiter))
    assert selected(unirel("select", path, "-t", "class", "-k", 1, "--json")) == ["a"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(unirel, tmp_path, encoding):
    columns = columns_of()
    columns["Größe"] = columns.pop("a")
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns, encoding=encoding))
    given = ["select", path, "-t", "class", "-k", 1, "--json"]
    if not encoding.startswith("utf-8"):
        done = unirel(*given)
        assert done.code == 2
        assert "--encoding" in done.error
    assert selected(unirel(*given, "--encoding", encoding)) == ["Größe"]


@pytest.mark.parametrize(("delimiter", "quote"), [(";", ""), ("\t", ""), (";", '"')])
def test_decimal_commas_are_found(unirel, tmp_path, delimiter, quote):
    columns = columns_of()
    for name in ("a", "noise"):
        columns[name] = [f"{quote}{value}{quote}".replace(".", ",") for value in columns[name]]
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns, delimiter))
    done = unirel("select", path, "-t", "class", "-k", 1, "--json")
    assert selected(done) == ["a"]
    assert json.loads(done.out)["features"][0]["kind"] == "continuous"


def test_decimal_commas_in_a_file_with_commas_are_given(unirel, tmp_path):
    columns = columns_of()
    columns["a"] = [f'"{value}"'.replace(".", ",") for value in columns["a"]]
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes({"a": columns["a"], "class": columns["class"]}))
    done = unirel("select", path, "-t", "class", "--decimal", ",", "--json")
    assert json.loads(done.out)["features"][0]["kind"] == "continuous"


@pytest.mark.parametrize("compress", ["gzip", "zstd", "bz2"])
def test_compressed_files(unirel, tmp_path, compress):
    import pyarrow as pa

    path = tmp_path / "data.csv.x"
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), compress) as stream:
        stream.write(csv_bytes(columns_of()))
    assert selected(unirel("select", path, "-t", "class", "-k", 1, "--json")) == ["a"]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "gzipped parquet"])
def test_binary_formats(unirel, tmp_path, kind):
    import pyarrow as pa
    from pyarrow import feather, parquet

    table, path = pa.table(columns_of()), tmp_path / "data"
    if kind == "stream":
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
    elif kind == "arrow":
        feather.write_feather(table, path)
    else:
        parquet.write_table(table, path)
        if kind == "gzipped parquet":
            path.write_bytes(gzip.compress(path.read_bytes()))
    assert selected(unirel("select", path, "-t", "class", "-k", 1, "--json")) == ["a"]


@pytest.mark.parametrize("compressed", [False, True])
def test_standard_input(unirel, compressed):
    content = csv_bytes(columns_of())
    done = unirel("select", "-", "-t", "class", "--json", stdin=gzip.compress(content) if compressed else content)
    assert selected(done)[0] == "a"
    assert json.loads(done.out)["data"]["source"] == "standard input"


def test_a_file_as_people_have_them(unirel, tmp_path):
    """Quotes, umlauts, empty cells, dates, an id, numbered rows, and 300 columns."""
    rng = np.random.default_rng(2)
    n_rows = 150
    money = rng.integers(900, 90_000, n_rows)
    size = rng.standard_normal(n_rows)
    header = (
        ["", "id", "Tag", "Zeit", "Umsatz", 'Name, "kurz"', "Ort", "Größe"] + [f"x{j}" for j in range(292)] + ["Klasse"]
    )
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in header)]
    for row in range(n_rows):
        cells = [
            *(
                row,
                f"K-{row:05d}",
                f"{1 + row % 28}.{1 + row % 12}.2024",
                f"2024-01-{1 + row % 28:02d}",
                f"{money[row]}",
            ),
            '"Straße, ""lang"""' if row % 3 else "kurz",
            ["Köln", "", "Genf"][row % 3],
            "" if row % 10 == 0 else f"{size[row]:.3f}",
        ]
        cells += [f"{value:.3f}" for value in rng.standard_normal(292)]
        lines.append(",".join(map(str, [*cells, "hoch" if money[row] > 40_000 else "tief"])))
    path = tmp_path / "daten.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    done = unirel("select", path, "-t", "Klasse", "-k", 3, "--json")
    assert selected(done)[0] == "Umsatz"
    content = json.loads(done.out)
    ignored = {column["name"]: column["reason"] for column in content["data"]["ignored"]}
    assert not {"Tag", "Zeit"} & set(ignored)
    assert ignored["column 1"] == "it numbers the rows"
    assert "identifier" in ignored["id"]
    assert content["features"][0]["kind"] == "continuous"
    notes = done.err.splitlines()
    assert any("ignored 'column 1': it numbers the rows; to use a column all the same: --discrete" in n for n in notes)
    dates = "read 'Tag' as days since 2024-01-01 (day first), 'Zeit' as days since 2024-01-01"
    assert any(f"{dates}; to leave a column out: --drop 'Tag'" in note for note in notes)
    assert any("ignored 'id'" in note and "--discrete 'id'" in note for note in notes)
    assert len(notes) == 3


def test_numbers_written_as_texts(unirel, tmp_path):
    """A semicolon, decimal commas, days first, marks of missing values, and numbers of customers."""
    rng = np.random.default_rng(0)
    size, money = rng.normal(50, 9, 120).round(2), rng.normal(size=120)
    sizes = [str(one).replace(".", ",") for one in size]
    sizes[5], sizes[9] = "-", " "
    words = ["k.A." if row == 7 else str(number) for row, number in enumerate(rng.permutation(120))]
    days = [f"{1 + row % 28:02d}.{1 + row % 12:02d}.2024" for row in range(120)]
    number, target = rng.permutation(120) + 70_000, [str(round(one, 3)).replace(".", ",") for one in size + money]
    target[3] = "?"
    columns = {"Kunde": number, "Tag": days, "Größe": sizes, "Rang": words, "Umsatz": target}
    path = tmp_path / "daten.csv"
    path.write_text(pd.DataFrame(columns).to_csv(sep=";", index=False), encoding="utf-8")
    command = ["relevance", path, "-t", "Umsatz", "--json"]
    assert "y has 1 missing value (NaN); --drop-missing-target" in unirel(*command).err
    done = unirel(*command, "--drop-missing-target")
    kinds = {row["name"]: (row["kind"], row["missing"]) for row in json.loads(done.out)["features"]}
    assert kinds == {"Kunde": ("continuous", 0), "Tag": ("continuous", 0), "Größe": ("continuous", 2)}
    assert "'Kunde' may be an identifier" in done.err
    assert "to leave it out: --drop 'Kunde'" in done.err
    assert "'Größe' as numbers (2 missing values written as '-', ' ')" in done.err
    assert "but for 'k.A.' they are numbers: --missing 'k.A.'" in done.err
    done = unirel(*command, "--drop-missing-target", "--missing", "k.A.")
    assert {row["name"]: row["missing"] for row in json.loads(done.out)["features"]}["Rang"] == 1


def test_rows_of_a_group_belong_together(unirel, tmp_path):
    """A column of patients is no feature, and what only tells patients apart is not selected."""
    rng, patients = np.random.default_rng(0), np.repeat(np.arange(40), 10)
    table = pd.DataFrame(rng.normal(size=(40, 3))[patients], columns=list("abc"))
    table["patient"], table["ill"] = [f"p{one}" for one in patients], patients % 2
    table["few"], table["gaps"] = table.index % 3, table["patient"].where(table.index > 4)
    table["a"] += 4 * table["ill"]
    table.to_csv(path := tmp_path / "visits.csv", index=False)
    command = [path, "-t", "ill", "--drop", "few,gaps", "--json"]
    plain, known = (
        json.loads(unirel("select", *command, *more).out)
        for more in (["--drop", "patient"], ["--row-groups", "patient"])
    )
    assert len(plain["features"]) > 1
    assert [row["name"] for row in known["features"]] == ["a"]
    tested = json.loads(unirel("relevance", *command, "--row-groups", "patient", "--test", "--estimator", "binned").out)
    assert {row["name"]: row["significant"] for row in tested["features"]} == {"a": "yes", "b": "no", "c": "no"}
    assert tested["test"]["settings"]["permuted"] == "40 whole groups"
    compared = ["--with", "kbest", "--models", "knn", "--splits", "2", "--max-features", "2"]
    assert unirel("compare", *command, "--row-groups", "patient", *compared).code == 0
    for more, message in (
        (["patint"], "did you mean 'patient'"),
        (["ill"], "must be one column beside the target"),
        (["patient,a"], "must be one column beside the target"),
    ):
        assert message in unirel("select", *command, "--row-groups", *more).error
    for column, message in {
        "few": "has 3 different labels, but at least 5 are needed",
        "gaps": "has 5 missing",
    }.items():
        error = unirel("select", path, "-t", "ill", "--row-groups", column).error
        assert f"--row-groups {message}" in error
        assert "permute" not in error
    assert "--row-groups names a column of one file" in unirel("select", "iris", "--row-groups", "x").error


def test_rows_are_numbered_in_any_type(unirel, tmp_path):
    """What is added to a number of one byte must not be of one byte."""
    frame = pd.DataFrame({"x": np.arange(200) % 5, "y": np.arange(200) % 2, "row": np.arange(200)})
    frame.astype({"x": np.int8, "row": np.int16}).to_parquet(tmp_path / "data.parquet")
    done = unirel("relevance", tmp_path / "data.parquet", "-t", "y", "--json")
    assert [row["name"] for row in json.loads(done.out)["features"]] == ["x"]


def test_a_target_of_texts_that_are_numbers(unirel, tmp_path):
    """Each of its numbers was a class, as if they were names, for a single blank."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60).round(3)
    frame = pd.DataFrame({"x": x, "y": [" ", *map(str, x[1:])]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    done = unirel("select", tmp_path / "data.csv", "-t", "y", "--drop-missing-target", "--json")
    assert "left out 1 rows without a target" in done.err
    assert json.loads(done.out)["data"]["target_kind"] == "continuous"


def test_rows_without_target(unirel, tmp_path):
    columns = columns_of()
    columns["class"][:7] = ""
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns))
    assert "y has 7 missing values" in unirel("select", path, "-t", "class").error
    assert "--drop-missing-target" in unirel("select", path, "-t", "class").error
    done = unirel("select", path, "-t", "class", "--drop-missing-target", "--json")
    assert selected(done)[0] == "a"
    assert json.loads(done.out)["data"]["rows_without_target"] == 7
    assert done.err == "unirel: left out 7 rows without a target\n"


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


def arrow_bytes(columns):
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


GOOD = csv_bytes(columns_of())
BAD_FILES = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n\n \n", "is empty"),
    "header.csv": (b"a,noise,class\n", "no rows"),
    "ragged.csv": (GOOD + b"1,2,3,4,5\n", "Expected 3 columns, got 5"),
    "truncated.csv": (GOOD[:-12], "Expected 3 columns"),
    "quote.csv": (GOOD + b'1,"never closed,yes\n' + GOOD, ""),
    "binary.csv": (bytes(range(256)) * 40, "binary"),
    "huge.csv": (GOOD + b"1," + b"x" * 2**26 + b",yes\n", "longer than"),
    "pickle.csv": (pickle.dumps(Bomb()), "is a pickle"),
    "pickle.parquet": (pickle.dumps(Bomb(), protocol=2), "is a pickle"),
    "text.parquet": (GOOD, "is no Parquet file"),
    "cut.parquet": (arrow_bytes(columns_of())[:300], "cannot be read"),
    "cut.csv.gz": (gzip.compress(GOOD)[:80], "cannot be read"),
    "book.xlsx": (b"PK\x03\x04" + b"\0" * 30, "workbook"),
    "twice.csv": (GOOD.replace(b"noise", b"a", 1), "duplicate column names: 'a'"),
    "notarget.csv": (GOOD.replace(b"class", b"clas", 1), "did you mean 'clas'?"),
    "one.csv": (GOOD.replace(b"yes", b"no"), "one class only"),
    "inf.csv": (GOOD + b"inf,1,yes\n", "column 'a' contains infinity"),
    "alone.csv": (b"class\n" + b"yes\nno\n" * 20, "no column beside the target"),
}


@pytest.mark.parametrize(
    ("command", "name"),
    [("select", name) for name in BAD_FILES]
    + [
        (command, name)
        for command in ("relevance", "redundancy", "compare")
        for name in BAD_FILES
        if name != "huge.csv"
    ],
)
def test_bad_files_are_refused_in_one_line(unirel, tmp_path, monkeypatch, name, command):
    monkeypatch.chdir(tmp_path)
    content, reason = BAD_FILES[name]
    Path(name).write_bytes(content)
    outputs = []
    if command == "select":
        for output in ("saved.json", "page.html"):
            Path(output).write_text("before")
        outputs = ["--save", "saved.json", "--report", "page.html"]
    done = unirel(command, name, "--target", "class", *outputs)
    assert done.code == 2
    assert done.out == ""
    assert reason in done.error
    assert len(done.error) < 700
    assert not Path("exploded").exists()
    assert {path.name for path in tmp_path.iterdir()} == {name, *outputs[1::2]}
    assert all(Path(output).read_text() == "before" for output in outputs[1::2])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--target", "nothing"], "there is no column 'nothing'; the columns are 'a', 'b', 'copy', 'noise', 'class'"),
        ([], "name the column to explain with --target"),
        (["-t", "class", "-k", "0"], "-k 0 must be a whole number from 1 to 4"),
        (["-t", "class", "-k", "many"], "-k many must be"),
        (["-t", "class", "--beta", "1.5"], "Invalid value for '--beta'"),
        (["-t", "class", "--neighbors", "0"], "Invalid value for '--neighbors'"),
        (["-t", "class", "--criterion", "best"], "'best' is not one of"),
        (["-t", "class", "--discrete", "aa"], "--discrete: there is no column 'aa'; did you mean 'a'?"),
        (["-t", "class", "--max-candidates", "few"], "--max-candidates few must be"),
        (["-t", "class", "--drop", "class"], "--drop names the target"),
        (["-t", "class", "--include", "x"], "--include: there is no column 'x'"),
        (["-t", "class", "--classifier", "rf"], "--classifier goes with"),
        (["-t", "class", "--json", "--csv"], "choose one"),
        (["-t", "class", "--jobs", "0"], "no worker"),
        (["-t", "class", "--save", "nowhere/s.json"], "there is no folder 'nowhere'"),
        (["-t", "class", "--report", "."], "is a folder"),
        (["-t", "class", "--delimiter", "ab"], "one character"),
        (["-t", "class", "--encoding", "morse"], "is not known"),
        (["-t", "class", "--encoding", "utf-16"], ""),
        (["-t", "class", "--nonsense"], "No such option"),
        (["-t", "noise", "--target-type", "colour"], "is not one of"),
    ],
)
def test_bad_options_are_refused_in_one_line(unirel, table, arguments, reason):
    done = unirel("select", table, *arguments)
    assert done.code == 2
    assert done.out == ""
    assert reason in done.error


def test_a_file_that_is_not_there(unirel, tmp_path):
    assert "there is no file" in unirel("select", tmp_path / "none.csv", "-t", "y").error
    assert "is a folder" in unirel("select", tmp_path, "-t", "y").error
    done = unirel("select", "irish", "-t", "y")
    assert "there is no file 'irish'" in done.error
    assert "did you mean 'iris'?" in done.error


def test_names_cannot_steer_the_terminal(unirel, tmp_path):
    columns = columns_of()
    columns["\x1b[31mred\u202e"] = columns.pop("a")
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns))
    done = unirel("select", path, "-t", "class", "-k", 1)
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\\x1b[31mred" in done.out


def test_a_name_with_markup_is_printed_as_it_is(unirel, tmp_path):
    columns = columns_of()
    columns["[bold]a[/bold]"] = columns.pop("a")
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns))
    assert "[bold]a[/bold]" in unirel("select", path, "-t", "class", "-k", 1).out
