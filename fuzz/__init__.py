"""Readers against slow readers written apart, on inputs that are mutated until they disagree: `python -m fuzz --help`.

references.py  the grammars in plain Python: LETOR text, CSV, TREC
targets.py     what is compared: one function of bytes for each reader; it raises where reader and reference differ
inputs.py      seeds, words worth inserting, mutations
guided.py      one target under atheris, which sees the branches of our kernels run as plain Python
__main__.py    all targets for a number of seconds, compiled, and guided where atheris is installed
"""
