"""A file or folder is the old one or the whole new one."""

from pathlib import Path

import pytest

from nasgoat.safe_files import replace_file, replace_folder, write_whole


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_behind_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / ".file.mine.part").write_text("half of")
    with replace_file(path, mark="mine") as partial:
        assert not partial.exists()
        partial.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_filled_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    with replace_folder(folder) as fresh:
        (fresh / "old").touch()
    with pytest.raises(RuntimeError, match="half-way"), replace_folder(folder) as fresh:
        raise RuntimeError("half-way")
    assert [path.name for path in folder.iterdir()] == ["old"]
    with replace_folder(folder) as fresh:
        (fresh / "new").touch()
    assert [path.name for path in folder.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [folder]
