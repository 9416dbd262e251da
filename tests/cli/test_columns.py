"""Columns through the commands: by name or by number, whatever the format, or one sentence."""

import json
import re
import subprocess

import numpy as np
import pytest
from commands import run, write_sample

from rankwise import RankingData, load_model, load_sample, write_data
from rankwise.data.synthetic import SAMPLE_FEATURES

KINDS = {
    "plain": [],
    "scaled": ["--normalize", "query-minmax"],
    "global": ["--normalize", "zscore"],
    "kernel": ["--kernel", "rbf", "--components", 20],
    "rankrls": ["--model", "rankrls"],
    "factorized": ["--model", "factorized", "--max-iter", 5, "--loss", "squared_hinge"],
}
TURNED = list(range(12, -1, -1))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The sample by name and by number, as it is and with its columns turned round, in every format of columns."""
    folder = tmp_path_factory.mktemp("tables")
    write_sample(folder)
    sample = load_sample("test")
    for suffix in ("csv", "tsv", "parquet", "npz", "chunks"):
        for kind, names in (("named", list(SAMPLE_FEATURES)), ("numbered", [f"f{i}" for i in range(1, 14)])):
            for order, places in (("straight", range(13)), ("turned", TURNED)):
                own = [names[i] for i in places]
                X = np.ascontiguousarray(sample.X[:, list(places)])
                data = RankingData(X, sample.y, sample.qid, None, 1, own)
                write_data(folder / f"{kind}-{order}.{suffix}", data, format=suffix)
    return folder


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("kind", ["named", "numbered"])
def test_turned_columns_get_the_same_scores(tables, tmp_path, options, kind):
    model = tmp_path / "m.json"
    run("train", tables / f"{kind}-straight.csv", "-o", model, *options)
    expected = run("predict", model, tables / f"{kind}-straight.csv").stdout
    for suffix in ("csv", "tsv", "parquet", "npz", "chunks"):
        assert run("predict", model, tables / f"{kind}-turned.{suffix}").stdout == expected, suffix


@pytest.mark.parametrize("kind", ["named", "numbered"])
def test_turned_columns_are_judged_alike(tables, tmp_path, kind):
    straight, turned = (tables / f"{kind}-{order}.csv" for order in ("straight", "turned"))
    for name, C in (("a", 0.01), ("b", 1)):
        run("train", straight, "-o", tmp_path / f"{name}.json", "--C", C)
    models = [tmp_path / "a.json", tmp_path / "b.json"]
    assert len({run("evaluate", models[0], one, "--json").stdout for one in (straight, turned)}) == 1
    assert len({run("compare", *models, "--data", one, "--json").stdout for one in (straight, turned)}) == 1
    told = [
        json.loads(run("train", straight, "-o", tmp_path / "m.json", "--valid", one, "--json").stdout)
        for one in (straight, turned)
    ]
    assert told[0]["valid"] == told[1]["valid"]
    told = [
        json.loads(run("tune", straight, "-o", tmp_path / "m.json", "-C", 1, "--valid", one, "--json").stdout)
        for one in (straight, turned)
    ]
    assert told[0]["mean"] == told[1]["mean"]


def test_a_model_from_text_takes_numbered_columns_in_any_order(tables, tmp_path):
    run("train", tables / "train.txt", "-o", tmp_path / "m.json")
    expected = run("predict", tmp_path / "m.json", tables / "test.txt").stdout
    for suffix in ("csv", "npz", "chunks"):
        assert run("predict", tmp_path / "m.json", tables / f"numbered-turned.{suffix}").stdout == expected


def test_a_model_of_numbers_refuses_names(tables, tmp_path):
    run("train", tables / "train.txt", "-o", tmp_path / "m.json")
    for suffix in ("csv", "chunks"):
        told = run("predict", tmp_path / "m.json", tables / f"named-straight.{suffix}", code=1).stderr
        assert "names its features 'bm25'" in told or "names its features" in told
        assert "the model knows numbers only" in told
    (tmp_path / "names").write_text("\n".join(SAMPLE_FEATURES))
    run("train", tables / "train.txt", "-o", tmp_path / "m.json", "--names", tmp_path / "names")
    expected = run("predict", tmp_path / "m.json", tables / "test.txt").stdout
    assert run("predict", tmp_path / "m.json", tables / "named-turned.csv").stdout == expected
    (tmp_path / "marked").write_text("\ufeff" + "\r\n".join(SAMPLE_FEATURES), encoding="utf-8")
    run("train", tables / "train.txt", "-o", tmp_path / "marked.json", "--names", tmp_path / "marked")
    assert run("predict", tmp_path / "marked.json", tables / "named-turned.csv").stdout == expected


@pytest.mark.parametrize("suffix", ["csv", "chunks"])
def test_further_columns_are_ignored_with_a_note(tables, tmp_path, suffix):
    run("train", tables / "named-straight.csv", "-o", tmp_path / "m.json")
    sample = load_sample("test")
    X, names = np.column_stack([np.ones(len(sample)), sample.X]), ["stock level", *SAMPLE_FEATURES]
    wide = tmp_path / f"wide.{suffix}"
    write_data(wide, RankingData(X, sample.y, sample.qid, None, 1, names), format=suffix)
    done = run("predict", tmp_path / "m.json", wide)
    assert done.stdout == run("predict", tmp_path / "m.json", tables / "named-straight.csv").stdout
    assert done.stderr == f"note: {wide} has columns that the model does not know, which are ignored: stock level\n"


@pytest.mark.parametrize("scaler", ["query-minmax", "query-zscore", "minmax", "zscore"])
def test_a_scaled_model_from_the_command_line_knows_its_names(tables, tmp_path, scaler):
    run("train", tables / "named-straight.csv", "-o", tmp_path / "m.json", "--normalize", scaler)
    model, data = load_model(tmp_path / "m.json"), load_sample("test")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.X, columns=SAMPLE_FEATURES)
    assert model.predict(frame, data.qid).shape == data.y.shape
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(frame[list(SAMPLE_FEATURES)[::-1]], data.qid)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.score(frame[list(SAMPLE_FEATURES)[::-1]], data.y, data.qid)


def test_names_of_the_data_stay_the_model_s(tables, tmp_path):
    (tmp_path / "names").write_text("\n".join(SAMPLE_FEATURES[::-1]))
    command = ["train", tables / "named-straight.csv", "-o", tmp_path / "m.json", "--names", tmp_path / "names"]
    assert "are not those in the data: leave out --names" in run(*command, code=1).stderr
    (tmp_path / "names").write_text("\n".join([*SAMPLE_FEATURES[:12], SAMPLE_FEATURES[0]]))
    assert f"{SAMPLE_FEATURES[0]!r} twice" in run(*command, code=1).stderr


def test_text_with_fewer_features_is_noted_and_with_more_refused(tmp_path):
    train, test = tmp_path / "train.txt", tmp_path / "test.txt"
    train.write_text("1 qid:1 1:0.5 2:1 3:2\n0 qid:1 1:0.1 2:2 3:1\n")
    run("train", train, "-o", tmp_path / "m.json")
    notes = {
        "1 qid:1 1:0.5 2:1\n": "no value other than 0 for feature 3 of the model",
        "1 qid:1 1:0.5\n": "no value other than 0 for features 2 to 3 of",
    }
    for text, told in notes.items():
        test.write_text(text)
        done = run("predict", tmp_path / "m.json", test)
        assert done.stderr.startswith("note: ")
        assert told in done.stderr
    test.write_text("1 qid:1 1:0.5 2:1 3:2\n0 qid:1 1:0.5\n")
    assert not run("predict", tmp_path / "m.json", test).stderr
    test.write_text("1 qid:1 1:0.5 4:1\n")
    assert "test.txt, line 1" in run("predict", tmp_path / "m.json", test, code=1).stderr


@pytest.mark.parametrize(
    ("train", "test", "words"),
    [
        (["f1", "f2", "f3"], ["f1", "f2"], "test.csv has 2 features, 1 to 2, expected 3 features, 1 to 3"),
        (["f0", "f1"], ["f1", "f2"], "test.csv has 2 features, 1 to 2, expected 2 features, 0 to 1"),
    ],
    ids=["fewer features", "counted from 1 instead of 0"],
)
def test_a_table_with_other_numbers_than_the_model_is_refused(tmp_path, train, test, words):
    for name, columns in (("train", train), ("test", test)):
        rows = [["label", "qid", *columns], ["1", "1", "0.5", "1", "2"], ["0", "1", "0.1", "2", "1"]]
        text = "".join(",".join(row[: 2 + len(columns)]) + "\n" for row in rows)
        (tmp_path / f"{name}.csv").write_text(text)
    run("train", tmp_path / "train.csv", "-o", tmp_path / "m.json")
    assert words in run("predict", tmp_path / "m.json", tmp_path / "test.csv", code=1).stderr


def test_convert_checks_a_damaged_folder_of_chunks(tables, tmp_path):
    write_data(tmp_path / "t.chunks", load_sample("test"))
    (chunk,) = (tmp_path / "t.chunks").glob("chunk-*.npz")
    damaged = bytearray(chunk.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    chunk.write_bytes(damaged)
    for suffix in ("txt", "npz", "chunks"):
        kind = {"txt": "letor"}.get(suffix, suffix)
        done = run("convert", tmp_path / "t.chunks", tmp_path / f"out.{suffix}", "--to", kind, code=1)
        assert "is damaged: its checksum is" in done.stderr
        assert not (tmp_path / f"out.{suffix}").exists()


def test_a_name_of_several_lines_passes_through_the_commands(tmp_path):
    sample = load_sample("train")
    names = ["text\nmatch", 'a, "b"\r\nc', *sample.names[2:]]
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    write_data(table, RankingData(sample.X, sample.y, sample.qid, None, 1, names))
    assert run("check", table).stdout
    run("train", table, "-o", model, "--C", 0.01)
    assert list(load_model(model).feature_names_in_[:2]) == names[:2]
    shown = run("inspect", model, "--top", 0).stdout
    assert r"text\nmatch " in shown
    assert r'a, "b"\r\nc ' in shown
    scores = run("predict", model, table).stdout
    assert run("predict", model, "-", stdin=table.read_bytes()).stdout == scores
    for suffix in ("csv", "tsv", "jsonl", "parquet", "npz", "chunks"):
        run("convert", table, tmp_path / f"to.{suffix}")
        assert run("predict", model, tmp_path / f"to.{suffix}").stdout == scores
    assert (tmp_path / "to.csv").read_bytes() == table.read_bytes()
    assert run("convert", tmp_path / "to.chunks", "-", "--to", "csv").stdout_bytes == table.read_bytes()


def test_the_option_that_leaves_out_a_name_of_several_lines_can_be_copied(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text('label,qid,"a\n""b"", \'c",d,e\n1,1,x,1,y\n0,1,z,2,y\n')
    said = run("check", table, "--missing", 0, code=2).stderr
    word = re.search(r"--ignore (\S.*) \(ignore=", said)[1]
    assert word.isprintable()
    given = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, text=True).stdout
    assert run("convert", table, "-", "--to", "csv", "--ignore", given).stdout == "label,qid,d\n1,1,1\n0,1,2\n"
