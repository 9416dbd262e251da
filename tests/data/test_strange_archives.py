"""NPZ files and folders of chunks made by strangers: numbers in them never decide how much memory is taken, nor where
kernels look.
"""

import errno
import io
import json
import os
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_array

from rankwise import RankSVM, make_ranking
from rankwise.data.chunk_writer import write_chunks
from rankwise.data.chunks import open_chunks
from rankwise.data.formats import read_data, write_data
from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData

GOOD = {"y": np.arange(3.0), "qid": np.array([1, 1, 2])}
SPARSE = {"data": np.ones(3), "indices": np.arange(3), "indptr": np.arange(4), "shape": np.array([3, 3])}


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"indices": np.array([0, 1, 10**6])}, "holds no ranking data"),
        ({"indices": np.array([0, 1, -1])}, "holds no ranking data"),
        ({"indptr": np.array([0, 3, 1, 3])}, "holds no ranking data"),
        ({"indptr": np.array([0, 1, 2, 99])}, "holds no ranking data"),
        ({"indptr": np.array([0.0, 1, 2, 3])}, "indptr is an array of float64"),
        ({"shape": np.array([3])}, "holds no ranking data"),
        ({"shape": np.array([3, -3])}, "holds no ranking data"),
        ({"data": np.array([1, 2, 3j])}, "data is an array of complex128"),
        ({"y": np.array(["a", "b", "c"])}, "y is an array of <U1"),
        ({"y": np.zeros((3, 1))}, r"y is an array of float64 of shape \(3, 1\)"),
        ({"y": np.array(["NaT"] * 3, "M8[ns]")}, "y is an array of datetime64"),
        ({"qid": np.array([1j, 2, 3])}, "qid is an array of complex128"),
        ({"first_index": np.array(7)}, "first_index is 7, expected 0 or 1"),
        ({"names": np.array([1, 2, 3])}, "names is an array of int64"),
    ],
)
def test_arrays_that_are_no_ranking_data_are_refused(tmp_path, changed, words):
    path = save(tmp_path / "data.npz", **GOOD | SPARSE | changed)
    with pytest.raises(ValueError, match=words):
        read_data(path)


def test_whole_numbers_as_features_become_floats(tmp_path):
    path = save(tmp_path / "data.npz", **GOOD | SPARSE | {"data": np.array([1, 2, 3])})
    assert read_data(path).X.dtype == np.float64


def test_a_header_that_promises_more_than_the_file_holds_is_refused(tmp_path):
    path = tmp_path / "data.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y.npy", header.getvalue() + b"\0" * 24)
    with pytest.raises(ValueError, match="is not an NPZ file of plain arrays, or is damaged"):
        read_data(path)


def test_an_archive_that_unpacks_to_more_than_memory_is_refused(tmp_path, monkeypatch):
    from rankwise.foundation import memory

    path = tmp_path / "data.npz"
    np.savez_compressed(path, **GOOD, X=np.zeros((3, 10**7)))
    assert path.stat().st_size < 10**6
    monkeypatch.setattr(memory, "memory_at_hand", lambda: 1e8)
    with pytest.raises(MemoryError, match=r"data.npz holds takes 0.2 GB, but 0.1 GB of memory are available"):
        read_data(path)


@pytest.fixture
def folder(tmp_path):
    rows = np.arange(48.0).reshape(24, 2) % 7
    X = csr_array(np.where(rows > 2, rows, 0))
    write_chunks(tmp_path / "chunks", RankingData(X, np.arange(24) % 3, np.arange(24) // 4), chunk_bytes=100)
    return tmp_path / "chunks"


def change(folder, *keys, to):
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    inner = told
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("n_features",), 2**40),
        (("n_features",), "2"),
        (("n_features",), True),
        (("first_index",), 2),
        (("names",), ["a"]),
        (("dtype",), "object"),
        (("sparse",), False),
        (("chunks", 0, "file"), "../chunk-00000.npz"),
        (("chunks", 0, "file"), "/etc/passwd"),
        (("chunks", 0, "rows"), 10**15),
        (("chunks", 0, "rows"), -1),
        (("chunks", 0, "arrays", "y", "rows"), 10**15),
        (("chunks", 0, "arrays", "y", "dtype"), "|O8"),
        (("chunks", 0, "arrays", "qid", "dtype"), "|O8"),
        (("chunks", 0, "arrays", "y", "dtype"), "<f8)("),
        (("chunks", 0, "arrays", "y", "offset"), 4097),
        (("chunks", 0, "arrays", "y", "offset"), 8192),
        (("chunks", 0, "arrays", "data", "rows"), 10**15),
        (("chunks", 0, "arrays", "shape", "columns"), 0.5),
        (("chunks", 0, "bytes"), 10**15),
        (("chunks",), []),
        (("chunks",), {}),
    ],
)
def test_a_manifest_that_contradicts_itself_or_its_chunks_is_refused(folder, keys, to):
    open_chunks(folder).read()
    change(folder, *keys, to=to)
    with pytest.raises(ValueError, match=r"damaged|does not hold what"):
        open_chunks(folder).read()


def test_a_manifest_of_great_depth_is_refused(folder):
    (folder / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is not a manifest of chunks, or is damaged"):
        open_chunks(folder)


@pytest.mark.parametrize(("name", "value"), [("indices", 10**6), ("indices", -1), ("indptr", 10**6), ("indptr", -3)])
def test_rows_that_point_outside_are_refused_before_kernels_see_them(folder, name, value):
    data = open_chunks(folder)
    place = data.files[0].arrays[name]
    path = folder / data.files[0].file
    written = bytearray(path.read_bytes())
    at = place.offset + 2 * place.row_bytes
    written[at : at + place.row_bytes] = np.array([value], place.dtype).tobytes()
    path.write_bytes(written)
    data = open_chunks(folder)
    for use in (data.read, lambda: RankSVM().fit(data), lambda: [part.load() for part in data.parts()]):
        with pytest.raises(ValueError, match=r"is damaged: (an index is beyond|indptr does not say where rows begin)"):
            use()


def test_a_chunk_cut_short_while_it_is_read_is_refused(folder):
    """Mapped, it killed the process (SIGBUS)."""
    data = open_chunks(folder)
    kept = data.load(0, 4)
    path = folder / data.files[0].file
    path.write_bytes(path.read_bytes()[:5000])
    kept.toarray()
    with pytest.raises(ValueError, match="has changed or was removed since it was opened"):
        RankSVM().fit(data)


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ESTALE])
def test_an_error_of_the_system_is_not_called_damage(tmp_path, monkeypatch, number):
    """Neither does it lose the name of the file."""
    write_data(tmp_path / "d.npz", make_ranking(3, 4, 2, random_state=0))

    def fails(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("zipfile.ZipFile", fails)
    with pytest.raises(OSError, match=f"{os.strerror(number)}: .*d.npz"):
        read_data(tmp_path / "d.npz")


@pytest.mark.parametrize("name", ["d.parquet", "d.csv.zst", "d.csv.gz", "d.csv.bz2", "d.csv.xz"])
def test_a_damaged_file_with_checksums_is_named(tmp_path, name):
    """Arrow's own errors name no file, and some have several lines."""
    pytest.importorskip("pyarrow")
    path, data = tmp_path / name, make_ranking(20, 6, 4, random_state=0)
    write_data(path, data)
    whole, rng, refusals, n_other = path.read_bytes(), np.random.default_rng(0), [], 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            found = read_data(path)
        except ValueError as error:
            refusals.append(str(error))
        else:
            n_other += not all((getattr(found, one) == getattr(data, one)).all() for one in ("X", "y", "qid"))
    assert len(refusals) > 100
    assert n_other <= (3 if name == "d.parquet" else 0)  # the end of a Parquet file has no checksum
    assert all(name in one and "\n" not in one for one in refusals)


def test_a_parquet_file_that_lost_rows_is_refused(tmp_path, monkeypatch):
    """Its end, which has no checksum, says how many rows there are, in all and in each group."""
    parquet = pytest.importorskip("pyarrow.parquet")
    batches = parquet.ParquetFile.iter_batches
    write_data(tmp_path / "d.parquet", make_ranking(4, 5, 2, random_state=0))
    fewer = {"iter_batches": lambda file, **options: (one.slice(3) for one in batches(file, **options))}
    monkeypatch.setattr(parquet, "ParquetFile", type("Fewer", (parquet.ParquetFile,), fewer))
    with pytest.raises(ValueError, match=r"d\.parquet is not .* damaged: it has 17 rows, and its end says 20"):
        read_data(tmp_path / "d.parquet")


def test_a_parquet_file_with_a_name_twice_is_refused(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table([pa.array([one, 1]) for one in range(4)], names=["label", "qid", "a", "a"])
    parquet.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(ValueError, match=r"d\.parquet has two columns called 'a'"):
        read_data(tmp_path / "d.parquet")


@pytest.mark.parametrize("small", [True, False])
def test_a_stream_whose_parts_fit_into_memory_only_once_is_refused(monkeypatch, small):
    """A part is copied when parts are joined: an index of 2^31 - 1 took twice its 17 GB, and the process was killed."""
    monkeypatch.setattr("rankwise.data.letor.is_small", lambda texts: small)
    monkeypatch.setattr("rankwise.foundation.memory.memory_at_hand", lambda: 1.5 * 8 * 10**8)
    with pytest.raises(MemoryError, match="read it sparse, or number the features without gaps"):
        read_letor(io.BytesIO(b"1 qid:1 100000000:1\n"), dense=True)
