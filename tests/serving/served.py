"""`rankwise serve` in a process of its own, on a port that the system chose."""

import http.client
import json
import re
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

import commands

from rankwise import RankSVM, make_ranking, save_model

NAMES = ["bm25", "pagerank", "clicks"]
JSON = {"content-type": "application/json"}
PATIENCE = 20.0  # seconds


def write_model(path, C=1.0, names=NAMES):
    data = make_ranking(6, 10, len(names), random_state=0)
    save_model(RankSVM(C=C).fit(data.X, data.y, data.qid), path, names)


class Running:
    def __init__(self, process, log):
        self.process, self.log = process, log
        found = self.until(lambda: re.search(r" at http://127\.0\.0\.1:(\d+)", self.said()))
        self.port = int(found.group(1))

    def said(self):
        return self.log.read_text()

    def until(self, condition):
        """What the condition is when it is no longer false."""
        end = time.monotonic() + PATIENCE
        while not (met := condition()):
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)
        return met

    def ask(self, method, path, body=None, headers=JSON):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            client.request(method, path, body, headers)
            response = client.getresponse()
            content = response.read()
        finally:
            client.close()
        return response.status, content.decode() if path == "/metrics" else json.loads(content)

    def health(self):
        return self.ask("GET", "/health")[1]

    def connected(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def running(folder, *options):
    with open(folder / "log", "w") as log:
        command = [*commands.RANKWISE, "serve", str(folder / "model.json"), "--port", "0", *options]
        process = subprocess.Popen(command, stderr=log)
    try:
        yield Running(process, folder / "log")
    finally:
        process.kill()
        process.wait()
