"""`rankwise check`: formats, missing values, exit codes, text and JSON."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest
from commands import RANKWISE, run, write_sample

from rankwise import RankingData, from_frame, load_sample, read_data, write_data


def report_of(*args, code=0):
    return json.loads(run("check", *args, "--json", code=code).stdout)


def codes(report):
    return [one["code"] for one in report["findings"]]


def test_the_sample(tmp_path):
    write_sample(tmp_path)
    told = run("check", tmp_path / "train.txt", "--against", tmp_path / "test.txt").stdout
    assert told.splitlines()[0] == "1,091 documents, 60 queries, 13 features, 6,377 pairs"
    assert told.splitlines()[2] == "1 note"
    assert codes(report_of(tmp_path / "train.txt")) == ["queries-without-pairs"]


@pytest.fixture
def frame():
    """With missing features and labels, and a feature that never changes."""
    data = load_sample("test")
    frame = pd.DataFrame({"label": data.y, "qid": data.qid, "a": data.X[:, 0], "b": data.X[:, 2], "c": 1.0})
    frame.loc[::10, "a"] = np.nan
    frame.loc[3, "label"] = np.nan
    return frame


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".npz":
        np.savez(path, X=frame[["a", "b", "c"]].to_numpy(), y=frame.label, qid=frame.qid, names=["a", "b", "c"])
    elif path.suffix == ".txt":
        rows = frame.itertuples(index=False)
        path.write_text("\n".join(f"{r.label} qid:{r.qid} 1:{r.a} 2:{r.b} 3:{r.c}" for r in rows))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.parquet", "d.npz", "d.txt"])
def test_missing_values_are_reported_rather_than_refused(frame, tmp_path, name):
    if name == "d.txt":  # where a label cannot be missing
        frame.loc[3, "label"] = 0
    path = write(frame, tmp_path / name)
    run("train", path, "-o", tmp_path / "m.json", code=1)
    report = report_of(path, code=1)
    missing = next(one for one in report["findings"] if one["code"] == "missing-values")
    assert missing["features"] == (["f1"] if name == "d.txt" else ["a"])
    n_labelled = len(frame) - (name != "d.txt")
    assert missing["numbers"] == {"values": 57, "largest_share": pytest.approx(57 / n_labelled)}
    assert ("missing-labels" in codes(report)) == (name != "d.txt")
    assert "constant-feature" in codes(report)


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.parquet"])
def test_missing_labels_are_counted_whatever_replaces_missing_features(frame, tmp_path, name):
    path = tmp_path / name
    if name == "d.jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        write(frame, path)
    found = codes(report_of(path, "--missing", "4", code=1))
    assert "missing-labels" in found
    assert "missing-values" not in found


def test_columns_by_name(frame, tmp_path):
    renamed = frame.fillna({"label": 0}).rename(columns={"label": "grade", "qid": "query"}).assign(title="no number")
    renamed["leak"] = 2 * renamed.grade
    path = tmp_path / "d.jsonl"
    renamed.to_json(path, orient="records", lines=True)
    options = [path, "--label", "grade", "--qid", "query", "--ignore", "title"]
    assert codes(report_of(*options, code=1))[:2] == ["missing-values", "label-copy"]
    assert "missing-values" not in codes(report_of(*options, "--ignore", "leak", "--missing", "0"))
    assert report_of(*options, "--features", "b")["data"]["features"] == 1


def test_frames_keep_missing_values_too(frame):
    data = from_frame(frame, keep_missing=True)
    assert np.isnan(data.y).sum() == 1
    assert np.isnan(data.X).sum() == 57
    with pytest.raises(ValueError, match=r"^keep_missing=True and missing=0 exclude each other"):
        from_frame(frame, keep_missing=True, missing=0)


def test_infinite_values(tmp_path):
    data = load_sample("test")
    X = data.X.copy()
    X[5, 2] = np.inf
    np.savez(tmp_path / "d.npz", X=X, y=data.y, qid=data.qid)
    assert "infinite-values" in codes(report_of(tmp_path / "d.npz", code=1))
    frame = pd.DataFrame({"label": data.y, "qid": data.qid, "a": X[:, 2]})
    frame.to_parquet(tmp_path / "d.parquet")
    assert "infinite-values" in codes(report_of(tmp_path / "d.parquet", code=1))


def test_exit_codes(tmp_path):
    data = load_sample("test")
    useless = RankingData(np.column_stack([data.X, np.ones(len(data))]), data.y, data.qid)
    write_data(tmp_path / "useless.parquet", useless)
    run("check", tmp_path / "useless.parquet", code=0)
    run("check", tmp_path / "useless.parquet", "--strict", code=1)
    write_data(tmp_path / "leak.csv", RankingData(np.column_stack([data.X, data.y]), data.y, data.qid))
    told = run("check", tmp_path / "leak.csv", code=1).stdout
    assert "error: label-copy\n  1 feature is the label itself" in told
    (tmp_path / "bad.txt").write_text("1 qid:1 1:x")
    (tmp_path / "empty.csv").write_text("")
    for args in (["none.txt"], [tmp_path / "bad.txt"], [tmp_path / "empty.csv"], []):
        done = run("check", *args, code=2)
        assert not done.stdout
        assert args == [] or len(done.stderr.splitlines()) == 1
    run("check", tmp_path / "leak.csv", "--against", "none.csv", code=2)


def test_several_files_are_one(tmp_path):
    write_sample(tmp_path)
    files = [tmp_path / "train.txt", tmp_path / "test.txt"]
    assert report_of(*files)["data"]["queries"] == 100
    report = report_of(files[0], "--against", files[0], "--against", files[1], code=1)
    assert report["against"]["queries"] == 100
    assert codes(report)[0] == "shared-documents"


def test_test_data_need_no_labels(tmp_path):
    data = load_sample("test")
    frame = pd.DataFrame(data.X).add_prefix("x").assign(qid=data.qid)
    frame.to_csv(tmp_path / "test.csv", index=False)
    frame.assign(label=data.y).to_csv(tmp_path / "train.csv", index=False)
    assert codes(report_of(tmp_path / "train.csv", "--against", tmp_path / "test.csv", code=1))[0] == "shared-documents"
    run("check", tmp_path / "test.csv", code=2)


def test_names_from_strangers_are_shown_plainly(tmp_path):
    data = load_sample("test")
    names = ["two\nlines", "\x1b[31mred", "\u202etxt", "quote\"'", "nul\0", "a, b", "x" * 500, *"abcdef"]
    X = np.zeros_like(data.X)
    X[:, 0] = np.arange(len(data))
    write_data(tmp_path / "d.npz", RankingData(X, data.y, np.array([f"{q}\n\x1b[2J" for q in data.qid]), names=names))
    told = run("check", tmp_path / "d.npz").stdout
    assert all(line.isprintable() for line in told.splitlines())
    assert max(map(len, told.splitlines())) <= 130
    listed = next(one for one in report_of(tmp_path / "d.npz")["findings"] if one["code"] == "constant-feature")
    assert listed["features"] == [name.rstrip("\0") for name in names[1:]]


def test_a_closed_pipe(tmp_path):
    write_sample(tmp_path)
    line = f"{' '.join(map(repr, RANKWISE))} check {tmp_path}/train.txt | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stderr == ""


def test_reading_for_a_check_leaves_other_reading_as_it_was(tmp_path, frame):
    path = write(frame, tmp_path / "d.csv")
    with pytest.raises(ValueError, match="expected a number"):
        read_data(path)
    assert not np.isnan(read_data(write(frame.fillna({"label": 0}), path), missing=0).X).any()
