"""Small pictures as inline SVG. Colours are CSS variables of the page, so one picture serves light, dark and print.

A chart is 420 units wide: about the width of a phone and of half a page, so that its letters are read on both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.reporting.markup import number, text

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 40  # margins
TICKS = 5
SHAPES = 4  # styles of lines; further lines repeat them
CELL = 150, 16  # size of a picture in a table
LARGEST = 1e300  # so that differences do not overflow
FINEST = 400  # bars of a chart; more values are summarised


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a chart; `low` and `high` are the ends of its intervals, NaN where there is none.

    style  0 for the line that matters, 1 for what it is compared with, 2 and more for others
    """

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    style: int = 0


@dataclass(frozen=True)
class Scale:
    """From values to coordinates, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False
    ticks: Sequence[float] = field(default=())

    def __call__(self, value: float) -> float:
        ends = self.low, self.high, value
        low, high, at = map(math.log, ends) if self.is_log else ends
        return self.start + (self.end - self.start) * (at - low) / (high - low)


def scale(values: Floats, start: float, end: float, *, is_log: bool = False, tight: bool = False) -> Scale:
    """A scale that includes the finite values, with round ticks; `tight`: it ends at the values, not at a tick."""
    known = np.clip(values[np.isfinite(values)], -LARGEST, LARGEST)
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if is_log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        marks = [10.0**one for one in powers]
        return Scale(marks[0], max(marks[-1], 10 * marks[0]), start, end, True, marks[:: max(1, len(marks) // TICKS)])
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-9):
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    marks = round_numbers(low, high)
    ends = (low, high) if tight else (min(low, marks[0]), max(high, marks[-1]))
    return Scale(*ends, start, end, False, [one for one in marks if ends[0] <= one <= ends[1]])


def round_numbers(low: float, high: float) -> list[float]:
    """About five multiples of 1, 2 or 5 times a power of ten, from below `low` to above `high`."""
    rough = (high - low) / (TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough * 0.999)
    return [step * i for i in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def line_chart(lines: Sequence[Line], title: str, xlabel: str, ylabel: str, log_y: bool = False) -> str:
    """Lines with markers, and bands where there are intervals."""
    across = scale(np.concatenate([one.x for one in lines]), LEFT, WIDTH - RIGHT, tight=True)
    heights = [one for line in lines for one in (line.y, line.low, line.high) if one is not None]
    up = scale(np.concatenate(heights), HEIGHT - BOTTOM, TOP, is_log=log_y)
    drawn = "".join(_band(line, across, up) for line in lines) + "".join(_line(line, across, up) for line in lines)
    return legend(lines) + _framed(drawn, across, up, title, xlabel, ylabel)


def _line(line: Line, across: Scale, up: Scale) -> str:
    known = np.isfinite(line.x) & np.isfinite(line.y)
    points = [(across(x), up(y)) for x, y in zip(line.x[known].tolist(), line.y[known].tolist(), strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = "".join(_marker(line.style, x, y) for x, y in points) if len(points) <= 30 else ""
    return f'<g class="s{line.style % SHAPES}"><polyline points="{path}"/>{marks}</g>'


def _marker(style: int, x: float, y: float) -> str:
    """A circle, square, triangle or diamond: lines differ not only by colour."""
    if style % SHAPES == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    corners = {1: ((-3, -3), (3, -3), (3, 3), (-3, 3)), 2: ((0, -4), (4, 3), (-4, 3))}
    shape = corners.get(style % SHAPES, ((0, -4), (4, 0), (0, 4), (-4, 0)))
    return f'<polygon points="{" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in shape)}"/>'


def _band(line: Line, across: Scale, up: Scale) -> str:
    if line.low is None or line.high is None:
        return ""
    whole = np.flatnonzero(np.isfinite(line.low) & np.isfinite(line.high)).tolist()
    edges = [(line.x[i], line.low[i]) for i in whole] + [(line.x[i], line.high[i]) for i in reversed(whole)]
    points = " ".join(f"{across(float(x)):.1f},{up(float(y)):.1f}" for x, y in edges)
    return f'<polygon class="band s{line.style % SHAPES}" points="{points}"/>' if len(whole) > 1 else ""


def difference_chart(differences: Floats, title: str, ylabel: str) -> str:
    """The differences of all queries, sorted: blue above zero, orange below. Quantiles if there are many queries."""
    values = np.sort(differences[~np.isnan(differences)])[::-1]
    if values.size > FINEST:
        values = np.quantile(values, np.linspace(1, 0, FINEST))
    up = scale(np.append(values, 0.0), HEIGHT - BOTTOM, TOP, tight=True)
    across = Scale(0, max(values.size, 1), LEFT, WIDTH - RIGHT)
    parts = []
    for kind, own in (("better", values > 0), ("worse", values < 0)):
        places = np.flatnonzero(own).tolist()
        if places:
            steps = [f"{across(i):.1f},{up(values[i]):.1f} {across(i + 1):.1f},{up(values[i]):.1f}" for i in places]
            ends = across(places[0]), across(places[-1] + 1)
            zero = up(0.0)
            path = f"{ends[0]:.1f},{zero:.1f} {' '.join(steps)} {ends[1]:.1f},{zero:.1f}"
            parts.append(f'<polygon class="{kind}" points="{path}"/>')
    zero_line = f'<line class="zero" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(0.0):.1f}" y2="{up(0.0):.1f}"/>'
    sorted_by = "queries, from the largest gain to the largest loss"
    return _framed("".join(parts) + zero_line, across, up, title, sorted_by, ylabel)


def interval(value: float, low: float, high: float, along: Scale) -> str:
    """A picture for a table cell: a bar from zero to the value, and a whisker from `low` to `high`."""
    if not math.isfinite(value):
        return ""
    (width, height), zero, end = CELL, along(0.0), along(value)
    middle, kind = height / 2, "better" if value > 0 else "worse"
    bar = f'<rect class="{kind}" x="{min(zero, end):.1f}" y="{middle - 4}" width="{abs(end - zero):.1f}" height="8"/>'
    whisker = ""
    if math.isfinite(low) and math.isfinite(high):
        a, b = along(low), along(high)
        whisker = f'<path class="whisker" d="M{a:.1f} {middle}H{b:.1f}M{a:.1f} {middle - 4}v8M{b:.1f} {middle - 4}v8"/>'
    line = f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{height}"/>'
    return f'<svg class="cell" viewBox="0 0 {width} {height}" aria-hidden="true">{bar}{line}{whisker}</svg>'


def cell_scale(*values: Floats) -> Scale:
    """One scale for the pictures of a column: it includes zero and all values."""
    return scale(np.concatenate([np.zeros(1), *map(np.ravel, values)]), 2, CELL[0] - 2, tight=True)


def legend(lines: Sequence[Line]) -> str:
    """The names of lines with their markers; nothing for one line, whose name the title has."""
    if len(lines) < 2:
        return ""
    keys = (
        f'<li><svg class="key" viewBox="0 0 26 12" aria-hidden="true"><g class="s{line.style % SHAPES}">'
        f'<polyline points="1,6 25,6"/>{_marker(line.style, 13, 6)}</g></svg>{text(line.name)}</li>'
        for line in lines
    )
    return f'<ul class="legend">{"".join(keys)}</ul>'


def _framed(drawn: str, across: Scale, up: Scale, title: str, xlabel: str, ylabel: str) -> str:
    """Axes, ticks and their words around what is drawn."""
    ticks = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(y):.1f}" y2="{up(y):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{up(y) + 4:.1f}" text-anchor="end">{tick(y)}</text>'
        for y in up.ticks
    )
    ticks += "".join(
        f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick(x)}</text>'
        for x in across.ticks
    )
    words = f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{xlabel}</text>'
    return (
        f'<p class="axis">{ylabel}</p>'
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">'
        f"{ticks}{drawn}{words}</svg>"
    )


def tick(value: float) -> str:
    return number(value, ".3g") if abs(value) < 1e4 else number(value, ".0e") if abs(value) >= 1e6 else f"{value:,.0f}"
