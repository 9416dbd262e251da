"""`rankwise doctor` tells what a machine has, and whether a fit works on it."""

import json
import tomllib
from pathlib import Path

from commands import run

from rankwise.cli import doctor

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]


def names_of(requirements):
    return tuple(one.partition(">")[0] for one in requirements)


def test_it_looks_for_what_the_project_requires():
    assert names_of(PROJECT["dependencies"]) == doctor.REQUIRED
    for extra, names in doctor.EXTRAS.items():
        assert names_of(PROJECT["optional-dependencies"][extra]) == names


def test_a_machine_on_which_all_works():
    told = json.loads(run("doctor", "--json").stdout)
    assert told["failed"] == []
    works = {one["name"] for one in told["findings"] if one["works"]}
    assert {"self-test", "kernel cache"} <= works
    assert "self-test" in run("doctor").stdout


def test_a_wrong_fit_is_a_failure(monkeypatch):
    monkeypatch.setattr(doctor, "AGREE", -1.0)
    told = run("doctor", code=1).stdout
    assert [line.split()[0] for line in told.splitlines() if line.endswith("FAILS")] == ["self-test"]
