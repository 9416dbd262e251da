"""Rankers with scikit-learn's interface: thin; they validate, build the objective, call the solver, keep the result."""
