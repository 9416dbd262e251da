"""What the readers of ranking text share: the options, what earlier texts said, and the shape that follows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankwise.foundation.arrays import Array, Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Options:
    """The options of read_letor; with zero_based None the text decides."""

    n_features: int | None
    dense: bool | None
    dtype: np.dtype
    missing: float | None
    comments: bool
    n_threads: int
    zero_based: bool | None

    def is_dense(self, rows: int, n_features: int, entries: int) -> bool:
        return 2 * entries >= rows * n_features if self.dense is None else self.dense


class Counts(NamedTuple):
    """Of a text: rows, entries, the largest index or -1, and whether an index 0 occurs."""

    rows: int
    entries: int
    largest: int
    index_zero: bool


class Shape(NamedTuple):
    """Of the X of a text: `base` is the index of its first column."""

    base: int
    n_features: int
    dense: bool


@dataclass
class Seen:
    """What the texts read so far say about the texts that follow."""

    has_qid: bool | None = None
    index_zero: bool = False

    def base(self, options: Options) -> int:
        """The index of the first column."""
        zero_based = self.index_zero if options.zero_based is None else options.zero_based
        return 0 if zero_based else 1

    def shape(self, counts: Counts, options: Options, whole: bool, width: int | None) -> Shape:
        """The shape of the X of the next text; `whole` and `width` as in `read_part`."""
        self.index_zero |= counts.index_zero
        base = self.base(options)
        n_features = max(counts.largest + 1 - base, 0)
        known = width if width is not None else options.n_features
        if whole and known is not None:
            n_features = known
        full = counts.entries == counts.rows * n_features  # then nothing is lost about which entries were written
        dense = options.is_dense(counts.rows, n_features, counts.entries) if whole else options.dense is True or full
        return Shape(base, n_features, dense)


@dataclass
class Part:
    """Rows read together; `base` is the index of the first column of X."""

    X: "Array | csr_array"
    y: Floats
    qid: Array
    comments: Array | None
    base: int
    entries: int


def counts_from(zero_based: bool | None, n_features: int | None) -> bool | None:
    """Whether indices count from 0; None: the text decides. It must not decide if the number of features is given: an
    index 0 in data to predict on would shift every feature of a model that counts from 1.
    """
    return False if zero_based is None and n_features is not None else zero_based
