"""Small text read without Numba: what is read is what the kernels read, and whatever they refuse is left to them."""

import os
import subprocess
import sys
from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.data import letor_parts, letor_plain
from rankwise.data.letor_options import Options, Seen
from rankwise.data.streams import LetorError, Text

TOKENS = ["1", "-0", "0.1", "+2.5", ".5", "5.", "1e3", "1E-400", "1e400", "9007199254740993", "nan", "inf", "1_0", "x"]
PLAIN = ["1", "0", "-0", "0.1", "+2.5", "1e-7", "123456.789"]


@st.composite
def lines(draw):
    """Plain ones, and with some luck one that is not."""
    numbers = st.sampled_from(PLAIN if draw(st.integers(0, 3)) else TOKENS)
    tokens = [draw(numbers), *draw(st.sampled_from([["qid:7"], ["qid:7"], ["qid:0"], ["qid:07"], ["qid:a"], []]))]
    indices = draw(st.sampled_from([[1, 2, 3], [1, 2], [2, 3], [3, 2], [2, 2], [0, 1, 2], ["01"], [9999999999], []]))
    tokens += [f"{index}:{draw(numbers)}" for index in indices]
    space = draw(st.sampled_from([" ", " ", "  ", "\t", "\v"]))
    return space.join(tokens) + draw(st.sampled_from(["", "", " ", "\r", "#c", " # docid = 7", "\x00", " ü"]))


OPTIONS = st.builds(
    Options,
    st.sampled_from([None, 3]),
    st.sampled_from([None, True, False]),
    st.sampled_from([np.dtype(np.float64), np.dtype(np.float32)]),
    st.sampled_from([None, 0.0]),
    st.booleans(),
    st.just(1),
    st.sampled_from([None, False, True]),
)


@given(
    written=st.lists(lines(), min_size=1, max_size=4),
    options=OPTIONS,
    seen=st.builds(Seen, st.sampled_from([None, True, False]), st.booleans()),
    whole=st.booleans(),
)
@settings(max_examples=400)
def test_what_is_read_without_numba_is_what_the_kernels_read(written, options, seen, whole):
    texts = [Text("t", "\n".join(written).encode())]
    after, before = copy(seen), copy(seen)
    part = letor_plain.read_plain(texts, options, after, whole=whole)
    if part is None:
        assert after == before
        return
    expected = letor_parts.read_part(texts, options, before, whole=whole)
    assert after == before
    assert part.X.dtype == expected.X.dtype
    assert part.X.tobytes() == expected.X.tobytes()
    assert part.y.tobytes() == expected.y.tobytes()
    assert (part.qid.dtype, part.qid.tolist()) == (expected.qid.dtype, expected.qid.tolist())
    assert (part.base, part.entries, part.X.shape) == (expected.base, expected.entries, expected.X.shape)
    assert (part.comments is None) == (expected.comments is None)
    assert part.comments is None or part.comments.tolist() == expected.comments.tolist()


def test_usual_text_is_read():
    options = Options(3, None, np.dtype(np.float64), None, True, 1, False)
    text = b"\xef\xbb\xbf2 qid:1 1:0.5 2:-1e-3 3:7 # docid = a\r\n\n# remark\n0 qid:1 1:1 3:2\n"
    part = letor_plain.read_plain([Text("t", text, 3)], options, Seen(), whole=True)
    assert part.X.tolist() == [[0.5, -1e-3, 7], [1, 0, 2]]
    assert (part.y.tolist(), part.qid.tolist(), part.comments.tolist()) == ([2, 0], [1, 1], ["docid = a", ""])


@pytest.mark.parametrize(
    "line", ["1 qid:7#c", "1 qid:7 4:1", "1 qid:7 2:1 1:1", "1 2:1 qid:7", "1 0:1", "9007199254740993"]
)
def test_a_fault_is_left_to_the_kernels(line):
    options = Options(3, True, np.dtype(np.float64), None, False, 1, False)
    texts = [Text("t", line.encode())]
    for whole in (True, False):
        assert letor_plain.read_plain(texts, options, Seen(), whole=whole) is None
    with pytest.raises(LetorError, match="t, line 1, column"):
        letor_parts.read_part(texts, options, Seen(), whole=True)


def test_a_process_that_reads_little_does_not_load_numba(tmp_path):
    (tmp_path / "small.txt").write_text("1 qid:1 1:0.5 2:1\n" * 50)
    (tmp_path / "large.txt").write_text("1 qid:1 1:0.5 2:1\n" * 60_000)
    code = """
import sys, rankwise
assert rankwise.read_letor("small.txt").X.shape == (50, 2)
assert not [one for one in ("numba", "scipy.sparse", "scipy.linalg") if one in sys.modules]
assert rankwise.read_letor("large.txt").X.shape == (60_000, 2)
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ, check=True)
