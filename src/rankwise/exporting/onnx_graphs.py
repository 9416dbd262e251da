"""ONNX: linear and kernel models, with their scaling, as a graph from `features` to `scores`.

features  a matrix with one row per document, in float32 or float64
scores    one number per document, in the same type
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise import __version__
from rankwise.exporting.parts import Kernel, Linear, Parts
from rankwise.exporting.targets import DOUBLE, SINGLE, Arithmetic, Request, Target
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.names import none_of

INPUT, OUTPUT = "features", "scores"
OPSET, IR = 17, 8  # of 2022, so that older runtimes can read the file


class Graph:
    """Nodes and constants of an ONNX graph in the making; values are known by name."""

    def __init__(self, precision: str) -> None:
        self.dtype = np.dtype(precision)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: object, dtype: type | np.dtype[Any] | None = None) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        with np.errstate(over="ignore"):
            array = np.asarray(value).astype(dtype or self.dtype)
        if not np.isfinite(array).all():
            cure = ": take precision='float64' (--precision float64)" if self.dtype == np.float32 else ""
            raise ValueError(f"the model has numbers beyond the range of {self.dtype}{cure}")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operation: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        name = output or f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [name], **attributes))
        return name

    def sum(self, value: str, axis: int, keepdims: int) -> str:
        return self.add("ReduceSum", value, self.constant([axis], np.int64), keepdims=keepdims)


def linear(model: Linear, request: Request) -> bytes:
    graph = Graph(request.precision)
    product = graph.add("MatMul", _shifted(graph, model), graph.constant(model.weights * model.scale))
    graph.add("Add", product, graph.constant(model.intercept), output=OUTPUT)
    return _file(graph, model, request)


def kernel(model: Kernel, request: Request) -> bytes:
    if model.kernel not in KERNELS:
        raise ValueError(none_of("to be exported, the kernel", model.kernel, ("linear", *KERNELS)))
    graph = Graph(request.precision)
    values = KERNELS[model.kernel](graph, model)
    graph.add("MatMul", values, graph.constant(model.dual_coef), output=OUTPUT)
    return _file(graph, model, request)


def _shifted(graph: Graph, model: Parts) -> str:
    """x - shift; the scale is then a factor of weights or references, because onnxruntime rounds a factor beside a
    matrix product to float32, if it is a single number.
    """
    return INPUT if model.scaling is None else graph.add("Sub", INPUT, graph.constant(model.shift))


def _scaled(graph: Graph, model: Parts) -> str:
    shifted = _shifted(graph, model)
    return shifted if model.scaling is None else graph.add("Mul", shifted, graph.constant(model.scale))


def _products(graph: Graph, x: str, references: Floats) -> str:
    return graph.add("MatMul", x, graph.constant(references.T))


def _affine(graph: Graph, model: Kernel) -> str:
    """gamma x · z + coef0"""
    products = _products(graph, _shifted(graph, model), model.gamma * model.scale * model.references)
    return graph.add("Add", products, graph.constant(model.coef0))


def _polynomial(graph: Graph, model: Kernel) -> str:
    return graph.add("Pow", _affine(graph, model), graph.constant(model.degree))


def _sigmoid(graph: Graph, model: Kernel) -> str:
    return graph.add("Tanh", _affine(graph, model))


def _exp_of(graph: Graph, distances: str, model: Kernel) -> str:
    return graph.add("Exp", graph.add("Mul", distances, graph.constant(-model.gamma)))


def _rbf(graph: Graph, model: Kernel) -> str:
    """exp(-gamma |x - z|²), by |x|² - 2 x · z + |z|² around the mean of the z, where less is lost in rounding."""
    centre = model.references.mean(axis=0)
    references = model.references - centre
    x = graph.add("Sub", _scaled(graph, model), graph.constant(centre))
    norms = graph.add("Add", graph.sum(graph.add("Mul", x, x), 1, 1), graph.constant((references**2).sum(axis=1)))
    squares = graph.add("Sub", norms, _products(graph, x, 2 * references))
    return _exp_of(graph, graph.add("Max", squares, graph.constant(0)), model)


def _laplacian(graph: Graph, model: Kernel) -> str:
    """exp(-gamma Σ|x_j - z_j|); holds documents × references × features numbers."""
    rows = graph.add("Unsqueeze", _scaled(graph, model), graph.constant([1], np.int64))
    distances = graph.add("Abs", graph.add("Sub", rows, graph.constant(model.references)))
    return _exp_of(graph, graph.sum(distances, 2, 0), model)


def _cosine(graph: Graph, model: Kernel) -> str:
    least = np.finfo(graph.dtype).tiny  # a row of zeros stays zero
    references = model.references / np.maximum(np.linalg.norm(model.references, axis=1, keepdims=True), least)
    x = _scaled(graph, model)
    norms = graph.add("Sqrt", graph.sum(graph.add("Mul", x, x), 1, 1))
    return _products(graph, graph.add("Div", x, graph.add("Max", norms, graph.constant(least))), references)


KERNELS: dict[str, Callable[[Graph, Kernel], str]] = {
    "rbf": _rbf,
    "polynomial": _polynomial,
    "poly": _polynomial,
    "sigmoid": _sigmoid,
    "laplacian": _laplacian,
    "cosine": _cosine,
}


def _file(graph: Graph, model: Parts, request: Request) -> bytes:
    import onnx
    from onnx import helper

    element = helper.np_dtype_to_tensor_dtype(graph.dtype)
    features = helper.make_tensor_value_info(INPUT, element, ["documents", len(model.names)])
    scores = helper.make_tensor_value_info(OUTPUT, element, ["documents"])
    body = helper.make_graph(graph.nodes, request.name, [features], [scores], graph.constants)
    versions = {"opset_imports": [helper.make_opsetid("", OPSET)], "ir_version": IR}
    file = helper.make_model(body, producer_name="rankwise", producer_version=__version__, **versions)
    helper.set_model_props(file, {"feature_names": json.dumps(model.names), "kind": model.kind})
    onnx.checker.check_model(file)
    content: bytes = file.SerializeToString(deterministic=True)
    return content


def scores(content: bytes, X: Array) -> Floats:
    """Scores of rows by onnxruntime."""
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        raise ImportError("to check an ONNX model needs onnxruntime: pip install onnxruntime") from None
    session = InferenceSession(content, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    dtype = np.float32 if given.type == "tensor(float)" else np.float64
    with np.errstate(over="ignore"):
        (found,) = session.run(None, {INPUT: X.astype(dtype)})
    return np.asarray(found, dtype=np.float64)


def _next_step(request: Request) -> str:
    return f"run it with input 'features' ({request.precision}, documents x features); the output is 'scores'"


ONNX = Target(
    "onnx",
    linear,
    kernel,
    arithmetic={SINGLE: Arithmetic(SINGLE, SINGLE, SINGLE), DOUBLE: Arithmetic()},
    requires=("onnx", "onnx onnxruntime"),
    next_step=_next_step,
    scores=scores,
)
