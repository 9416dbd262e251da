"""`rankwise.export`: a fitted ranker in the format of another system."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rankwise.data.records import RankingData
from rankwise.exporting.parts import Kernel, Linear, Parts, model_to_export, parts_of
from rankwise.exporting.precision import Check, check_range, checked, simulated
from rankwise.exporting.targets import ENGINE, FOLD, TARGETS, Request, Target
from rankwise.foundation.names import one_of, spelled
from rankwise.foundation.outputs import FileName, written_beside
from rankwise.foundation.strict_json import is_text
from rankwise.model_io.files import Ranker
from rankwise.rankers.models import Model

SCALINGS = (FOLD, ENGINE)


@dataclass(frozen=True, repr=False)
class Export:
    """A model in the format of another system.

    content    of the file
    next_step  what to do with the file, in one line; None if there is nothing special about it
    check      the order of documents, compared with that of the model; None if no data were given
    """

    target: str
    content: bytes
    next_step: str | None
    check: Check | None

    @property
    def text(self) -> str:
        """The content, of a target that is text."""
        return self.content.decode()

    def __repr__(self) -> str:
        return f"<Export to {self.target}: {len(self.content):,} bytes>"

    def __str__(self) -> str:
        """The content, or of a target that is no text, what it is."""
        try:
            return self.text
        except UnicodeDecodeError:
            return repr(self)


def export(
    ranker: Ranker,
    target: str,
    path: FileName | None = None,
    *,
    name: str = "rankwise",
    feature_set: str | None = None,
    scaling: str | None = None,
    precision: str | None = None,
    names: Sequence[str] | None = None,
    feature_map: Mapping[str, str] | None = None,
    check: RankingData | None = None,
) -> Export:
    """Write a fitted ranker in the format of another system.

    ranker   a fitted estimator, a model, or the path of a model file
    target   elasticsearch, opensearch, solr, vespa, onnx, ranklib, liblinear, liblinear-ranksvm, svmrank, pmml, json,
             sql, python, or the name of a target that was registered by `register_export`
    path     the file to write, "-" for standard output; None: only return the content
    name     of the model in the target
    feature_set  Elasticsearch and OpenSearch: the feature set of the model; Solr: its feature store
    scaling  what becomes of a global scaling: "fold" (the default) multiplies it into the weights, "engine" writes it
             in the target's own words; kernel models always use "engine"
    precision  "float32" or "float64", where the target has both (onnx); its default is float32
    names    of the features, for a model that knows only their numbers
    feature_map  feature -> rank expression, for Vespa
    check    data on which the order by the exported model is compared with that by `ranker`; warns if it differs

    Examples
    --------
    >>> from rankwise import RankSVM, export, load_sample
    >>> train = load_sample("train")
    >>> done = export(RankSVM().fit(train), "python", "ranker.py", name="books", check=load_sample("test"))
    >>> done.check.is_same
    True
    """
    chosen = TARGETS[target]
    chosen.check_installed()
    model = model_to_export(ranker, names)
    parts = parts_of(model)
    request = _request(chosen, parts, name, feature_set, scaling, precision, feature_map)
    _warn_of_positions(chosen, model)
    if isinstance(parts, Linear):
        parts = parts.folded() if request.scaling == FOLD else parts
        parts = parts if chosen.has_intercept else replace(parts, intercept=0.0)
        check_range(parts, chosen.arithmetic[request.precision], chosen.name)
    content = chosen.content(parts, request)
    result = None if check is None else _compare(chosen, model, parts, request, content, check)
    if path is not None:
        with written_beside(path) as file:
            file.write(content)
    return Export(chosen.name, content, chosen.next_step and chosen.next_step(request), result)


def _request(
    target: Target,
    parts: Parts,
    name: str,
    feature_set: str | None,
    scaling: str | None,
    precision: str | None,
    feature_map: Mapping[str, str] | None,
) -> Request:
    for what, given in (("name", name), ("feature_set", feature_set)):
        if given is not None and not (is_text(given) and given.strip() and given.isprintable()):
            raise ValueError(f"{what} must be a text of printable characters; got {given!r}")
    precisions = list(target.arithmetic)
    precision = precisions[0] if precision is None else spelled("precision", precision, (*precisions,))
    scaling = None if scaling is None else spelled("scaling", scaling, SCALINGS)
    if isinstance(parts, Kernel):
        if scaling == FOLD and parts.scaling is not None:
            raise ValueError("scaling cannot be folded into a kernel: leave out scaling='fold' (--scaling fold)")
        scaling = ENGINE
    scaling = scaling or FOLD
    if scaling not in target.scalings and isinstance(parts, Linear):
        raise ValueError(f"{target.name} cannot scale features: take scaling='fold' (--scaling fold)")
    if feature_map and not target.maps_features:
        raise ValueError(f"{target.name} takes no feature map: leave out feature_map (--feature-map)")
    for feature in feature_map or {}:
        one_of("a name in feature_map", feature, parts.names)
    return Request(name, feature_set, scaling, precision, dict(feature_map or {}))


def _warn_of_positions(target: Target, model: Model) -> None:
    """Features that have no names where names are needed, or count from 0 where positions count from 1."""
    columns = model.columns
    if target.has_names and columns.names is None:
        last = columns.first_index + columns.n_features - 1
        warnings.warn(
            f"the model has no feature names: {target.name} gets f{columns.first_index} to f{last}; names (--names "
            "FILE) gives others",
            stacklevel=3,
        )
    if not target.has_names and columns.names is None and columns.first_index == 0:
        warnings.warn(f"the model counts its features from 0, {target.name} from 1: feature 0 becomes 1", stacklevel=3)


def _compare(target: Target, model: Model, parts: Parts, request: Request, content: bytes, data: RankingData) -> Check:
    simulation = simulated(parts, target.arithmetic[request.precision]) if isinstance(parts, Linear) else None
    scores = simulation if target.scores is None else partial(target.scores, content)
    if scores is None:
        raise ValueError(f"{target.name} cannot be checked with a kernel model: leave out check (--check)")
    result = checked(model, data, scores, target.name)
    if not result.is_same:
        is_folded = model.scaling is not None and request.scaling == FOLD and ENGINE in target.scalings
        cure = "; scaling='engine' (--scaling engine) may keep more of it" if is_folded else ""
        warnings.warn(f"{target.name} does not keep the order of all documents: {result}{cure}", stacklevel=3)
    return result
