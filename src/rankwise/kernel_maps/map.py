"""KernelMap: ψ(x)·ψ(x') = k(x, Z) K_ZZ⁻¹ k(Z, x').

If every training object is a reference in Z, this is the kernel itself on the training set (the exact map); with some
landmarks it is Nyström's approximation. Weights w of the features are coefficients β of the references, and
ψ(x)·w = k(x, Z) β, so predictions need no features, and only a block of kernel values in memory.
"""

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import DeviceArray, is_device_array, on_device_of, some_rows, to_host
from rankwise.foundation.memory import memory_at_hand
from rankwise.foundation.names import spelled
from rankwise.kernel_maps import on_device
from rankwise.kernel_maps.factor import factorise
from rankwise.kernel_maps.kernel import Kernel, Objects, count, take
from rankwise.kernel_maps.landmarks import LANDMARKS, at_random, by_leverage, centres

BLOCK_VALUES = 1 << 23  # kernel values in memory while objects are mapped or scored: 64 MiB
COPIES = 3  # the exact map needs the kernel matrix, its factor and the features


class KernelMap:
    """Objects to features, exact for `n_components` None, else by that many landmarks.

    references  what new objects are compared with: objects or, for "precomputed", numbers of columns
    chosen      the places of the references among the training objects; None if they are centres of clusters
    """

    references: Objects
    chosen: Ints | None

    def __init__(
        self,
        kernel: Kernel,
        n_components: int | None = None,
        landmarks: str = "random",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.landmarks = spelled("landmarks", landmarks, LANDMARKS)
        self.random_state = random_state

    def fit_transform(self, objects: Objects) -> Floats:
        """Learn the map; returns the features of the training objects, on their device."""
        if is_device_array(objects):
            return self._fit_on_device(objects)
        if self.n_components is None:
            check_room(count(objects))
        candidates, chosen = self._candidates(objects)
        self.basis, needed, features = factorise(self.kernel.gram(objects, candidates))
        self.references = take(candidates, needed)
        self.chosen = None if chosen is None else chosen[needed]
        return features if self.n_components is None else self.transform(objects)

    def transform(self, objects: Objects) -> Floats:
        """ψ(x), one row per object."""
        return self._by_blocks(objects, self.basis.features)

    def coefficients(self, w: Floats) -> Floats:
        """β with ψ(x)·w = k(x, Z) β; for a vector or a matrix of columns."""
        return self.basis.coefficients(w)

    def scores(self, objects: Objects, coefficients: Floats) -> Floats:
        """k(x, Z) β."""
        if is_device_array(objects) and on_device.possible(self.kernel, objects):
            scores: Floats = on_device.times(self.kernel, objects, self.references, coefficients)
            return scores
        objects = to_host(objects) if is_device_array(objects) else objects
        return self._by_blocks(objects, lambda values: values @ coefficients)

    def _fit_on_device(self, X: DeviceArray) -> Floats:
        n, m = count(X), self.n_components
        if m is None or m >= n or self.landmarks != "random" or not on_device.possible(self.kernel, X):
            at_host: Floats = on_device_of(X, self.fit_transform(to_host(X)))
            return at_host
        chosen = at_random(n, m, check_random_state(self.random_state))
        among = KernelMap(self.kernel)  # an exact map of the landmarks alone
        among.fit_transform(to_host(some_rows(X, chosen)))
        self.basis, self.references, self.chosen = among.basis, among.references, chosen[among.chosen]
        to_features = self.basis.features(np.eye(count(self.references)))
        features: Floats = on_device.times(self.kernel, X, self.references, to_features)
        return features

    def _candidates(self, objects: Objects) -> tuple[Objects, Ints | None]:
        n = count(objects)
        rng = check_random_state(self.random_state)
        m = n if self.n_components is None else min(self.n_components, n)
        if self.n_components is not None and self.landmarks == "kmeans":
            return centres(self.kernel, objects, m, rng), None
        if m < n and self.landmarks == "leverage":
            chosen = by_leverage(self.kernel, objects, m, rng, _block(m))
        else:
            chosen = at_random(n, m, rng) if m < n else np.arange(n)
        return self.kernel.references(objects, chosen), chosen

    def _by_blocks(self, objects: Objects, work: Callable[[Floats], Floats]) -> Floats:
        n, step = count(objects), _block(count(self.references))
        out = np.empty(0)
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            part = work(self.kernel.matrix(objects[rows], self.references))
            if not first:
                out = np.empty((n, *part.shape[1:]))
            out[rows] = part
        return out


def _block(n_references: int) -> int:
    return max(1, BLOCK_VALUES // max(1, n_references))


def check_room(n: int) -> None:
    """Raise before anything is allocated if an exact map of n objects cannot fit into memory."""
    needed, at_hand = COPIES * 8 * n * n, memory_at_hand()
    if needed > at_hand:
        raise MemoryError(
            f"an exact kernel map of {n:,} documents takes {needed / 1e9:,.1f} GB and {at_hand / 1e9:,.1f} GB of "
            "memory are available: set n_components (for example 1000) to use Nyström's approximation"
        )
