"""Levels written in digits, for `portable`: the arrays that do not depend on the scores, and the sort by one digit."""

from dataclasses import dataclass

from rankwise.foundation.devices import AnyArray, device_of, namespace, on_device_of
from rankwise.pairs.graph import Layout

BASE = 8  # largest base of the digits; up to this many levels need one digit


class Fixed:
    """The arrays that do not depend on the scores. Places 0, 1, ... number the documents query by query."""

    def __init__(self, layout: Layout, like: AnyArray) -> None:
        self.layout = layout
        self.xp = xp = namespace(like)
        n, n_queries = layout.n_rows, layout.starts.shape[0] - 1
        self.ints = xp.int32 if BASE * (n + 1) < 2**31 else xp.int64
        starts = on_device_of(like, layout.starts)
        self.sizes = starts[1:] - starts[:-1]
        self.longest = int(xp.max(self.sizes)) if n else 0
        self.query = xp.repeat(xp.arange(n_queries, dtype=xp.int32, device=device_of(like)), self.sizes)
        self.first, self.last = (xp.astype(xp.take(ends, self.query), self.ints) for ends in (starts[:-1], starts[1:]))
        self.rows = None if layout.rows is None else on_device_of(like, layout.rows)
        self.level = self.grouped(on_device_of(like, layout.level))
        n_levels = int(xp.max(on_device_of(like, layout.n_levels))) if n_queries else 1
        n_digits = 1
        while BASE**n_digits < n_levels:
            n_digits += 1
        self.base = next(base for base in range(1, BASE + 1) if base**n_digits >= n_levels)
        self.shifts = [self.base**i for i in range(n_digits)]  # place values of the digits, the lowest first
        self.bounds = [self._bounds(shift) for shift in self.shifts]
        self.weights = None if layout.weights is None else self._scaled(on_device_of(like, layout.weights))

    def grouped(self, by_row: AnyArray) -> AnyArray:
        """Values by row, query after query."""
        return by_row if self.rows is None else self.xp.take(by_row, self.rows, axis=0)

    def order(self, keys: AnyArray) -> AnyArray:
        """The places that sort grouped keys within each query."""
        xp = self.xp
        order = xp.argsort(keys, stable=True)
        if self.sizes.shape[0] > 1:
            order = xp.take(order, xp.argsort(xp.take(self.query, order), stable=True))
        return xp.astype(order, self.ints)

    def _bounds(self, shift: int) -> list[int]:
        """How many documents have a digit below 0, 1, ..., base."""
        xp = self.xp
        digit = (self.level // shift) % self.base
        below = [xp.sum(xp.astype(digit < k, xp.int64)) for k in range(1, self.base)]
        return [0, *(int(one) for one in below), self.layout.n_rows]

    def _scaled(self, weights: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Factors per row for the values before a sum and for the sums; the largest of the former is near 1 per query.

        They are scaled by powers of 2, which does not round.
        """
        xp = self.xp
        grouped = self.grouped(weights)
        largest = xp.take(xp.take(grouped, self.order(grouped)), self.last - 1)  # of each place's query
        exponent = xp.round(xp.log2(xp.where(largest > 0, largest, xp.ones_like(largest))))
        scale = xp.pow(xp.full_like(exponent, 2.0), exponent)
        if self.rows is not None:
            scale = xp.take(scale, xp.argsort(self.rows))
        return weights / scale, weights * scale


@dataclass(frozen=True)
class Digit:
    """The documents sorted, stably, by one digit.

    moved   the place of each document before the sort
    digits  the digit of each document before the sort
    to      to[k * (n + 1) + p]: the new place of the first document with digit k that was at place p or after it
    bounds  how many documents have a digit below 0, 1, ...
    """

    moved: AnyArray
    digits: AnyArray
    to: AnyArray
    bounds: list[int]

    @classmethod
    def of(cls, fixed: Fixed, digits: AnyArray, bounds: list[int]) -> "Digit":
        xp, base = fixed.xp, fixed.base
        sides = xp.arange(base, dtype=digits.dtype, device=device_of(digits))
        counted = xp.zeros((base, digits.shape[0] + 1), dtype=xp.int8, device=device_of(digits))
        counted[:, 1:] = xp.astype(digits[None, :] == sides[:, None], xp.int8)
        to = xp.cumulative_sum(xp.reshape(counted, (-1,)), dtype=fixed.ints)
        moved = xp.astype(xp.argsort(xp.astype(digits, xp.int8), stable=True), fixed.ints)
        return cls(moved, digits, to, bounds)

    def side(self, k: int) -> AnyArray:
        """The part of `to` for digit k."""
        width = self.digits.shape[0] + 1
        return self.to[k * width : (k + 1) * width]
