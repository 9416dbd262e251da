"""The commands as a newcomer types them: what is not quite right is told with its cure, and so are outcomes."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import run
from typer.testing import CliRunner

from rankwise import RankSVM, load_model, load_sample, read_data, save_model
from rankwise.cli.app import app

SAMPLE = load_sample("test").select(slice(50))


@pytest.fixture(scope="module")
def tables(files):
    """The same rows as tables with and without labels, and a model of names."""
    names = [f"f{i + 1}" for i in range(13)]
    frame = pd.DataFrame(SAMPLE.X, columns=names).assign(qid=SAMPLE.qid, label=SAMPLE.y.astype(int))
    frame.to_csv(files / "labelled.csv", index=False)
    frame.drop(columns="label").to_csv(files / "plain.csv", index=False)
    frame.drop(columns="label").to_parquet(files / "plain.parquet")
    np.savez(files / "plain.npz", X=SAMPLE.X, qid=SAMPLE.qid)
    frame.assign(sku="sku-59-14").to_csv(files / "sku.csv", index=False)
    return files


def said(*args, code=1):
    """What is told on stderr, in one line."""
    return " ".join(run(*args, code=code).stderr.replace("│", " ").split())


def test_a_failed_conversion_leaves_nothing(tmp_path):
    np.savez(tmp_path / "nq.npz", X=[[1.0, 2], [3, 4]], y=[1.0, 0], qid=[np.nan, 1.0])
    for to in ("o.csv", "o.npz", "o.parquet", "o.txt", "o.chunks"):
        told = said("convert", tmp_path / "nq.npz", tmp_path / to)
        assert "nq.npz holds no ranking data, or is damaged: qid of row 0 is missing (nan)" in told
    assert [path.name for path in tmp_path.iterdir()] == ["nq.npz"]


@pytest.fixture
def huge(tmp_path):
    """A model whose weights are finite and whose scores are not."""
    model = RankSVM().fit([[1.0, 0, 0], [0, 1, 0]], [1, 0])
    model.coef_ = np.array([1e308] * 3)
    save_model(model, tmp_path / "huge.json")
    (tmp_path / "d.txt").write_text("1 qid:1 1:1\n0 qid:1 1:1 2:1\n")
    return tmp_path


def test_large_weights_are_shown(huge):
    assert "1e+308" in run("inspect", huge / "huge.json").stdout


@pytest.mark.parametrize("args", [["predict"], ["predict", "--trec"], ["evaluate"]])
def test_scores_that_are_not_finite_are_refused(huge, args):
    done = run(*args, huge / "huge.json", huge / "d.txt", code=1)
    told = f"{huge / 'huge.json'} gives row 2 of {huge / 'd.txt'} the score inf: its weights, or the features, are too"
    assert told in done.stderr
    assert done.stdout == ""


def test_scores_that_float64_rounds_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "sc").write_text("9007199254740993\n9007199254740992\n")
    assert "sc, line 1: the score '9007199254740993' is rounded by float64" in said(
        "evaluate", tmp_path / "sc", tmp_path / "a.txt"
    )


def test_a_file_of_scores_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "sc").write_bytes(b"\xef\xbb\xbf2\n1\n")
    run("evaluate", tmp_path / "sc", tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 Q0 a 1 0.5\n", "run, line 1: expected 6 fields"),
        ("1 Q0 a 1 0.5 tag more\n", "run, line 1: expected 6 fields"),
        ("", "run is empty: expected lines `qid Q0 docid rank score tag`"),
        ("0.5\n0.25\n", "run is a file of scores, and only a TREC run can be evaluated by --qrels"),
    ],
)
def test_what_is_no_run_is_told_by_line(tmp_path, text, words):
    (tmp_path / "run").write_text(text)
    (tmp_path / "qr").write_text("1 0 a 1\n")
    code = 2 if "scores" in words else 1
    assert words in said("evaluate", tmp_path / "run", "--qrels", tmp_path / "qr", code=code)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("ndcg:ties=best,ties=worst", "ndcg got ties twice: give it once"),
        ("map:relevant=1_0", "map cannot have relevant=1_0"),
        ("ndcg@5,map", "for several measures repeat the option, -m ndcg@5 -m map"),
        ("map,ndcg@5", "for several measures repeat the option, -m map -m ndcg@5"),
        ("ndcg10", "did you mean ndcg@10?"),
        ("mrr5:relevant=2", "did you mean mrr@5?"),
    ],
)
def test_measures_that_are_misspelt(files, measure, words):
    assert words in said("evaluate", files / "model.json", files / "test.txt", "-m", measure, code=2)


def test_a_missing_file_with_a_similar_name(files):
    told = said("evaluate", files / "model.json", files / "tets.txt")
    assert f"No such file or directory; did you mean {str(files / 'test.txt')!r}?" in told
    assert "did you mean" not in said("evaluate", files / "model.json", files / "nowhere" / "test.txt")
    assert "did you mean" not in said("evaluate", files / "model.json", files / "nope.txt")


@pytest.mark.parametrize(("words", "completed"), [("rankwise tra", "train"), ("rankwise train --los", "--loss")])
def test_a_shell_completes_commands_and_options(words, completed):
    asked = {"_RANKWISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = CliRunner().invoke(app, [], env=asked, prog_name="rankwise")
    assert done.stdout.split() == [completed]


def test_several_numbers_in_one_word(files, tmp_path):
    told = said("tune", files / "train.txt", "-o", tmp_path / "m.json", "--C", "0.1,1", code=2)
    assert "(repeat the option: --C 0.1 --C 1)" in told
    told = said("train", files / "train.txt", "-o", tmp_path / "m.json", "--C", "0.1,1", code=2)
    assert "(it takes one value; `rankwise tune` chooses among several)" in told


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_predict_needs_no_labels(tables, suffix):
    expected = run("predict", tables / "model.json", tables / "labelled.csv").stdout
    assert run("predict", tables / "model.json", tables / f"plain.{suffix}").stdout == expected
    run("predict", tables / "model.json", tables / f"plain.{suffix}", "--trec")
    evaluated = said("evaluate", tables / "model.json", tables / f"plain.{suffix}")
    judged = said("predict", tables / "model.json", tables / f"plain.{suffix}", "--trec", "--qrels", tables / "q")
    for told in (evaluated, judged):
        assert "no column 'label' for labels" in told or "lacks y" in told


def test_predict_tells_where_the_scores_are(tables, tmp_path):
    for more in ([], ["--trec"]):
        done = run("predict", tables / "model.json", tables / "plain.csv", "-o", tmp_path / "s", "--force", *more)
        assert (done.stdout, done.stderr) == ("", f"50 scores written to {tmp_path / 's'}\n")


def test_predict_takes_one_file():
    predict, train = (" ".join(run(name, "--help").stdout.split()) for name in ("predict", "train"))
    assert "several files" not in predict.lower()
    assert "Several files" in train


def test_convert_puts_a_value_for_what_is_missing(tmp_path):
    (tmp_path / "t.csv").write_text("label,qid,f1,f2\n1,1,,2\n0,1,NA,4\n")
    (tmp_path / "t.txt").write_text("1 qid:1 1:NULL 2:2\n0 qid:1 1:nan 2:4\n")
    for name in ("t.csv", "t.txt"):
        assert "--missing 0, puts 0" in said("convert", tmp_path / name, tmp_path / "new.tsv")
        run("convert", tmp_path / name, tmp_path / "o.tsv", "--missing", "-1.5", "--force")
        assert read_data(tmp_path / "o.tsv").X.tolist() == [[-1.5, 2], [-1.5, 4]]
        run("convert", tmp_path / name, tmp_path / "o.chunks", "--missing", "7")
    assert "must be a finite number" in said("convert", tmp_path / "t.csv", "-", "--missing", "nan", code=2)
    run("train", tmp_path / "t.csv", "-o", tmp_path / "m", "--missing", "0")


def test_a_column_of_texts_is_told_with_its_cure(tables, tmp_path):
    told = said("convert", tables / "sku.csv", tmp_path / "o.parquet")
    assert "column 'sku': found 'sku-59-14', expected a finite number" in told
    assert (
        "leave it out by --ignore sku (ignore=['sku'] in Python), or, if it holds document ids, name it by --doc sku"
        in told
    )
    run("convert", tables / "sku.csv", tmp_path / "o.parquet", "--feature", "f1", "--feature", "f2")
    run("convert", tables / "sku.csv", tmp_path / "ids.parquet", "--doc", "sku")
    assert read_data(tmp_path / "ids.parquet").docid[0] == "sku-59-14"


def test_model_and_data_in_the_wrong_order(tables):
    for command in ("evaluate", "predict"):
        for data in ("labelled.csv", "plain.parquet", "test.txt"):
            told = said(command, tables / data, tables / "model.json")
            assert f"{tables / 'model.json'} is a model, and {tables / data} is not: the order is MODEL DATA" in told


def test_one_query_is_not_one_queries(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "sc").write_text("2\n1\n")
    assert run("evaluate", tmp_path / "sc", tmp_path / "a.txt").stdout.startswith("2 documents in 1 query\n")


def test_a_parquet_file_that_is_not_there(files, tmp_path):
    told = run("evaluate", files / "model.json", tmp_path / "no.parquet", code=1).stderr
    assert told == f"rankwise: {tmp_path / 'no.parquet'}: No such file or directory\n"


def test_tune_tells_what_it_chose(files, tmp_path):
    options = ["--C", 0.01, "--C", 0.02, "--C", 1e-9, "-o", tmp_path / "m.json"]
    lines = run("tune", files / "train.txt", "--valid", files / "test.txt", *options).stderr.splitlines()
    C = load_model(tmp_path / "m.json").C
    assert lines[-1].startswith(f"C = {C:g} (ndcg@10 0.")
    assert lines[-1].endswith(f" on {files / 'test.txt'})")


@pytest.mark.parametrize(("Cs", "words"), [((1e-9, 1e-8, 1e-7), "largest"), ((1e3, 1e4, 1e5), "smallest")])
def test_tune_tells_that_its_choice_is_at_the_end_of_the_grid(files, tmp_path, Cs, words):
    options = [word for C in Cs for word in ("--C", C)]
    args = ["tune", files / "train.txt", "--folds", 2, "-o", tmp_path / "m.json", *options]
    chosen = json.loads(run(*args, "--json").stdout)["chosen"]["C"]
    told = run(*args, "--force").stderr
    note = f"note: C = {chosen:g} is the {words} of the values tried: try "
    assert (note in told) == (chosen == (max if words == "largest" else min)(Cs))


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "rankwise", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rankwise ")
