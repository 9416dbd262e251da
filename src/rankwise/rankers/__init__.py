"""Training and linear models as values, without scikit-learn: what estimators and commands both call."""
