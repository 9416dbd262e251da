"""Numerical torture: nasty small problems, every estimator, solver, loss and engine, and one law for all of them."""
