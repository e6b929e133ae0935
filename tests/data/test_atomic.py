"""Files that are there in full or not at all."""

import pytest

from unirel._runtime import atomic_path, write_text


def test_what_goes_wrong_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "page.html"
    write_text(path, "old\n")

    def fail():
        with atomic_path(path) as temporary:
            temporary.write_text("half of the new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_permissions_of_any_new_file(tmp_path):
    write_text(tmp_path / "ours", "text")
    (tmp_path / "plain").write_text("text")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode
