"""Scaling of features, by query or over all of them; `scaling` does it without scikit-learn."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.preprocessing.scalers import FeatureScaler, QueryScaler, Scaler, make_scaler

__all__ = ["FeatureScaler", "QueryScaler", "Scaler", "make_scaler"]


def __getattr__(name: str) -> object:
    """The transformers, which need scikit-learn, when one is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rankwise.preprocessing import scalers

    return getattr(scalers, name)


def __dir__() -> list[str]:
    return __all__
