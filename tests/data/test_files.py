"""Files of every format: what is written reads back to the same bits, and what is wrong is told in one sentence."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array, issparse, load_npz

from rankwise.data.files import read_data, write_data
from rankwise.data.frame import from_frame, to_frame
from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData

EVERY_FORMAT = ["letor", "csv", "tsv", "parquet", "npz"]


@st.composite
def records(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    floats = st.floats(width=8 * dtype().itemsize, allow_nan=False, allow_infinity=False)
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(dtype, (n, d), elements=st.just(0.0) | floats | st.integers(-3, 3)))
    y = draw(hnp.arrays(np.float64, n, elements=st.floats(allow_nan=False, allow_infinity=False)))
    ids = draw(st.sampled_from([st.integers(-(2**63) + 1, 2**63 - 1), st.text('ab:7é漢\\-,"', min_size=1, max_size=4)]))
    qid = np.array(draw(st.lists(ids, min_size=n, max_size=n)))
    comment = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0")).map(lambda text: text.strip(" \t\v\f"))
    comments = draw(st.none() | st.lists(comment, min_size=n, max_size=n))
    named = st.lists(st.text("xyz ,\"'é", min_size=1, max_size=3), min_size=d, max_size=d, unique=True)
    return RankingData(X, y, qid, comments, draw(st.sampled_from([0, 1])), draw(st.none() | named))


@given(records(), st.booleans(), st.sampled_from(EVERY_FORMAT))
def test_round_trip(tmp_path_factory, record, sparse, kind):
    path = tmp_path_factory.mktemp("data") / "file"
    X = csr_array(record.X) if sparse else record.X
    names = None if kind == "letor" else record.names
    first_index = 1 if record.names is not None else record.first_index
    given = RankingData(X, record.y, record.qid, record.comments, first_index, record.names)
    write_data(path, given, format=kind)
    in_text = {"dtype": record.X.dtype, "dense": not sparse} if kind in ("letor", "csv", "tsv") else {}
    read = read_data(path, format=kind, comments=True, **in_text)
    assert issparse(read.X) == sparse
    assert read.X.dtype == record.X.dtype
    assert read.X.shape == record.X.shape
    assert (read.X.toarray() if sparse else read.X).tobytes() == (X.toarray() if sparse else X).tobytes()
    assert read.y.tobytes() == record.y.tobytes()
    assert read.qid.dtype.kind in "iU"
    assert [str(one) for one in read.qid.tolist()] == [str(one) for one in record.qid.tolist()]
    assert list(read.comments if read.comments is not None else [""] * len(record)) == list(
        record.comments if record.comments is not None else [""] * len(record)
    )
    assert read.first_index == first_index
    assert read.names is None if names is None else list(read.names) == names
