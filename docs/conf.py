"""How Sphinx builds the site: `make docs`. The source folder is the repository, so that links between pages of docs/,
benchmarks/ and experiments/ are the same here and on a code host.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_extensions")]
os.environ.setdefault("MPLBACKEND", "Agg")

project = "rankwise"
author = "the authors of rankwise"
copyright = author
release = version = next(
    line.split('"')[1] for line in (ROOT / "src/rankwise/__init__.py").open() if line.startswith("__version__")
)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "command_line",
    "notebooks",
    "plain_docstrings",
]

source_suffix = {".rst": "restructuredtext", ".md": "markdown", ".ipynb": "markdown"}
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "examples/*.ipynb",
    "examples/search/README.md",
    "experiments/results/*.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "fuzz", "**/__pycache__", "docs/_*", "docs/gallery/*.ipynb"]
templates_path = [str(ROOT / "docs" / "_templates")]  # autosummary would look in the source folder
highlight_language = "text"  # formulas and trees are indented blocks; code names its language
default_role = "code"
toc_object_entries_show_parents = "hide"
smartquotes = False  # --force is an option

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {
    "members": True,
    "exclude-members": "__init__",
    "inherited-members": "BaseEstimator,TransformerMixin,Mapping,Protocol",
}
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": ["examples/gallery"],
    "gallery_dirs": ["docs/gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 60,  # seconds of the machine that built the page say nothing
    "show_signature": False,
    "capture_repr": (),
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"rankwise {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]  # index.html, which leads to docs/index.html
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_show_sourcelink = False
# pages without pages below them
ALONE = ("index", "start", "commands", "extending", "glossary", "citing", "papers", "good-enough")
html_sidebars = {page: [] for page in (*(f"docs/{name}" for name in ALONE), "benchmarks/README", "C*", "SECURITY")}
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rankwise"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app):
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-skip-member", is_of_another_library)
    app.connect("source-read", suit_the_site)


def suit_the_site(app, name, source):
    """Links that name a file get the title of its page, and links to the gallery's programs lead to their pages."""
    source[0] = re.sub(r"\[[\w/-]+\.md\]\(", "[](", source[0])
    source[0] = source[0].replace("\n\n```\n", "\n```\n")  # the empty line that ends a doctest
    source[0] = re.sub(r"\((\.\./)*examples/gallery/(plot_\w+)\.py\)", r"(/docs/gallery/\2.rst)", source[0])
    source[0] = source[0].replace("(../examples/gallery)", "(/docs/gallery/index.rst)")


def is_of_another_library(app, what, name, member, skip, options):
    """Members that scikit-learn documents are left out."""
    return True if (getattr(member, "__module__", None) or "").startswith("sklearn.") else None
