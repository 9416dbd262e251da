"""Pictures: `python -m tests.browser.pictures FOLDER` writes the report, light, dark, opened and phone, as PNG.

And three pages of the documentation, if `make docs` has built it.
"""

import sys
from pathlib import Path

from .chromium import PHONE, WIDE, browser, opened, program, sample

SITE = Path(__file__).parents[2] / "build" / "docs" / "docs"
PAGES = ("index", "start", "concepts")


def take(folder: Path) -> None:
    if program() is None:
        sys.exit("there is no Chromium on this machine: install it, for example by apt-get install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    page_file = folder / "report.html"
    sample().save(page_file)
    with browser() as running:
        for name, size, scheme in (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light")):
            with opened(running, page_file, size, scheme) as page:
                page.screenshot(path=folder / f"{name}.png", full_page=True)
        with opened(running, page_file) as page:
            page.locator("button.open").first.click()
            page.locator("dialog .ranking").first.wait_for()
            page.screenshot(path=folder / "opened.png")
        for name in PAGES if SITE.is_dir() else ():
            with opened(running, SITE / f"{name}.html") as page:
                page.screenshot(path=folder / f"site-{name}.png")
    print(*sorted(map(str, folder.glob("*.png"))), sep="\n")


if __name__ == "__main__":
    take(Path(sys.argv[1] if len(sys.argv) > 1 else "build/browser/pictures"))
