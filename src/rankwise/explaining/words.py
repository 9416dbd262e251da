"""A difference of scores in words, and bars of plain characters."""

from collections.abc import Sequence

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.texts import counted, visible

SHOWN = 5  # features in a sentence
WIDTH = 20  # characters of the longest bar


def number(value: float) -> str:
    return f"{value:.3g}"


def signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"


def heading(one: str, two: str, difference: float) -> str:
    if difference == 0:
        return f"{one} and {two} have equal scores"
    return f"{one} is {'above' if difference > 0 else 'below'} {two} by {number(abs(difference))}"


def reasons(names: Array, first: Floats, second: Floats, parts: Floats) -> str:
    """: title adds 0.61 (3.2 against 0.1), price takes off 0.19 (12 against 7). The largest parts come first."""
    clauses = [
        f"{visible(str(name))} {_verb(part)} ({number(a)} against {number(b)})"
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
    return [("+" if part > 0 else "-") * round(WIDTH * abs(part) / far) for part in parts.tolist()]
