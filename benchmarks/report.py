"""The page of a folder of results: targets, times and pictures, made from its CSV files and nothing else."""

import csv
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks import pictures, sweep

HERE = Path(__file__).parent
Row = dict[str, Any]
NUMBERS = ("tol", "size", "value", "best", "threads", "peak_mb", "extra_mb", "data_mb", "gap", "test_ndcg10", "goal")
HEAD = """# Benchmarks

After this page you know how fast rankwise is beside other libraries, which of its targets are met and which are missed,
and how to measure it on your own machine. MQ2007, MQ2008, OHSUMED and cadata (California housing) are real data; all
other data here are synthetic, of the shape that is named."""
METHOD = """## How it is measured

`make bench` measures everything and writes this page; `make bench-quick` a small version in minutes;
`python -m benchmarks NAME` a part (`--data DIR` for the real data, `--liblinear PATH` for LIBLINEAR's ranking
extension, which is then compared in the same run).

Every solver runs in a process of its own.

| word | meaning |
|---|---|
| cold | the first fit ever: kernels are compiled |
| warm | the first fit of a new process, imports included |
| hot | the median of further fits |
| gap | (objective - lower bound) / objective, by one evaluator for all solvers |
| memory | the peak beyond data and imports |
| cores | processor time divided by time |
| test ndcg@10 | on held-out queries, where there are some: for MQ2007, MQ2008 and OHSUMED fold 1's test part (S5) |

Hot times are those of each solver's fastest fit that reaches the gap, or else of the fit nearest to it. Warm and cold
times are at one tolerance (1e-3 for rankwise, 0.1 for LIBLINEAR and LinearSVC), whether or not it reaches the gap: do
not compare them between solvers."""
KNOWN = "Reasons for misses, where one is known:"
CAPTIONS = {
    "time_against_gap": "Each point is a fit at one tolerance: its hot time, and how far it is from the optimum. "
    "Further left is faster, further down is more exact; the dotted line is the gap at which times are compared.",
    "growth": "How the time of one evaluation of the objective grows with the data.",
}


def write(folder: Path, targets: Path = HERE / "targets.toml") -> Path:
    """Write README.md, in the folder above where it is the suite's own, and the pictures beside the results."""
    rows = read(folder)
    wanted = tomllib.loads(targets.read_text())
    page = (HERE if folder.resolve() == HERE / "results" else folder) / "README.md"
    drawn = [path.relative_to(page.parent) for path in pictures.draw(rows, folder)]
    text = [HEAD, _targets(rows, wanted["target"]), *map(_picture, drawn)]
    swept = sweep.read(folder / sweep.RESULT.name) if (folder / sweep.RESULT.name).exists() else []
    text += [*_fits(rows, wanted.get("lee_lin", {})), _measures(rows), _sweep(swept)]
    text += [METHOD, *_machines(rows, swept)]
    page.write_text("\n\n".join(part for part in text if part) + "\n")
    return page


def read(folder: Path) -> list[Row]:
    """The rows of every case there is a table of, whichever runs they are from."""
    rows: list[Row] = []
    for path in sorted(folder.glob("*.csv")):
        if path.name != sweep.RESULT.name:
            with open(path, newline="") as file:
                rows += csv.DictReader(file)
    for row in rows:
        row |= {name: float(row[name]) if row.get(name) else None for name in NUMBERS}
        row |= {name: row[name] == "True" for name in ("ours", "reduced")}
    return rows


def at_goal(rows: list[Row], goal: float | None = None) -> Row | None:
    """Of one solver's hot rows, the fastest that reaches the gap `goal`, or else the gap of the case; where none does,
    the nearest to it.
    """
    hot = [row for row in rows if row["phase"] == "hot"]
    if not hot:
        return None
    known = [row for row in hot if row["gap"] is not None and row["goal"] is not None]
    if not known:
        return next((row for row in hot if row["tol"] == 1e-3), hot[-1])  # our default
    reached = [row for row in known if row["gap"] <= (goal or row["goal"])]
    return min(reached, key=lambda row: row["value"]) if reached else min(known, key=lambda row: row["gap"])


def by_solver(rows: list[Row], case: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["case"] == case and row["solver"]:
            found.setdefault(row["solver"], []).append(row)
    return found


def measured(rows: list[Row], target: Row) -> tuple[float | None, Row | None]:
    """What the target asks for, and the row it is from."""
    quantity = target.get("quantity", "seconds")
    if quantity == "value":
        mine = (row for row in rows if row["case"] == target["case"] and row["ours"] and row["value"] is not None)
        found = next((row for row in mine if row["what"].startswith(target["what"])), None)
        return (None if found is None else found["value"]), found
    solvers = by_solver(rows, target["case"])
    goal = target.get("gap")
    found = at_goal(solvers.get(target.get("solver", "rankwise RankSVM"), []), goal)
    if found is None:
        return None, None
    if quantity == "memory":
        return 1 + found["extra_mb"] / found["data_mb"], found
    if found["gap"] is not None and found["gap"] > (goal or found["goal"]):
        return None, found
    if quantity == "seconds":
        return found["value"], found
    other = at_goal(solvers.get(target["than"], []), goal)
    if other is None:
        return None, None
    ratio = other["value"] / found["value"]
    return (ratio if quantity == "faster" else 1 / ratio), found


def _picture(path: Path) -> str:
    title = path.stem.replace("_", " ")
    return f"## {title.capitalize()}\n\n{CAPTIONS[path.stem]}\n\n![{title}]({path})"


def _machines(rows: list[Row], swept: list[Row]) -> list[str]:
    seen: dict[str, dict[str, None]] = {}
    for row in rows:
        seen.setdefault(f"{row['machine']}, {row['cores']} cores; {row['versions']}", {})[row["case"]] = None
    for row in swept:
        seen.setdefault(f"{row['machine']}; commit {row['commit']}", {})["sweep"] = None
    return [f"Measured on {where}: {', '.join(cases)}." for where, cases in seen.items()]


def _targets(rows: list[Row], targets: list[Row]) -> str:
    lines, reasons = [], []
    for target in targets:
        value, row = measured(rows, target)
        state = _state(rows, target, value, row)
        bound = f"at most {target['at_most']:g}" if "at_most" in target else f"at least {target['at_least']:g}"
        peer = _peer(rows, target, row)
        command = "" if row is None else f"`{row['command']}`"
        cells = (
            target["work"],
            f"{bound} {target['unit']}",
            number(value),
            *peer,
            command,
            state,
        )
        lines.append(cells)
        if "missed" in state and "reason" in target:
            reasons.append(f"* {target['work']}: {target['reason']}")
    head = ("work", "target", "measured", "peer", "peer / ours", "command", "")
    table = "## Targets\n\n" + _table(head, lines)
    return table + (f"\n\n{KNOWN}\n\n" + "\n".join(reasons) if reasons else "")


def _state(rows: list[Row], target: Row, value: float | None, row: Row | None) -> str:
    if row is None:
        who = target.get("than")
        notes = dict.fromkeys(r["note"] for r in by_solver(rows, target["case"]).get(who, []) if r["note"])
        return "; ".join(["not measured", *(f"{who}: {note}" for note in notes)])
    if row["reduced"]:
        return "smaller data"
    if value is None:
        return f"missed: gap {row['gap']:.1e}"
    return "met" if target.get("at_least", value) <= value <= target.get("at_most", value) else "**missed**"


def _peer(rows: list[Row], target: Row, row: Row | None) -> tuple[str, str]:
    """The fastest other solver of the same problem, or the one that the target names: its name, time and gap, and how
    many times ours it takes.
    """
    if row is None or row["unit"] != "s" or target.get("quantity") in ("slower", "memory"):
        return "", ""
    if row["phase"]:
        others = {name: found for name, found in by_solver(rows, target["case"]).items() if not found[0]["ours"]}
        at_goals = [at_goal(others[name], target.get("gap")) for name in others if target.get("than", name) == name]
        same = [one for one in at_goals if one is not None and one["gap"] is not None]
    else:
        same = [
            r for r in rows if (r["case"], r["what"], r["ours"]) == (row["case"], row["what"], False) and r["value"]
        ]
    if not same:
        return "", ""
    best = min(same, key=lambda one: one["value"])
    gap = "" if best["gap"] is None else f" (gap {best['gap']:.0e})"
    return f"{best['solver']}, {number(best['value'])} s{gap}", number(best["value"] / row["value"])


def _fits(rows: list[Row], paper: dict[str, float]) -> list[str]:
    cases = list(dict.fromkeys(row["case"] for row in rows if row["phase"] or row["goal"]))
    return ["## Solvers, problem by problem"] * bool(cases) + [_fit(rows, case, paper.get(case)) for case in cases]


def _fit(rows: list[Row], case: str, paper: float | None) -> str:
    lines = []
    solvers = by_solver(rows, case)
    ours = next((at_goal(found) for found in solvers.values() if found[0]["ours"]), None)
    for name, found in solvers.items():
        hot = at_goal(found)
        first = {row["phase"]: row["value"] for row in found if row["phase"] in ("cold", "warm")}
        times = (None if hot is None else hot["value"], first.get("warm"), first.get("cold"))
        note = "; ".join(dict.fromkeys(row["note"] for row in found if row["note"]))
        cells = [name, *map(number, times)]
        if hot is None:
            cells += [""] * 5
        else:
            ratio = None if ours is None or hot is ours else hot["value"] / ours["value"]
            gap = "" if hot["gap"] is None else f"{hot['gap']:.0e}"
            cells += [
                number(ratio),
                gap,
                number(hot["test_ndcg10"]),
                f"{hot['extra_mb']:,.0f}",
                number(hot["threads"]),
            ]
        lines.append((*cells, note))
    if paper is not None:
        lines.append(("Lee and Lin's paper (their machine, one thread)", f"{paper:g}", *[""] * 7, "their best C"))
    goal = next((row["goal"] for row in rows if row["case"] == case and row["goal"]), None)
    head = ("solver", "hot, s", "warm, s", "cold, s", "/ ours", "gap", "test ndcg@10", "memory, MB", "cores", "")
    what = next((row["what"] for row in rows if row["case"] == case and row["solver"]), case)
    asked = f", to a gap of {goal:g}" if goal else ""
    return f"### {case}\n\n{what}{asked}:\n\n" + _table(head, lines)


def _measures(rows: list[Row]) -> str:
    single = [row for row in rows if not row["phase"] and not row["what"].startswith("growth with") and row["solver"]]
    lines = [(r["case"], r["what"], r["solver"], number(r["value"]), r["unit"], r["note"]) for r in single if r["unit"]]
    left = [(r["case"], r["what"], r["solver"], "", "", r["note"]) for r in rows if not r["unit"] and not r["goal"]]
    return (
        ""
        if not rows
        else "## Other measurements\n\n" + _table(("command", "what", "who", "value", "", ""), lines + left)
    )


def _sweep(rows: list[Row]) -> str:
    seeds = ", ".join(sorted({row["seed"] for row in rows}))
    told = f"`python -m benchmarks.sweep --seed {seeds}`: {sweep.summary(rows)}"
    return f"## A sweep of random problems\n\n{told}" if rows else ""


def _table(head: tuple[str, ...], lines: list[Any]) -> str:
    ruled = [head, ("---",) * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in ruled)


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    print(write(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE / "results"))
