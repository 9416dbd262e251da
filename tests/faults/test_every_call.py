"""Killed at the N-th system call, torn in a write, failed, or on a full disk: before or after, never between.

`make test-faults` strikes at every call of everything that writes, more than 1,000 processes being killed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="needs Linux and a C compiler")
CALLS = "write,writev,pwrite64,fsync,fdatasync,ftruncate,fchmod,chmod,rename,renameat,renameat2,link,linkat,unlink,"
CALLS += "unlinkat,mkdir,mkdirat,rmdir,open,openat,creat,sendfile,copy_file_range,fallocate,mmap"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "faults.so"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", path, HERE / "faults.c", "-ldl"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def folder(tmp_path):
    """In memory where that is possible: thousands of fsyncs are no matter there."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    path = Path("/dev/shm") / f"rankwise-faults-{os.getpid()}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


def strike(library, folder, *args, before=()):
    command = [*before, sys.executable, str(HERE / "strike.py"), str(folder), *map(str, args)]
    return lines_of(command, LD_PRELOAD=str(library))


def lines_of(command, **variables):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_before_or_after_never_between(library, folder):
    rows = strike(library, folder, 31)
    assert sum(row["kill"] + row["tear"] for row in rows) > 50


@pytest.mark.slow
def test_before_or_after_never_between_at_every_call(library, folder):
    rows = strike(library, folder, 1)
    assert all(row["calls"] == row["kill"] == row["tear"] == row["fail"] == row["full"] for row in rows)
    killed, failed = (sum(row[a] + row[b] for row in rows) for a, b in (("kill", "tear"), ("fail", "full")))
    print(f"{len(rows)} operations, {killed} processes killed, {failed} failures")
    assert killed > 1000


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("operation", ["model again", "npz", "parquet", "picture", "sparse chunks gathered", "tune"])
def test_no_call_goes_around_the_wrapper(library, folder, operation, tmp_path):
    """strace sees as many calls on the folder as the wrapper counts, and no file there is mapped for writing."""
    log = tmp_path / "log"
    traced = ["strace", "-f", "-y", "-e", f"trace={CALLS}", "-o", str(log)]
    counted = strike(library, folder, "census", operation, before=traced)[-1]
    every = log.read_text().splitlines()
    parent = every[0].split()[0]  # it prepares the folder; the operation is in a child
    of_children = [line for line in every if line.split()[0] != parent and " resumed>" not in line]  # second halves
    lines = [line for line in of_children if str(folder / "struck") in line]
    changing = [line for line in lines if not re.search(r" (open|openat|mmap)\(", line) or "O_CREAT" in line]
    assert len(changing) == counted
    assert not [line for line in lines if " mmap(" in line and "PROT_WRITE" in line and "MAP_SHARED" in line]


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_two_writers_at_once(folder, rounds):
    """What is there in the end is whole and of one that reported success; the other succeeded too, or said why not."""
    rows = lines_of([sys.executable, str(HERE / "at_once.py"), str(folder), str(rounds)])
    print(rows)
    assert len(rows) >= 12
    assert all(row["both"] + row["one"] == rounds for row in rows)
