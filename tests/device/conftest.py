"""Where the tests of this folder run: torch on the CPU and, where there is a GPU, torch and CuPy there."""

import numpy as np
import pytest

from rankwise.device import move

torch = pytest.importorskip("torch")
PLACES = ["torch:cpu"]
if torch.cuda.is_available():
    PLACES.append("cuda")
    try:
        import cupy  # noqa: F401

        PLACES.append("cupy")
    except ImportError:
        pass


@pytest.fixture(params=PLACES)
def place(request):
    return request.param


@pytest.fixture
def put(place):
    """A function that moves arrays of NumPy there."""
    return lambda x: None if x is None else move(np.asarray(x) if not hasattr(x, "tocsr") else x, place)
