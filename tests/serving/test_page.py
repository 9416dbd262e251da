"""docs/serving.md as its reader follows it: the service is started, and every curl gets the answer that is shown."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run
from served import running

from rankwise.cli import demo

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
EXAMPLE = re.compile(r"```sh\n(curl .*?)```(?:\n\n```json\n(.*?)```)?", re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    demo.save(".", force=False)
    run(*re.search(r"^rankwise (train .*)$", text, re.M).group(1).split())
    options = re.search(r"^rankwise serve model.json --port 8000(.*)$", text, re.M).group(1).split()
    examples = EXAMPLE.findall(text)
    assert len(examples) == 5
    with running(tmp_path, *options) as server:
        for commands, shown in examples:
            ready = commands.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{server.port}")
            done = subprocess.run(["bash", "-ec", ready], capture_output=True, text=True, check=True)
            if shown:
                assert json.loads(done.stdout, parse_float=lambda text: round(float(text), 2)) == json.loads(shown)
            else:
                assert '"error": "' not in done.stdout
                assert '"order"' in done.stdout or "rankwise_rank_seconds_count" in done.stdout
