"""A pair graph whose sums are computed query by query: pieces of whole queries, each by one thread."""

from abc import abstractmethod
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.threads import share
from rankwise.pairs.graph import PairGraph
from rankwise.pairs.queries import cut

PIECE = 1 << 14  # documents that one thread processes at a time


class SweptGraph(PairGraph):
    """A scheme implements `sweep`: the sums of one piece in one direction, without the documents' weights."""

    vectors = False  # whether `sweep` takes vectors, or only matrices

    def __init__(self, ranking: Any, threshold: float) -> None:
        self.ranking = ranking  # the scheme's own type, with the engine as an attribute
        self.layout = ranking.engine.layout
        self.n_threads = ranking.engine.n_threads
        self.threshold = float(threshold)

    @abstractmethod
    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        """Put above(v) if `upward`, else below(v), into the zeros `out` for the queries piece[0], ..., piece[1] - 1.

        v and out are matrices, or vectors if the scheme takes them; v is already multiplied by the weights.
        """

    def below(self, v: Array) -> Floats:
        return self._swept(v, (False,))[0]

    def above(self, v: Array) -> Floats:
        return self._swept(v, (True,))[0]

    def sums(self, v: Array) -> tuple[Floats, Floats]:
        below, above = self._swept(v, (False, True))
        return below, above

    def _swept(self, v: Array, directions: tuple[bool, ...]) -> list[Floats]:
        """The sums for each of `directions` (False: below, True: above), one task per piece and direction."""
        shape, weights = v.shape, self.layout.weights
        values = np.ascontiguousarray(v, np.float64)
        if not self.vectors:
            values = values.reshape(shape[0], -1)
        scale = None if weights is None else weights.reshape(-1, *(1,) * (values.ndim - 1))
        if scale is not None:
            values = values * scale
        outs = [np.zeros_like(values) for _ in directions]
        pieces = cut(self.layout.starts, PIECE)
        tasks = [(upward, piece, out) for piece in pieces for upward, out in zip(directions, outs, strict=True)]
        share(lambda task: self.sweep(task[0], task[1], values, task[2]), tasks, self.n_threads)
        if scale is not None:
            for out in outs:
                out *= scale
        return [out.reshape(shape) for out in outs]
