"""`rankwise train --dask`: the model that `rankwise train` writes."""

import json
import subprocess
import sys

import pytest

import rankwise

pytestmark = pytest.mark.slow


def run(folder, *arguments):
    command = [sys.executable, "-c", "from rankwise.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    data = rankwise.load_sample()
    for i in range(4):
        rankwise.write_letor(folder / f"part-{i}.txt", data.select(slice(500 * i, 500 * i + 500)))
    return folder


@pytest.mark.parametrize("model", ["ranksvm", "rankrls"])
def test_the_same_model(folder, client, model):
    files = [f"part-{i}.txt" for i in range(4)]
    assert run(folder, "train", *files, "-o", "here.json", "--model", model).returncode == 0
    for name, where in (("local.json", "local:2"), ("there.json", client.scheduler.address)):
        common = ("-o", name, "--model", model, "--dask", where, "-m", "map", "--valid", "part-0.txt", "--json")
        done = run(folder, "train", "part-*.txt", *common)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["documents"] == 1951
        assert told["rounds"] > 0
        assert 0.8 < told["train"]["measures"]["map"]["mean"] < 1
        assert told["valid"]["documents"] == 500
        here, there = (json.loads((folder / one).read_text()) for one in ("here.json", name))
        assert there["coef"] == pytest.approx(here["coef"], abs=1e-10)
        assert there["kind"] == here["kind"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--dask", "local:none"], "local:none must be local: and a number of worker processes, as in local:2"),
        (["--dask", "local:1", "--normalize", "minmax"], "only linear ranksvm and rankrls are available"),
        (["--dask", "local:1", "--float32"], "not available with --dask: store the files as float32"),
        (["--dask", "tcp://127.0.0.1:1"], "rankwise: no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
    ],
)
def test_one_sentence(folder, arguments, sentence):
    done = run(folder, "train", "part-0.txt", "-o", "model.json", *arguments)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_malformed_line_is_named(folder, client):
    (folder / "bad.txt").write_text("1 qid:1 1:0.5\n2 qid:1 1:x\n")
    done = run(folder, "train", "part-0.txt", "bad.txt", "-o", "model.json", "--dask", client.scheduler.address)
    assert done.returncode == 1
    assert "bad.txt" in done.stderr.splitlines()[-1]
    assert "line 2" in done.stderr.splitlines()[-1]
