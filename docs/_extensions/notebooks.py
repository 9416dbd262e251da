"""Notebooks on the site: run when it is built, and shown as Markdown with what their cells print and return.

They are stored without outputs. Running one needs no Jupyter: its cells are plain Python.
"""

import ast
import contextlib
import io
import json
import tempfile
from pathlib import Path

SUFFIX = ".ipynb"


def setup(app):
    app.connect("source-read", read_notebook)
    return {"parallel_read_safe": True}


def read_notebook(app, name, source):
    path = Path(app.env.doc2path(name))
    if path.suffix == SUFFIX:
        source[0] = as_markdown(source[0], path.name)


def as_markdown(notebook, file):
    """The page of a notebook: its texts, its code, and below each piece of code its outputs."""
    parts = []
    for kind, source, outputs in run(notebook):
        parts.append(source if kind == "markdown" else f"```python\n{source}\n```")
        parts += [shown(*one) for one in outputs]
        if len(parts) == 1:
            parts.append(f"{{download}}`Download this page as a notebook <{file}>`")
    return "\n\n".join(parts)


def shown(kind, content):
    return f"```text\n{content}\n```" if kind == "text" else f"```{{raw}} html\n<div class=output>{content}</div>\n```"


def run(notebook):
    """(kind, source, outputs) of each cell of a notebook; code is run in order, in one namespace and an empty folder.

    An output is ("text", what is printed or returned) or ("html", what a notebook shows of a table, figure or report).
    """
    namespace = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in json.loads(notebook)["cells"]:
            source = "".join(cell["source"])
            yield cell["cell_type"], source, run_cell(source, namespace) if cell["cell_type"] == "code" else []


def run_cell(source, namespace):
    """The outputs of a cell: what it prints, and its last expression."""
    tree, value = ast.parse(source), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    outputs = [("text", printed.getvalue().rstrip())] if printed.getvalue() else []
    if value is not None:
        html = getattr(value, "_repr_html_", lambda: None)()
        outputs.append(("text", repr(value)) if html is None else ("html", html))
    return outputs
