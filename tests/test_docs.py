"""What the documents show is run: Python examples as doctests, shell examples as commands."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.cli import demo

ROOT = Path(__file__).resolve().parents[1]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo.save(".", force=False)  # as the reader does
    text = "\n".join(PYTHON.findall(page.read_text()))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(examples).failed
    assert not failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_examples(page, tmp_path):
    """Every line that calls rankwise, in order, in a folder with train.txt, vali.txt and test.txt."""
    rankwise = f"{sys.executable} -c 'from rankwise.cli import main; main()'"
    lines = "\n".join(SHELL.findall(page.read_text())).replace("\\\n", " ").splitlines()
    if not any("demo --save" in line for line in lines):  # which makes them, and replaces none
        demo.save(str(tmp_path), force=False)
    for line in lines:
        if line.startswith("rankwise "):
            command = re.sub(r"(^|\| )rankwise", lambda found: found.group(1) + rankwise, line.split("   #")[0])
            done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_docstrings():
    import rankwise.estimators.ranksvm as module

    assert doctest.testmod(module).failed == 0
