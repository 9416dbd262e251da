"""A format written outside the package: read, written, streamed, and used by the commands."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from rankwise import RankingData, cli, load_sample, read_data, stream_data, write_chunks, write_data
from rankwise.data import Format, register_format
from rankwise.data.formats import _FORMATS, format_names, format_of, suffixes_shown
from rankwise.distributed.sources import list_files, read_file


def read_lines(source, reading):
    """One JSON object per line, in blocks of 100 rows."""
    rows = [json.loads(line) for line in Path(source).read_text().splitlines()]
    for start in range(0, len(rows), 100):
        block = rows[start : start + 100]
        X = np.array([row["x"] for row in block], reading.dtype or np.float64)
        yield RankingData(X, [row["label"] for row in block], [row["query"] for row in block])


def write_lines(target, data):
    with open(target, "w", encoding="utf-8") as file:
        for x, label, query in zip(data.X.tolist(), data.y.tolist(), data.qid.tolist(), strict=True):
            file.write(json.dumps({"x": x, "label": label, "query": query}) + "\n")


@pytest.fixture(autouse=True)
def _rows(monkeypatch):
    known = dict(_FORMATS)
    register_format(Format("rows", (".rows",), read_lines, write_lines))
    yield
    _FORMATS.clear()
    _FORMATS.update(known)


def test_it_is_read_written_and_streamed(tmp_path):
    data = load_sample()
    path = tmp_path / "sample.rows"
    write_data(path, data)
    read = read_data(path, dtype=np.float32)
    assert read.X.dtype == np.float32
    assert (read_data(path).X == data.X).all()
    assert (read.y == data.y).all()
    assert (read.qid == data.qid).all()
    assert [len(block) for block in stream_data(path)] == [100] * 19 + [51]
    write_data(tmp_path / "other", data, format="rows")
    assert (read_data(tmp_path / "other", format="rows").X == data.X).all()
    with pytest.raises(ValueError, match="rows cannot go to standard output"):
        write_data("-", data, format="rows")
    with pytest.raises(ValueError, match="rows cannot be read from standard input"):
        read_data("-", format="rows")


def command(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["rankwise", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code


def test_commands_use_it(tmp_path, monkeypatch, capsys):
    write_data(tmp_path / "train.txt", load_sample("train"))
    command(monkeypatch, "convert", tmp_path / "train.txt", tmp_path / "train.rows")
    command(monkeypatch, "convert", tmp_path / "train.txt", tmp_path / "twin", "--to", "rows")
    assert (tmp_path / "train.rows").read_bytes() == (tmp_path / "twin").read_bytes()
    for suffix in ("txt", "rows"):
        command(monkeypatch, "train", tmp_path / f"train.{suffix}", "-o", tmp_path / f"{suffix}.json", "--C", 0.01)
        capsys.readouterr()
        command(monkeypatch, "predict", tmp_path / f"{suffix}.json", tmp_path / f"train.{suffix}")
        (tmp_path / f"{suffix}.scores").write_text(capsys.readouterr().out)
    assert (tmp_path / "txt.scores").read_text() == (tmp_path / "rows.scores").read_text()
    command(monkeypatch, "convert", tmp_path / "train.rows", tmp_path / "train.chunks")
    assert (read_data(tmp_path / "train.chunks").X == load_sample("train").X).all()


def test_a_cluster_reads_it(tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.distributed.sources.threads", lambda n: 1)  # no worker here
    for i in range(2):
        write_data(tmp_path / f"part-{i}.rows", load_sample("train"))
    parts = list_files([str(tmp_path / "*.rows")])
    assert [(path.name, name) for path, name in parts] == [(f"part-{i}.rows", "rows") for i in range(2)]
    assert (read_file(*parts[0], {}).data.X == load_sample("train").X).all()


def test_a_cluster_reads_a_folder_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.distributed.sources.threads", lambda n: 1)
    data = load_sample("train")
    write_chunks(tmp_path / "train.chunks", data, chunk_bytes=20_000)
    (tmp_path / "folder").mkdir()
    for i, rows in enumerate((slice(700), slice(700, None))):
        write_data(tmp_path / "folder" / f"part-{i}.parquet", data.select(rows))
    for name, n in (("train.chunks", 6), ("folder", 2)):
        parts = [read_file(*one, {}) for one in list_files([str(tmp_path / name)])]
        assert len(parts) == n
        assert (np.concatenate([one.data.X for one in parts]) == data.X).all()
        assert str(tmp_path / name) in parts[1].where


def test_a_folder_can_be_a_format(tmp_path):
    """The one that was registered last is asked first."""
    register_format(Format("pages", (".pages",), read_lines, is_folder=lambda path: (path / "pages").exists()))
    (tmp_path / "pages").touch()
    assert format_of(tmp_path).name == "pages"
    (tmp_path / "pages").unlink()
    assert format_of(tmp_path).name == "parquet"


def test_help_lists_what_is_registered():
    assert format_names() == ["letor", "csv", "tsv", "jsonl", "parquet", "npz", "chunks", "rows"]
    assert suffixes_shown() == ".txt .csv .tsv .jsonl (also .gz .bz2 .xz .zst), .parquet .npz .chunks .rows"


@pytest.mark.parametrize(
    ("format", "words"),
    [
        (Format("a b", (".ab",), read_lines), "name must be a word of letters, digits and '_', got 'a b'"),
        (Format("ab", ("ab",), read_lines), "a suffix must start with '.' and be in lower case, got 'ab'"),
        (Format("ab", (".AB",), read_lines), "a suffix must start with '.' and be in lower case, got '.AB'"),
        (Format("ab", (".gz",), read_lines), "the suffix .gz belongs to compressed files"),
        (Format("ab", (".csv",), read_lines), "the suffix .csv belongs to the format 'csv'"),
        (None, "register_format takes a rankwise.data.Format; got None"),
        (Format(None, (".ab",), read_lines), "name must be a word of letters, digits and '_', got None"),
        (Format("ab", ".ab", read_lines), "suffixes must be a tuple of texts, such as ('.jsonl',); got '.ab'"),
        (Format("ab", (".ab",)), "the format 'ab' can neither be read nor written"),
    ],
)
def test_what_is_no_format(format, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        register_format(format)
    assert "ab" not in format_names()


def test_what_a_format_cannot_do(tmp_path):
    data = load_sample("test")
    register_format(Format("read_only", (".ro",), read_lines))
    register_format(Format("write_only", (".wo",), write=write_lines))
    register_format(
        Format("needy", (".needy",), read_lines, write_lines, requires=("no_such_module", "no-such-package"))
    )
    with pytest.raises(ValueError, match="'read_only' can be read but not written"):
        write_data(tmp_path / "a.ro", data)
    write_data(tmp_path / "a.wo", data)
    with pytest.raises(ValueError, match="'write_only' can be written but not read"):
        read_data(tmp_path / "a.wo")
    with pytest.raises(ImportError, match="needy needs a package: pip install 'no-such-package'"):
        write_data(tmp_path / "a.needy", data)
    with pytest.raises(ValueError, match=r"got 'parqet'. Did you mean 'parquet'\?"):
        read_data(tmp_path / "a", format="parqet")
