"""The wheel and the sdist of `make dist`: what they contain, and whether the wheel works in an empty environment.

`make test-wheel` runs this with the Python of .venv, `make test-pythons` with every supported one on the machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from commands import obey_modes

import rankwise

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "build" / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WHEEL = DIST / f"rankwise-{rankwise.__version__}-py3-none-any.whl"
SDIST = DIST / f"rankwise-{rankwise.__version__}.tar.gz"
LISTED = "Programming Language :: Python :: 3."
pytestmark = [
    pytest.mark.dist,
    pytest.mark.skipif(not WHEEL.exists() or not SDIST.exists(), reason="wheel and sdist are not built: make dist"),
]


def python(minor):
    """The path of Python 3.minor; None if it is not installed. pyenv has commands also for versions that it lacks."""
    installed = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3.{minor}"))
    for path in (shutil.which(f"python3.{minor}"), *map(str, installed)):
        if path and subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0:
            return path
    return None


def interpreters():
    if "RANKWISE_EVERY_PYTHON" not in os.environ:
        return [pytest.param(sys.executable, id="this Python")]
    minors = [one.removeprefix(LISTED) for one in PROJECT["classifiers"] if one.startswith(LISTED)]
    return [pytest.param(python(minor), id=f"Python 3.{minor}") for minor in minors]


def tracked(*folders):
    """The files that belong to the project."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a clone of the repository")
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_is_the_package_and_nothing_else():
    with zipfile.ZipFile(WHEEL) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("src/") for name in tracked("src")}


def test_the_sdist_is_the_project_without_what_only_a_clone_needs():
    with tarfile.open(SDIST) as sdist:
        names = {member.name.partition("/")[2] for member in sdist if member.isfile()}
    needed = {name for name in tracked() if not name.startswith(".")}
    assert names == needed | {"PKG-INFO", ".gitignore"}


@pytest.fixture(scope="module", params=interpreters())
def empty(request, tmp_path_factory):
    """A virtual environment with nothing but the wheel and what it requires."""
    if request.param is None:
        pytest.skip("this Python is not installed")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([request.param, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]
    done = subprocess.run(pip, env=outside(), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def outside(**variables):
    """The variables of a process that knows nothing of the source tree."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    return {name: value for name, value in os.environ.items() if name not in ours} | variables


def rankwise_of(empty, *args, cwd, env=None, code=0):
    """The command of the wheel, which may write only where modes allow it."""
    program = [empty / "bin" / "rankwise", *args]
    done = subprocess.run(program, cwd=cwd, env=env or outside(), capture_output=True, text=True, preexec_fn=obey_modes)
    assert done.returncode == code, done.stderr or done.stdout
    return done.stdout


def test_from_an_empty_folder_to_a_report(empty, tmp_path):
    def command(*args):
        return rankwise_of(empty, *args, cwd=tmp_path)

    assert command("--version").split()[-1] == rankwise.__version__
    assert json.loads(command("doctor", "--json"))["failed"] == []
    assert "ndcg@10" in command("demo").lower()
    command("demo", "--save", "sample")
    command("train", "sample/train.txt", "--names", "sample/names.txt", "-o", "model.json")
    command("predict", "model.json", "sample/test.txt", "-o", "scores.txt")
    documents = len((tmp_path / "sample/test.txt").read_text().splitlines())
    assert len((tmp_path / "scores.txt").read_text().splitlines()) == documents
    command("report", "model.json", "--data", "sample/test.txt", "-o", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<style" in page
    assert "<script" in page  # style.css and script.js came with the wheel


@pytest.fixture
def unwritable(empty, tmp_path):
    """A home, and the package in its environment, that cannot be written to."""
    home = tmp_path / "home"
    home.mkdir()
    (package,) = empty.glob("lib/python*/site-packages/rankwise")
    for cached in package.rglob("__pycache__"):
        shutil.rmtree(cached)
    folders = [home, package, *(path for path in package.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield home
    for folder in folders:
        folder.chmod(0o755)


def test_a_home_that_cannot_be_written_to(empty, unwritable, tmp_path):
    """A fit works, kernels are compiled in every process, and `doctor` says how to change that."""
    told = doctor_of(empty, tmp_path, outside(HOME=str(unwritable)), code=1)
    assert told["failed"] == ["kernel cache"]
    assert "NUMBA_CACHE_DIR" in told["findings"][-1]["value"]


def test_no_home_but_a_folder_for_kernels(empty, unwritable, tmp_path):
    """Without HOME, the home is that of the password database."""
    kernels = tmp_path / "kernels"
    homeless = outside(NUMBA_CACHE_DIR=str(kernels), XDG_CACHE_HOME=str(unwritable))
    homeless.pop("HOME", None)
    told = doctor_of(empty, tmp_path, homeless)
    assert told["findings"][-1]["value"].startswith(str(kernels))


def doctor_of(empty, folder, env, code=0):
    return json.loads(rankwise_of(empty, "doctor", "--json", cwd=folder, env=env, code=code))
