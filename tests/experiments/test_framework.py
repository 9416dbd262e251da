"""The frame of the experiments: bounded units, a cache that resumes, pages that say what came out."""

import csv
import lzma
import threading
import time
from types import SimpleNamespace

import pytest
from experiments import __main__ as command
from experiments import pages, registry
from experiments.pages import Report, Table
from experiments.units import Cache, Unit, UnitError, Worker


def double(data, number):
    return {"twice": 2 * number, "folder": str(data)}


def sleep(data, seconds):
    time.sleep(seconds)


def leave_a_file(data, seconds):
    time.sleep(seconds)
    (data / "left").touch()


def fail(data):
    raise ValueError("no such number")


def test_worker_bounds_every_unit_and_goes_on(tmp_path):
    with Worker(tmp_path) as worker:
        with pytest.raises(TimeoutError, match="late took longer than"):
            worker.run(Unit("late", sleep, {"seconds": 60}, limit=0.2))
        assert worker.run(Unit("early", double, {"number": 3})) == {"twice": 6, "folder": str(tmp_path)}
        with pytest.raises(UnitError, match=r"wrong failed:(?s:.*)no such number"):
            worker.run(Unit("wrong", fail))
        assert worker.run(Unit("after", double, {"number": 4}))["twice"] == 8


def test_cache_tells_options_and_limits_apart(tmp_path):
    cache = Cache(tmp_path)
    unit = Unit("a", double, {"number": 1})
    assert unit not in cache
    cache.keep(unit, {"found": 1})
    assert unit in cache
    assert cache.load(unit) == {"found": 1}
    assert Unit("another name", double, {"number": 1}) in cache
    assert Unit("a", double, {"number": 2}) not in cache
    assert Unit("a", double, {"number": 1}, limit=1.0) not in cache
    assert Unit("a", sleep, {"number": 1}) not in cache
    cache.forget(unit)
    assert unit not in cache


def _module(units, seen):
    def report(found):
        seen.append(found)
        rows = [{"unit": name, "twice": one["twice"] / 3} for name, one in found.items()]
        return Report("The paper says so.", rows, [Table("Twice.", rows, {"twice": ".2f"})], "they do not.")

    return SimpleNamespace(TITLE="A table", NEEDS=("mq2008",), units=lambda quick: units, report=report)


def _silent(units, seen):
    """The same, whatever was found."""

    def report(found):
        seen.append(found)
        return Report("", [{"a": 1}], [], "")

    return SimpleNamespace(TITLE="A table", NEEDS=(), units=lambda quick: units, report=report)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run(units, *arguments): the command with one experiment of these units; its exit code and what report saw."""
    (tmp_path / "data" / "mq2008").mkdir(parents=True)
    for part in range(1, 6):  # files that only differ from the published ones: the units read none of them
        (tmp_path / "data" / "mq2008" / f"S{part}.txt.xz").write_bytes(lzma.compress(b"1 qid:1 1:1\n"))

    apart = ("--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"))

    def call(units, *arguments, data="data", module=_module, places=apart):
        seen = []
        monkeypatch.setattr(registry, "names", lambda: ["lee_lin_table_1"])
        monkeypatch.setattr(registry, "load", lambda name: module(units, seen))
        monkeypatch.setattr("sys.argv", ["experiments", *arguments, "--data", str(tmp_path / data), *places])
        return command.main(), seen

    return call


def test_interrupted_run_resumes(run, tmp_path, monkeypatch):
    worked = []

    def counting(self, unit):
        if unit.name == "b" and "b" not in worked:
            worked.append("b")
            raise KeyboardInterrupt
        worked.append(unit.name)
        return double(tmp_path, **unit.options)

    monkeypatch.setattr(Worker, "run", counting)
    units = [Unit(name, double, {"number": number}) for number, name in enumerate("abc")]
    with pytest.raises(KeyboardInterrupt):
        run(units)
    code, seen = run(units)
    assert code == 0
    assert worked == ["a", "b", "b", "c"]
    assert [one["twice"] for one in seen[0].values()] == [0, 2, 4]
    run(units)
    assert worked == ["a", "b", "b", "c"]
    run(units, "--fresh")
    assert worked[4:] == ["a", "b", "c"]


def test_pages_hold_the_rows_and_the_table(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Worker, "run", lambda self, unit: double(tmp_path, **unit.options))
    run([Unit("one", double, {"number": 1})])
    with open(tmp_path / "out" / "lee_lin_table_1.csv") as file:
        assert list(csv.DictReader(file)) == [{"unit": "one", "twice": str(2 / 3)}]
    page = (tmp_path / "out" / "lee_lin_table_1.md").read_text()
    for expected in ("# A table", "The paper says so.", "| one | 0.67 |", "Why they differ: they do not."):
        assert expected in page
    assert not list((tmp_path / "out").glob("*.new"))


def test_missing_data_is_skipped_and_said(run, capsys):
    code, seen = run([Unit("one", double, {"number": 1})], data="elsewhere")
    assert code == 1
    assert not seen
    told = " ".join(capsys.readouterr().err.split())
    assert "lee_lin_table_1 is skipped: it needs mq2008 in" in told
    assert "mq2008 is published by LETOR 4.0, Microsoft Research: https://www.microsoft.com/" in told


def test_other_data_are_noted_and_kept_apart(run, tmp_path, monkeypatch):
    """The fixture's files differ from ours, and differ again once one of them is written anew."""
    monkeypatch.setattr(Worker, "run", lambda self, unit: double(tmp_path, **unit.options))
    monkeypatch.setattr(command, "BUILD", tmp_path / "build")
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    units = [Unit("one", double, {"number": 1})]
    assert run(units, places=())[0] == 0
    (first,) = (tmp_path / "build").iterdir()
    page = (first / "results" / "lee_lin_table_1.md").read_text()
    assert page.startswith("# A table\n\n**Note:** The data are not those of the stored results: mq2008/S1.txt.xz, ")
    (tmp_path / "data" / "mq2008" / "S1.txt.xz").write_bytes(lzma.compress(b"2 qid:1 1:1\n"))
    run(units, "--quick", places=())
    (second,) = set((tmp_path / "build").iterdir()) - {first}
    assert {one.name for one in second.iterdir()} == {"cache", "quick"}
    assert "\n\n**Note:** A quick run" in (second / "quick" / "lee_lin_table_1.md").read_text()
    assert not (tmp_path / "results").exists()


def test_pages_on_synthetic_data_say_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Worker, "run", lambda self, unit: {"twice": 0})
    monkeypatch.setattr(command, "BUILD", tmp_path / "build")
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    units = [Unit("one", double, {"number": 1})]
    run(units, places=(), module=_silent)
    page = (tmp_path / "results" / "lee_lin_table_1.md").read_text()
    assert page.startswith("# A table\n\n**Note:** All data of this page are synthetic.\n\n")

    def on_the_sample(units, seen):
        return SimpleNamespace(**vars(_silent(units, seen)) | {"NEEDS": ("mq2008",), "QUICK_NEEDS": ()})

    run(units, "--quick", data="elsewhere", places=(), module=on_the_sample)
    page = (tmp_path / "build" / "quick" / "lee_lin_table_1.md").read_text()
    assert "**Note:** The data are rankwise's synthetic sample, in place of mq2008." in page


def test_late_units_are_none_and_tried_again_next_time(run, tmp_path, monkeypatch):
    asked = []

    def late(self, unit):
        asked.append(unit.name)
        if unit.name == "late" and len(asked) < 3:
            raise TimeoutError
        return {"twice": 0}

    monkeypatch.setattr(Worker, "run", late)
    units = [Unit("late", double, {"number": 1}), Unit("the same", double, {"number": 1})]
    seen = run(units, module=_silent)[1]
    assert seen == [{"late": None, "the same": None}]
    page = (tmp_path / "out" / "lee_lin_table_1.md").read_text()
    assert "2 of 2 units exceeded their time limit and are left out." in page
    assert asked == ["late"]
    asked += ["", ""]
    assert run(units, module=_silent)[1] == [{"late": {"twice": 0}, "the same": {"twice": 0}}]


def test_only_units_without_times_run_at_the_same_time(run, monkeypatch):
    meeting, timed = threading.Barrier(2, timeout=30), threading.Lock()

    def asked(self, unit):
        if unit.timed:
            assert timed.acquire(blocking=False)
            time.sleep(0.05)
            timed.release()
        else:
            meeting.wait()
        return {"twice": 0}

    monkeypatch.setattr(command, "thread_count", lambda: 2)
    monkeypatch.setattr(Worker, "run", asked)
    units = [Unit(f"unit {n}", double, {"number": n}, timed=n % 2 == 0) for n in range(4)]
    assert run(units, module=_silent) == (0, [{unit.name: {"twice": 0} for unit in units}])


def test_failing_unit_ends_those_that_run_beside_it(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "thread_count", lambda: 2)
    units = [Unit("slow", leave_a_file, {"seconds": 10}, timed=False), Unit("failing", fail, timed=False)]
    assert run(units)[0] == 1
    assert not (tmp_path / "data" / "left").exists()
    assert "failing failed" in capsys.readouterr().err


def test_failing_experiment_is_said_and_nothing_written(run, tmp_path, capsys):
    code, seen = run([Unit("one", double, {"number": 1}), Unit("two", fail)])
    assert code == 1
    assert not seen
    assert not (tmp_path / "out").exists()
    told = capsys.readouterr().err
    assert "two failed" in told
    assert "0 of 1 experiments written" in told


def test_unknown_name_is_refused(run, capsys):
    with pytest.raises(SystemExit):
        run([], "figure_99")
    assert "'figure_99' begins none of" in capsys.readouterr().err


def test_names_in_the_papers_order():
    names = registry.names()
    assert names
    papers = [registry.NAME.fullmatch(name)[1] for name in names]
    assert papers == sorted(papers, key=list(registry.PAPERS).index)
    for name in names:
        module = registry.load(name)
        assert module.TITLE
        assert all(isinstance(folder, str) for folder in module.NEEDS)
        for quick in (True, False):
            units = module.units(quick)
            assert len({unit.name for unit in units}) == len(units) > 0
            assert all(unit.limit <= 600 for unit in units)


def test_empty_cells_and_numbers():
    rows = [{"a": 1, "b": 0.123456}, {"a": None, "b": 2.0, "c": "x"}]
    assert Table("t", rows).markdown().splitlines()[2:] == ["| 1 | 0.1235 |  |", "|  | 2 | x |"]
    assert pages.columns_of(rows) == ["a", "b", "c"]
