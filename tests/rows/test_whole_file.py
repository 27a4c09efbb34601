"""Files are written completely or not at all, whatever waits in the folder."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eosparse.rows.whole_file import check_target, list_written, replace_when_complete, write_text


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_block_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "notes.txt"
    target.write_text("old")

    def fail():
        with replace_when_complete(target) as partial:
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert list_names(tmp_path) == ["notes.txt"]


def test_names_cannot_be_guessed_and_end_like_the_target(tmp_path):
    names = set()
    for _ in range(20):
        with replace_when_complete(tmp_path / "rows.csv.gz") as partial:
            partial.write_text("x")
            names.add(partial.name)
    assert len(names) == 20
    assert all(name.endswith("-rows.csv.gz") for name in names)
    assert all(str(os.getpid()) != part for name in names for part in name.split("-"))


def test_a_link_that_waits_under_the_name_is_not_followed(tmp_path, monkeypatch):
    """Somebody who knew the name could not make us write elsewhere."""
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    monkeypatch.setattr("eosparse.rows.whole_file.secrets.token_hex", lambda _: "known")
    (tmp_path / ".partial-known-notes.txt").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "notes.txt", "new")
    assert victim.read_text() == "precious"


def test_a_file_that_is_swapped_while_it_is_written_is_not_renamed(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")

    def swap():
        with replace_when_complete(tmp_path / "notes.txt") as partial:
            partial.unlink()
            partial.symlink_to(victim)

    with pytest.raises(OSError, match="was replaced while it was written"):
        swap()
    assert list_names(tmp_path) == ["victim.txt"]


def test_a_target_that_is_a_link_is_replaced_itself(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert (real.read_text(), link.read_text(), link.is_symlink()) == ("old", "new", False)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_new_file_has_the_mode_of_the_old(tmp_path, mode):
    target = tmp_path / "notes.txt"
    target.write_text("old")
    target.chmod(mode)
    with replace_when_complete(target) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600  # private until it is complete
        partial.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_runs_to_one_target_leave_one_complete_file(tmp_path):
    target, texts = tmp_path / "notes.txt", [letter * 200_000 for letter in "abcdefgh"]

    def write(text):
        with replace_when_complete(target) as partial, partial.open("w") as file:
            for start in range(0, len(text), 1000):
                file.write(text[start : start + 1000])
                file.flush()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, texts))
    assert target.read_text() in texts
    assert list_names(tmp_path) == ["notes.txt"]


def test_long_names_have_temporary_files_too(tmp_path):
    write_text(tmp_path / f"{'ä' * 120}.txt", "done")
    assert (tmp_path / f"{'ä' * 120}.txt").read_text() == "done"


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("folder", IsADirectoryError),
        ("missing/notes.txt", FileNotFoundError),
        ("file/notes.txt", NotADirectoryError),
        ("x" * 300, OSError),
        ("/dev/null", OSError),
        ("pipe", OSError),
        ("/proc/notes.txt", OSError),
    ],
)
def test_where_one_cannot_write_is_known_before(tmp_path, place, error):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    before = list_names(tmp_path)
    with pytest.raises(error):
        check_target(tmp_path / place)
    with pytest.raises(error):
        write_text(tmp_path / place, "")
    assert list_names(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_known_before(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        check_target(tmp_path / "notes.txt")


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path):
    target = tmp_path / "notes.txt"
    target.write_text("old")
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from eosparse.rows.whole_file import write_text\n"
        f"write_text({str(target)!r}, 'x' * 5000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 1
    assert target.read_text() == "old"
    assert list_names(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_was_written_is_known_at_any_moment(tmp_path, monkeypatch, moment):
    """Interrupted just before or just after the rename."""
    target, rename = tmp_path / "notes.txt", os.replace
    target.write_text("old")

    def interrupt(*paths):
        if moment == "after":
            rename(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr("eosparse.rows.whole_file.os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(target, "new")
    assert (Path(target) in list_written()) == (moment == "after")
    assert target.read_text() == {"before": "old", "after": "new"}[moment]
