"""Small ranking text without Numba, whose start takes longer than reading a megabyte in Python.

Only text that is plainly right is read here: one regular expression says what that is, a part of what the kernels of
`letor_kernels` read, in which every number means what Python's float says. Whatever else there is, malformed lines
among it, is left to the kernels, which also make every message.
"""

import re
import sys
from copy import copy
from itertools import chain

import numpy as np

from rankwise.data.columns import largest_lost, largest_number
from rankwise.data.letor_options import Counts, Options, Part, Seen
from rankwise.data.streams import Text
from rankwise.foundation.arrays import LARGEST_EXACT, Array
from rankwise.foundation.memory import check_dense_room

LARGEST = 1 << 18  # bytes; from some more on the kernels are faster, their start included
_SPACE = rb"[ \t]++"
_NUMBER = rb"[+-]?+[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+"
_ROW = re.compile(
    rb"[ \t]*+(%b)(?:%bqid:(0|[1-9][0-9]{0,17}+)(?=[ \t\r]|$))?+((?:%b[0-9]{1,9}+:%b)*+)[ \t\r]*+(?:#(.*))?+"
    % (_NUMBER, _SPACE, _SPACE, _NUMBER),
    re.DOTALL,
)
_NO_ROW = re.compile(rb"[ \t\r]*+(?:#.*)?+", re.DOTALL)


def is_small(texts: list[Text]) -> bool:
    """Whether the texts are to be tried here: they are small, and the kernels are not loaded in this process."""
    return "rankwise.data.letor_kernels" not in sys.modules and sum(len(text.data) for text in texts) <= LARGEST


def read_plain(
    texts: list[Text], options: Options, seen: Seen, *, whole: bool, width: int | None = None
) -> Part | None:
    """What `letor_parts.read_part` returns; None if that must read the texts. Only then `seen` stays as it was."""
    lines = chain.from_iterable(text.data[text.start :].split(b"\n") for text in texts)
    matches = [_ROW.fullmatch(line) for line in lines if not _NO_ROW.fullmatch(line)]
    if not matches or None in matches:
        return None
    labels, ids, features, comments = zip(*(match.groups() for match in matches if match), strict=True)
    has_qid = ids[0] is not None
    if any((one is not None) != has_qid for one in ids) or seen.has_qid not in (None, has_qid):
        return None
    written = [one.replace(b":", b" ").split() for one in features]
    lengths = np.array([len(one) // 2 for one in written])
    columns = np.array([*map(int, chain.from_iterable(one[::2] for one in written))], np.int64)
    values = np.array([*map(float, chain.from_iterable(one[1::2] for one in written))])
    y = np.array([*map(float, labels)])
    after = copy(seen)
    zero = bool((columns == 0).any())
    counts = Counts(len(y), len(values), int(columns.max(initial=-1)), zero)
    base, n_features, dense = after.shape(counts, options, whole, width)
    columns -= base
    rows = np.repeat(np.arange(len(y)), lengths)
    if not (dense and _in_range(rows, columns, values, n_features, options) and (np.abs(y) < LARGEST_EXACT).all()):
        return None
    check_dense_room(len(y), n_features, options.dtype.itemsize, copies=1 if whole else 2)  # parts are joined
    X = np.zeros((len(y), n_features), options.dtype)
    X[rows, columns] = values
    for text in texts:
        text.check_unchanged()
    seen.has_qid, seen.index_zero = has_qid, after.index_zero
    remarks = [(one or b"").strip().decode(errors="backslashreplace") for one in comments] if options.comments else None
    qid = np.array([*map(int, ids)] if has_qid else np.zeros(len(y)), np.int64)
    return Part(X, y, qid, None if remarks is None else np.array(remarks, object), base, len(values))


def _in_range(rows: Array, columns: Array, values: Array, n_features: int, options: Options) -> bool:
    """Whether each row's columns ascend and exist, and each value fits the type of X."""
    ascends = (np.diff(columns) > 0) | (np.diff(rows) > 0)
    known = n_features if options.n_features is None else min(n_features, options.n_features)
    exist = not columns.size or (columns.min() >= 0 and columns.max() < known)
    sizes = np.abs(values[values != 0])
    fit = (sizes <= largest_number(options.dtype)) & (sizes > largest_lost(options.dtype))
    return bool(ascends.all() and exist and fit.all())
