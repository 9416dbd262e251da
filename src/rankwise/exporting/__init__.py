"""Models in the formats of other systems: search engines, ONNX, PMML, model files, SQL and plain Python.

A fitted model becomes a plain value (`parts`): names, weights, scaling. A `Target` writes that value; each target is
registered by its name (`targets`), as one of a user is by `rankwise.register_export`. The room imports from `model_io`
and the rooms above it.
"""

from rankwise.exporting.targets import Arithmetic, Request, Target, register_export

__all__ = ["Arithmetic", "Request", "Target", "register_export"]
