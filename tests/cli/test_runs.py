"""Runs that are set by a file, recorded in the model, and repeated: --config, --like, and what `inspect` tells."""

import hashlib
import json
import os
import subprocess
import threading

import jsonschema
import numpy as np
import pytest
from commands import RANKWISE, run, write_sample

import rankwise
from rankwise import RankSVM, load_model, load_sample, model_schema, read_data, save_model, write_data


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with train.txt and test.txt, in which the commands run."""
    monkeypatch.chdir(write_sample(tmp_path))
    return tmp_path


def state(path):
    return json.loads(path.read_text())


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_model_records_the_run_that_trained_it(here):
    run("train", "train.txt", "-o", "m.json", "--C", "0.01", "--valid", "test.txt", "-m", "map", "--float32")
    told = state(here / "m.json")
    jsonschema.validate(told, model_schema())
    options = {"C": 0.01, "data": ["train.txt"], "float32": True, "measure": ["map"], "seed": 0, "valid": "test.txt"}
    files = {name: sha256(here / name) for name in ("train.txt", "test.txt")}
    assert told["run"] == {"command": "train", "options": options, "files": files}
    labels = {"levels": 5, "minimum": 0.0, "maximum": 4.0}
    assert told["data"] == {"rows": 1091, "queries": 60, "features": 13, "labels": labels, "hash": None}
    assert told["numpy"] == np.__version__
    assert str(here) not in (here / "m.json").read_text()
    before = (here / "m.json").read_bytes()
    run("train", "train.txt", "-o", "m.json", "--C", "0.01", "--valid", "test.txt", "-m", "map", "--float32", "--force")
    assert (here / "m.json").read_bytes() == before


COMMON = 'data = "train.txt"\nmeasure = ["map", "ndcg@5"]\n'
CONFIGS = {
    "flat": COMMON + 'output = "m.json"\nC = 0.01\nmax_iter = 40\nfloat32 = true\n',
    "a table": f'[train]\n{COMMON}output = "m.json"\nC = "0.01"\nmax-iter = 40\nfloat32 = true\n[tune]\nC = [1, 2]\n',
    "both": COMMON + '[train]\noutput="m.json"\nc=1e-2\nMax_Iter = 40\nfloat32=true',
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS)
def test_options_come_from_a_file(here, text):
    (here / "run.toml").write_text(text)
    told = run("train", "--config", "run.toml", "--json").stdout
    assert list(json.loads(told)["train"]["measures"]) == ["map", "ndcg@5"]
    run("train", "train.txt", "-o", "n.json", "-C", "0.01", "--max-iter", 40, "-m", "map", "-m", "ndcg@5", "--float32")
    assert (here / "m.json").read_bytes() == (here / "n.json").read_bytes()


def test_what_is_typed_wins_over_the_file(here):
    (here / "run.toml").write_text('data = "absent.txt"\noutput = "absent/m.json"\nC = 0.01\nmeasure = ["map"]\n')
    told = run("train", "--config", "run.toml", "train.txt", "-o", "m.json", "--C", 3, "-m", "mrr", "--json").stdout
    assert list(json.loads(told)["train"]["measures"]) == ["mrr"]
    assert state(here / "m.json")["C"] == 3


def test_paths_are_relative_to_the_file(here, monkeypatch):
    (here / "inner").mkdir()
    (here / "inner" / "run.toml").write_text(f'data = ["../train.txt", "{here}/test.txt"]\noutput = "m.json"\nC = 0.01')
    run("train", "--config", "inner/run.toml")
    told = state(here / "inner" / "m.json")["run"]
    assert told["options"]["data"] == list(told["files"]) == ["inner/../train.txt", f"{here}/test.txt"]
    monkeypatch.chdir(here / "inner")
    run("train", "--config", "run.toml")
    assert next(iter(state(here / "inner" / "m.json")["run"]["files"])) == "../train.txt"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lose = 'hinge'", "run.toml: `rankwise train` has no option 'lose': did you mean 'loss'?"),
        ("xyzzy = 1", "run.toml: `rankwise train` has no option 'xyzzy'"),
        ("config = 'a.toml'", "has no option 'config'"),
        ("[train.C]\na = 1", "run.toml: C must be a text or a number; got {'a': 1}"),
        ("[predict]\nC = 1", "has no option 'predict'"),
        ("C = [1, 2]", "run.toml: C must be a text or a number; got [1, 2]"),
        ("C = true", "run.toml: C must be a text or a number; got True"),
        ("C = 1979-05-27", "run.toml: C must be a text or a number; got 1979-05-27"),
        ("float32 = 'yes'", "run.toml: float32 must be true or false; got yes"),
        ("data = [['a']]", "run.toml: data must be a text, a number, or a list of these"),
        ("max-iter = 1\nmax_iter = 2", "run.toml: max-iter is set twice"),
        ("C = 1\n[train]\nc = 2", "run.toml: c is set twice: outside of the tables, and in [train]"),
        ('names = "a\\u0000b"', "run.toml: names contains a NUL character"),
        ("C = ", "run.toml is not a TOML file: Invalid value (at end of document)"),
        ("C = 1\nC = 2", "run.toml is not a TOML file: Cannot overwrite a value"),
        ("x = " + "[" * 9000, "run.toml is not a TOML file: "),
        ("C = " + "9" * 5000, "run.toml is not a TOML file: Exceeds the limit"),
        ("\xff", "run.toml is not a TOML file: 'utf-8' codec can't decode"),
    ],
)
def test_a_wrong_file_of_options_gets_one_sentence(here, text, sentence):
    (here / "run.toml").write_text(text, encoding="latin-1")
    told = run("train", "--config", "run.toml", "train.txt", "-o", "m.json", code=1).stderr
    assert sentence in told
    assert told.count("\n") == 1
    assert not (here / "m.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C = 'x'", "'--C' / '-C'"),
        ("C = nan", "C must be a positive number"),
        (f"C = {10**400}", "C must be a positive number"),
        ("max-iter = 1.5", "(set by --config or --like)"),
        ("seed = -1", "--seed"),
        ("seed = 4294967296", "--seed"),
        ("data = []", "give one or more files of ranking data"),
        ("output = 'm.json'", "give one or more files of ranking data"),
    ],
)
def test_values_of_a_file_are_checked_as_typed_ones(here, text, words):
    (here / "run.toml").write_text(text)
    typed = [] if "data" in text or "output" in text else ["train.txt"]
    assert words in run("train", "--config", "run.toml", *typed, "-o", "m.json", code=2).stderr.replace("\n", " ")


def test_a_training_needs_data_and_a_model(here):
    assert "give one or more files of ranking data" in run("train", "-o", "m.json", code=2).stderr
    assert "give the file of the model, -o MODEL" in run("train", "train.txt", code=2).stderr
    (here / "run.toml").write_text("")
    assert "No such file" in run("train", "--config", "absent.toml", "train.txt", "-o", "m.json", code=1).stderr
    told = run("train", "--config", "run.toml", "--like", "m.json", "train.txt", code=2).stderr
    assert "give --config or --like, not both" in told


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--C", "0.1", "--normalize", "zscore", "--loss", "hinge", "--jobs", "1"],
        ["--model", "rankrls", "--alpha", "0.3", "--normalize", "query-minmax"],
        ["--model", "rankrls-cv"],
        ["--model", "factorized", "--components", "2", "--C", "0.001", "--seed", "5"],
        ["--kernel", "rbf", "--components", "20", "--seed", "7", "--normalize", "minmax"],
        ["--solver", "sgd", "--seed", "3", "--float32"],
    ],
    ids=" ".join,
)
def test_a_run_is_repeated_to_the_last_bit(here, options):
    run("train", "test.txt", "-o", "m.json", *options)
    before = (here / "m.json").read_bytes()
    told = run("train", "--like", "m.json", "-o", "n.json").stderr
    assert "the weights are those of m.json, to the last bit" in told
    assert (here / "n.json").read_bytes() == before
    assert "to the last bit" in run("train", "--like", "n.json").stderr
    assert sorted(path.name for path in here.iterdir()) == ["m.json", "n.json", "test.txt", "train.txt"]


def test_tuning_is_repeated(here):
    (here / "t.toml").write_text('data = "test.txt"\n[tune]\nC = [0.01, 0.1]\nfolds = 2\nearly-stopping = false\n')
    run("tune", "--config", "t.toml", "-o", "m.json", "--normalize", "minmax")
    told = state(here / "m.json")["run"]["options"]
    assert told == {
        "C": [0.01, 0.1],
        "data": ["test.txt"],
        "early-stopping": False,
        "folds": 2,
        "normalize": ["minmax"],
        "seed": 0,
    }
    assert "to the last bit" in run("tune", "--like", "m.json", "-o", "n.json").stderr
    assert (here / "m.json").read_bytes() == (here / "n.json").read_bytes()
    assert "m.json is both read and written" in run("tune", "--like", "m.json", "-o", "m.json", code=1).stderr
    assert "m.json is a model of `rankwise tune`" in run("train", "--like", "m.json", code=1).stderr
    assert "--no-early-stopping" in run("inspect", "m.json").stdout


def test_changed_data_are_noticed(here):
    run("train", "train.txt", "-o", "m.json", "--C", "0.01", "--valid", "test.txt")
    write_data(here / "train.txt", load_sample("train").select(slice(10, None)))
    told = run("train", "--like", "m.json", "-o", "n.json", code=1).stderr
    assert "train.txt has changed since m.json was trained: put it back, or give --allow-changes" in told
    assert not (here / "n.json").exists()
    told = run("train", "--like", "m.json", "--allow-changes", code=1).stderr
    assert "the weights differ from those of m.json by up to 0." in told
    run("train", "--like", "m.json", "-o", "n.json", "--allow-changes")
    run("train", "--like", "n.json", "test.txt", "--C", "1", "-o", "o.json")  # which it was not trained on
    (here / "train.txt").unlink()
    told = run("train", "--like", "n.json", code=1).stderr
    assert "train.txt, on which n.json was trained, cannot be read here" in told
    assert "m.json is both read and written" in run("train", "--like", "m.json", "-o", "m.json", code=1).stderr


def test_other_versions_are_said(here):
    run("train", "test.txt", "-o", "m.json")
    (here / "m.json").write_text(json.dumps(state(here / "m.json") | {"numpy": "1.0", "rankwise": "0.0.1"}))
    told = run("train", "--like", "m.json").stderr
    assert "note: m.json was trained with numpy 1.0, rankwise 0.0.1; weights may differ" in told


def test_data_from_a_pipe_cannot_be_compared(here):
    text = (here / "test.txt").read_text()
    run("train", "-", "-o", "m.json", stdin=text)
    assert state(here / "m.json")["run"]["files"] == {"-": None}
    told = run("train", "--like", "m.json", code=1).stderr
    assert "m.json does not say what - contained: give --allow-changes to go on" in told
    assert "to the last bit" in run("train", "--like", "m.json", "--allow-changes", stdin=text).stderr


def test_a_named_pipe_is_read_once(here):
    os.mkfifo(here / "pipe.txt")
    writer = threading.Thread(target=lambda: (here / "pipe.txt").write_bytes((here / "test.txt").read_bytes()))
    writer.start()
    done = subprocess.run([*RANKWISE, "train", "pipe.txt", "-o", "m.json"], capture_output=True, text=True, timeout=60)
    writer.join()
    assert done.returncode == 0, done.stderr
    assert state(here / "m.json")["run"]["files"] == {"pipe.txt": None}


def test_folders_are_hashed(here):
    data = read_data("test.txt")
    write_data(here / "d.chunks", data)
    (here / "d").mkdir()
    write_data(here / "d" / "part-1.parquet", data)
    for name, part in (("d.chunks", "manifest.json"), ("d", "part-1.parquet")):
        run("train", name, "-o", "m.json", "--C", "0.01", "--force")
        lines = f"{sha256(here / name / part)}  {part}\n"
        assert state(here / "m.json")["run"]["files"] == {name: hashlib.sha256(lines.encode()).hexdigest()}
        run("train", "--like", "m.json")


def test_a_path_that_is_no_text_is_recorded_by_escapes(here):
    odd = os.fsdecode(b"tr\xe9.txt")
    (here / odd).write_bytes((here / "test.txt").read_bytes())
    run("train", odd, "-o", "m.json")
    assert list(state(here / "m.json")["run"]["files"]) == ["tr\\xe9.txt"]
    done = run("train", "--like", "m.json", code=1)
    assert r"tr\xe9.txt, on which m.json was trained, cannot be read here" in done.stderr
    assert r"if \x stands for a byte of its name that is not UTF-8, type the name beside --like m.json" in done.stderr
    assert "the weights are those of m.json, to the last bit" in run("train", odd, "--like", "m.json").stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"output": "train.txt"}, "m.json is damaged: the record of a run has no option 'output'"),
        ({"journal": "train.txt"}, "m.json is damaged: the record of a run has no option 'journal'"),
        ({"dask": "tcp://evil:1"}, "m.json is damaged: the record of a run has no option 'dask'"),
        ({"config": "run.toml"}, "m.json is damaged: the record of a run has no option 'config'"),
        ({"Output": "train.txt"}, "m.json is damaged: the record of a run has no option 'Output'"),
        ({"xyzzy": 1}, "m.json: `rankwise train` has no option 'xyzzy'"),
        ({"C": [1, 2]}, "m.json: C must be a text or a number"),
        ({"names": "a\0b"}, "m.json: names contains a NUL character"),
        ({"a b": 1}, "m.json is a damaged rankwise model: run.options is"),
        ({"C": {"x": 1}}, "m.json is a damaged rankwise model: run.options is"),
        (3, "m.json is a damaged rankwise model: run.options is 3"),
    ],
    ids=str,
)
def test_the_record_of_a_stranger_is_checked(here, options, sentence):
    """It leads to no file that is written, and to no scheduler, which could run code."""
    run("train", "test.txt", "-o", "m.json")
    told = state(here / "m.json")
    told["run"]["options"] = told["run"]["options"] | options if isinstance(options, dict) else options
    (here / "m.json").write_text(json.dumps(told))
    before = (here / "train.txt").read_bytes()
    assert sentence in run("train", "--like", "m.json", "-o", "n.json", code=1).stderr
    assert (here / "train.txt").read_bytes() == before


def test_a_file_that_the_record_does_not_hash_is_not_read(here):
    run("train", "test.txt", "-o", "m.json")
    told = state(here / "m.json")
    told["run"]["options"]["valid"] = "/etc/hostname"
    (here / "m.json").write_text(json.dumps(told))
    assert "m.json does not say what /etc/hostname contained" in run("train", "--like", "m.json", code=1).stderr


def test_a_model_of_python_has_no_run(here):
    data = read_data("test.txt")
    save_model(RankSVM(C=0.01).fit(data), "m.json", data=data)
    assert "m.json does not say how it was trained" in run("train", "--like", "m.json", code=1).stderr
    size = "570 documents in 40 queries, 5 labels from 0 to 4"
    assert f"trained on {size}, {state(here / 'm.json')['data']['hash']}\n" in run("inspect", "m.json").stdout
    assert load_model("m.json").n_features_in_ == 13


def test_a_file_that_is_called_like_an_option_is_shown_as_a_file(here):
    (here / "--force").write_bytes((here / "test.txt").read_bytes())
    run("train", "-o", "m.json", "--C", "0.01", "--", "--force", "train.txt")
    assert "trained by rankwise train --C=0.01 --seed=0 -- --force train.txt\n" in run("inspect", "m.json").stdout
    assert "to the last bit" in run("train", "--like", "m.json").stderr


def test_inspect_tells_where_a_model_comes_from(here):
    for options in ([], ["--kernel", "rbf", "--components", "5"]):
        run("train", "test.txt", "-o", "m.json", "--C", "0.01", *options, "--force")
        told = run("inspect", "m.json").stdout
        python = state(here / "m.json")["python"]
        assert f"written by rankwise {rankwise.__version__}, python {python}, numpy {np.__version__}" in told
        assert "trained on 570 documents in 40 queries, 5 labels from 0 to 4\n" in told
        assert "trained by rankwise train test.txt --C=0.01" in told
        assert f"  {sha256(here / 'test.txt')}  test.txt\n" in told
        told = json.loads(run("inspect", "m.json", "--json").stdout)
        saved = state(here / "m.json")
        assert (told["run"], told["data"]) == (saved["run"], saved["data"])
        assert told["versions"]["numpy"] == np.__version__


def test_weights_of_other_columns_are_not_compared(here):
    """With its columns in another order the same ranker was said to differ by 0.9 of its largest weight."""
    rows = "label,qid,{}\n1,1,{}\n0,1,{}\n2,1,{}\n"
    (here / "a.csv").write_text(rows.format("x,y", "1,5", "2,3", "7,4"))
    (here / "b.csv").write_text(rows.format("y,x", "5,1", "3,2", "4,7"))
    run("train", "a.csv", "-o", "m.json")
    told = run("train", "--like", "m.json", "b.csv", "-o", "n.json").stderr
    assert "the features are not those of m.json, in its order: the weights are not compared" in told
