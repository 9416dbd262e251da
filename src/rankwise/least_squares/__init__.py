"""Least squares on compared pairs: Σ (y_i - y_j - (s_i - s_j))² = (y - s)ᵀ L (y - s), with cheap products with L."""
