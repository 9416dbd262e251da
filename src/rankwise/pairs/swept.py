"""A pair graph whose sums are made query by query: piece after piece of whole queries, each by one thread."""

from abc import abstractmethod

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.pairs.graph import Layout, PairGraph
from rankwise.queries import cut
from rankwise.threads import share

PIECE = 1 << 14  # documents that one thread takes at a time


class SweptGraph(PairGraph):
    """What is left to a scheme: the sums of one piece, one way, without the documents' weights."""

    def __init__(self, layout: Layout, n_threads: int, threshold: float) -> None:
        self.layout = layout
        self.n_threads = n_threads
        self.threshold = float(threshold)

    @abstractmethod
    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        """Put above(v) if `upward`, else below(v), into the zeros `out` for the queries piece[0], ..., piece[1] - 1.

        v and out are matrices; v holds what the weights make of it.
        """

    def below(self, v: Array) -> Floats:
        return self._swept(v, (False,))[0]

    def above(self, v: Array) -> Floats:
        return self._swept(v, (True,))[0]

    def sums(self, v: Array) -> tuple[Floats, Floats]:
        below, above = self._swept(v, (False, True))
        return below, above

    def _swept(self, v: Array, directions: tuple[bool, ...]) -> list[Floats]:
        shape, weights = v.shape, self.layout.weights
        columns = np.ascontiguousarray(v, np.float64).reshape(shape[0], -1)
        if weights is not None:
            columns = columns * weights[:, None]
        outs = [np.zeros_like(columns) for _ in directions]
        pieces = cut(self.layout.starts, PIECE)
        tasks = [(upward, piece, out) for piece in pieces for upward, out in zip(directions, outs, strict=True)]
        share(lambda task: self.sweep(task[0], task[1], columns, task[2]), tasks, self.n_threads)
        if weights is not None:
            for out in outs:
                out *= weights[:, None]
        return [out.reshape(shape) for out in outs]
