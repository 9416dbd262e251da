"""The methods of figures 5 to 7 side by side: what is run, and a panel a data set, C and thing measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from experiments.lee_lin_paths import Method, relative, seconds_to, stopping_value
from experiments.units import Unit

METHODS = {
    "Tree-TRON": Method("trust-region", "selection-tree"),
    "PRSVM+": Method("trust-region", "by-level"),
    "rankwise": Method("auto"),
    "TreeRankSVM (L1)": Method("bmrm", "red-black-tree", "hinge", 1e-6),
    "bundle with line search (L1)": Method("bundle", "auto", "hinge", 1e-6),
    "rankwise (L1)": Method("auto", "auto", "hinge", 1e-5),
}
STYLES = {  # colour, dashes, width
    "Tree-TRON": ("#1b6ca8", "-", 1.6),
    "PRSVM+": ("#3a7d44", "-", 1.6),
    "rankwise": ("black", "-", 2.4),
    "TreeRankSVM (L1)": ("#d1495b", "--", 1.6),
    "bundle with line search (L1)": ("#e0a030", "--", 1.6),
    "rankwise (L1)": ("#5f6b6d", "--", 2.4),
}
FIRST = "Tree-TRON"
GAPS = (1e-2, 1e-4)


@dataclass(frozen=True)
class Case:
    """A data set and log2 of C, for the squared hinge (L2) and for the hinge (L1)."""

    name: str
    l2: float
    l1: float

    def units(self, **how: Any) -> list[Unit]:
        return [
            method.unit(f"{self}, {label}", self.name, self.l1 if method.loss == "hinge" else self.l2, **how)
            for label, method in METHODS.items()
        ]

    def __str__(self) -> str:
        return f"{self.name}, C = 2^{self.l2:.3g} and 2^{self.l1:.3g}"

    def paths(self, found: dict[str, Any]) -> dict[str, Any]:
        """By method; left out where it was not run, or where the time was up before anything came back."""
        ours = {label: found.get(f"{self}, {label}") for label in METHODS}
        return {label: one for label, one in ours.items() if one is not None}


def optima(paths: dict[str, Any]) -> dict[str, float]:
    """For each method, the least value that any method found for the same loss."""
    least: dict[str, float] = {}
    for label, one in paths.items():
        loss = METHODS[label].loss
        least[loss] = min(least.get(loss, float("inf")), *one["value"])
    return {label: least[METHODS[label].loss] for label in paths}


def rows_of(case: Case, found: dict[str, Any]) -> Iterable[dict[str, Any]]:
    paths = case.paths(found)
    best = optima(paths)
    for label, one in paths.items():
        C = case.l1 if METHODS[label].loss == "hinge" else case.l2
        columns = one | {"relative function value": relative(one["value"], best[label]).tolist()}
        del columns["gradient"], columns["converged"]
        for values in zip(*columns.values(), strict=True):
            yield {"data": case.name, "log2 C": C, "method": label} | dict(zip(columns, values, strict=True))


def times(case: Case, found: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Seconds to some relative function values, a row a method."""
    paths = case.paths(found)
    best = optima(paths)
    for label, one in paths.items():
        row: dict[str, Any] = {"data": case.name, "log2 C": case.l1 if METHODS[label].loss == "hinge" else case.l2}
        yield row | {"method": label} | {f"to {gap:g}": seconds_to(one, best[label], gap) for gap in GAPS}


def draw_values(axis: Any, case: Case, found: dict[str, Any]) -> None:
    paths = case.paths(found)
    best = optima(paths)
    for label, one in paths.items():
        _line(axis.loglog, label, one["seconds"], relative(one["value"], best[label]))
    stop = stopping_value(paths[FIRST]) if FIRST in paths else None
    if stop is not None and stop > best[FIRST]:
        axis.axhline(stop / best[FIRST] - 1, color="grey", linestyle=":", linewidth=1, label="Tree-TRON's default stop")
    axis.set(xlabel="seconds, one thread", ylabel="relative function value")
    axis.set_ylim(bottom=1e-9)


def draw_measure(axis: Any, case: Case, found: dict[str, Any], measure: str, paper: float | None = None) -> None:
    paths = case.paths(found)
    for label, one in paths.items():
        _line(axis.semilogx, label, one["seconds"], one[measure])
    if paper is not None:
        axis.axhline(paper, color="#7b5ea7", linestyle="-.", linewidth=1.2, label="the paper's table 5")
    axis.set(xlabel="seconds, one thread", ylabel=measure)
    most = max(one[measure][-1] for one in paths.values())
    axis.set_ylim(most - 0.07, most + 0.015)


def _line(plot: Any, label: str, across: Any, up: Any) -> None:
    colour, dashes, width = STYLES[label]
    marker = "o" if len(across) < 15 else None
    line = plot(across, up, dashes, color=colour, linewidth=width, marker=marker, markersize=2.5, label=label)[0]
    line.axes.xaxis.set_minor_formatter(lambda *_: "")  # within one decade they would overlap
