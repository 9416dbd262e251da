"""`python -m fuzz.guided TARGET CORPUS [libFuzzer's options]`: one target under atheris, kernels run as plain Python.

Plain Python, because atheris sees the branches of Python code only. Bytes of text are then integers without end, as the
kernels' are 64 bits wide; what they compute is compared with the same references.
"""

import os
import sys
import warnings

os.environ["NUMBA_DISABLE_JIT"] = "1"

import atheris
import numpy as np

with atheris.instrument_imports(include=["rankwise.data", "rankwise.model_io.files", "fuzz.references"]):
    from fuzz import targets
    from rankwise.data import streams


class PlainText(np.ndarray):
    """Bytes as 64-bit integers, so that Python's arithmetic on them is that of the compiled kernels."""

    def tobytes(self, order="C"):
        return np.asarray(self).astype(np.uint8).tobytes()


def main():
    warnings.simplefilter("ignore")
    load = streams.Chunk.load
    streams.Chunk.load = lambda chunk: load(chunk).astype(np.int64).view(PlainText)
    target = getattr(targets, sys.argv.pop(1))
    np.seterr(all="ignore")
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
