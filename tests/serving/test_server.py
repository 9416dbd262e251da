"""`rankwise serve` as it runs: a process of its own on a port that the system chose, with good and bad clients."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import commands
import numpy as np
import pytest
from served import JSON, NAMES, PATIENCE, running, write_model


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    write_model(folder / "model.json")
    with running(folder, "--timeout", "1", "--max-bytes", "8000000") as server:
        yield server
        assert server.end() == 0
        lines = server.said().splitlines()
        assert re.fullmatch(r"rankwise: .*model\.json \(RankSVM, 3 features\) is served at http://\S+", lines[0])
        assert lines[1:] == ["rankwise: stopped"]  # bad requests are no lines


def head(body, close=False):
    lines = ["POST /rank HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "Connection: close" if close else "X: y", "", ""]).encode()


def read_all(client):
    """What the server sends until it closes the connection."""
    received = b""
    while part := client.recv(65536):
        received += part
    return received


GOOD = b'{"ids": ["a", "b"], "features": [[1, 2, 3], [3, 2, 1]]}'


def test_good_and_bad_requests_under_load(server):
    _, before = server.ask("GET", "/metrics")
    rng = np.random.default_rng(0)
    rows = rng.random((50, 3)).tolist()
    good = json.dumps({"ids": list(range(50)), "features": rows, "names": NAMES})
    status, expected = server.ask("POST", "/rank", good)
    assert status == 200
    bad = {'{"features": [[1, 2]]}': 422, "{": 400, '{"features": [[1, NaN, 2]]}': 422, "": 400, '{"a": 1}': 422}

    def work(number):
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        wrong = []
        for i in range(60):
            body, status = (good, 200) if i % 3 else list(bad.items())[(i + number) % len(bad)]
            client.request("POST", "/rank", body, JSON)
            response = client.getresponse()
            content = json.loads(response.read())
            as_expected = content == expected if status == 200 else list(content) == ["error"]
            if response.status != status or not as_expected:
                wrong.append((body, response.status, content))
        client.close()
        return wrong

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(work, range(6))) == [[]] * 6

    def count(text, name):
        return sum(float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M))

    _, after = server.ask("GET", "/metrics")
    for name, n in {
        'rankwise_requests_total{path="/rank",status="200"}': 6 * 40 + 1,
        "rankwise_documents_total": 50 * (6 * 40 + 1),
        "rankwise_rank_seconds_count": 6 * 40 + 1,
        'rankwise_rank_seconds_bucket{le="+Inf"}': 6 * 40 + 1,
    }.items():
        assert count(after, name) - count(before, name) == n, name
    refused = [count(text, f'rankwise_requests_total{{path="/rank",status="{status}"}}') for text in (before, after)
               for status in (400, 422)]  # fmt: skip
    assert sum(refused[2:]) - sum(refused[:2]) == 6 * 20


def test_a_body_that_is_too_large(server):
    large = b" " * 8_500_000
    for body in (large, (large[i : i + 100_000] for i in range(0, len(large), 100_000))):  # the second in chunks
        status, content = server.ask("POST", "/rank", body)
        assert status == 413
        assert content == {"error": "the body has more than 8,000,000 bytes, the most that is allowed"}
    assert server.ask("POST", "/rank", b" " * 7_900_000 + GOOD)[0] == 200


def test_other_requests_are_refused_in_words(server):
    assert server.ask("GET", "/rank") == (405, {"error": '/rank does not take "GET": use POST'})
    assert server.ask("GET", "/nothing")[0] == 404
    status, content = server.ask("POST", "/rank", GOOD, {"content-type": "text/csv"})
    assert (status, content) == (415, {"error": 'the content type is "text/csv", expected application/json'})
    client = server.connected()
    client.sendall(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
    assert read_all(client).startswith(b"HTTP/1.1 400 ")


def test_a_body_that_ends_early_or_never(server):
    early, never = server.connected(), server.connected()
    for client in (early, never):
        client.sendall(head(GOOD) + GOOD[:20])
    early.close()
    answer = read_all(never)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'{"error": "the body did not arrive within 1 s"}' in answer
    assert server.health()["status"] == "ready"


def is_closed(client):
    """Wait for data, or for the end of the connection; a machine under load may have ended it before we wrote to it."""
    try:
        client.sendall(b"POST /rank HT")
        return client.recv(65536) == b""
    except ConnectionError:
        return True
    finally:
        client.close()


def test_a_slow_head_is_cut_off(server):
    assert is_closed(server.connected())
    client = server.connected()
    client.sendall(head(GOOD) + GOOD)  # a good request, and then a slow one on the same connection
    received = b""
    while not received.endswith(b"]}"):  # head and body may come one after the other
        received += client.recv(65536)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert is_closed(client)


def test_requests_in_one_go(server):
    other = GOOD.replace(b'"a"', b'"c"')
    client = server.connected()
    client.sendall(head(GOOD) + GOOD + head(b"{") + b"{" + head(other, close=True) + other)
    received = read_all(client)
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"400", b"200"]
    assert received.index(b'"a"') < received.index(b'"error"') < received.index(b'"c"')


def test_model_and_health(server):
    status, model = server.ask("GET", "/model")
    assert (status, model["kind"], model["linear"], model["features"]) == (200, "RankSVM", True, NAMES)
    health = server.health()
    assert health["error"] is None
    assert re.fullmatch("[0-9a-f]{64}", health["model"]["sha256"])


def test_a_replaced_model_is_loaded_and_a_broken_one_is_not(tmp_path):
    file = tmp_path / "model.json"
    write_model(file)
    with running(tmp_path, "--workers", "2") as server:
        before = server.health()
        answer = server.ask("POST", "/rank", GOOD)[1]
        (tmp_path / "broken").write_text('{"format": "rankwise-model"')
        os.replace(tmp_path / "broken", file)
        server.until(lambda: len(re.findall("the model in use stays, because .*damaged", server.said())) == 2)
        health = server.health()
        assert health["model"] == before["model"]
        assert "model.json is not a rankwise model, or is damaged" in health["error"]
        assert server.ask("POST", "/rank", GOOD)[1] == answer

        write_model(tmp_path / "new", C=1e-3)
        os.replace(tmp_path / "new", file)
        server.until(lambda: server.said().count("was loaded again") == 2)  # by each worker
        health = server.health()
        assert health["error"] is None
        assert health["model"]["sha256"] != before["model"]["sha256"]
        assert server.ask("POST", "/rank", GOOD)[1]["scores"] != answer["scores"]

        server.process.send_signal(signal.SIGHUP)
        loads = "\nrankwise_reloads_total 4\n"  # of both workers together, counted a moment after they say so
        server.until(lambda: loads in server.ask("GET", "/metrics")[1])
        assert "\nrankwise_failed_reloads_total 2\n" in server.ask("GET", "/metrics")[1]
        assert server.end() == 0


def workers_of(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def test_workers_are_started_anew_and_end_together(tmp_path):
    write_model(tmp_path / "model.json")
    with running(tmp_path, "--workers", "2") as server:
        first, second = server.until(lambda: len(workers_of(server.process)) == 2 and workers_of(server.process))
        server.health()
        os.kill(first, signal.SIGKILL)
        server.until(lambda: len(set(workers_of(server.process)) - {first}) == 2)
        assert f"worker {first} ended (status -9) and is started anew" in server.said()
        assert server.health()["status"] == "ready"
        left = workers_of(server.process)
        assert second in left
        server.process.kill()  # without a word to its workers
        server.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in left))


@pytest.mark.parametrize(("options", "number"), [((), signal.SIGTERM), (("--workers", "2"), signal.SIGINT)])
def test_a_request_in_flight_is_answered_before_the_end(tmp_path, options, number):
    write_model(tmp_path / "model.json")
    with running(tmp_path, *options) as server:
        client = server.connected()
        client.sendall(head(GOOD).replace(b"X: y", b"Expect: 100-continue"))
        assert client.recv(65536).startswith(b"HTTP/1.1 100 ")  # the server has begun to read the body
        client.sendall(GOOD[:-5])
        server.process.send_signal(number)
        server.until(lambda: _refuses(server.port))
        client.sendall(GOOD[-5:])
        assert b'"order": ' in read_all(client)
        assert server.process.wait(PATIENCE) == 0
        assert server.said().endswith("rankwise: stopped\n")


def _refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return True
    return False


def test_what_cannot_be_served_is_one_sentence(tmp_path):
    model = tmp_path / "model.json"
    write_model(model)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = commands.run("serve", model, "--port", port, code=1).stderr
    assert said == (
        f"rankwise: cannot listen on 127.0.0.1, port {port}: Address already in use; give another --host or --port\n"
    )
    for host in ("no.such.host.invalid", "", "300.1.1.1", "a" * 70, "a\nb"):
        said = commands.run("serve", model, "--host", host, "--port", 0, code=1).stderr
        assert said.startswith("rankwise: cannot listen on ")
        assert said.count("\n") == 1
    (tmp_path / "other.json").write_text("{}")
    assert "is not a rankwise model" in commands.run("serve", tmp_path / "other.json", code=1).stderr
    assert "No such file" in commands.run("serve", tmp_path / "none.json", code=1).stderr
    assert "must be a finite number" in commands.run("serve", model, "--missing", "nan", code=2).stderr
    assert "--port" in commands.run("serve", model, "--port", 70_000, code=2).stderr


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_the_extra_is_named_if_it_is_not_installed(package):
    code = f"import sys; sys.modules['{package}'] = None; from rankwise.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "serve", "m.json"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("rankwise: serving needs ")
    assert done.stderr.endswith("pip install starlette uvicorn\n")
