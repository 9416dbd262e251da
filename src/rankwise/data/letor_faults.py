"""What is wrong with a line of ranking text, in one sentence: file, line, column, what was found, what was expected."""

import re

from rankwise.data import letor_kernels as kinds
from rankwise.data.columns import FILL_IN
from rankwise.data.letor_error import LetorError
from rankwise.data.streams import Text
from rankwise.data.tokens import INDEX_DIGITS, LARGEST_INDEX

_SHOWN = 40  # bytes of a token that a message shows
WITHOUT_QUERY, WITH_QUERY = 100, 101  # faults seen between lines, beside those of the kernels


def explain(text: Text, place: int, kind: int, n_features: int | None = None, zero_based: bool = False) -> LetorError:
    """The error for a fault of the given kind in the token at `place`."""
    number, begin, line = text.line_at(place)
    before = re.split(rb"[ \t\r\v\f]", line[: place - begin])
    column = place - begin - len(before[-1])
    match = re.match(rb"[^ \t\r\v\f#]+", line[column:])
    token = match.group() if match else b""
    if kind == kinds.LABEL:
        expected = _label(token)
    elif kind == kinds.FEATURE:
        expected = _feature(token, [one for one in before[:-1] if one])
    elif kind == kinds.NOT_ASCENDING:
        expected = _ascending([one for one in before[:-1] if one])
    elif kind == kinds.BEYOND:
        expected = _beyond(n_features or 0, zero_based)
    else:
        expected = _EXPECTED[kind]
    return LetorError(f"found {_shown(token)}, expected {expected}", text.name, number, column + 1)


_EXPECTED = {
    kinds.QUERY: "a query id after qid:, without '#' or control characters, and then a space",
    kinds.MISSING: f"a number after the colon ({FILL_IN})",
    kinds.TOO_LARGE: "a number that the chosen float type can hold",
    kinds.INDEX_ZERO: "an index of 1 or more: by the model, or by zero_based=False, indices count from 1 "
    "(zero_based=True reads data in which they count from 0)",
    kinds.INEXACT_LABEL: "a label that float64 holds exactly: an integer beyond 2^53 is rounded, and different labels "
    "could become equal (only their order within a query counts: write ranks instead)",
    WITHOUT_QUERY: "qid: after the label, as in the lines before",
    WITH_QUERY: "no qid:, as in the lines before (give every line one, or none)",
    kinds.QUERY_ENCODING: "a query id in UTF-8",
    kinds.QUERY_BLANK: "a query id without blanks: this one holds a blank that is not ASCII, a no-break space say",
}


def _shown(token: bytes) -> str:
    text = token.decode(errors="backslashreplace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _label(token: bytes) -> str:
    if b":" in token:
        return "a label first: a line is 'label qid:ID index:value …', and the label is a number"
    return "a label: a finite number"


def _feature(token: bytes, before: list[bytes]) -> str:
    if token.startswith(b"qid:"):
        twice = any(one.startswith(b"qid:") for one in before)
        return "a single qid: in a line" if twice else "qid: before the first feature"
    index, colon, value = token.partition(b":")
    if not colon:
        return "a feature as index:value"
    if not re.fullmatch(rb"[0-9]+", index):
        return "a whole number, 0 or more, as the index before the colon"
    if int(index[-400:]) > LARGEST_INDEX or len(index) > INDEX_DIGITS:
        return f"an index of at most {LARGEST_INDEX}"
    infinite = re.fullmatch(rb"(?i)[+-]?inf(inity)?", value)
    return "a finite number after the colon" if infinite else "a number after the colon"


def _ascending(before: list[bytes]) -> str:
    last = before[-1].partition(b":")[0].decode()
    return f"an index above {last}: within a line the indices ascend, and none occurs twice"


def _beyond(n_features: int, zero_based: bool) -> str:
    if zero_based:
        return f"an index of at most {n_features - 1}: {n_features} features are expected, and they count from 0"
    return f"an index of at most {n_features}: {n_features} features are expected, by n_features or by the model"
