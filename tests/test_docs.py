"""What the documents show is run: Python examples as doctests, shell examples as commands."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import commands
import pytest

from rankwise.cli import demo

ROOT = Path(__file__).resolve().parents[1]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
RANKWISE = shlex.join(commands.RANKWISE)
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
QUOTE = re.compile(r"(?:^> .*\n)+", re.MULTILINE)  # printed by a command of the page
FILE = re.compile(r"```\w+ (\w+\.\w+)\n(.*?)```", re.DOTALL)  # ```csv ratings.csv: a file that the page shows
ENDLESS = "rankwise serve "  # tests/serving/test_page.py runs it, and asks what its page asks
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def write_files(page):
    for name, text in FILE.findall(page.read_text()):
        Path(name).write_text(text)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_lines_of_prose_are_short(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    whole = ("|", "    ", "![", "`")  # rows of tables, code, pictures and long commands stay on one line
    assert not [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(whole)]


@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo.save(".", force=False)  # as the reader does
    write_files(page)
    text = "\n".join(PYTHON.findall(page.read_text()))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(examples).failed
    assert not failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_examples(page, tmp_path, monkeypatch):
    """Every line that calls rankwise or an example, in order, in a folder with train.txt, vali.txt and test.txt.

    A shell runs those with pipes. The others run in this process, where all that they import is there already. What the
    page quotes, one of them has printed.
    """
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(SHELL.findall(page.read_text())).replace("\\\n", " ").splitlines()
    if not any("demo --save" in line for line in lines):  # which makes them, and replaces none
        demo.save(".", force=False)
    write_files(page)
    printed = ""
    for line in lines:
        command = line.split("   #")[0]
        if line.startswith("python examples/search/"):
            pytest.importorskip("tantivy")
            script, *arguments = shlex.split(command)[1:]
            subprocess.run([sys.executable, ROOT / script, *arguments], check=True)
        if not line.startswith("rankwise ") or line.startswith(ENDLESS):
            continue
        if set(command) & set("|<>"):
            command = re.sub(r"(^|\| )rankwise ", lambda found: f"{found.group(1)}{RANKWISE} ", command)
            done = subprocess.run(command, shell=True, capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
        else:
            printed += commands.run(*shlex.split(command)[1:]).stdout
    for quote in QUOTE.findall(page.read_text()):
        assert quote.replace("> ", "").replace("\n", " ").strip() in printed
