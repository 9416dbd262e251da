"""Kernels for torch on a GPU; each replaces several array functions, which would take many passes over memory.

X v and Xᵀ g read float32 rows once and sum in float64, in a fixed order. (torch's prefix sums on a GPU have no fixed
order, so the last digits of a fit may differ from run to run.)
"""

from contextlib import AbstractContextManager, nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 8  # rows of X that a program processes at a time
COLUMNS, WIDE = 32, 256  # columns at a time: in X v, and at most in Xᵀ g
PROGRAMS = 8448  # programs that share the rows of X in Xᵀ g, each with its own partial sums
ELEMENTS = 1024  # entries of a vector per program


def dot(X: Tensor, v: Tensor) -> Tensor:
    """X v."""
    n, d = X.shape
    out = torch.empty(n, dtype=torch.float64, device=X.device)
    with _current(X):
        _dot[(triton.cdiv(n, ROWS),)](X, v.contiguous(), out, n, d, X.stride(0), ROWS, COLUMNS, num_warps=1)
    return out


def transposed_dot(X: Tensor, g: Tensor) -> Tensor:
    """Xᵀ g."""
    n, d = X.shape
    rows = max(ROWS, ROWS * triton.cdiv(n, PROGRAMS * ROWS))
    programs = triton.cdiv(n, rows)
    sums = torch.empty((programs, d), dtype=torch.float64, device=X.device)
    with _current(X):
        columns = min(WIDE, max(COLUMNS, triton.next_power_of_2(d)))
        grid = (programs, triton.cdiv(d, columns))
        _transposed_dot[grid](X, g.contiguous(), sums, n, d, X.stride(0), rows, ROWS, columns, num_warps=2)
    return sums.sum(0)


def add_differences(total: Tensor, prefix: Tensor, start: Tensor, end: Tensor) -> None:
    """total += prefix[end[j]] - prefix[start[j]] for each j, by rows."""
    n, width = total.shape[0], 1 if total.ndim == 1 else total.shape[1]
    columns = 1 if width == 1 else 64
    rows = ELEMENTS // columns
    if n:
        with _current(total):
            grid = (triton.cdiv(n, rows), triton.cdiv(width, columns))
            _add_differences[grid](total, prefix, start, end, n, width, *start.stride(), start.shape[0], rows, columns)


def bisect(scores: Tensor, first: Tensor, last: Tensor, threshold: float, upward: bool, steps: int) -> Tensor:
    """See `pairs.portable.Ranking.bisect`."""
    n = scores.shape[0]
    out = torch.empty_like(first)
    limit = torch.full((1,), threshold, dtype=torch.float64, device=scores.device)  # a plain number would be a float32
    if n:
        with _current(scores):
            _bisect[(triton.cdiv(n, ELEMENTS),)](scores, first, last, limit, out, n, steps, upward, ELEMENTS)
    return out


def _current(x: Tensor) -> AbstractContextManager[None]:
    """A context in which kernels run on the device of x; entering it takes longer than some kernels."""
    is_current: bool = torch.cuda.current_device() == x.device.index
    return nullcontext() if is_current else torch.cuda.device(x.device)


@triton.jit  # type: ignore[untyped-decorator]
def _dot(X, v, out, n, d, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(0, d, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        x = tl.load(X + rows[:, None] * stride + columns[None, :], inside[:, None] & (columns < d)[None, :], 0.0)
        w = tl.load(v + columns, columns < d, 0.0)
        total += x.to(tl.float64) * w[None, :]
    tl.store(out + rows, tl.sum(total, 1), inside)


@triton.jit  # type: ignore[untyped-decorator]
def _transposed_dot(  # type: ignore[no-untyped-def]
    X, g, sums, n, d, stride, rows_each, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    begin = tl.program_id(0).to(tl.int64) * rows_each
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(0, rows_each, ROWS):
        rows = begin + first + tl.arange(0, ROWS)
        x = tl.load(X + rows[:, None] * stride + columns[None, :], (rows < n)[:, None] & (columns < d)[None, :], 0.0)
        factor = tl.load(g + rows, rows < n, 0.0)
        total += x.to(tl.float64) * factor[:, None]
    tl.store(sums + tl.program_id(0) * d + columns, tl.sum(total, 0), columns < d)


@triton.jit  # type: ignore[untyped-decorator]
def _add_differences(  # type: ignore[no-untyped-def]
    total, prefix, start, end, n, width, side, step, sides, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = rows < n
    mask = inside[:, None] & (columns < width)[None, :]
    entries = total + rows[:, None] * width + columns[None, :]
    sums = tl.load(entries, mask, 0.0)
    at = rows * step
    for _ in range(sides):
        low, high = tl.load(start + at, inside, 0).to(tl.int64), tl.load(end + at, inside, 0).to(tl.int64)
        sums += tl.load(prefix + high[:, None] * width + columns[None, :], mask, 0.0)
        sums -= tl.load(prefix + low[:, None] * width + columns[None, :], mask, 0.0)
        at += side
    tl.store(entries, sums, mask)


@triton.jit  # type: ignore[untyped-decorator]
def _bisect(  # type: ignore[no-untyped-def]
    scores, first, last, limit, out, n, steps, UPWARD: tl.constexpr, ELEMENTS: tl.constexpr
):
    places = tl.program_id(0).to(tl.int64) * ELEMENTS + tl.arange(0, ELEMENTS)
    inside = places < n
    own = tl.load(scores + places, inside, 0.0)
    low, high = tl.load(first + places, inside, 0), tl.load(last + places, inside, 0)
    threshold = tl.load(limit)
    for _ in range(steps):
        middle = (low + high) // 2
        unsettled = low < high
        apart = tl.load(scores + middle, inside & unsettled, 0.0) - own
        beyond = apart >= threshold if UPWARD else -apart < threshold
        high = tl.where(unsettled & beyond, middle, high)
        low = tl.where(unsettled & (beyond == 0), middle + 1, low)
    tl.store(out + places, low, inside)
