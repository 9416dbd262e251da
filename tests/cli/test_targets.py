"""Nothing of the user's is overwritten without --force, nothing that is read is written; all of it is said first."""

import errno
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import RANKWISE, obey_modes, run

from rankwise import load_model, load_sample, open_chunks
from rankwise.foundation.outputs import written_beside


@pytest.fixture(scope="module")
def files(files):
    run("convert", files / "train.txt", files / "train.chunks", "--to", "chunks")
    return files


@pytest.fixture(autouse=True)
def no_work(request, monkeypatch):
    """What is refused is refused before anything is read."""
    if "refused" in request.function.__name__:
        monkeypatch.setattr("rankwise.data.formats.read_data", None)
        monkeypatch.setattr("rankwise.cli.work.read_model", None)


def test_a_journal_that_is_none_is_refused(files, tmp_path):
    """Notes without a line end were taken for a line that was not finished, and truncated."""
    for text in ("my notes, and no line end", "{", '{"journal": "another"}\n', "a\nb\n"):
        (tmp_path / "notes.txt").write_text(text)
        args = ["tune", files / "train.txt", "-o", tmp_path / "m.json", "--journal", tmp_path / "notes.txt", "--force"]
        assert "notes.txt is not a journal of rankwise" in run(*args, code=1).stderr
        assert (tmp_path / "notes.txt").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_link_to_nowhere_in_a_data_folder(files, tmp_path):
    shutil.copytree(files / "train.chunks", tmp_path / "d")
    (tmp_path / "d" / "bad").symlink_to("nowhere")
    (tmp_path / "d" / "loop").symlink_to("loop")
    for _ in range(2):  # the second time there is a model to be replaced
        run("train", tmp_path / "d", "-o", tmp_path / "m.json")


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    "args",
    [
        ["train", "TRAIN", "-o", "TRAIN"],
        ["train", "TRAIN", "-o", "LINK"],
        ["train", "TRAIN", "--valid", "TEST", "-o", "TEST"],
        ["train", "TRAIN", "--names", "NAMES", "-o", "NAMES"],
        ["train", "CHUNKS", "-o", "CHUNKS/manifest.json"],
        ["tune", "TRAIN", "-o", "TRAIN"],
        ["tune", "TRAIN", "-o", "OUT", "--journal", "TRAIN"],
        ["tune", "TRAIN", "--valid", "TEST", "-o", "OUT", "--journal", "TEST"],
        ["convert", "TRAIN", "TRAIN"],
        ["convert", "TEST", "TRAIN", "LINK", "--to", "letor"],
        ["convert", "CHUNKS", "CHUNKS", "--to", "chunks"],
        ["predict", "MODEL", "TEST", "-o", "MODEL"],
        ["predict", "MODEL", "TEST", "-o", "TEST"],
        ["predict", "MODEL", "TEST", "--trec", "--qrels", "TEST"],
        ["compare", "MODEL", "a=MODEL", "--data", "TEST", "--per-query", "TEST"],
        ["compare", "MODEL", "a=MODEL", "--data", "TEST", "--per-query", "MODEL"],
        ["plot", "weights", "MODEL", "-o", "OUT.png", "--data-out", "MODEL"],
    ],
)
def test_input_as_output_is_refused_even_with_force(files, tmp_path, args, force):
    (tmp_path / "LINK").symlink_to(files / "train.txt")
    (tmp_path / "NAMES").write_text("a\n")
    names = {"TRAIN": "train.txt", "TEST": "test.txt", "MODEL": "model.json", "CHUNKS": "train.chunks"}
    places = {word: str(files / name) for word, name in names.items()}
    places |= {word: str(tmp_path / word) for word in ("LINK", "NAMES", "OUT")}
    for word, place in places.items():
        args = [arg.replace(word, place) if "plot" not in arg else arg for arg in args]
    before = (files / "train.txt").read_bytes()
    message = run(*args, *force, code=1).stderr
    assert "is both read and written: give another name for what is written" in message
    assert (files / "train.txt").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LINK", "NAMES"]


@pytest.mark.parametrize(
    "args",
    [
        ["train", "train.txt", "-o", "MINE"],
        ["tune", "train.txt", "-o", "MINE"],
        ["convert", "train.txt", "MINE", "--to", "csv"],
        ["predict", "model.json", "test.txt", "-o", "MINE"],
        ["predict", "model.json", "test.txt", "--trec", "-o", "MINE"],
        ["predict", "model.json", "test.txt", "--trec", "--qrels", "MINE"],
        ["compare", "model.json", "a=model.json", "--data", "test.txt", "--per-query", "MINE"],
        ["plot", "weights", "model.json", "-o", "MINE"],
        ["plot", "weights", "model.json", "-o", "w.png", "--data-out", "MINE"],
        ["demo", "--save", "MINE"],
    ],
)
def test_what_rankwise_did_not_write_is_refused(files, tmp_path, args, monkeypatch):
    monkeypatch.chdir(files)
    mine = tmp_path / "mine.png"
    args = [str(tmp_path if args[0] == "demo" else mine) if arg == "MINE" else arg for arg in args]
    mine = tmp_path / "test.txt" if args[0] == "demo" else mine
    mine.write_text("1.5\n")
    assert f"{mine} exists" in run(*args, code=1).stderr
    assert mine.read_text() == "1.5\n"
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]


def test_force_replaces_and_so_does_the_same_kind(files, tmp_path):
    for target, args in {
        "m.json": ["train", files / "train.txt", "--C", 1, "-o"],
        "d.csv": ["convert", files / "test.txt"],
        "s.txt": ["predict", files / "model.json", files / "test.txt", "-o"],
    }.items():
        (tmp_path / target).write_text("mine")
        run(*args, tmp_path / target, "--force")
        assert (tmp_path / target).read_text() != "mine"
    before = load_model(tmp_path / "m.json").coef_
    run("train", files / "train.txt", "--C", 0.001, "-o", tmp_path / "m.json")
    assert (load_model(tmp_path / "m.json").coef_ != before).all()
    (tmp_path / "empty.csv").touch()
    run("convert", files / "test.txt", tmp_path / "empty.csv")
    run("convert", files / "test.txt", tmp_path / "c", "--to", "chunks")
    run("convert", files / "train.txt", tmp_path / "c", "--to", "chunks")
    assert open_chunks(tmp_path / "c").n_queries == 60


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_appears_meanwhile_is_kept(files, tmp_path, monkeypatch, has_links):
    """It was checked at the start only, and the rename at the end replaced it."""

    @contextmanager
    def slowly(target):
        with written_beside(target) as file:
            yield file
            Path(target).write_text("precious")

    def no_link(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr("os.link", no_link)
    scores = tmp_path / "s.txt"
    predict = ["predict", files / "model.json", files / "test.txt", "-o", scores]
    with monkeypatch.context() as patched:
        patched.setattr("rankwise.cli.predict.written_beside", slowly)
        message = f"rankwise: {scores} exists: give another name, or --force to replace it\n"
        assert run(*predict, code=1).stderr.endswith(message)
        assert scores.read_text() == "precious"
        run(*predict, "--force")
        assert scores.read_text() != "precious"
    scores.unlink()
    run(*predict)
    assert scores.read_text().count("\n") == len(load_sample("test"))
    assert [path.name for path in tmp_path.iterdir()] == ["s.txt"]


def test_force_replaces_no_folder(files, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("text")
    for to, words in (("chunks", "mine exists and is not a folder of chunks"), ("csv", "mine is a folder")):
        assert words in run("convert", files / "test.txt", tmp_path / "mine", "--to", to, "--force", code=1).stderr
    (tmp_path / "mine" / "manifest.json").write_text('{"name": "a web page"}')
    told = run("convert", files / "test.txt", tmp_path / "mine", "--to", "chunks", "--force", code=1).stderr
    assert "exists and is not a folder of chunks" in told
    assert "is a folder" in run("train", files / "test.txt", "-o", tmp_path / "mine", code=1).stderr
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["manifest.json", "thesis.txt"]


def test_one_file_for_two_outputs_is_refused(files, tmp_path):
    both = tmp_path / "both.png"
    for args in (
        ["tune", files / "train.txt", "-o", both, "--journal", both],
        ["predict", files / "model.json", files / "test.txt", "--trec", "-o", both, "--qrels", both],
        ["plot", "weights", files / "model.json", "-o", both, "--data-out", both],
    ):
        assert "both.png would be written twice" in run(*args, code=1).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def closed(tmp_path):
    """A folder that cannot be written to."""
    (tmp_path / "closed").mkdir(0o555)
    return tmp_path / "closed"


def unprivileged(*args, cwd):
    """One sentence of a command that may write only where the mode of a folder allows it, even if run by root."""
    done = subprocess.run([*RANKWISE, *args], cwd=cwd, capture_output=True, text=True, preexec_fn=obey_modes)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["train", "missing.txt", "-o", "closed/m.json"],  # before the data are even looked for
        ["tune", "missing.txt", "-o", "closed/m.json"],
        ["tune", "missing.txt", "-o", "m.json", "--journal", "closed/j"],
        ["convert", "missing.txt", "closed/d.csv"],
        ["convert", "missing.txt", "closed/c", "--to", "chunks"],
        ["predict", "missing.json", "missing.txt", "-o", "closed/s.txt"],
        ["compare", "missing.json", "a.json", "--data", "missing.txt", "--per-query", "closed/q.csv"],
        ["plot", "weights", "missing.json", "-o", "closed/w.png"],
        ["demo", "--save", "closed"],
    ],
)
def test_a_read_only_target_is_noticed_before_any_work(closed, args):
    message = unprivileged(*args, cwd=closed.parent)
    assert message.startswith("rankwise: closed")
    assert message.endswith(": Permission denied\n")
    assert list(closed.iterdir()) == []


def test_a_write_protected_model_is_not_replaced(files, tmp_path):
    shutil.copy(files / "model.json", tmp_path)
    (tmp_path / "model.json").chmod(0o444)
    message = unprivileged("train", files / "train.txt", "-o", "model.json", cwd=tmp_path)
    assert message == "rankwise: model.json: it is write-protected\n"
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize("folder", ["nosuch/..", "nosuch/../nosuch/..", "other.txt/..", "loose/.."])
@pytest.mark.parametrize(
    "args",
    [
        ["convert", "TRAIN", "KEEP"],
        ["convert", "TRAIN", "OWN"],
        ["convert", "TRAIN", "KEEP", "--to", "chunks"],
        ["predict", "MODEL", "TRAIN", "-o", "KEEP"],
        ["predict", "MODEL", "TRAIN", "--trec", "--qrels", "KEEP"],
        ["train", "TRAIN", "-o", "KEEP"],
        ["tune", "TRAIN", "-o", "KEEP"],
        ["tune", "TRAIN", "-o", "NEW", "--journal", "KEEP"],
        ["plot", "weights", "MODEL", "-o", "PICTURE"],
    ],
)
def test_a_path_through_a_folder_that_is_not_there_is_refused(files, tmp_path, monkeypatch, folder, args):
    """`missing/../keep.txt` was checked as the system reads it, and written as `keep.txt`."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(files / "train.txt", "own.txt")
    for name in ("keep.txt", "picture.png", "other.txt"):
        (tmp_path / name).write_text("precious")
    (tmp_path / "loose").symlink_to("nowhere")
    names = {"TRAIN": "own.txt", "MODEL": files / "model.json", "OWN": f"{folder}/own.txt", "NEW": "new.json"}
    names |= {"KEEP": f"{folder}/keep.txt", "PICTURE": f"{folder}/picture.png"}
    before = sorted(path.name for path in tmp_path.iterdir())
    told = run(*(names.get(one, one) for one in args), code=1).stderr
    assert f"cannot be written: there is no folder {folder.split('/')[0]}\n" in told
    assert (tmp_path / "keep.txt").read_text() == (tmp_path / "picture.png").read_text() == "precious"
    assert (tmp_path / "own.txt").read_bytes() == (files / "train.txt").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_link_to_a_path_through_a_missing_folder_is_refused(files, tmp_path):
    (tmp_path / "keep.txt").write_text("precious")
    (tmp_path / "link.txt").symlink_to("nosuch/../keep.txt")
    assert "there is no folder" in run("convert", files / "train.txt", tmp_path / "link.txt", code=1).stderr
    assert (tmp_path / "keep.txt").read_text() == "precious"


def test_the_parent_of_a_linked_folder_is_where_the_system_finds_it(files, tmp_path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "near").symlink_to("far/away")
    (tmp_path / "keep.txt").write_text("precious")
    run("convert", files / "train.txt", f"{tmp_path}/near/../keep.txt")
    assert (tmp_path / "keep.txt").read_text() == "precious"
    assert (tmp_path / "far" / "keep.txt").read_bytes() == (files / "train.txt").read_bytes()
    assert "keep.txt exists" in run("convert", files / "train.txt", f"{tmp_path}/near/../keep.txt", code=1).stderr


@pytest.mark.parametrize("args", [["train", "-o", ""], ["convert", ""], ["tune", "-o", ""]])
def test_an_empty_name_is_refused(files, args):
    told = run(args[0], files / "train.txt", *args[1:], code=1).stderr
    assert "the name of the file to write is empty: give one" in told
