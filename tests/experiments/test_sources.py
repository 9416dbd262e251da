"""The table of the data: a folder is compared with it file by file, and the page of the documentation agrees."""

import hashlib
import lzma
import re
from dataclasses import replace
from pathlib import Path

import pytest
from experiments import __main__ as command
from experiments import data_page, registry, sources
from experiments.sources import DIFFERS, FOUND, MISSING, DataFile, check, fingerprint, shape_of

from rankwise import read_letor

ROOT = Path(__file__).resolve().parents[2]
TEXT = "2 qid:7 1:0.5 2:0 # docid = 1\n0 qid:7 1:1 3:0.25\n1 qid:8 2:3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one set of five equal parts, as its table says."""
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    for part in range(1, 6):
        (tiny / f"S{part}.txt.xz").write_bytes(lzma.compress(TEXT.encode()))
    data = read_letor(tiny / "S1.txt.xz")
    known = (shape_of(data), hashlib.sha256(TEXT.encode()).hexdigest(), fingerprint(data))
    files = tuple(DataFile(f"S{part}.txt.xz", *known) for part in range(1, 6))
    table = {"tiny": replace(sources.datasets()["mq2008"], folder="tiny", files=files)}
    monkeypatch.setattr(sources, "datasets", lambda: table)
    return tmp_path


def first(folder):
    """State and detail of the first file."""
    one = check(folder, sources.datasets()["tiny"])[0]
    return one.state, one.detail


def write(folder, text):
    (folder / "tiny" / "S1.txt.xz").write_bytes(lzma.compress(text.encode()))


def test_files_as_in_the_table_are_found(folder):
    assert shape_of(read_letor(folder / "tiny" / "S1.txt.xz")) == (3, 2, 3, 3)
    assert [one.state for one in check(folder, sources.datasets()["tiny"])] == [FOUND] * 5


def test_spelling_does_not_matter(folder):
    write(folder, "2.0 qid:7 1:5e-1\r\n0 qid:7  1:1.000 2:0 3:.25\n1 qid:8 2:3 # another comment\n")
    assert first(folder) == (FOUND, "the same values, written differently")


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (TEXT.replace("0.25", "0.26"), "the same shape, other values"),
        (TEXT.replace("qid:8", "qid:9"), "the same shape, other values"),
        (TEXT.replace("2 qid:7", "3 qid:7"), "the same shape, other values"),
        (TEXT.replace("2:3\n", "4:3\n"), "4 features instead of 3"),
        (TEXT.splitlines()[0], "1 documents instead of 3, 1 queries instead of 2, 2 features instead of 3, 1 levels"),
        ("", "cannot be read: "),
        ("Fold 1\n", "cannot be read: "),
    ],
)
def test_other_values_are_told(folder, text, detail):
    write(folder, text)
    state, told = first(folder)
    assert state == DIFFERS
    assert told.startswith(detail)


@pytest.mark.parametrize("place", [0, 40, -5])
def test_a_changed_byte_is_told(folder, place):
    path = folder / "tiny" / "S1.txt.xz"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    state, told = first(folder)
    assert state == DIFFERS
    assert told.startswith("cannot be unpacked: ")


def test_other_layouts_are_told_with_what_to_do(folder):
    tiny = folder / "tiny"
    (tiny / "S1.txt.xz").unlink()
    assert first(folder) == (MISSING, "")
    (tiny / "Fold2").mkdir()
    (tiny / "Fold2" / "test.txt").write_text(TEXT)
    assert first(folder) == (MISSING, "xz -c Fold2/test.txt > S1.txt.xz")
    (tiny / "S1.txt").write_text(TEXT)
    assert first(folder) == (MISSING, "compress S1.txt: xz S1.txt")
    tiny.rename(folder / "Tiny")
    assert first(folder) == (MISSING, "rename Tiny to tiny")
    assert first(folder / "nowhere") == (MISSING, "")


def test_command_tells_by_its_status(folder, monkeypatch, capsys):
    def run():
        monkeypatch.setattr("sys.argv", ["experiments", "data", "--data", str(folder)])
        return command.main(), capsys.readouterr().out

    status, told = run()
    assert status == 0
    assert "5 of 5 files found" in told
    assert "published by LETOR 4.0, Microsoft Research: https://www.microsoft.com/" in told
    (folder / "tiny" / "S3.txt.xz").unlink()
    write(folder, TEXT.replace("0.25", "0.26"))
    status, told = run()
    assert status == 1
    assert "tiny/S1.txt.xz differs: the same shape, other values" in told
    assert re.search(r"tiny/S3.txt.xz .* missing", told)
    assert "3 of 5 files found" in told


def test_table_has_all_that_experiments_need():
    known = sources.datasets()
    needed = {folder for name in registry.names() for folder in registry.load(name).NEEDS}
    assert needed == set(known)
    for one in known.values():
        assert one.address.startswith("https://")
        assert all(re.fullmatch("[0-9a-f]{64}", text) for file in one.files for text in (file.sha256, file.values))
    assert [name for name, one in known.items() if one.copy.startswith("A reconstruction")] == ["mq2007"]


def test_page_agrees_with_the_table():
    assert (ROOT / "docs" / "data.md").read_text() == data_page.page(), (
        "make it anew: python -m experiments data --markdown > docs/data.md"
    )


def test_real_data_are_those_of_the_table(letor_data):
    for dataset in sources.datasets().values():
        assert {one.state for one in check(letor_data, dataset)} == {FOUND}, dataset.folder
    for name in ("ohsumed", "cadata"):
        file = sources.datasets()[name].files[0]
        data = read_letor(letor_data / name / file.name)
        assert (shape_of(data), fingerprint(data)) == (file.shape, file.values)
