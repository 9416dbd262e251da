"""`python -m tests.browser.pictures FOLDER` writes seven pictures as PNG: the report, light, dark, with a query opened
and on a phone, and three pages of the site, which `make docs` builds.
"""

import sys
from pathlib import Path

from .chromium import PHONE, WIDE, browser, opened, program, sample

SITE = Path(__file__).parents[2] / "build" / "docs" / "docs"
PAGES = ("index", "concepts", "gallery/index")


def take(folder: Path) -> None:
    if program() is None:
        sys.exit("there is no Chromium on this machine: install it, for example by apt-get install chromium")
    if not SITE.is_dir():
        sys.exit(f"there is no site at {SITE}: build it by make docs")
    folder.mkdir(parents=True, exist_ok=True)
    page_file = folder / "report.html"
    sample().save(page_file)
    with browser() as running:
        for name, size, scheme in (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light")):
            with opened(running, page_file, size, scheme) as page:
                page.screenshot(path=folder / f"report-{name}.png", full_page=True)
        with opened(running, page_file) as page:
            page.locator("button.open").first.click()
            page.locator("dialog .ranking").first.wait_for()
            page.screenshot(path=folder / "report-opened.png")
        for name in PAGES:
            with opened(running, SITE / f"{name}.html") as page:
                page.screenshot(path=folder / f"site-{name.split('/')[0]}.png", animations="disabled")
    print(*sorted(map(str, folder.glob("*.png"))), sep="\n")


if __name__ == "__main__":
    take(Path(sys.argv[1] if len(sys.argv) > 1 else "build/browser/pictures"))
