"""Files are whole or not there: fsync before the rename, temporary files of the dead removed, of the living kept."""

import os
import subprocess
import sys

import pytest

from rankwise import RankSVM, make_ranking, open_chunks, save_model, write_chunks, write_data, write_letor
from rankwise.data.chunk_files import ChunkFile
from rankwise.foundation.outputs import (
    TEMPORARY,
    check_writable,
    locked_file,
    temporary_file,
    temporary_folder,
    written_beside,
)

DATA = make_ranking(6, 5, 3, random_state=0)


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What was fsynced and renamed in the test's folder, in order."""
    seen = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def note(what, path):
        if str(path).startswith(str(tmp_path)):  # Numba renames files of its cache too
            seen.append((what, str(path)))

    def noted_fsync(handle):
        path = os.readlink(f"/proc/self/fd/{handle}")
        note("fsync folder" if os.path.isdir(path) else "fsync file", path)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", lambda old, new: (note("rename", new), replace(old, new)))
    monkeypatch.setattr(os, "rename", lambda old, new: (note("rename", new), rename(old, new)))
    return seen


def test_a_file_is_fsynced_before_the_rename_and_the_folder_after(tmp_path, calls):
    write_letor(tmp_path / "d.txt.gz", DATA)
    assert [what for what, _ in calls] == ["fsync file", "rename", "fsync folder"]
    assert calls[-1][1] == str(tmp_path)


def test_chunks_are_fsynced_before_they_are_a_data_set(tmp_path, calls):
    write_chunks(tmp_path / "c", DATA, chunk_bytes=200)
    n = len(open_chunks(tmp_path / "c").files)
    manifest = ["fsync file", "rename", "fsync folder"]
    assert [what for what, _ in calls] == ["fsync file"] * n + manifest + ["rename", "fsync folder"]
    calls.clear()
    write_chunks(tmp_path / "c", DATA, chunk_bytes=200)  # now the manifest's rename is the switch
    assert [what for what, _ in calls] == ["fsync file"] * n + ["rename"] * n + ["fsync folder", *manifest]
    assert calls[-2][1] == str(tmp_path / "c" / "manifest.json")


KILLED = """
import os, sys
from pathlib import Path
from rankwise.data.chunk_files import ChunkFile
from rankwise.foundation.outputs import temporary_file, temporary_folder
with temporary_file(Path(sys.argv[1])), temporary_folder(Path(sys.argv[2])) as folder:
    (folder / "chunk-00000.npz").write_text("half")
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed.txt"), str(tmp_path / "c")]
    assert subprocess.run(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}).returncode == -9
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 2
    assert all(name.startswith(TEMPORARY) for name in left)
    with temporary_file(tmp_path / "alive.txt") as (alive, _):
        write_letor(tmp_path / "d.txt", DATA)
        assert sorted(path.name for path in tmp_path.iterdir()) == [alive.name, "d.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["d.txt"]


def test_where_there_are_no_locks_nothing_is_removed(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(95, "Operation not supported")

    (tmp_path / f"{TEMPORARY}1-d.txt").touch()
    monkeypatch.setattr("fcntl.flock", no_locks)
    write_letor(tmp_path / "d.txt", DATA)
    write_chunks(tmp_path / "c", DATA)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{TEMPORARY}1-d.txt", "c", "d.txt"]
    (tmp_path / f"{TEMPORARY}folder-c").mkdir()
    with pytest.raises(ValueError, match="is in the way: remove it if no other process is writing"):
        write_chunks(tmp_path / "c", DATA)


def test_a_second_writer_of_a_chunk_folder_is_refused_at_once(tmp_path):
    def blocks():
        yield DATA
        with pytest.raises(ValueError, match=r"c is being written by another process: wait for it, or give another"):
            write_chunks(tmp_path / "c", make_ranking(9, 5, 3, random_state=1))

    write_chunks(tmp_path / "c", blocks())
    assert open_chunks(tmp_path / "c", verify=True).n_queries == 6
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_folder_that_is_replaced_while_it_is_opened(tmp_path, monkeypatch):
    """The manifest is that of the old chunks, which are gone: the new one is read."""
    write_chunks(tmp_path / "c", DATA)
    opened = ChunkFile.opened

    def replaced_first(self, *args):
        monkeypatch.setattr(ChunkFile, "opened", opened)
        write_chunks(tmp_path / "c", make_ranking(9, 5, 3, random_state=1))
        return opened(self, *args)

    monkeypatch.setattr(ChunkFile, "opened", replaced_first)
    assert open_chunks(tmp_path / "c").n_queries == 9


def test_replacing_chunks_leaves_other_files_of_the_folder(tmp_path):
    for seed in range(3):
        write_chunks(tmp_path / "c", make_ranking(6, 5, 3, random_state=seed), chunk_bytes=200)
        (tmp_path / "c" / "notes.txt").write_text("mine")
    found = open_chunks(tmp_path / "c", verify=True)
    assert (found.read().X == make_ranking(6, 5, 3, random_state=2).X).all()
    names = {path.name for path in (tmp_path / "c").iterdir()}
    assert names == {one.file for one in found.files} | {"manifest.json", "notes.txt"}


def test_a_locked_file_is_for_one_at_a_time(tmp_path):
    with locked_file(tmp_path / "j"), pytest.raises(ValueError, match="is in use by another process"):
        locked_file(tmp_path / "j").__enter__()
    with locked_file(tmp_path / "j"):
        pass


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), written_beside("/dev/full") as file:
        file.write(b"1" * 100_000)
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    code += "from rankwise import make_ranking, write_data\n"
    code += "write_data('{}', make_ranking(60, 5, 3, random_state=0))"
    for name in ("d.txt", "d.csv.gz", "d.npz", "d.parquet", "d.chunks"):
        done = subprocess.run([sys.executable, "-c", code.format(tmp_path / name)], capture_output=True, text=True)
        assert done.stderr.splitlines()[-1] == f"OSError: [Errno 27] File too large: '{tmp_path / name}'"
    assert list(tmp_path.iterdir()) == []


def test_checking_leaves_nothing_behind(tmp_path):
    check_writable(tmp_path / "d.txt")
    check_writable(tmp_path / ("x" * 250 + ".txt"))
    assert list(tmp_path.iterdir()) == []
    write_letor(tmp_path / ("x" * 250 + ".txt"), DATA)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_is_followed_and_a_mode_is_kept(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "d.txt"
    target.touch(0o640)
    (tmp_path / "link.txt").symlink_to(target)
    write_letor(tmp_path / "link.txt", DATA)
    assert (tmp_path / "link.txt").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert target.read_text().count("\n") == len(DATA)
    with temporary_folder(tmp_path / "there") as folder:
        assert folder.parent == tmp_path


@pytest.mark.parametrize("name", ["keep.txt", "keep.csv", "keep.npz", "keep.parquet", "keep.chunks"])
def test_no_writer_goes_through_a_folder_that_is_not_there(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("precious")
    with pytest.raises(ValueError, match=f"^nosuch/../{name} cannot be written: there is no folder nosuch$"):
        write_data(f"nosuch/../{name}", DATA)
    with pytest.raises(ValueError, match="there is no folder nosuch"):
        save_model(RankSVM().fit(DATA.X, DATA.y, DATA.qid), f"nosuch/../{name}")
    assert (tmp_path / name).read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_empty_name_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the name of the file to write is empty"):
        write_letor("", DATA)
