"""The commands as a user meets them: what they print, write and return."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from commands import RANKWISE, run

from rankwise import RankSVM, evaluate, load_model, load_sample, read_letor, write_letor
from rankwise.foundation.compression import open_bytes


def test_train_evaluate_predict_agree_with_the_library(files):
    train, test = load_sample("train"), load_sample("test")
    ranker = RankSVM(C=0.01).fit(train.X, train.y, train.qid)
    model = load_model(files / "model.json")
    np.testing.assert_array_equal(model.coef_, ranker.coef_)
    scores = run("predict", files / "model.json", files / "test.txt").stdout
    np.testing.assert_array_equal(np.array(scores.split(), float), ranker.predict(test.X))
    expected = evaluate(test.y, ranker.predict(test.X), test.qid, ["ndcg@5", "map"])
    told = json.loads(
        run("evaluate", files / "model.json", files / "test.txt", "-m", "ndcg@5", "-m", "map", "--json").stdout
    )
    assert {name: row["mean"] for name, row in told["measures"].items()} == dict(expected)
    piped = run("evaluate", "-", files / "test.txt", "-m", "map", stdin=scores).stdout
    assert f"{expected['map']:.4f}" in piped


def test_train_tells_what_it_did(files, tmp_path):
    args = ("train", files / "train.txt", "-o", tmp_path / "m.json", "--valid", files / "test.txt")
    shown = run(*args).stdout
    assert "1,091 documents, 60 queries, 13 features" in shown
    assert [line.split()[0] for line in shown.splitlines()[-3:]] == ["ndcg@10", "map", "pairwise-accuracy"]
    told = json.loads(run(*args, "--json", "-m", "ndcg@10:letor").stdout)
    assert told["converged"] is True
    assert 0 < told["valid"]["measures"]["ndcg@10:letor"]["mean"] < 1


def test_several_files_stdin_and_compression(files, tmp_path):
    data = read_letor(files / "train.txt")
    half = data.qid <= 40
    write_letor(tmp_path / "a.txt.gz", data.select(half))
    write_letor(tmp_path / "b.txt.xz", data.select(~half))
    run("train", tmp_path / "a.txt.gz", tmp_path / "b.txt.xz", "-o", tmp_path / "two.json", "--C", 0.01)
    run("train", "-", "-o", tmp_path / "pipe.json", "--C", 0.01, stdin=(files / "train.txt").read_text())
    expected = load_model(files / "model.json").coef_
    for name in ("two", "pipe"):
        np.testing.assert_allclose(load_model(tmp_path / f"{name}.json").coef_, expected, rtol=1e-9)


def test_real_labels_get_measures_that_fit(tmp_path):
    (tmp_path / "t.txt").write_text("".join(f"{1000.5 * i} 1:{i % 7} 2:{i}\n" for i in range(30)))
    shown = run("train", tmp_path / "t.txt", "-o", tmp_path / "m.json").stdout
    assert "kendall-tau-b" in shown
    assert "ndcg" not in shown


@pytest.mark.parametrize("scaler", ["query-minmax", "zscore"])
def test_the_scaler_is_part_of_the_model(files, tmp_path, scaler):
    run("train", files / "train.txt", "-o", tmp_path / "m.json", "--normalize", scaler)
    train, test = load_sample("train"), load_sample("test")
    from rankwise.preprocessing import make_scaler

    fitted = make_scaler(scaler)
    ranker = RankSVM().fit(fitted.fit_transform(train.X, qid=train.qid), train.y, train.qid)
    expected = ranker.predict(fitted.transform(test.X, qid=test.qid))
    scores = run("predict", tmp_path / "m.json", files / "test.txt").stdout
    np.testing.assert_allclose(np.array(scores.split(), float), expected, rtol=1e-9, atol=1e-12)


def test_inspect_shows_names(files, tmp_path):
    from rankwise.data.synthetic import SAMPLE_FEATURES

    (tmp_path / "names").write_text("\n".join(SAMPLE_FEATURES))
    run("train", files / "train.txt", "-o", tmp_path / "m.json", "--names", tmp_path / "names")
    shown = run("inspect", tmp_path / "m.json", "--top", 3).stdout.splitlines()
    assert shown[0].startswith("RankSVM(), 13 features: ")
    assert shown[5] == "... and 10 smaller ones (--top 0 shows all)"
    assert shown[6].startswith("written by rankwise ")
    told = json.loads(run("inspect", tmp_path / "m.json", "--json").stdout)
    assert sorted(told["weights"]) == sorted(SAMPLE_FEATURES)
    assert len(json.loads(run("inspect", tmp_path / "m.json", "--json", "--top", 2).stdout)["weights"]) == 2
    run("predict", tmp_path / "m.json", files / "test.txt")  # no warning about names: nothing on stderr
    assert run("predict", tmp_path / "m.json", files / "test.txt").stderr == ""


def test_per_query(files):
    shown = run("evaluate", files / "model.json", files / "test.txt", "--per-query").stdout.splitlines()
    assert len(shown) == 41
    assert shown[1].split()[0] == "81"


def test_demo_files(tmp_path):
    run("demo", "--save", tmp_path)
    files = {name: tmp_path / f"{name}.txt" for name in ("train", "vali", "names")}
    run("train", files["train"], "-o", tmp_path / "m.json", "--valid", files["vali"], "--names", files["names"])
    assert "out_of_stock" in run("inspect", tmp_path / "m.json").stdout
    assert read_letor(tmp_path / "test.txt").n_queries == 40
    assert "no folder" in run("demo", "--save", tmp_path / "no" / "where", code=1).stderr
    run("demo", "--save", tmp_path / "new")
    assert (tmp_path / "new" / "names.txt").exists()
    (tmp_path / "test.csv").write_text("mine")
    assert "test.csv exists" in run("demo", "--save", tmp_path, "--to", "csv", code=1).stderr
    assert not (tmp_path / "train.csv").exists()
    assert "give --save FOLDER" in run("demo", "--to", "csv", code=2).stderr
    assert "Did you mean 'csv'" in run("demo", "--save", tmp_path, "--to", "cvs", code=2).stderr


def test_demo_tells_a_story():
    shown = run("demo").stdout
    assert "RankSVM" in shown
    assert "out_of_stock" in shown


@pytest.mark.parametrize(
    "options",
    [
        ["--loss", "hinge"],
        ["--loss", "logistic:0.01", "--solver", "trust-region"],
        ["--solver", "bundle"],
        ["--solver", "sgd", "--seed", "3", "--tol", "0.01"],
        ["--solver", "dual", "--loss", "hinge"],
        ["--scheme", "avl-tree"],
        ["--scope", "adjacent"],
        ["--costs", "ndcg"],
        ["--costs", "gain", "--rescaling", "margin"],
        ["--normalize-pairs", "query"],
        ["--float32", "--jobs", "1"],
        ["--model", "rankrls", "--alpha", "10"],
        ["--model", "rankrls-cv"],
        ["--model", "factorized", "--components", "5"],
        ["--kernel", "rbf", "--gamma", "0.2"],
        ["--kernel", "rbf", "--components", "50"],
        ["--model", "rankrls", "--kernel", "polynomial"],
    ],
)
def test_every_option_trains_a_sensible_model(files, tmp_path, options):
    C = [] if any("rankrls" in one for one in options) else ["--C", "1" if "--normalize-pairs" in options else "0.01"]
    run("train", files / "train.txt", "-o", tmp_path / "m.json", *C, *options)
    test = load_sample("test")
    assert load_model(tmp_path / "m.json").score(test.X, test.y, test.qid) > 0.88


def test_the_old_name_of_the_scheme_is_accepted_with_a_note(files, tmp_path):
    found = run("train", files / "train.txt", "-o", tmp_path / "m.json", "--C", "0.01", "--pairs", "avl-tree")
    assert "--pairs is now called --scheme" in found.stderr
    assert load_model(tmp_path / "m.json").scheme == "avl-tree"
    assert "--pairs" not in run("train", "--help").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["train", "TRAIN", "-o", "OUT", "--loss", "hing"], "--loss: loss must be one of 'hinge'"),
        (["train", "TRAIN", "-o", "OUT", "--C", "0"], "--C: C must be a positive number"),
        (["train", "TRAIN", "-o", "OUT", "--solver", "magic"], "--solver: solver must be one of 'auto'"),
        (["train", "TRAIN", "-o", "OUT", "--loss", "hinge", "--solver", "newton"], "needs a smooth loss"),
        (["train", "TRAIN", "-o", "OUT", "--normalize", "l2"], "--normalize: scaler must be one of 'query-minmax'"),
        (["train", "TRAIN", "-o", "OUT", "--scheme", "list"], "--scheme: scheme must be one of 'auto'"),
        (["train", "TRAIN", "-o", "OUT", "-m", "ngcd@10"], "--measure"),
        (["train", "TRAIN"], "--output"),
        (["train", "TRAIN", "-o", "OUT", "--model", "forest"], "--model: model must be one of 'ranksvm'"),
        (
            ["train", "TRAIN", "-o", "OUT", "--model", "factorized", "--kernel", "rbf"],
            "factorized has no kernel",
        ),
        (["train", "TRAIN", "-o", "OUT", "--model", "rankrls", "--C", "1"], "--C: --model rankrls has no such option"),
        (["train", "TRAIN", "-o", "OUT", "--gamma", "1"], "--gamma: --model ranksvm has no such option"),
        (["train", "TRAIN", "-o", "OUT", "--kernel", "magic"], "--kernel: kernel must be one of 'precomputed'"),
        (["train", "TRAIN", "-o", "OUT", "--kernel", "precomputed"], "cannot be read from a file of features"),
        (["train", "TRAIN", "-o", "OUT", "--jobs", "0"], "--jobs: n_jobs is 0"),
        (["train", "TRAIN", "-o", "OUT", "--components", "0", "--kernel", "rbf"], "--components"),
        (["fly"], "No such command 'fly'"),
    ],
)
def test_wrong_usage_is_exit_code_2(files, tmp_path, args, words):
    args = [{"TRAIN": files / "train.txt", "OUT": tmp_path / "m.json"}.get(arg, arg) for arg in args]
    assert words in " ".join(run(*args, code=2).stderr.replace("'--output' / '-o'", "--output").split())
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 qid:1 1:0.5\n0 qid:1 1:x\n", "line 2"),
        ("1 qid:1 3:1 2:1\n", "line 1"),
        ("1 qid:1 1:nan\n", "line 1"),
        ("", "t.txt"),
    ],
)
def test_bad_data_is_exit_code_1_and_one_sentence(tmp_path, text, words):
    (tmp_path / "t.txt").write_text(text)
    told = run("train", tmp_path / "t.txt", "-o", tmp_path / "m.json", code=1).stderr
    assert told.startswith("rankwise: ")
    assert len(told.splitlines()) == 1
    assert words in told
    assert not (tmp_path / "m.json").exists()


def test_bad_models_and_scores(files, tmp_path):
    assert "no-such.json: No such file" in run("inspect", tmp_path / "no-such.json", code=1).stderr
    (tmp_path / "half.json").write_bytes((files / "model.json").read_bytes()[:200])
    assert "is not a rankwise model, or is damaged" in run("inspect", tmp_path / "half.json", code=1).stderr
    (tmp_path / "scores").write_text("1\n2\n")
    assert "has 2 scores, the data have 570" in run("evaluate", tmp_path / "scores", files / "test.txt", code=1).stderr
    assert "both come from stdin" in run("evaluate", "-", "-", stdin="1", code=2).stderr
    (tmp_path / "scores").write_text("1\n" * 300 + "x\n" + "1\n" * 269)
    told = run("evaluate", tmp_path / "scores", files / "test.txt", code=1).stderr
    assert "line 301: expected a score, one finite number per line, found 'x'" in told
    (tmp_path / "scores").write_text("qid,docid,score\n" + "1,a,1\n" * 570)
    told = run("evaluate", tmp_path / "scores", files / "test.txt", code=1).stderr
    assert "line 1: expected a score, one finite number per line, found 'qid,docid,score'; a table of scores" in told
    (tmp_path / "scores.csv").write_text("qid,docid,score\n1,a,1\n1,b,1\n1,a,1\n")
    told = run("evaluate", tmp_path / "scores.csv", files / "test.txt", code=1).stderr
    assert f"{tmp_path / 'scores.csv'}: rows 1 and 3 are both document a of query 1" in told
    (tmp_path / "twice.csv").write_text("label,qid,docid,a\n1,1,a,1\n0,1,b,2\n2,1,a,3\n")
    (tmp_path / "scores.csv").write_text("qid,docid,score\n1,a,1\n1,b,1\n")
    told = run("evaluate", tmp_path / "scores.csv", tmp_path / "twice.csv", code=1).stderr
    assert f"{tmp_path / 'twice.csv'}: rows 1 and 3 are both document a of query 1" in told


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_a_damaged_file_of_scores_is_named(files, tmp_path, suffix):
    path = tmp_path / f"scores.txt.{suffix}"
    with open_bytes(path, "wb") as file:
        file.write(b"".join(b"%d\n" % (7**i % 1009) for i in range(570)))
    whole = path.read_bytes()
    run("evaluate", path, files / "test.txt")
    turned = bytearray(whole)
    turned[len(whole) // 2] ^= 4
    for damaged in (whole[: len(whole) // 2], bytes(turned), b"junk\n" * 20):
        path.write_bytes(damaged)
        told = run("evaluate", path, files / "test.txt", code=1).stderr.splitlines()
        assert told[-1].startswith(f"rankwise: {path} cannot be decompressed: ")
    told = run("compare", path, "column:1", "--data", files / "test.txt", code=1).stderr.splitlines()
    assert told[-1].startswith(f"rankwise: {path} cannot be decompressed: ")


def test_a_model_on_stdout_is_alone_there(files):
    done = run("train", files / "train.txt", "-o", "-", "--C", 0.01)
    assert json.loads(done.stdout)["coef"] == load_model(files / "model.json").coef_.tolist()
    assert "documents" in done.stderr


def test_nothing_is_trained_for_a_file_that_is_not_there(files, tmp_path):
    told = run("train", files / "train.txt", "-o", tmp_path / "m.json", "--valid", "missing.txt", code=1).stderr
    assert "missing.txt: No such file" in told
    told = run("train", files / "train.txt", "-o", tmp_path / "no" / "m.json", code=1).stderr
    assert "there is no folder" in told
    assert list(tmp_path.iterdir()) == []


def test_valid_may_have_other_labels(files, tmp_path):
    (tmp_path / "real.txt").write_text("".join(f"{0.5 * i} qid:1 1:{i % 3}\n" for i in range(9)))
    args = ("train", files / "train.txt", "-o", tmp_path / "m.json", "--valid", tmp_path / "real.txt")
    assert "kendall-tau-b" in run(*args).stdout


def test_a_zero_based_model_reads_zero_based_data(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(i % 3, i // 6, rng.normal() + i % 3, rng.normal()) for i in range(120)]
    (tmp_path / "train").write_text("".join(f"{y} qid:{q} 0:{b} 1:{a}\n" for y, q, a, b in rows))
    (tmp_path / "test").write_text("".join(f"{y} qid:{q} 1:{a}\n" for y, q, a, _ in rows))  # no index 0 in it
    run("train", tmp_path / "train", "-o", tmp_path / "m.json")
    told = run("evaluate", tmp_path / "m.json", tmp_path / "test", "-m", "pairwise-accuracy", "--json").stdout
    assert json.loads(told)["measures"]["pairwise-accuracy"]["mean"] > 0.75
    assert run("inspect", tmp_path / "m.json").stdout.splitlines()[2].split()[0] == "1"


def test_an_index_zero_in_data_for_a_model_that_counts_from_one_is_one_sentence(files, tmp_path):
    """Version 0.1 shifted every feature."""
    (tmp_path / "test").write_text("1 qid:1 1:1\n0 qid:1 0:1 2:3\n")
    model, train = files / "model.json", files / "train.txt"
    for command in (
        ("predict", model, tmp_path / "test"),
        ("evaluate", model, tmp_path / "test"),
        ("compare", model, f"again={model}", "--data", tmp_path / "test"),
        ("train", train, "-o", tmp_path / "m.json", "--valid", tmp_path / "test"),
    ):
        done = run(*command, code=1)
        assert "line 2, column 9: found '0:1', expected an index of 1 or more" in done.stderr
    assert not (tmp_path / "m.json").exists()
    run("convert", tmp_path / "test", tmp_path / "test.chunks")
    done = run("predict", model, tmp_path / "test.chunks", code=1)
    assert "test.chunks has 3 features, 0 to 2, expected 13 features, 1 to 13" in done.stderr


def test_a_malformed_last_column_is_one_sentence(files, tmp_path):
    """Version 0.1 read it as 0."""
    columns = json.loads((files / "model.json").read_text())["n_features"]
    (tmp_path / "test").write_text(f"1 qid:1 1:1\n0 qid:1 {columns}:abc\n")
    done = run("predict", files / "model.json", tmp_path / "test", code=1)
    assert f"line 2, column 9: found '{columns}:abc'" in done.stderr


def test_a_reader_that_leaves_is_no_error(files):
    shell = f"{' '.join(map(repr, RANKWISE))} predict {files / 'model.json'} {files / 'test.txt'} | head -1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert len(done.stdout.split()) == 1


def test_an_interrupted_training_leaves_no_file(tmp_path):
    with open(tmp_path / "big.txt", "w") as file:
        for i in range(200_000):
            file.write(f"{i % 5} qid:{i // 100} 1:{i % 17} 2:{i % 31} 3:{i % 7}\n")
    command = [*RANKWISE, "train", str(tmp_path / "big.txt"), "-o", str(tmp_path / "m.json"), "--tol", "1e-30"]
    process = subprocess.Popen([*command, "--solver", "sgd"], stderr=subprocess.PIPE, text=True)
    time.sleep(4)  # in the middle of compiling, where the kernels are new
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert told.strip().splitlines()[-1] == "rankwise: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["big.txt"]


WHILE_IMPORTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == when:
            os.kill(os.getpid(), signal.SIGINT)

when = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
from rankwise.cli import main
main()
"""


@pytest.mark.parametrize("closed", ["", "2>&-"])
@pytest.mark.parametrize("module", ["rankwise.cli.limits", "typer", "rankwise.cli.app", "rankwise.solvers.choice"])
def test_an_interrupted_start_shows_no_traceback(module, closed):
    line = f'exec "$@" {closed}'
    command = ["bash", "-c", line, "bash", sys.executable, "-c", WHILE_IMPORTING, module, "train", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=heed_interrupts)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == ("" if closed else "rankwise: interrupted\n")


def test_an_ignored_interrupt_stays_ignored():
    command = [sys.executable, "-c", WHILE_IMPORTING, "typer", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=ignore_interrupts)
    assert (done.returncode, done.stderr) == (0, "")


def heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job ignores them


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


INCOMPLETE = """
import sys
from rankwise.cli import app, main, speech

class Compiler:
    def __del__(self):
        raise AttributeError("incomplete")

def work():
    half = Compiler()
    if "interrupt" in sys.argv:
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)

app.app = speech.command(work)
main()
"""


@pytest.mark.parametrize(("how", "code", "last"), [("whole", 0, "incomplete"), ("interrupt", 130, "interrupted")])
def test_what_ctrl_c_left_incomplete_does_not_complain(how, code, last):
    done = subprocess.run([sys.executable, "-c", INCOMPLETE, how], stderr=subprocess.PIPE, text=True)
    assert done.returncode == code
    assert done.stderr.strip().endswith(last)
    assert ("Exception ignored" in done.stderr) == (how == "whole")
