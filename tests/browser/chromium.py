"""Chromium, axe-core, and the pages that are opened in them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from rankwise import RankingData, RankSVM, load_sample, report
from rankwise.metrics import Procedure
from rankwise.reporting.pages import Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(__file__).parents[2] / "build" / "browser" / "package" / "axe.min.js"  # `make test-browser` puts it there
WIDE, PHONE = (1280, 900), (390, 844)
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


def program() -> str | None:
    """The path of Chromium; None if it is not installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        yield running
        running.close()


@contextmanager
def opened(running, file: Path, size: tuple[int, int] = WIDE, scheme: str = "light", script: bool = True) -> Iterator:
    """A page in a tab of its own; what it says on the console and what it requests are in `page.said`, `page.asked`."""
    context = running.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, java_script_enabled=script
    )
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(file.resolve().as_uri())
    yield page
    context.close()


@cache
def sample() -> Page:
    """The report of the documents: a model against clicks, on the sample."""
    train, test = load_sample("train"), load_sample("test")
    model = RankSVM(C=0.01).fit(train)
    return report.html({"RankSVM": model}, test, train=train, baseline="clicks")


@cache
def many() -> Page:
    """1,500 queries, of which the page holds 1,000 rows; every third query and document has a hostile name."""
    rng = np.random.default_rng(0)
    n = 6000
    y, X = rng.integers(0, 3, n).astype(float), rng.random((n, 3))
    X[:, 0] += 0.2 * y
    names = [f"{HOSTILE}{i}" if i % 3 == 0 else f"query {i}" for i in range(1500)]
    documents = np.array([f"{HOSTILE}{i}" if i % 3 == 0 else f"document {i}" for i in range(n)])
    data = RankingData(X, y, np.repeat(np.array(names), 4), names=[HOSTILE, "two", "three"], docid=documents)
    short = Procedure(resamples=200, sign_flips=200)
    return report.html({HOSTILE: RankSVM().fit(data)}, data, baseline="two", procedure=short)
