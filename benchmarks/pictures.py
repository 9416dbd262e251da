"""The pictures of the page: time against gap for every fit, and time against size."""

import math
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LEAST_GAP = 1e-12  # what lies below is drawn there
INK = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}


def draw(rows: list[Row], folder: Path) -> list[Path]:
    try:
        import matplotlib
    except ImportError:
        return []
    with matplotlib.rc_context(INK):
        return [path for path in (_gaps(rows, folder), _growth(rows, folder)) if path is not None]


def _figure(panels: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = min(3, panels)
    lines = math.ceil(panels / columns)
    figure = Figure(figsize=(4.6 * columns, 3.6 * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for one in axes[panels:]:
        one.set_axis_off()
    return figure, list(axes[:panels])


def _gaps(rows: list[Row], folder: Path) -> Path | None:
    """One panel per problem, one line per solver, one point per tolerance."""
    from matplotlib.ticker import LogLocator

    known = [row for row in rows if row["phase"] == "hot" and row["gap"] is not None]
    cases = list(dict.fromkeys(row["case"] for row in known))
    if not cases:
        return None
    figure, panels = _figure(len(cases))
    for axes, case in zip(panels, cases, strict=True):
        for name in dict.fromkeys(row["solver"] for row in known if row["case"] == case):
            points = [row for row in known if (row["case"], row["solver"]) == (case, name)]
            times, gaps = [row["value"] for row in points], [max(row["gap"], LEAST_GAP) for row in points]
            axes.loglog(times, gaps, marker="o", markersize=3.5, label=name, **_style(points[0]["ours"]))
        axes.axhline(points[0]["goal"], color="grey", linewidth=0.8, linestyle=":")
        axes.tick_params(axis="x", which="minor", labelbottom=False)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=7))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(title=case, xlabel="seconds, hot", ylabel="relative gap")
        axes.legend(fontsize=7)
    return _save(figure, folder / "time_against_gap.png")


def _growth(rows: list[Row], folder: Path) -> Path | None:
    points = [row for row in rows if row["what"].startswith("growth with") and row["value"] is not None]
    kinds = list(dict.fromkeys(row["what"] for row in points))
    if not kinds:
        return None
    exponents = {(row["what"], row["solver"]): row["value"] for row in rows if row["unit"] == "exponent"}
    figure, panels = _figure(len(kinds))
    for axes, kind in zip(panels, kinds, strict=True):
        across = kind.removeprefix("growth with ")
        for name in dict.fromkeys(row["solver"] for row in points if row["what"] == kind):
            line = [row for row in points if (row["what"], row["solver"]) == (kind, name)]
            exponent = exponents.get((f"exponent in {across}", name))
            label = name if exponent is None else f"{name}, exponent {exponent:.2f}"
            sizes, seconds = [row["size"] for row in line], [row["best"] for row in line]
            axes.loglog(sizes, seconds, marker="o", markersize=3.5, label=label, **_style(line[0]["ours"]))
        axes.set(xlabel=across, ylabel="seconds of one evaluation, one thread")
        axes.legend(fontsize=7)
    return _save(figure, folder / "growth.png")


def _style(ours: bool) -> dict[str, Any]:
    return {"linewidth": 2.6, "color": "black"} if ours else {"linewidth": 1.2}


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=90)
    return path
