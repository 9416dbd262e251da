"""What the fields of a model file may hold. It may come from a stranger: whatever is not in these tables is refused.

`model.schema.json` says the same to other programs, as far as a schema can (docs/model-format.md). Files of format 1,
which version 0.1 wrote, lack some fields (`LACKING_IN_1`) and hold their scaler as a shift and a multiplier.

Parameters tell how a model was trained. Losses, solvers, schemes and measures are kept by name; costs and seeds that
JSON cannot hold (a callable, a matrix) are kept as null.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from rankwise.foundation.names import key
from rankwise.foundation.registry import NAME
from rankwise.foundation.strict_json import Json, Rule, check_object, is_count, is_list_of, is_number, is_text
from rankwise.model_io.names import LONGEST, OF_ITS_OWN
from rankwise.preprocessing.scaling import BY_QUERY, UNITS

SUMMARY = ("gradient_norm", "iterations", "converged", "message", "gap", "gap_estimate")
LACKING_IN_1 = ("gap_estimate", "stopping", "C")  # fields that files of format 1 may lack
LATER = ("monotonic_cst", "l1_ratio")  # parameters that files of format 2 may lack, too
KERNEL_PARAMS = ("gamma", "degree", "coef0")
OF_QUERIES = ("query-minmax", "query-zscore")  # scalers that need no numbers
SCALERS = ("minmax", "zscore", *OF_QUERIES)
COMMANDS = ("train", "tune")  # that leave a record of their run
OPTION = re.compile(r"[A-Za-z][A-Za-z0-9-]*")  # the name of an option of a command
NUMBERS = "a list of finite numbers"


def or_null(rule: Rule) -> Rule:
    is_right, expected = rule
    return (lambda value: value is None or is_right(value)), f"{expected}, or null"


def one_of(names: Iterable[str]) -> Rule:
    known = list(names)
    keys = set(map(key, known))
    return (lambda value: isinstance(value, str) and key(value) in keys), f"one of {', '.join(known)}"


def exactly(names: Iterable[str]) -> Rule:
    known = list(names)
    return (lambda value: value in known), f"one of {', '.join(known)}"


def read_by(read: Callable[[str], object], expected: str) -> Rule:
    """A text that the library's own reader takes."""

    def is_right(value: Json) -> bool:
        try:
            return isinstance(value, str) and (read(value), True)[1]
        except ValueError:
            return False

    return is_right, expected


COUNT: Rule = is_count, "a whole number, 0 or more"
POSITIVE: Rule = (lambda value: is_number(value) and value > 0), "a positive number"
STRENGTH: Rule = (lambda value: value == "auto" or POSITIVE[0](value)), "a positive number, or 'auto'"
NUMBER: Rule = is_number, "a finite number"
TRUTH: Rule = (lambda value: isinstance(value, bool)), "true or false"
TEXT: Rule = is_text, "a text"
VECTOR: Rule = partial(is_list_of, is_number), NUMBERS
DEVIATIONS: Rule = (lambda value: VECTOR[0](value) and all(one >= 0 for one in value)), f"{NUMBERS}, none negative"
ROWS: Rule = partial(is_list_of, partial(is_list_of, is_number)), "a list of rows of finite numbers"
OBJECT: Rule = (lambda value: isinstance(value, dict)), "an object"
ANYTHING: Rule = (lambda value: True), "anything"


def check_model(state: dict[str, Json], weights: Mapping[str, tuple[str, ...]], to_fit: bool = True) -> None:
    """One sentence that names the field where a model file does not hold what `save_model` writes.

    weights  kind -> the fields of its weights; the lengths of lists are checked as they are read
    to_fit   whether the loss must be registered
    """
    check_object({"kind": state.get("kind")}, {"kind": exactly(weights)})
    kind, is_old = state["kind"], state["version"] == 1
    rules = {"format": TEXT, "version": COUNT, "rankwise": TEXT, "kind": TEXT, "params": ANYTHING, "fit": ANYTHING}
    rules |= {"scaler": or_null(OBJECT), "n_features": COUNT, "n_queries": or_null(COUNT), "C": or_null(POSITIVE)}
    rules["feature_names"] = or_null((_are_names, "a list of different texts"))
    rules["first_index"] = partial(is_count, most=1), "0 or 1"
    rules |= {} if is_old else {"python": TEXT, "numpy": TEXT, "data": ANYTHING, "run": ANYTHING}
    rules |= {field: ROWS if field == "references" else VECTOR for field in weights[kind]}
    optional = LACKING_IN_1 if is_old else ()
    check_object(state, rules, optional=optional)
    params = params_rules(kind)
    if not to_fit and "loss" in params:
        params["loss"] = read_by(_check_loss_to_predict, "the name of a loss")
    check_object(state["params"], params, "params", (*optional, *LATER))
    if state["fit"] is not None or kind != "RankSVM":  # whose partial_fit leaves none
        check_object(state["fit"], _fit_rules(), "fit", optional)
    if state["scaler"] is not None:
        (_check_old_scaler if is_old else _check_scaler)(state["scaler"])
    if state.get("data") is not None:
        check_object(check_object(state["data"], _DATA, "data")["labels"], _LABELS, "data.labels")
    if state.get("run") is not None:
        check_object(state["run"], _RUN, "run")


def _are_names(value: Json) -> bool:
    return is_list_of(is_text, value) and len(set(value)) == len(value)


def _fit_rules() -> dict[str, Rule]:
    rules = {"objective": or_null(NUMBER), "iterations": COUNT, "converged": TRUTH, "message": TEXT}
    return rules | {name: or_null(NUMBER) for name in SUMMARY if name not in rules}


def _check_scaler(state: Json) -> None:
    """In the units of the features; with a shift and a scale if the model was read from a file of format 1."""
    name = exactly(SCALERS)
    check_object({"name": state.get("name")}, {"name": name}, "scaler")
    rules = {"name": name, "n_features": COUNT}
    if "shift" in state:
        rules |= {"shift": VECTOR, "scale": VECTOR}
    elif state["name"] not in OF_QUERIES or "centred" in state:
        centre, spread = UNITS[state["name"].removeprefix(BY_QUERY)]
        rules |= {"centred": TRUTH, centre: VECTOR, spread: VECTOR if spread == "maximum" else DEVIATIONS}
    check_object(state, rules, "scaler")


def _check_old_scaler(state: Json) -> None:
    rules = {"name": one_of(SCALERS), "n_features": COUNT, "shift": VECTOR, "scale": VECTOR}
    rules["feature_names_in"] = partial(is_list_of, is_text), "a list of texts"
    of_queries = isinstance(state, dict) and state.get("name") in OF_QUERIES
    check_object(state, rules, "scaler", ("feature_names_in", *(("shift", "scale") if of_queries else ())))


def _hashed(name: str, digits: int, prefix: str = "") -> Rule:
    pattern = re.compile(rf"{prefix}[0-9a-f]{{{digits}}}")
    return or_null(((lambda value: isinstance(value, str) and bool(pattern.fullmatch(value))), f"a hash by {name}"))


def _are_options(value: Json) -> bool:
    """By name: truth values, numbers, texts, and lists of numbers or texts."""

    def is_one(one: Json) -> bool:
        return is_text(one) or is_number(one)

    is_right = isinstance(value, dict) and all(map(OPTION.fullmatch, value))
    return is_right and all(isinstance(one, bool) or is_one(one) or is_list_of(is_one, one) for one in value.values())


def _are_files(value: Json) -> bool:
    is_hash = _hashed("SHA-256", 64)[0]
    return isinstance(value, dict) and all(is_text(path) and is_hash(one) for path, one in value.items())


_DATA = {"rows": COUNT, "queries": COUNT, "features": COUNT, "labels": ANYTHING}
_DATA["hash"] = _hashed("BLAKE2b", 32, "blake2b:")
_LABELS = {"levels": COUNT, "minimum": NUMBER, "maximum": NUMBER}
_RUN: dict[str, Rule] = {"command": exactly(COMMANDS)}
_RUN["options"] = _are_options, "an object of texts, numbers, truth values and lists"
_RUN["files"] = _are_files, "an object of hashes by SHA-256, or null, by path"


def params_rules(kind: str) -> dict[str, Rule]:
    """What the parameters of an estimator may be, by the library's own tables."""
    from rankwise.least_squares.comparisons import SCALINGS, TIES
    from rankwise.metrics import parse
    from rankwise.objective.building import NORMALIZATIONS, RESCALINGS
    from rankwise.pairs.composite import SCOPES
    from rankwise.pairs.schemes import SCHEMES

    loss = read_by(_check_loss, "a loss, such as 'squared_hinge'")
    measure = read_by(lambda text: text == OF_ITS_OWN or parse(text), "a measure, such as 'ndcg@10'")
    seed = or_null((partial(is_count, most=2**32 - 1), "a whole number from 0 to 4294967295"))
    solver = _solver_rule(kind)
    at_most = or_null(POSITIVE)
    trained = {"loss": loss, "solver": solver, "tol": POSITIVE, "max_iter": at_most, "random_state": seed}
    compared = {"ties": one_of(TIES), "scaling": one_of(SCALINGS)}
    scheme = read_by(SCHEMES.spelling, "a scheme, such as 'auto'")
    pairing = {"scheme": scheme, "scope": one_of(SCOPES), "rescaling": one_of(RESCALINGS)}
    pairing |= {"costs": or_null((_are_costs, "a name, numbers, or a square table of two levels or more"))}
    pairing |= {"normalize_pairs": one_of(NORMALIZATIONS), "stopping": one_of(("gap", "gradient"))}
    ratio: Rule = (lambda value: is_number(value) and 0 <= value <= 1), "a number from 0 to 1"
    pairing |= {"monotonic_cst": or_null((_are_signs, "1, -1 or 0 per feature or by name")), "l1_ratio": ratio}
    start: Rule = (lambda value: value == "random" or ROWS[0](value)), "'random', or rows of finite numbers"
    share: Rule = (lambda value: is_number(value) and 0 < value < 1), "a number between 0 and 1"
    factorized = {
        "n_components": POSITIVE,
        "learning_rate": POSITIVE,
        "init": or_null(start),
        "measure": or_null(measure),
    }
    factorized |= {"validation_fraction": or_null(share), "n_iter_no_change": POSITIVE}
    alphas: Rule = (lambda value: is_list_of(POSITIVE[0], value) and bool(value)), "a list of positive numbers"
    kernel = _kernel_rules(seed) if kind.startswith("Kernel") else {}  # whose tables need scikit-learn
    return {
        "RankSVM": {"C": STRENGTH, **trained, "warm_start": TRUTH, **pairing},
        "RankRLS": {"alpha": POSITIVE, "solver": solver, "tol": POSITIVE, "max_iter": POSITIVE, **compared},
        "RankRLSCV": {"alphas": or_null(alphas), "measure": measure, "solver": solver, **compared},
        "FactorizedRankSVM": {"C": STRENGTH, **trained, **factorized},
        "KernelRankSVM": {"C": STRENGTH, **trained, **kernel},
        "KernelRankRLS": {"alpha": POSITIVE, **compared, **kernel},
    }[kind]


def _kernel_rules(seed: Rule) -> dict[str, Rule]:
    from rankwise.kernel_maps.landmarks import LANDMARKS

    kernel = {"kernel": read_by(_check_kernel, "the name of a kernel on features"), "gamma": or_null(NUMBER)}
    kernel |= {"degree": NUMBER, "coef0": NUMBER, "n_components": or_null(POSITIVE), "landmarks": one_of(LANDMARKS)}
    kernel["kernel_params"] = or_null((_are_kernel_params, f"an object of {', '.join(KERNEL_PARAMS)}"))
    kernel["random_state"] = seed
    return kernel


def _solver_rule(kind: str) -> Rule:
    from rankwise.rankers import rankrls
    from rankwise.solvers import SOLVERS

    if kind in ("RankRLS", "RankRLSCV"):
        return one_of(rankrls.SOLVERS if kind == "RankRLS" else rankrls.LEFT_OUT_BY)
    return one_of(("lbfgs", "gd")) if kind == "FactorizedRankSVM" else read_by(SOLVERS.spelling, "a solver")


def _check_loss(text: str) -> None:
    """`losses.parse`, without the linear program that finds a logistic loss."""
    from rankwise.objective import losses

    name, _, error = text.strip().partition(":")
    if name != "logistic":
        losses.parse(text)
    elif error and not 1e-5 <= float(error) <= 0.1:
        raise ValueError(text)


def _check_loss_to_predict(text: str) -> None:
    """As `_check_loss`, for losses that are registered here."""
    from rankwise.objective import losses

    name = text.partition(":")[0]
    if name in losses.LOSSES or not NAME.fullmatch(name) or len(text) > LONGEST:
        _check_loss(text)


def _check_kernel(name: str) -> None:
    from rankwise.kernel_maps import Kernel

    if Kernel(name).precomputed:
        raise ValueError(name)


def _are_kernel_params(value: Json) -> bool:
    is_right = isinstance(value, dict) and set(value) <= set(KERNEL_PARAMS)
    return is_right and all(one is None or is_number(one) for one in value.values())


def _are_signs(value: Json) -> bool:
    signs = list(value.values()) if isinstance(value, dict) else value
    return is_list_of(lambda one: is_number(one) and one in (-1, 0, 1), signs)


def _are_costs(value: Json) -> bool:
    from rankwise.pairs.costs import NAMES

    if isinstance(value, str):
        return key(value) in NAMES
    is_table = ROWS[0](value) and len(value) > 1 and all(len(row) == len(value) for row in value)
    return VECTOR[0](value) or is_table
