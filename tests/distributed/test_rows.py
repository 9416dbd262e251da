"""Arrays that come over the network lie anywhere; those that are computed with lie as NumPy puts them."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from rankwise import RankingData
from rankwise.distributed.holding import KEPT, Partition, Request
from rankwise.distributed.rows import Rows, facts_of, query_numbers
from rankwise.distributed.sources import rows_of_block
from rankwise.distributed.spread import _columns


def unaligned(array):
    copy = np.frombuffer(b"0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)
    assert not copy.flags.aligned
    assert not copy.flags.writeable
    return copy


def arrays(rows):
    X = rows.data.X
    return [rows.data.y, rows.weight, *((X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,))]


def sound(rows):
    return all(one.flags.aligned and one.flags.writeable and one.flags.c_contiguous for one in arrays(rows))


def sent(thing):
    """As between workers: buffers beside the message, at odd addresses."""
    buffers = []
    message = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(message, buffers=[unaligned(np.frombuffer(one, np.uint8)).data for one in buffers])


def test_blocks_and_what_is_sent():
    X, y = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    csr = sparse.csr_array(X)
    odd = sparse.csr_array(X)
    odd.data, odd.indices, odd.indptr = map(unaligned, (csr.data, csr.indices, csr.indptr))
    for block, same in ((unaligned(X), X), (X.T.copy().T, X), (X.astype(np.int32), X), (odd, csr)):
        besides = {"y": unaligned(y), "qid": np.zeros(4), "sample_weight": unaligned(y)}
        rows = rows_of_block(block, besides, 0)
        for one in (rows, sent(rows), sent(Partition(rows, 1)).content):
            assert sound(one)
            assert abs(one.data.X - same).max() == 0
            np.testing.assert_array_equal(one.weight, y)


def test_a_partition_that_is_sent_forgets_its_states():
    data = RankingData(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    partition = Partition(Rows(data, None, "here"), 7)
    partition.states["a"] = 1
    assert not sent(partition).states
    assert sent(partition).nbytes == 7


def test_a_state_that_another_request_displaces_is_still_answered_from():
    """Requests come in threads: here others come just before the question is put."""
    partition = Partition("content", 7)

    def request(state, question):
        return Request(1, state, lambda content: f"{state} of the {content}", (), question, ())

    class Overtaken:
        state, make, made_of, asked = "first", staticmethod(request("first", None).make), (), ()

        @property
        def question(self):
            for i in range(KEPT):
                partition.answer(request(f"later {i}", str))
            return str

    assert partition.answer(Overtaken()) == "first of the content"
    assert list(partition.states) == [f"later {i}" for i in range(KEPT)]


def test_an_id_is_one_query_however_it_is_stored():
    whole = query_numbers(np.array([7, 8]))
    for same in (np.array([7.0, 8.0]), np.array(["7", "8"]), np.array([7, 8], np.int8)):
        np.testing.assert_array_equal(query_numbers(same), whole)
    assert query_numbers(np.array([7.5]))[0] not in whole


def test_rows_that_count_from_zero_are_no_rows_of_a_model_that_counts_from_one():
    zero, one = (Rows(RankingData(np.eye(2), [0, 1], [1, 1], None, first), None, "part") for first in (0, 1))
    like = _columns([facts_of(one)], None)
    assert _columns([facts_of(one)], like).n_features == 2
    with pytest.raises(ValueError, match="part counts its features from 0, the model from 1"):
        _columns([facts_of(zero)], like)
