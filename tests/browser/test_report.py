"""The report as a reader meets it: it opens, sorts, searches and shows queries, fetches nothing, and all can use it."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright", reason="Playwright is not installed: make test-browser installs it")

from .chromium import AXE, HOSTILE, PHONE, WIDE, browser, many, opened, program, sample

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(program() is None, reason="there is no Chromium on this machine"),
]
STORED = Path(__file__).with_name("report.png")  # python -m tests.browser.test_report makes it anew
PAPER = (720, 1000)  # A4 within its margins
SMALL = (128, 90)
NEAR = 10  # of 255: the mean difference of two small pictures that still are of the same page


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, page in (("sample", sample()), ("many", many())):
        page.save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in ("sample", "many")}


def column(page, place):
    """The texts of a column of the table of queries, of the rows that are not hidden."""
    return page.eval_on_selector_all(
        ".queries tbody tr:not([hidden])", f"rows => rows.map(row => row.cells[{place}].textContent)"
    )


def numbers(texts):
    return [float(one.replace("−", "-").replace("–", "nan")) for one in texts]


@pytest.mark.parametrize("name", ["sample", "many"])
def test_it_opens_in_silence_and_asks_for_nothing(chromium, files, name):
    with opened(chromium, files[name]) as page:
        assert page.title().endswith("worse.") or page.title().endswith("equal.")
        page.locator("button.open").first.click()
        page.locator("dialog .ranking").first.wait_for()
        assert page.said == []
        assert page.asked == [files[name].as_uri()]


def test_columns_are_sorted_by_click_and_by_keyboard(chromium, files):
    with opened(chromium, files["sample"]) as page:
        head = page.locator(".queries thead th").nth(4)
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        values = numbers(column(page, 4))
        assert len(values) == 40
        assert values == sorted(values)
        head.locator("button").press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        assert numbers(column(page, 4)) == sorted(values, reverse=True)
        page.locator(".queries thead th").nth(0).locator("button").click()
        assert head.get_attribute("aria-sort") is None
        assert column(page, 0) == sorted(column(page, 0), key=int)
        assert page.said == []


def test_search_and_sorting_see_the_packed_rows_too(chromium, files):
    with opened(chromium, files["many"]) as page:
        status = page.locator("#status")
        assert status.text_content() == "1,000 of 1,500 queries; sort or search to see all"
        page.locator("#search").fill("QUERY 14")
        page.wait_for_function("document.querySelector('#status').textContent.startsWith('7')")
        found = column(page, 0)
        assert found == [one for one in found if "query 14" in one]
        assert len(found) == sum(1 for i in range(1500) if i % 3 and f"query {i}".startswith("query 14"))
        page.locator("#search").fill("")
        page.wait_for_function("document.querySelector('#status').textContent === '1,500 of 1,500 queries'")
        page.locator(".queries thead th").nth(4).locator("button").click()
        values = numbers(column(page, 4))
        assert len(values) == 1500
        counted = [one for one in values if not np.isnan(one)]
        assert counted == sorted(counted)
        assert all(map(np.isnan, values[len(counted) :]))


def test_a_query_opens_and_closes_by_keyboard(chromium, files):
    with opened(chromium, files["sample"]) as page:
        button = page.locator("button.open").first
        name = button.text_content()
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.locator("dialog")
        dialog.locator(".ranking").first.wait_for()
        assert dialog.locator("h2").text_content() == f"Query {name}"
        assert dialog.locator(".ranking").count() == 2
        assert dialog.locator(".ranking").nth(1).locator(".why").count() == 10
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert page.evaluate("document.activeElement.textContent") == name


def test_links_stay_in_the_frame_of_a_notebook(chromium, tmp_path):
    from playwright.sync_api import expect

    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><title>notebook</title>{sample()._repr_html_()}")
    with opened(chromium, notebook) as page:
        frame = page.frames[1]
        frame.get_by_role("link", name="Weights").click()
        expect(frame.locator("#weights-title")).to_be_in_viewport()
        assert page.said == []
        assert page.asked == [notebook.as_uri()]


def test_hostile_names_stay_text(chromium, files):
    with opened(chromium, files["many"]) as page:
        asked = []
        page.on("dialog", lambda one: asked.append(one.message) or one.dismiss())
        page.locator("#search").fill("alert")
        page.wait_for_function("document.querySelector('#status').textContent.startsWith('500 ')")
        cell = page.locator(".queries tbody tr:not([hidden]) th[data-detail]").first
        assert HOSTILE in cell.text_content()
        cell.locator("button").click()
        page.locator("dialog .ranking").first.wait_for()
        assert HOSTILE in page.locator("dialog").text_content()
        assert HOSTILE in page.locator("h1").text_content()
        assert page.locator("img").count() == 0
        assert asked == page.said == []


def test_it_is_readable_without_script(chromium, files):
    with opened(chromium, files["sample"], script=False) as page:
        assert "better than clicks" in page.locator("h1").inner_text()
        assert page.locator(".queries tbody tr").count() == 40
        assert not page.locator(".tools").is_visible()
        assert page.locator(".worst .ranking").first.is_visible()


@pytest.mark.parametrize("size", [WIDE, PHONE, (320, 640)], ids=str)
def test_nothing_is_wider_than_the_screen(chromium, files, size):
    for file in files.values():
        with opened(chromium, file, size) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_it_prints(chromium, files):
    with opened(chromium, files["sample"], PAPER) as page:
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPER[0]
    with opened(chromium, files["many"], PAPER) as page:
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) < 30


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not at build/browser: make test-browser fetches it by npm")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", ["page", "query", "phone"])
def test_axe_finds_no_violation(chromium, files, scheme, state):
    for name in ("sample", "many") if (scheme, state) == ("light", "page") else ("sample",):  # axe takes long over many
        with opened(chromium, files[name], PHONE if state == "phone" else WIDE, scheme) as page:
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            if state == "query":
                page.locator("button.open").first.click()
                page.locator("dialog .ranking").first.wait_for()
            page.evaluate(AXE.read_text())
            found = page.evaluate("axe.run()")
            told = [(one["id"], node["html"][:200]) for one in found["violations"] for node in one["nodes"]]
            assert told == []
            assert len(found["passes"]) > 20


def small(file):
    """A picture as few grey points, in which fonts hardly matter."""
    from PIL import Image

    return np.asarray(Image.open(file).convert("L").resize(SMALL, Image.Resampling.BOX), dtype=float)


def photographed(running, folder):
    sample().save(folder / "report.html")
    with opened(running, folder / "report.html") as page:
        page.screenshot(path=folder / "now.png")
    return folder / "now.png"


def test_it_looks_as_before(chromium, tmp_path):
    now, before = small(photographed(chromium, tmp_path)), small(STORED)
    assert np.abs(now - before).mean() < NEAR
    assert np.abs(now - now.mean()).mean() > 2  # not an empty page


def store() -> None:
    from tempfile import TemporaryDirectory

    from PIL import Image

    with TemporaryDirectory() as folder, browser() as running:
        picture = photographed(running, Path(folder))
        Image.open(picture).convert("L").resize(SMALL, Image.Resampling.BOX).save(STORED, optimize=True)


if __name__ == "__main__":
    store()
