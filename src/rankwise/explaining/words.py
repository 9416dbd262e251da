"""A difference of scores in words, and bars of plain characters."""

from collections.abc import Sequence

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.texts import counted, visible

SHOWN = 5  # features in a sentence
WIDTH = 20  # characters of the longest bar
DIGITS, MOST_DIGITS = 3, 17  # of a number
WHOLE = 1e15  # from 999 up to this, values have all digits before the point
CLOSE = 0.05  # by which share the difference of two rounded values may differ from the exact one


def number(value: float) -> str:
    return f"{value:.3g}"


def values(one: float, two: float) -> tuple[str, str]:
    """Two values of a feature, with enough digits to show their difference."""
    one, two = float(one), float(two)
    for digits in range(DIGITS, MOST_DIGITS + 1):
        texts = _value(one, digits), _value(two, digits)
        shown = float(texts[0]) - float(texts[1])
        if abs(shown - (one - two)) <= CLOSE * abs(one - two):
            break
    return texts


def _value(value: float, digits: int) -> str:
    """1956 rather than 1.96e+03: years, prices and counts keep all digits before the point."""
    if not 999 < abs(value) < WHOLE:
        return f"{value:.{digits}g}"
    return f"{value:.{max(0, digits - len(str(int(abs(value)))))}f}"


def signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"


def heading(one: str, two: str, difference: float) -> str:
    if difference == 0:
        return f"{one} and {two} have equal scores"
    return f"{one} is {'above' if difference > 0 else 'below'} {two} by {number(abs(difference))}"


def reasons(names: Array, first: Floats, second: Floats, parts: Floats) -> str:
    """: title adds 0.61 (3.2 against 0.1), price takes off 0.19 (12 against 7). The largest parts come first."""
    clauses = [
        f"{visible(str(name))} {_verb(part)} ({' against '.join(values(a, b))})"
        for name, a, b, part in zip(names[:SHOWN], first, second, parts, strict=False)
        if part
    ]
    left_out = int(np.count_nonzero(parts[SHOWN:]))
    if left_out:
        clauses.append(f"{counted(left_out, 'others')} {_verb(float(parts[SHOWN:].sum()), many=left_out > 1)}")
    return f": {', '.join(clauses)}" if clauses else ", as no feature tells them apart"


def _verb(part: float, many: bool = False) -> str:
    if part == 0:
        return f"cancel{'' if many else 's'} out"
    verb = ("add" if part > 0 else "take") + ("" if many else "s")
    return f"{verb} {number(part)}" if part > 0 else f"{verb} off {number(-part)}"


def bars(parts: Floats) -> Sequence[str]:
    """A bar of + or - per number, as long as it is large."""
    far = float(np.abs(parts).max(initial=0.0)) or 1.0
    return [("+" if part > 0 else "-") * round(WIDTH * (abs(part) / far)) for part in parts.tolist()]
