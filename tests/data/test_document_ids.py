"""Ids and weights of documents in files of every format."""

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from rankwise.data.chunk_writer import write_chunks
from rankwise.data.chunks import open_chunks
from rankwise.data.formats import read_data, write_data
from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData

X = np.array([[1.5, 0.0], [0.25, -2.0], [3.0, 4.0], [0.0, 1.0]])
DOCIDS = [["a b", 'c,"d"\t', "é#", "7"], [2**60, -1, 0, 3], ["007", "7", "x", "http://a/b?c=d#e"]]


def record(docid, qid=(1, 1, 2, 2)):
    return RankingData(X, [0, 1, 2, 0], np.array(qid), docid=docid, weight=[1, 0.1, 2.5, 0])


@pytest.mark.parametrize("docid", DOCIDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "npz", "chunks"])
def test_ids_and_weights_in_every_format(tmp_path, format, sparse, docid):
    data = record(docid)
    write_data(tmp_path / "file", replace(data, X=csr_array(X)) if sparse else data, format=format)
    read = read_data(tmp_path / "file", format=format, dense=True)
    assert read.docid.tolist() == docid
    assert read.weight.tolist() == [1, 0.1, 2.5, 0]
    assert (read.X == X).all()
    assert read.names is None


def test_scattered_queries_in_chunks_keep_ids_and_weights(tmp_path):
    blocks = [record(["a", "b", "c", "d"], [1, 2, 1, 2]), record([7, 8, 9, 12345], [2, 1, 3, 3])]
    write_chunks(tmp_path / "chunks", blocks, chunk_bytes=32)
    chunks = open_chunks(tmp_path / "chunks")
    assert chunks.docid.tolist() == ["a", "c", "8", "b", "d", "7", "9", "12345"]
    assert chunks.weight.tolist() == [1, 2.5, 0.1, 0.1, 0, 1, 2.5, 0]
    assert chunks.read().docid.tolist() == chunks.docid.tolist()
    assert (chunks.read().weight == chunks.weight).all()


def text_of(data):
    file = io.BytesIO()
    write_data(file, data)
    return file.getvalue().decode()


def test_ids_in_letor_text():
    data = replace(record(["x", "y", "z", "1"]), weight=None)
    assert text_of(data).splitlines()[0] == "0 qid:1 1:1.5 2:0 # docid = x"
    back = read_letor(io.BytesIO(text_of(data).encode()), comments=True)
    assert back.docid.tolist() == ["x", "y", "z", "1"]
    assert text_of(back) == text_of(data)  # once, not twice
    remarked = replace(data, comments=["good", "", "docid = q", "#"])
    back = read_letor(io.BytesIO(text_of(remarked).encode()), comments=True)
    assert back.docid.tolist() == ["x", "y", "z", "1"]
    assert list(back.comments) == ["docid = x good", "docid = y", "docid = z docid = q", "docid = 1 #"]


def test_what_letor_text_cannot_hold():
    refused = r"docid\[0\] is 'a b', which cannot be written.*CSV, JSON lines, Parquet and NPZ take such ids"
    with pytest.raises(ValueError, match=refused):
        text_of(replace(record(["a b", "y", "z", "1"]), weight=None))
    with pytest.raises(ValueError, match="no place for weights"):
        text_of(record(None))


@pytest.mark.parametrize(
    ("comments", "expected"),
    [
        (["7555 rambo", "1370 rambo", "7555 rocky"], [7555, 1370, 7555]),
        (["docid = GX1 inc = 1", "docid=GX1 inc = 2", "x docid = 3"], ["GX1", "GX1", "3"]),
        (["good one", "good two", "bad"], None),  # no ids: two rows of a query have the same
        (["docid = a", "b", "c"], None),
        (["a", "", "b"], None),
    ],
)
def test_ids_in_comments(comments, expected):
    text = "".join(f"0 qid:{q} 1:1 # {one}\n" for q, one in zip((1, 1, 2), comments, strict=True))
    docid = read_letor(io.BytesIO(text.encode()), comments=True).docid
    assert (None if docid is None else docid.tolist()) == expected
