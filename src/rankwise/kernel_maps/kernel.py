"""Kernels: by name for rows of features, as a precomputed matrix, or any function of two objects of any kind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.names import spelled

Objects: TypeAlias = Any  # rows of an array or of a sparse matrix, or a list of anything that a kernel takes


@dataclass(frozen=True)
class Kernel:
    """k(a, b): a name that scikit-learn's pairwise_kernels knows, "precomputed", or a callable on two objects.

    Objects are rows of an array or elements of a list. They are compared with references: these are objects too, except
    for "precomputed", where an object is its row of kernel values and a reference the number of a column.
    """

    function: str | Callable[..., float] = "rbf"
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS as NAMED

        if not callable(self.function):
            known = spelled("kernel", self.function, ("precomputed", *NAMED), also="a callable")
            object.__setattr__(self, "function", known)

    @property
    def precomputed(self) -> bool:
        return not callable(self.function) and self.function == "precomputed"

    def references(self, objects: Objects, chosen: Ints) -> Objects:
        """The chosen training objects as references."""
        return chosen if self.precomputed else take(objects, chosen)

    def matrix(self, objects: Objects, references: Objects) -> Floats:
        """k(object, reference), one row per object."""
        if self.precomputed:
            return np.ascontiguousarray(objects[:, references], dtype=np.float64)
        if callable(self.function):
            return self._one_by_one(self.function, objects, references)
        from sklearn.metrics.pairwise import pairwise_kernels

        if self.function == "rbf" and isinstance(references, np.ndarray) and isinstance(objects, np.ndarray):
            # it depends on differences only, which squared lengths of rows far from 0 would lose to rounding
            origin, same = references[:1].astype(np.float64), objects is references
            references = references - origin
            objects = references if same else objects - origin
        values = pairwise_kernels(objects, references, metric=self.function, filter_params=True, **self.params)
        return np.ascontiguousarray(values, dtype=np.float64)

    def gram(self, objects: Objects, references: Objects) -> Floats:
        """k between the references, in a new array; `objects` are the training objects."""
        if self.precomputed:
            return np.ascontiguousarray(objects[np.ix_(references, references)], dtype=np.float64)
        return self.matrix(references, references)

    def diagonal(self, objects: Objects) -> Floats:
        """k(x, x) of training objects."""
        if self.precomputed:
            return np.array(objects.diagonal(), dtype=np.float64)
        step = 1 if callable(self.function) else 64  # some unnecessary values cost less than many calls
        n = count(objects)
        parts = (objects[i : min(i + step, n)] for i in range(0, n, step))
        return np.concatenate([self.matrix(part, part).diagonal() for part in parts])

    def _one_by_one(self, function: Callable[..., float], objects: Objects, references: Objects) -> Floats:
        symmetric = objects is references
        out = np.empty((count(objects), count(references)))
        for i in range(out.shape[0]):
            for j in range(i if symmetric else 0, out.shape[1]):
                out[i, j] = function(objects[i], references[j], **self.params)
                if not np.isfinite(out[i, j]):
                    raise ValueError(f"kernel({objects[i]!r}, {references[j]!r}) is {out[i, j]}: it must be finite")
                if symmetric:
                    out[j, i] = out[i, j]
        return out


def count(objects: Objects) -> int:
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)


def take(objects: Objects, chosen: Ints) -> Objects:
    """The chosen objects, of a list or of an array."""
    return objects[chosen] if hasattr(objects, "shape") else [objects[i] for i in chosen]
