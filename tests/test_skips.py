"""What a run of the tests says at its end of those that it skipped."""

import shutil
import subprocess
import sys
from pathlib import Path

SKIPPING = """
import pytest
def test_a_module(): pytest.importorskip("no_such_module.part")
def test_it_again(): pytest.importorskip("no_such_module")
def test_a_program(): pytest.skip("there is no browser")
def test_that_runs(): pass
"""


def test_one_line_per_reason(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    assert told[-3:-1] == ["2 skipped: no_such_module is not installed", "1 skipped: there is no browser"]
    assert "1 passed, 3 skipped" in told[-1]
