"""A model file holds losses, solvers, schemes and measures by name, and objects by the name they are registered as."""

from collections.abc import Collection
from typing import Protocol

from rankwise.foundation.registry import NAME
from rankwise.metrics import FAMILIES, Measure, parse
from rankwise.objective import losses

NAMED = {  # estimator -> its parameters that hold registered names
    "RankSVM": ("loss", "solver", "scheme"),
    "KernelRankSVM": ("loss", "solver"),
    "FactorizedRankSVM": ("loss", "measure"),
    "RankRLSCV": ("measure",),
}
OF_ITS_OWN = "squared-error"  # a measure of RankRLSCV alone
LONGEST = 100  # characters of a name that a message shows


class Names(Protocol):
    """What is asked of a registry here."""

    def __contains__(self, name: object) -> bool: ...
    def name_of(self, entry: object) -> str | None: ...


def name_to_save(parameter: str, value: object) -> object:
    """The name of a loss, solver, scheme or measure; one sentence where it is an object that is not registered.

    What is neither a name nor such an object is for `check_model` to refuse.
    """
    if not isinstance(value, Measure) and not callable(value):
        return value
    name: str | None
    if isinstance(value, losses.Loss):
        name = str(value)
        is_registered = name.partition(":")[0] in losses.LOSSES and losses.parse(name) == value
    elif parameter == "measure":
        measure = parse(value)
        name = str(measure)
        is_registered = measure.name in FAMILIES and parse(name).family.of_query == measure.family.of_query
    else:
        name = _registry(parameter).name_of(value)
        is_registered = name is not None
    if not is_registered:
        raise ValueError(
            f"the model cannot be saved: its {parameter} {name or value!r} is not registered; call "
            f"rankwise.register_{parameter} first, or set_params({parameter}=...) with a name"
        )
    return name


def check_registered(kind: object, params: object, but: Collection[str] = ()) -> None:
    """One sentence where a model file names what is not registered here; other faults are for `check_model`.

    but  parameters whose names need not be registered
    """
    if not isinstance(params, dict) or not isinstance(kind, str):
        return
    for parameter in set(NAMED.get(kind, ())) - set(but):
        text = params.get(parameter)
        name = text.partition(":")[0].partition("@")[0] if isinstance(text, str) and text != OF_ITS_OWN else ""
        if NAME.fullmatch(name) and len(name) <= LONGEST and name not in _registry(parameter):
            raise ValueError(
                f"its {parameter} {name!r} is not registered: call rankwise.register_{parameter}({name!r}, ...) "
                "before load_model"
            )


def _registry(parameter: str) -> Names:
    from rankwise.pairs.schemes import SCHEMES
    from rankwise.solvers import SOLVERS

    registries: dict[str, Names] = {
        "loss": losses.LOSSES,
        "measure": FAMILIES,
        "solver": SOLVERS,
        "scheme": SCHEMES,
    }
    return registries[parameter]
