"""A linear model as an expression, for languages that know `+`, `-`, `*` and parentheses."""

from collections.abc import Callable

import numpy as np

from rankwise.exporting.parts import Linear

TERMS = 100  # of a sum; a longer one is a sum of sums, because readers limit the depth of an expression


def expression(model: Linear, field: Callable[[str], str], line_break: str) -> str:
    """intercept + Σ weight · field, or weight · ((field - shift) * scale); without features of weight 0.

    field       feature -> how the language refers to it
    line_break  between terms
    """
    terms = []
    columns = (model.names, model.weights.tolist(), model.shift.tolist(), model.scale.tolist())
    for name, weight, shift, scale in zip(*columns, strict=True):
        if not weight:
            continue
        value = field(name)
        if model.scaling is not None:
            value = f"(({value} {_signed(-shift)}) * {number(scale)})"
        terms.append(f"{_signed(weight)} * {value}")
    if model.intercept or not terms:
        terms.append(_signed(model.intercept))
    return _sum(terms, line_break)


def number(value: float) -> str:
    """All digits, and an exponent, without which some systems read a decimal number of limited digits."""
    return np.format_float_scientific(value, trim="0")


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {number(abs(value))}"


def _sum(terms: list[str], line_break: str) -> str:
    """The terms, each with its sign, added up."""
    if len(terms) <= TERMS:
        return line_break.join(terms).removeprefix("+ ")
    step = TERMS
    while len(terms) > step * TERMS:
        step *= TERMS
    groups = [_sum(terms[first : first + step], line_break) for first in range(0, len(terms), step)]
    return _sum([f"+ ({one})" for one in groups], line_break)
