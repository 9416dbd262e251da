"""Where the tests of this folder run: torch on the CPU and, where there is a GPU, torch and CuPy there."""

import importlib.util

import numpy as np
import pytest

from rankwise.foundation.devices import move


def _places():
    try:
        import torch
    except ImportError:
        return []
    places = ["torch:cpu"]
    if torch.cuda.is_available():
        places += ["cuda", "cupy"] if importlib.util.find_spec("cupy") else ["cuda"]
    return places


@pytest.fixture(params=_places() or [pytest.param(None, marks=pytest.mark.skip("torch is not installed"))])
def place(request):
    return request.param


@pytest.fixture
def put(place):
    """A function that moves arrays of NumPy there."""
    return lambda x: None if x is None else move(x if hasattr(x, "tocsr") else np.asarray(x), place)
