"""Pair engines: sums over the active preference pairs at given scores, without enumerating the pairs."""
