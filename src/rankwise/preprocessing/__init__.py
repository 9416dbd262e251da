"""Scaling of features, by query or over all of them."""

from rankwise.preprocessing.scalers import FeatureScaler, QueryScaler, Scaler, make_scaler

__all__ = ["FeatureScaler", "QueryScaler", "Scaler", "make_scaler"]
