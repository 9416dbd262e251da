"""What all displays share: their columns of data, their figure, and the style of its axes."""

import base64
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import HostMatrix
from rankwise.foundation.outputs import written_beside
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Style: TypeAlias = dict[str, Any]  # keyword arguments of matplotlib

FORMATS = (".png", ".svg", ".pdf")
HTML_DPI = 100  # of the figure in a notebook
BLUE, RED, GREEN, PURPLE, SKY, ORANGE, GREY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#AA4499",
    "#56B4E9",
    "#E69F00",
    "#777777",
)
COLOURS = (BLUE, RED, GREEN, PURPLE, SKY, ORANGE, "#000000")  # distinguishable for colour-blind people too
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class Ranker(Protocol):
    """Anything fitted that scores rows of features."""

    def predict(self, X: HostMatrix, /) -> Array: ...


class Display(Tabular, ABC):
    """A figure and its data. After `plot`: `ax_` and `figure_`."""

    size: ClassVar[tuple[float, float]] = (6.0, 3.8)  # inches
    ax_: "Axes"
    figure_: "Figure | SubFigure"

    @property
    @abstractmethod
    def data(self) -> dict[str, Array]:
        """Columns of equal length, in plain numbers and texts."""

    @abstractmethod
    def _draw(self, ax: "Axes") -> None: ...

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw on `ax`, or on a new pyplot figure."""
        if ax is None:
            _, ax = matplotlib("pyplot").subplots(figsize=self._inches(), layout="constrained")
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def save(self, path: str | Path, dpi: float = 200) -> Self:
        """Write the figure as PNG, SVG or PDF, by the suffix of the file; needs no screen."""
        ending = check_picture(path)
        figure = matplotlib("figure").Figure(figsize=self._inches(), layout="constrained")
        self.plot(figure.subplots())
        with written_beside(path) as file:
            figure.savefig(file, format=ending, dpi=dpi)
        return self

    def table_columns(self) -> Columns:
        return self.data

    def summary(self) -> str:
        columns = self.data
        rows = len(next(iter(columns.values())))
        return f"{type(self).__name__}: {counted(rows, 'rows')} of {', '.join(columns)}"

    def __repr__(self) -> str:
        return f"<{visible(self.summary())}>"

    def _repr_html_(self) -> str:
        """The figure; without matplotlib, the table."""
        try:
            figure = matplotlib("figure").Figure(figsize=self._inches(), layout="constrained")
        except ImportError:
            return super()._repr_html_()
        self._draw(figure.subplots())
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=HTML_DPI)
        source = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"
        return f'<img alt="{escape(visible(self.summary()))}" src="{source}">'

    def to_html(self, path: str | Path) -> None:
        """A page with what a notebook shows."""
        title, body = escape(visible(self.summary())), self._repr_html_()
        page = f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n{body}\n</html>\n'
        with written_beside(path) as file:
            file.write(page.encode(errors="backslashreplace"))

    def _inches(self) -> tuple[float, float]:
        return self.size


def matplotlib(module: str) -> ModuleType:
    """matplotlib.MODULE; a clear error if it is not installed."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError("a figure needs matplotlib: pip install matplotlib") from None


def check_picture(path: str | Path) -> str:
    """png, svg or pdf, by the suffix of the file."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ValueError(
            f"{path} is not a picture that can be drawn: name it {', '.join('*' + one for one in FORMATS)}"
        )
    return ending[1:]


def drawn(text: object) -> str:
    """A text from data for a figure: not parsed as mathematics, and shown in the legend even if it begins with _."""
    shown = visible(str(text)).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def dress(ax: "Axes", xlabel: str, ylabel: str, grid: Literal["both", "x", "y"] = "both") -> None:
    """The style of all figures."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


def signed_bars(ax: "Axes", labels: Sequence[str], lengths: Floats, what: str, left_out: int) -> None:
    """Horizontal bars from the top down, blue to the right and red to the left; `labels` come as they are drawn."""
    places = np.arange(lengths.size)
    ax.barh(places, lengths, height=0.72, color=np.where(lengths > 0, BLUE, RED))
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(places, list(labels), fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_ylim(lengths.size - 0.4, -0.6)
    dress(ax, what + (f" ({left_out:,} smaller ones not shown)" if left_out else ""), "", grid="x")
    ax.spines["left"].set_visible(False)


def line_style(i: int) -> Style:
    """Colour and marker of the i-th line."""
    marker = {"marker": MARKERS[i % len(MARKERS)], "markersize": 4, "markeredgewidth": 0}
    return {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.6, **marker}


def legend(ax: "Axes") -> None:
    """A legend above the axes, where it hides nothing, in as many columns as fit."""
    place: Style = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "frameon": False}
    tight: Style = {"fontsize": "small", "handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.1}
    wide = 1.13 * ax.get_window_extent().width  # the layout will make the axes somewhat wider
    for columns in range(len(ax.get_legend_handles_labels()[1]), 0, -1):
        drawn = ax.legend(ncols=columns, **place, **tight)
        if drawn.get_window_extent().width <= wide:
            break
