"""From the options of `rankwise train` to a training; options are checked before any file is read.

Linear RankSVM and RankRLS are trained by `rankwise.rankers`, without importing scikit-learn; the others need it.
"""

from collections.abc import Callable, Collection
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from rankwise.cli.options import listed_names
from rankwise.cli.speech import checked
from rankwise.data.columns import Known
from rankwise.foundation.names import spelled
from rankwise.objective import losses
from rankwise.preprocessing.scaling import check_name
from rankwise.rankers.models import Params
from rankwise.rankers.rankrls import RankRLSOptions
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.rankers.signs import signs_by_name
from rankwise.rankers.training import Training

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MODELS = {  # model -> (module, class), without and with a kernel
    "ranksvm": (("ranksvm", "RankSVM"), ("kernel", "KernelRankSVM")),
    "rankrls": (("rankrls", "RankRLS"), ("kernel_rankrls", "KernelRankRLS")),
    "rankrls-cv": (("rankrls_cv", "RankRLSCV"),),
    "factorized": (("factorized", "FactorizedRankSVM"),),
}
WITHOUT_SKLEARN = {"ranksvm": RankSVMOptions, "rankrls": RankRLSOptions}
SIGNS = "--increasing or --decreasing"
FLAGS = {"n_components": "--components", "n_jobs": "--jobs", "random_state": "--seed", "monotonic_cst": SIGNS}


def make_training(name: str, options: Params, scaler: str | None) -> "Training | BaseEstimator":
    """A Training with the given options, or an estimator if the model needs scikit-learn."""
    name = known_model(name)
    if name not in WITHOUT_SKLEARN or options["kernel"] is not None:
        return make_model(name, options, scaler)
    kind = WITHOUT_SKLEARN[name]
    given = _checked(name, options, scaler, [field.name for field in fields(kind)])
    return Training(kind(**given), scaler)


def make_model(name: str, options: Params, scaler: str | None) -> "BaseEstimator":
    """The estimator of that name with the given options, after a scaler if there is one."""
    name = known_model(name)
    estimator = _estimator(name, options)
    ranker = estimator(**_checked(name, options, scaler, estimator().get_params()))
    if scaler is None:
        return ranker
    from rankwise.estimators.scaled import ScaledRanker

    return ScaledRanker(ranker, scaler)


def signs_of(increasing: list[str] | None, decreasing: list[str] | None) -> dict[str, int] | None:
    """The signs of weights by feature, from the names in the two options; None if there are none."""
    up, down = (
        checked(flag, listed_names, given or ())
        for flag, given in (("--increasing", increasing), ("--decreasing", decreasing))
    )
    if both := [name for name in up if name in down]:
        raise typer.BadParameter(f"{both[0]!r} is given to --increasing too", param_hint="--decreasing")
    return dict.fromkeys(up, 1) | dict.fromkeys(down, -1) or None


def check_signs(given: dict[str, int], columns: Known) -> None:
    """Raise an error if the data lack a feature that has a sign."""
    signs_by_name(given, columns, SIGNS)


def known_model(name: str) -> str:
    """The name as MODELS spells it."""
    return checked("--model", partial(spelled, "model", known=MODELS), name)


def _checked(name: str, options: Params, scaler: str | None, known: Collection[str]) -> Params:
    """The options that are not None; an error if the model does not have one of them."""
    given = {key: value for key, value in options.items() if value is not None}
    if "random_state" in known:
        given.setdefault("random_state", 0)
    for key in given:
        if key not in known:
            which = f"--model {name}" + (" with --kernel" if "kernel" in given else "")
            raise typer.BadParameter(f"{which} has no such option", param_hint=_flag(key))
    _check(name, given)
    if scaler is not None:
        checked("--normalize", check_name, scaler)
    return given


def _estimator(name: str, options: Params) -> "type[BaseEstimator]":
    with_kernel = options.get("kernel") is not None
    if with_kernel and len(MODELS[name]) == 1:
        raise typer.BadParameter(f"{name} has no kernel version: use --model ranksvm or rankrls", param_hint="--kernel")
    module, cls = MODELS[name][with_kernel]
    estimator: type[BaseEstimator] = getattr(import_module(f"rankwise.estimators.{module}"), cls)
    return estimator


def _check(name: str, given: Params) -> None:
    from rankwise.foundation.devices import check_device
    from rankwise.foundation.threads import thread_count
    from rankwise.objective.building import NORMALIZATIONS, RESCALINGS
    from rankwise.pairs.composite import check_scope
    from rankwise.pairs.costs import check_costs
    from rankwise.pairs.schemes import check_scheme
    from rankwise.rankers.checks import positive, share, whole

    checks: dict[str, Callable[[Any], object]] = {
        "C": partial(positive, "C"),
        "alpha": partial(positive, "alpha"),
        "gamma": partial(positive, "gamma"),
        "tol": partial(positive, "tol"),
        "l1_ratio": partial(share, "it"),
        "max_iter": partial(whole, "it"),
        "n_components": partial(whole, "it"),
        "loss": losses.parse,
        "kernel": _known_kernel,
        "scheme": check_scheme,
        "scope": check_scope,
        "costs": check_costs,
        "rescaling": partial(spelled, "rescaling", known=RESCALINGS),
        "normalize_pairs": partial(spelled, "normalize_pairs", known=NORMALIZATIONS),
        "n_jobs": thread_count,
        "device": check_device,
    }
    for key, value in given.items():
        if key in checks:
            checked(_flag(key), checks[key], value)
    if name == "ranksvm":
        loss = losses.parse(given.get("loss", "squared_hinge"))
        corners = "monotonic_cst" in given or bool(given.get("l1_ratio"))
        checked("--solver", partial(_solves, loss, corners), given.get("solver", "auto"))


def _solves(loss: losses.Loss, corners: bool, solver: str) -> None:
    import numpy as np

    from rankwise.solvers import make_solver

    make_solver(solver, loss, np.zeros((1, 1)), tol=1.0, corners=corners)


def _known_kernel(name: str) -> None:
    from rankwise.kernel_maps import Kernel

    if Kernel(name).precomputed:
        raise ValueError("a precomputed kernel cannot be read from a file of features: use KernelRankSVM in Python")


def _flag(key: str) -> str:
    return FLAGS.get(key, "--" + key.replace("_", "-"))
