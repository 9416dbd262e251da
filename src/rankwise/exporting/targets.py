"""What a model can be exported to: a registry of targets.

This module is imported for help texts: it must not import NumPy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from rankwise.foundation.registry import Registry

if TYPE_CHECKING:
    from rankwise.exporting.parts import Kernel, Linear, Parts
    from rankwise.foundation.arrays import Floats

FOLD, ENGINE = "fold", "engine"
SINGLE, DOUBLE = "float32", "float64"


class Arithmetic(NamedTuple):
    """The types in which a target computes a score: feature values and scaling, weights, and the sum.

    Examples
    --------
    >>> from rankwise.exporting import Arithmetic
    >>> Arithmetic(features="float32", weights="float32")
    Arithmetic(features='float32', weights='float32', sums='float64')
    """

    features: str = DOUBLE
    weights: str = DOUBLE
    sums: str = DOUBLE


@dataclass(frozen=True)
class Request:
    """The options of `rankwise.export`, as a target receives them.

    scaling    "fold": the weights are of the features as they are; "engine": the target scales them
    precision  "float32" or "float64"
    feature_map  feature -> what the target calls it

    Examples
    --------
    >>> from rankwise.exporting import Request
    >>> Request(name="books", feature_set=None, scaling="fold", precision="float64").feature_map
    {}
    """

    name: str
    feature_set: str | None
    scaling: str
    precision: str
    feature_map: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """Something that a model can be exported to.

    name       as in `rankwise export --to NAME`
    write      (linear parts, request) -> the content of the file
    write_kernel  the same for a kernel model; None: kernel models are refused
    arithmetic  the precisions that can be chosen, the default first, and how a score is computed in each
    scalings   "fold", and "engine" if the target can scale features itself
    has_names  whether features are known by name; if not, by their position, counted from 1
    maps_features  whether it takes a feature map
    has_intercept  whether a constant is added to the score; if not, it is dropped, which changes no ranking
    requires   (module, what pip installs to have it), if the target needs a package
    next_step  (request) -> what to do with the file, in one line
    scores     (content, dense rows) -> scores as the target computes them; None: `arithmetic` is simulated

    Examples
    --------
    >>> from rankwise.exporting import Target
    >>> def write_weights(model, request):
    ...     return " ".join(map(repr, model.weights.tolist()))
    >>> target = Target("only-weights", write_weights, scalings=("fold",), has_names=False)
    >>> target.name
    'only-weights'
    """

    name: str
    write: "Callable[[Linear, Request], bytes | str]"
    write_kernel: "Callable[[Kernel, Request], bytes | str] | None" = None
    arithmetic: Mapping[str, Arithmetic] = field(default_factory=lambda: {DOUBLE: Arithmetic()})
    scalings: tuple[str, ...] = (FOLD, ENGINE)
    has_names: bool = True
    maps_features: bool = False
    has_intercept: bool = True
    requires: tuple[str, str] | None = None
    next_step: Callable[[Request], str] | None = None
    scores: "Callable[[bytes, Floats], Floats] | None" = None

    def check_installed(self) -> None:
        """Raise an error if a package that the target requires is not installed."""
        if self.requires and find_spec(self.requires[0]) is None:
            raise ImportError(f"{self.name} needs a package: pip install {self.requires[1]}")

    def content(self, parts: "Parts", request: Request) -> bytes:
        """The model as the bytes of a file."""
        from rankwise.exporting.parts import Kernel

        if not isinstance(parts, Kernel):
            text = self.write(parts, request)
        elif self.write_kernel is not None:
            text = self.write_kernel(parts, request)
        else:
            raise ValueError(
                f"{self.name} holds linear models only, and this one has the kernel {parts.kernel!r}: export it to "
                "onnx, or train a linear model"
            )
        return text.encode() if isinstance(text, str) else text


_ROOM = "rankwise.exporting."
TARGETS: Registry[Target] = Registry(
    "target",
    {
        "elasticsearch": _ROOM + "search_engines:ELASTICSEARCH",
        "opensearch": _ROOM + "search_engines:OPENSEARCH",
        "solr": _ROOM + "search_engines:SOLR",
        "vespa": _ROOM + "vespa:VESPA",
        "onnx": _ROOM + "onnx_graphs:ONNX",
        "ranklib": _ROOM + "model_files:RANKLIB",
        "liblinear": _ROOM + "model_files:LIBLINEAR",
        "liblinear-ranksvm": _ROOM + "model_files:LIBLINEAR_RANKSVM",
        "svmrank": _ROOM + "model_files:SVMRANK",
        "pmml": _ROOM + "pmml:PMML",
        "json": _ROOM + "programs:JSON",
        "sql": _ROOM + "programs:SQL",
        "python": _ROOM + "programs:PYTHON",
    },
)


def register_export(target: Target, *, replace: bool = False) -> None:
    """Make a target known by its name to `rankwise.export` and to `rankwise export --to`.

    Examples
    --------
    >>> from rankwise import RankSVM, export, load_sample, register_export
    >>> from rankwise.exporting import Target
    >>> def write_weights(model, request):
    ...     return "\\n".join(f"{name} {weight}" for name, weight in zip(model.names, model.weights))
    >>> register_export(Target("plain-weights", write_weights, scalings=("fold",)))
    >>> done = export(RankSVM().fit(load_sample()), "plain-weights", "weights.txt")
    """
    if not isinstance(target, Target):
        raise TypeError(f"register_export takes a rankwise.exporting.Target; got {target!r}")
    TARGETS.register(target.name, target, replace=replace)
