"""Tables of the results' files, and the sentences that pages should have of them."""

import csv
import re
import textwrap
from pathlib import Path

import pytest
from benchmarks import report

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = report.read(ROOT / "benchmarks" / "results")
EXPERIMENTS = ROOT / "experiments" / "results"


def flat(page):
    return " ".join((ROOT / page).read_text().split())


def says(page, sentences):
    """Fails with what the page should have instead, ready to be pasted."""
    text = flat(page)
    missing = [wrapped(one) for one in sentences if one not in text]
    if missing:
        pytest.fail("\n".join([f"{page} should say:", *missing]), pytrace=False)


def ends(page, sentence):
    text = flat(page)
    if not text.endswith(sentence) or text.count(" Measured ") != bool(sentence):
        pytest.fail(f"{page} should say once, at its end, where it was measured:\n{wrapped(sentence)}", pytrace=False)


def wrapped(sentence):
    return sentence if sentence.startswith("|") else textwrap.fill(sentence, 120, break_on_hyphens=False)


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def experiment(name):
    return rows(EXPERIMENTS / f"{name}.csv")


def shown(name):
    """The rows of all tables of a results' page, as they are written there."""
    found, head = [], None
    for line in (EXPERIMENTS / f"{name}.md").read_text().splitlines():
        cells = line[2:-2].split(" | ") if line.startswith("| ") else None
        if cells and head and cells[0] != "---":
            found.append(dict(zip(head, cells, strict=True)))
        head = head or cells if cells else None
    return found


def cell(table, column, *others):
    """What the column has in the one row with these other cells."""
    (row,) = [row for row in table if set(others) <= set(row.values()) and row.get(column)]
    return row[column]


def value(table, column, *others):
    return float(cell(table, column, *others))


def two(number):
    """Two digits, without an exponent."""
    return f"{float(f'{number:.2g}'):,g}"


def span(numbers, written=two):
    """The least and the greatest number, or the one that both are."""
    least, most = written(min(numbers)), written(max(numbers))
    return least if least == most else f"{least} to {most}"


def measured_at(page, cases=(), tables=()):
    """When and where the figures of a page were measured, by the results that it names; "" for a page without."""
    places = set()
    for name in re.findall(r"experiments(?:/results/| )(\w+)\b", (ROOT / page).read_text()):
        made = EXPERIMENTS / f"{name}.md"
        if made.exists():
            last = made.read_text().rstrip().splitlines()[-1]
            places.add((_commit(last), re.search(r"` on (.+), Python ", last)[1], "experiments"))
    places |= {
        (_commit(row["versions"]), f"{row['machine']}, {row['cores']} cores", "benchmarks")
        for row in BENCHMARKS
        if row["case"] in cases
    }
    places |= {(row["commit"], row["machine"], "benchmarks") for table in tables for row in rows(table)}
    return _sentence(places)


def _sentence(places):
    """Each commit is said once; where it was measured on several machines, with what was measured on each of them."""
    commits, kinds, machines = {}, {}, {}
    for commit, machine, kind in sorted(places):
        commits.setdefault(machine, {})[commit] = None
        kinds.setdefault(machine, {})[kind] = None
    for machine, those in commits.items():
        machines.setdefault(tuple(those), []).append(machine)
    each = []
    for those, found in machines.items():
        if len({tuple(kinds[machine]) for machine in found}) == 1:
            each.append(f"at {_listed(those)} on {' and on '.join(found)}")
        else:
            parts = (f"{' and '.join(sorted(kinds[machine], reverse=True))} on {machine}" for machine in found)
            each.append(f"at {_listed(those)}: {'; '.join(parts)}")
    return f"Measured {'; '.join(each)}." if each else ""


def _listed(commits):
    *others, last = commits
    return f"commits {', '.join(others)} and {last}" if others else f"commit {last}"


def _commit(text):
    return re.search(r"commit ([0-9a-f]{7,})", text)[1]
