"""Chunks on disk: the same rows as in memory, queries whole, and nothing half-made or damaged that opens."""

import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse, random_array

from rankwise import RankSVM, make_ranking, read_letor, write_letor
from rankwise.data.chunk_writer import write_chunks
from rankwise.data.chunks import open_chunks
from rankwise.data.formats import read_data, stream_data, write_data
from rankwise.data.records import RankingData


def plain(X):
    return X.toarray() if issparse(X) else X


def gathered(data):
    """Queries in the order of their first rows, each with its rows in their own order: by a plain loop."""
    rows = {}
    for row, query in enumerate(data.qid.tolist()):
        rows.setdefault(query, []).append(row)
    return data.select([row for query in rows.values() for row in query])


@st.composite
def scattered(draw):
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = rng.integers(-2, 3, (n, d)).astype(dtype)
    ids = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    qid = np.array(ids) if draw(st.booleans()) else np.array([f"q{one}" for one in ids])
    if draw(st.booleans()):
        qid = np.sort(qid)
    return RankingData(csr_array(X) if draw(st.booleans()) else X, rng.normal(size=n), qid)


@given(scattered(), st.integers(1, 200), st.integers(1, 7), st.integers(1, 100))
def test_the_rows_are_those_of_memory(tmp_path_factory, data, chunk_bytes, block, part_bytes):
    folder = tmp_path_factory.mktemp("data") / "chunks"
    blocks = [data.select(slice(i, i + block)) for i in range(0, len(data), block)]
    write_chunks(folder, blocks, chunk_bytes=chunk_bytes)
    found, expected = open_chunks(folder, verify=True), gathered(data)
    assert (found.n_rows, found.n_features, found.dtype) == (len(data), data.n_features, data.X.dtype)
    assert found.is_sparse == issparse(data.X)
    read = found.read()
    assert issparse(read.X) == found.is_sparse
    assert plain(read.X).tobytes() == plain(expected.X).tobytes()
    assert read.y.tobytes() == found.y.tobytes() == expected.y.tobytes()
    assert read.qid.tolist() == found.qid.tolist() == expected.qid.tolist()
    per_chunk = [set(found.chunk(i).qid.tolist()) for i in range(len(found.files))]
    assert sum(map(len, per_chunk)) == len(set(data.qid.tolist())) == found.n_queries
    row, query = 0, 0
    for part in found.parts(part_bytes):
        assert (part.first, part.rows.start) == (query, row)
        query, row = part.last, part.rows.stop
        assert (found.starts[part.first], found.starts[part.last]) == (part.rows.start, part.rows.stop)
        np.testing.assert_array_equal(plain(part.load()), plain(expected.X)[part.rows])
    assert (query, row) == (found.n_queries, len(data))
    low, high = sorted((part_bytes % (len(data) + 1), block % (len(data) + 1)))
    if low < high:
        np.testing.assert_array_equal(plain(found.rows(low, high)), plain(expected.X)[low:high])


def test_parts_are_those_of_the_objective(tmp_path):
    """The same cuts as in memory, so sums are added in the same order."""
    from rankwise.objective.rows import BLOCK_BYTES, LEAST_BLOCK, MemoryRows
    from rankwise.pairs.queries import cut

    data = make_ranking(300, 50, 70, dtype=np.float32, random_state=0)
    write_chunks(tmp_path / "chunks", data, chunk_bytes=100_000)
    found = open_chunks(tmp_path / "chunks")
    parts = found.parts(min(BLOCK_BYTES, max(LEAST_BLOCK, found.nbytes // 8)))
    assert [(one.first, one.last) for one in parts] == cut(found.starts, MemoryRows(data.X).block_rows)
    assert len(parts) > 1
    assert len(found.files) > 5


def test_threads_load_side_by_side(tmp_path):
    data = make_ranking(100, 20, 30, random_state=0)
    write_chunks(tmp_path / "chunks", data, chunk_bytes=50_000)
    parts = open_chunks(tmp_path / "chunks").parts(10_000)
    wrong = []

    def work(mine):
        for part in mine:
            X = part.load()
            if not all((data.X[part.rows] == X).all() for _ in range(20)):
                wrong.append(part)

    threads = [threading.Thread(target=work, args=(parts[i::3],)) for i in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_chunks_come_one_after_another(tmp_path):
    data = make_ranking(50, 10, 5, random_state=1)
    write_chunks(tmp_path / "chunks", data, chunk_bytes=5_000)
    found = open_chunks(tmp_path / "chunks")
    assert np.array_equal(np.concatenate([one.X for one in found.read_ahead()]), data.X)
    assert next(iter(found.read_ahead())).n_features == 5  # left in the middle: the reader ends too
    assert repr(found).startswith("ChunkedData(500 rows, 5 features, 50 queries, dense float64, ")
    assert np.load(tmp_path / "chunks" / found.files[0].file)["X"].shape[1] == 5  # anyone can read a chunk


def test_text_of_several_files(tmp_path):
    """Streamed text gives what read_letor gives: base and width of all files, ids of several kinds."""
    (tmp_path / "a.txt").write_text("1 qid:7 1:0.5 3:1\n0 qid:7 2:1 3:2\n")
    (tmp_path / "b.txt").write_text("2 qid:8 0:1 1:1 5:2\n0 qid:x 0:3 1:1 2:1\n")
    (tmp_path / "c.txt").write_text("4 qid:7 1:9\n")
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    write_chunks(tmp_path / "chunks", stream_data(paths, dense=True))
    found, expected = read_data(tmp_path / "chunks"), gathered(read_letor(paths, dense=True))
    assert (found.X == expected.X).all()
    assert found.first_index == 0
    assert found.qid.tolist() == expected.qid.tolist() == ["7", "7", "7", "8", "x"]
    assert found.y.tolist() == [1, 0, 4, 2, 0]


@pytest.mark.parametrize("kind", ["letor", "csv", "parquet", "npz"])
def test_every_format_streams(tmp_path, kind):
    data = make_ranking(30, 10, 4, dtype=np.float32, random_state=2)
    write_data(tmp_path / "data", data, format=kind)
    write_chunks(tmp_path / "chunks", stream_data(tmp_path / "data", format=kind, dtype=np.float32), chunk_bytes=2_000)
    found = open_chunks(tmp_path / "chunks")
    assert len(found.files) > 2
    assert found.read().X.tobytes() == data.X.tobytes()


def test_sparse_text_stays_sparse(tmp_path):
    X = csr_array(random_array((200, 50), density=0.1, rng=np.random.default_rng(0)))
    write_letor(tmp_path / "data.txt.gz", X, np.arange(200) % 3, np.arange(200) // 10)
    write_chunks(tmp_path / "chunks", stream_data(tmp_path / "data.txt.gz"), chunk_bytes=1_000)
    found = open_chunks(tmp_path / "chunks")
    assert found.is_sparse
    assert (found.read().X.toarray() == X.toarray()).all()


@pytest.fixture
def folder(tmp_path):
    write_chunks(tmp_path / "chunks", make_ranking(40, 10, 5, random_state=1), chunk_bytes=5_000)
    return tmp_path / "chunks"


def test_a_damaged_chunk_is_named(folder):
    (path,) = folder.glob("chunk-00002-*.npz")
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    open_chunks(folder)
    with pytest.raises(
        ValueError, match=r"chunk-00002-\w+.npz is damaged: its checksum is [0-9a-f]{8}, expected [0-9a-f]{8}"
    ):
        open_chunks(folder, verify=True)
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"chunk-00002-\w+.npz is damaged: it has [\d,]+ bytes, expected [\d,]+"):
        open_chunks(folder)
    path.write_bytes(content)
    found = open_chunks(folder)
    path.write_bytes(content[:600])
    with pytest.raises(ValueError, match=r"chunk-00002-\w+.npz has changed or was removed since it was opened"):
        found.read()
    path.unlink()
    with pytest.raises(ValueError, match=r"chunk-00002-\w+.npz is missing"):
        open_chunks(folder)


def test_a_folder_that_is_replaced_is_not_read_under_the_labels_of_the_old_one(folder):
    """Replaced twice, it had the old file names again: rows of the third data set came with the labels of the first."""
    found = open_chunks(folder)
    for seed in (2, 3):
        write_chunks(folder, make_ranking(40, 10, 5, random_state=seed), chunk_bytes=5_000)
    for use in (lambda: found.rows(0, 7), found.read, lambda: next(found.read_ahead()), lambda: RankSVM().fit(found)):
        with pytest.raises(ValueError, match=r"chunk-00000-\w+.npz has changed or was removed since it was opened"):
            use()


@pytest.mark.parametrize("same_size", [True, False])
def test_a_chunk_that_changes_after_it_was_opened_is_refused(folder, same_size):
    found = open_chunks(folder)
    path = folder / found.files[1].file
    path.write_bytes(path.read_bytes() if same_size else path.read_bytes() + b"more")
    found.rows(0, 3)
    for use in (found.read, lambda: list(found.read_ahead())):
        with pytest.raises(ValueError, match=r"chunk-00001-\w+.npz has changed or was removed since it was opened"):
            use()


def test_a_damaged_manifest_is_named(folder):
    manifest = folder / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(manifest.read_text()[:-20])
    with pytest.raises(ValueError, match=r"manifest.json is not a manifest of chunks, or is damaged"):
        open_chunks(folder)
    manifest.write_text(json.dumps(told | {"version": 99}))
    with pytest.raises(ValueError, match="version 99"):
        open_chunks(folder)
    manifest.write_text("{}")
    with pytest.raises(ValueError, match="is not a manifest of chunks"):
        open_chunks(folder)
    manifest.unlink()
    with pytest.raises(ValueError, match="holds no chunks"):
        open_chunks(folder)


def test_what_fails_leaves_the_old_folder(folder):
    before = open_chunks(folder).read()

    def breaking():
        yield from (make_ranking(40, 10, 5, random_state=seed) for seed in range(3))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_chunks(folder, breaking(), chunk_bytes=5_000)
    assert [one.name for one in folder.parent.iterdir()] == ["chunks"]
    assert (open_chunks(folder, verify=True).read().X == before.X).all()
    (folder.parent / ".rankwise-tmp-folder-chunks").mkdir()  # what a killed conversion leaves
    (folder.parent / ".rankwise-tmp-folder-chunks" / "chunk-00000.npz").write_text("half")
    write_chunks(folder, make_ranking(3, 10, 5, random_state=0))
    assert [one.name for one in folder.parent.iterdir()] == ["chunks"]
    assert open_chunks(folder, verify=True).n_queries == 3


def test_no_other_folder_is_overwritten(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("text")
    with pytest.raises(ValueError, match="exists and is not a folder of chunks"):
        write_chunks(tmp_path / "precious", make_ranking(3, random_state=0))
    with pytest.raises(ValueError, match="there are no rows to write"):
        write_chunks(tmp_path / "empty", [])
    with pytest.raises(ValueError, match="blocks must be alike: n_features is 4, and was 3"):
        write_chunks(tmp_path / "odd", [make_ranking(3, n_features=d, random_state=0) for d in (3, 4)])
    assert [one.name for one in tmp_path.iterdir()] == ["precious"]
