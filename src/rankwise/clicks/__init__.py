"""Learning from clicks: logs of what was shown and clicked, the bias of positions, and training data without it.

`reading` and `ubi` read logs into a `ClickLog`; `bias` estimates how often users look at each position, as
`Propensities`; `training` turns clicks into data for any ranker; `evaluation` estimates measures of rankings that were
not shown; `simulation` generates clicks with a known bias. The room imports from `foundation`, `pairs`, `data` and
`joining`. Public are the names below.
"""

from typing import TYPE_CHECKING

from rankwise.foundation.lazy import on_first_use

if TYPE_CHECKING:
    from rankwise.clicks.bias import em_bias, harvested_bias, swap_bias
    from rankwise.clicks.evaluation import ClickEvaluation, evaluate_clicks
    from rankwise.clicks.log import ClickLog
    from rankwise.clicks.propensities import Propensities
    from rankwise.clicks.reading import read_clicks, read_swaps
    from rankwise.clicks.simulation import simulate_clicks
    from rankwise.clicks.training import click_data, shared_click_data

__all__ = [
    "ClickEvaluation",
    "ClickLog",
    "Propensities",
    "click_data",
    "em_bias",
    "evaluate_clicks",
    "harvested_bias",
    "read_clicks",
    "read_swaps",
    "shared_click_data",
    "simulate_clicks",
    "swap_bias",
]

_HOMES = {
    "ClickEvaluation": "evaluation",
    "ClickLog": "log",
    "Propensities": "propensities",
    "click_data": "training",
    "em_bias": "bias",
    "evaluate_clicks": "evaluation",
    "harvested_bias": "bias",
    "read_clicks": "reading",
    "read_swaps": "reading",
    "shared_click_data": "training",
    "simulate_clicks": "simulation",
    "swap_bias": "bias",
}

__getattr__ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
