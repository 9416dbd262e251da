"""X v and Xᵀ g for float32 rows on a GPU under torch: X is read once, as it is, and summed in float64."""

from typing import Any

import torch
import triton
import triton.language as tl

COLUMNS = 64  # columns of X that a program has at hand at a time
ROWS = 32  # and rows
PROGRAMS = 2048  # that share the rows of X in Xᵀ g, each with sums of its own


def dot(X: Any, v: Any) -> Any:
    n, d = X.shape
    out = torch.empty(n, dtype=torch.float64, device=X.device)
    with torch.cuda.device(X.device):
        _dot[(triton.cdiv(n, ROWS),)](X, v.contiguous(), out, n, d, X.stride(0), ROWS, COLUMNS)
    return out


def transposed_dot(X: Any, g: Any) -> Any:
    n, d = X.shape
    rows = max(ROWS, ROWS * triton.cdiv(n, PROGRAMS * ROWS))
    programs = triton.cdiv(n, rows)
    sums = torch.empty((programs, d), dtype=torch.float64, device=X.device)
    with torch.cuda.device(X.device):
        grid = (programs, triton.cdiv(d, COLUMNS))
        _transposed_dot[grid](X, g.contiguous(), sums, n, d, X.stride(0), rows, ROWS, COLUMNS)
    return sums.sum(0)  # always in the same order


@triton.jit  # type: ignore[untyped-decorator]
def _dot(X, v, out, n, d, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    total = tl.zeros((ROWS,), tl.float64)
    for first in range(0, d, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        there = inside[:, None] & (columns < d)[None, :]
        x = tl.load(X + rows[:, None] * stride + columns[None, :], there, 0.0)
        w = tl.load(v + columns, columns < d, 0.0)
        total += tl.sum(x.to(tl.float64) * w[None, :], 1)
    tl.store(out + rows, total, inside)


@triton.jit  # type: ignore[untyped-decorator]
def _transposed_dot(  # type: ignore[no-untyped-def]
    X, g, sums, n, d, stride, rows_each, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    begin = tl.program_id(0).to(tl.int64) * rows_each
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(0, rows_each, ROWS):
        rows = begin + first + tl.arange(0, ROWS)
        there = (rows < n)[:, None] & (columns < d)[None, :]
        x = tl.load(X + rows[:, None] * stride + columns[None, :], there, 0.0)
        factor = tl.load(g + rows, rows < n, 0.0)
        total += x.to(tl.float64) * factor[:, None]
    tl.store(sums + tl.program_id(0) * d + columns, tl.sum(total, 0), columns < d)
