"""rankwise convert, and the other commands on what it writes."""

import signal
import subprocess
import time

import numpy as np
import pytest
from commands import RANKWISE, run, write_sample

from rankwise import RankSVM, load_model, load_sample, make_ranking, open_chunks, read_data, write_letor
from rankwise.data.chunks import ChunkedData
from rankwise.data.synthetic import SAMPLE_FEATURES


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_sample(folder)
    return folder


def test_there_and_back(files, tmp_path):
    text = (files / "train.txt").read_text()
    names = [tmp_path / name for name in ("a.parquet", "b.csv.gz", "c.npz", "d.tsv", "e.txt")]
    for source, target in zip([files / "train.txt", *names], names, strict=False):
        told = run("convert", source, target).stderr
        assert told.startswith("1,091 documents, 60 queries, 13 features written to ")
    assert names[-1].read_text() == text


def test_pipes(files):
    text = (files / "test.txt").read_text()
    table = run("convert", "-", "-", "--to", "csv", stdin=text).stdout
    assert table.startswith("label,qid,docid,f1,f2,")
    assert run("convert", "-", "-", "--from", "csv", stdin=table).stdout == text


def test_commands_read_every_format(files, tmp_path):
    run("train", files / "train.txt", "-o", tmp_path / "text.json", "--C", 0.01)
    expected = run("predict", tmp_path / "text.json", files / "test.txt").stdout
    for suffix in ("parquet", "csv", "npz", "chunks"):
        for split in ("train", "test"):
            run("convert", files / f"{split}.txt", tmp_path / f"{split}.{suffix}", "--to", suffix)
        data, model = tmp_path / f"train.{suffix}", tmp_path / f"{suffix}.json"
        run("train", data, "-o", model, "--C", 0.01, "--valid", tmp_path / f"test.{suffix}")
        np.testing.assert_array_equal(load_model(model).coef_, load_model(tmp_path / "text.json").coef_)
        assert run("predict", model, tmp_path / f"test.{suffix}").stdout == expected
        assert "ndcg@5" in run("evaluate", model, tmp_path / f"test.{suffix}", "-m", "ndcg@5").stdout


def test_names_go_with_the_model_and_order_the_columns(files, tmp_path):
    sample = load_sample("train")
    table = "label,qid," + ",".join(SAMPLE_FEATURES) + "\n"
    table += "".join(
        f"{y:g},{q}," + ",".join(map(repr, row)) + "\n"
        for y, q, row in zip(sample.y, sample.qid, sample.X.tolist(), strict=True)
    )
    (tmp_path / "train.csv").write_text(table)
    run("train", tmp_path / "train.csv", "-o", tmp_path / "m.json", "--C", 0.01)
    assert "out_of_stock" in run("inspect", tmp_path / "m.json").stdout
    rows = [line.split(",") for line in table.splitlines()]
    turned = [",".join([*row[:2], *row[:1:-1]]) for row in rows]
    (tmp_path / "turned.csv").write_text("\n".join(turned) + "\n")
    scores = run("predict", tmp_path / "m.json", tmp_path / "train.csv").stdout
    assert run("predict", tmp_path / "m.json", tmp_path / "turned.csv").stdout == scores
    shown = [run("evaluate", tmp_path / "m.json", tmp_path / name).stdout for name in ("train.csv", "turned.csv")]
    assert shown[0] == shown[1]
    (tmp_path / "other.csv").write_text(table.replace("clicks", "taps"))
    assert (
        "other features than expected (missing: 'clicks'; unknown: 'taps')"
        in run("predict", tmp_path / "m.json", tmp_path / "other.csv", code=1).stderr
    )


def test_columns_by_name(tmp_path):
    (tmp_path / "t.csv").write_text("doc,rel,query,a,b\nx,1,q,2,3\ny,0,q,4,5\n")
    columns = ["--label", "rel", "--qid", "query", "--feature", "b", "--feature", "a"]
    run("convert", tmp_path / "t.csv", tmp_path / "t.parquet", *columns, "--float32")
    read = read_data(tmp_path / "t.parquet")
    assert read.X.tolist() == [[3, 2], [5, 4]]
    assert read.X.dtype == np.float32


def test_chunks_of_several_files_and_a_pipe(files, tmp_path):
    data = load_sample("train")
    write_letor(tmp_path / "a.txt.gz", data.select(data.qid <= 40))
    write_letor(tmp_path / "b.txt", data.select(data.qid > 40))
    told = run("convert", tmp_path / "a.txt.gz", tmp_path / "b.txt", tmp_path / "chunks", "--to", "chunks").stderr
    assert told.startswith("1,091 documents, 60 queries, 13 features written to ")
    assert (open_chunks(tmp_path / "chunks", verify=True).read().X == data.X).all()
    command = [*RANKWISE, "convert", "-", str(tmp_path / "piped"), "--to", "chunks"]
    subprocess.run(command, input=(files / "train.txt").read_bytes(), check=True, capture_output=True)
    assert (open_chunks(tmp_path / "piped").read().X == data.X).all()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.txt.gz", "b.txt", "chunks", "piped"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["convert", "TRAIN"], 2, "give the files to read and, last, the file to write"),
        (["convert", "TRAIN", "OUT.xyz"], 2, ".xyz is the suffix of no known format"),
        (["convert", "TRAIN", "OUT", "--to", "xls"], 2, "--to: format must be one of 'letor', 'csv'"),
        (["convert", "missing.csv", "OUT.txt"], 1, "missing.csv: No such file"),
        (["convert", "TRAIN", "no/where/t.csv"], 1, "there is no folder"),
        (["convert", "TRAIN", "-", "--to", "npz"], 1, "npz cannot go to standard output"),
        (["convert", "TRAIN", "OUT.npz", "--from", "csv"], 1, "has no column 'label'"),
    ],
)
def test_what_cannot_be_converted(files, tmp_path, args, code, words):
    places = {"TRAIN": str(files / "train.txt")}
    args = [places.get(arg, arg.replace("OUT", str(tmp_path / "out"))) for arg in args]
    assert words in " ".join(run(*args, code=code).stderr.split())
    assert not list(tmp_path.iterdir())


def test_an_interrupted_conversion_leaves_nothing(tmp_path):
    write_letor(tmp_path / "part.txt", make_ranking(2000, 40, 30, random_state=0))
    command = [*RANKWISE, "convert", *[str(tmp_path / "part.txt")] * 20, str(tmp_path / "chunks"), "--to", "chunks"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / ".rankwise-tmp-folder-chunks").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert told.strip().splitlines()[-1] == "rankwise: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["part.txt"]


@pytest.mark.slow
def test_a_killed_conversion_never_opens(tmp_path):
    write_letor(tmp_path / "part.txt", make_ranking(2000, 40, 30, random_state=0))
    command = [*RANKWISE, "convert", *[str(tmp_path / "part.txt")] * 20, str(tmp_path / "chunks"), "--to", "chunks"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob(".rankwise-tmp-folder-chunks/*.npz")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (tmp_path / "chunks").exists()
    with pytest.raises(ValueError, match="holds no chunks"):
        open_chunks(tmp_path / ".rankwise-tmp-folder-chunks")
    run("convert", tmp_path / "part.txt", tmp_path / "chunks", "--to", "chunks")
    assert open_chunks(tmp_path / "chunks", verify=True).n_queries == 2000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chunks", "part.txt"]


def test_rows_in_chunks_stay_on_disk(files, tmp_path, monkeypatch):
    """RankSVM and RankRLS stream a folder of chunks, in training, predicting and judging; others read it whole."""
    folder = tmp_path / "train.chunks"
    run("convert", files / "train.txt", folder, "--to", "chunks")
    run("train", folder, "-o", tmp_path / "cv.json", "--model", "rankrls-cv")
    monkeypatch.setattr(ChunkedData, "read", None)
    monkeypatch.setattr(ChunkedData, "chunk", None)
    run("train", folder, "-o", tmp_path / "rls.json", "--model", "rankrls")
    told = run("train", folder, "-o", tmp_path / "m.json", "--C", 0.01).stdout
    assert "ndcg@10" in told
    expected = RankSVM(C=0.01).fit(*(getattr(load_sample("train"), name) for name in ("X", "y", "qid")))
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").coef_, expected.coef_)
    scores = np.array(run("predict", tmp_path / "m.json", folder).stdout.split(), float)
    np.testing.assert_array_equal(scores, expected.predict(load_sample("train").X))
    assert (
        run("evaluate", tmp_path / "m.json", folder).stdout
        == run("evaluate", tmp_path / "m.json", files / "train.txt").stdout
    )
    with pytest.raises(ValueError, match="must be in memory"):
        RankSVM(solver="dual").fit(open_chunks(folder))
