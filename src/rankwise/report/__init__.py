"""Figures in scikit-learn's style: `SomeDisplay.from_...(...)` collects the data, `.plot(ax=None)` draws them.

The data of every display are available: `.data`, `.to_frame()`, `.to_csv(file)`. `.save(file)` writes PNG, SVG or PDF.
`html` makes a page about rankers (`rankwise.reporting`).
"""

from typing import TYPE_CHECKING

from rankwise.foundation.lazy import on_first_use

if TYPE_CHECKING:
    from rankwise.report.convergence import ConvergenceDisplay
    from rankwise.report.cutoffs import CutoffDisplay
    from rankwise.report.differences import QueryDifferenceDisplay
    from rankwise.report.features import FeaturePathDisplay
    from rankwise.report.margins import MarginDisplay
    from rankwise.report.propensities import PropensityDisplay
    from rankwise.report.regularization import RegularizationDisplay
    from rankwise.report.weights import WeightsDisplay
    from rankwise.reporting.building import html

__getattr__ = on_first_use(
    __name__,
    {
        "RegularizationDisplay": "regularization",
        "ConvergenceDisplay": "convergence",
        "CutoffDisplay": "cutoffs",
        "QueryDifferenceDisplay": "differences",
        "FeaturePathDisplay": "features",
        "MarginDisplay": "margins",
        "PropensityDisplay": "propensities",
        "WeightsDisplay": "weights",
        "html": ".reporting.building",
    },
)

__all__ = [
    "ConvergenceDisplay",
    "CutoffDisplay",
    "FeaturePathDisplay",
    "MarginDisplay",
    "PropensityDisplay",
    "QueryDifferenceDisplay",
    "RegularizationDisplay",
    "WeightsDisplay",
    "html",
]


def __dir__() -> list[str]:
    return __all__
