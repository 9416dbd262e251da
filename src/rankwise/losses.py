"""Losses as data. With margin u = 1 - (s_i - s_j), a piece (t; a, b, c) adds a + b u + c u²/2 to every preference pair
with s_i - s_j < t; a loss is the sum of its pieces. Nothing else of a loss is ever asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from rankwise.arrays import Array


@dataclass(frozen=True)
class Piece:
    """a + b u + c u²/2 for the pairs with s_i - s_j < threshold."""

    threshold: float
    constant: float
    slope: float
    curvature: float


@dataclass(frozen=True)
class Loss:
    """A margin loss: its name as `parse` reads it, and its pieces. Called with s_i - s_j, it gives its value there."""

    name: str
    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return self.name

    def __call__(self, margin: Array) -> Array:
        u = 1.0 - margin
        total: Array = 0.0 * u
        for piece in self.pieces:
            value = piece.constant + piece.slope * u + piece.curvature * u * u / 2
            total = total + (margin < piece.threshold) * value
        return total


def squared_hinge() -> Loss:
    """max(0, u)²."""
    return Loss("squared_hinge", (Piece(1.0, 0.0, 0.0, 2.0),))


def huber(width: float = 1.0) -> Loss:
    """u²/2h up to u = h, then u - h/2: the hinge with its corner rounded over the width h."""
    if not 0 < width < float("inf"):
        raise ValueError(f"the width of huber is {width:g}: it must be positive and finite, as in 'huber:0.5'")
    quadratic = Piece(1.0, 0.0, 0.0, 1.0 / width)
    to_linear = Piece(1.0 - width, -width / 2, 1.0, -1.0 / width)
    return Loss(f"huber:{width!r}", (quadratic, to_linear))


LOSSES: dict[str, Callable[..., Loss]] = {"squared_hinge": squared_hinge, "huber": huber}


def parse(text: str | Loss) -> Loss:
    """The loss of that spelling: a name, and where it has a parameter a colon and a number, as in 'huber:0.5'."""
    if isinstance(text, Loss):
        return text
    name, _, parameter = str(text).strip().partition(":")
    name = name.replace("-", "_")
    if name not in LOSSES:
        near = get_close_matches(name, LOSSES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown loss {text!r}: there are {', '.join(LOSSES)}{hint}")
    if not parameter:
        return LOSSES[name]()
    if name == "squared_hinge":
        raise ValueError(f"loss {text!r}: squared_hinge takes no parameter")
    try:
        value = float(parameter)
    except ValueError:
        raise ValueError(f"loss {text!r}: {parameter!r} is not a number; write it as 'huber:0.5'") from None
    return LOSSES[name](value)
