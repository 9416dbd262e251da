"""Docstrings are written to be read as plain text; Sphinx reads reStructuredText.

Before Sphinx does, aligned lists (`name   what it is`) become definition lists, and characters that have a meaning in
reStructuredText and none in our formulas (|w|, coef_, a*b) are escaped; pages that are named become links. Code and
doctests stay as they are.
"""

import re

ENTRY = re.compile(r"^(?P<indent> *)(?P<name>\S(?:.*?\S)?) {2,}(?P<text>\S.*)$")
CODE = re.compile(r"(``.*?``|`[^`]*`)")
PAGE = re.compile(r"\bdocs/([\w-]+)\.md")
MARKS = re.compile(r"[|*]|(?<=\w)_(?!\w)")


def setup(app):
    app.connect("autodoc-process-docstring", rewritten, priority=1)  # before numpydoc
    return {"parallel_read_safe": True}


def rewritten(app, what, name, subject, options, lines):
    lines[:] = escaped(listed(lines))


def listed(lines):
    """With aligned lists as definition lists."""
    done = []
    inside = 0  # the column in which the texts of a list begin; 0 outside of lists
    for line in lines:
        entry = None if is_example(line) else ENTRY.match(line)
        if inside and line.strip() and len(line) - len(line.lstrip()) >= inside:
            done.append(f"    {line.strip()}")
        elif entry:
            begins = not inside and done and done[-1].strip()
            done += [""] * bool(begins) + [f"``{entry['name']}``", f"    {entry['text']}"]
            inside = len(entry["indent"]) + 2
        else:
            done += [""] * bool(inside and line.strip()) + [line]
            inside = 0
    return done


def is_example(line):
    return line.lstrip().startswith((">>>", "..."))


def escaped(lines):
    """With marks of reStructuredText escaped, except in code and from an example to the next empty line."""
    done, example = [], False
    for line in lines:
        example = bool(line.strip()) and (example or is_example(line))
        parts = CODE.split(line)
        done.append(line if example else "".join(escaped_part(part) for part in parts))
    return done


def escaped_part(part):
    if part.startswith("`"):
        return part
    return PAGE.sub(r":doc:`/docs/\1`", MARKS.sub(lambda mark: "\\" + mark.group(), part))
