"""Pictures as PNG: `python -m tests.browser.pictures FOLDER` writes the report, light, dark, with a query opened and on
a phone; three pages of the site, which `make docs` builds; and front.png, the report of the README's commands, which
is stored as docs/report.png.
"""

import re
import shlex
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from .chromium import PHONE, WIDE, browser, opened, program, sample

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs" / "docs"
PAGES = ("index", "concepts", "gallery/index")
FRONT = (1010, 700)  # the left half of front.png
OPENED = (860, 700)  # the right half: a query


def front(folder: Path) -> Path:
    """The report that the README's commands write into a folder."""
    lines = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1).splitlines()
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        subprocess.run([sys.executable, "-m", "rankwise", *arguments], cwd=folder, check=True, capture_output=True)
    return folder / "report.html"


def open_a_query(page) -> None:
    page.locator("button.open").first.click()
    page.locator("dialog .ranking").first.wait_for()


def beside(path: Path, pictures: list[bytes]) -> None:
    """Pictures of one height side by side, in a palette: a third of the size, and no difference to the eye."""
    from PIL import Image

    parts = [Image.open(BytesIO(one)).convert("RGB") for one in pictures]
    whole = Image.new("RGB", (sum(one.width for one in parts), parts[0].height))
    for i, one in enumerate(parts):
        whole.paste(one, (sum(earlier.width for earlier in parts[:i]), 0))
    whole.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


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
            open_a_query(page)
            page.screenshot(path=folder / "report-opened.png")
        with TemporaryDirectory() as walk, opened(running, front(Path(walk)), FRONT) as page:
            left = page.screenshot()
            page.set_viewport_size({"width": OPENED[0], "height": OPENED[1]})
            open_a_query(page)
            beside(folder / "front.png", [left, page.screenshot()])
        for name in PAGES:
            with opened(running, SITE / f"{name}.html") as page:
                page.screenshot(path=folder / f"site-{name.split('/')[0]}.png", animations="disabled")
    print(*sorted(map(str, folder.glob("*.png"))), sep="\n")


if __name__ == "__main__":
    take(Path(sys.argv[1] if len(sys.argv) > 1 else "build/browser/pictures"))
