PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready

.PHONY: help setup demo test lint test-slow test-kill test-faults fuzz torture bench bench-quick papers papers-quick format clean clean-kernels \
	test-gpu bench-gpu test-browser pictures docs dist test-wheel test-pythons test-oldest test-torch

help:            ## what can be made
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## a virtual environment in .venv with all that development needs

$(CORE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "rankwise needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(READY): $(CORE)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(CORE)    ## train on the embedded sample, evaluate, show the model
	$(BIN)/rankwise demo
	@echo "('. $(BIN)/activate' puts rankwise on the path)"

test: lint       ## lint, types, tests
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow and not browser and not dist"

lint: $(READY)   ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-slow: $(READY)  ## the tests that take longer
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m slow

test-kill: $(READY)  ## workers of a cluster killed in the middle of a fit, 20 times in a row
	RANKWISE_KILLS=20 $(BIN)/python -m pytest -q -m slow tests/distributed/test_kill.py

test-faults: $(READY)  ## everything that writes, killed and failed at every system call; two writers at once
	$(BIN)/python -m pytest -q -s tests/faults

BROWSER := build/browser

$(BROWSER)/.ready: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[dev,browser]"
	@mkdir -p $(BROWSER)
	@cd $(BROWSER) && rm -f axe-core-*.tgz && { npm pack --silent axe-core > /dev/null && tar -xzf axe-core-*.tgz; } \
		|| echo "npm cannot fetch axe-core: the tests of accessibility are skipped" >&2
	@touch $@

test-browser: $(BROWSER)/.ready  ## the report in Chromium, which has to be installed: apt-get install chromium
	@$(BIN)/python -c 'from tests.browser.chromium import program; exit(program() is None)' \
		|| { echo "there is no Chromium on this machine: install it, for example by apt-get install chromium" >&2; exit 1; }
	$(BIN)/python -m pytest -q -m browser tests/browser

pictures: $(BROWSER)/.ready docs  ## pictures of the report, light, dark, opened and phone, and of the site, under build/browser/pictures
	$(BIN)/python -m tests.browser.pictures $(BROWSER)/pictures

DIST := $(VENV)/.dist

$(DIST): $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[dev,dist]"
	@touch $@

dist: $(DIST)    ## wheel and sdist in build/dist, checked by twine
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist .
	$(BIN)/python -m twine check --strict build/dist/*

test-wheel: dist  ## what wheel and sdist contain; the wheel in an empty environment, with a read-only home and with none
	$(BIN)/python -m pytest -q tests/release

test-pythons: dist  ## the same with every supported Python on this machine; those it does not have are skipped
	RANKWISE_EVERY_PYTHON=1 $(BIN)/python -m pytest -q tests/release

OLDEST := build/oldest
OLDEST_PYTHON ?= python3.11
# The rooms that call other libraries; of the rest, most compares our own code with itself.
OLDEST_TESTS ?= tests/cli tests/data tests/estimators tests/exporting tests/metrics tests/model_selection tests/report \
	tests/reporting tests/serving tests/test_io.py tests/test_rankers.py

$(OLDEST)/.ready: pyproject.toml tests/release/oldest.py
	@$(OLDEST_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		|| { echo "the oldest supported Python is 3.11: make test-oldest OLDEST_PYTHON=/path/to/python3.11" >&2; exit 1; }
	rm -rf $(OLDEST)
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST_PYTHON) tests/release/oldest.py test > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet -r $(OLDEST)/requirements.txt
	@touch $@

test-oldest: dist $(OLDEST)/.ready  ## the wheel and its tests with Python 3.11 and the oldest libraries that pyproject.toml allows
	$(OLDEST)/bin/python -m pip install --quiet --no-deps --force-reinstall build/dist/*.whl
	$(OLDEST)/bin/python -m pytest -q -n auto --dist worksteal -m "not slow and not browser and not dist" $(OLDEST_TESTS)

TORCH ?= torch==2.13.0

test-torch: $(READY)  ## the tests that need torch, after installing TORCH into .venv
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pytest -q -m "not slow and not browser and not dist" tests/device \
		$$(grep -rlw --include='test_*.py' --exclude-dir=device torch tests)

FUZZ_SECONDS ?= 180

fuzz: $(READY)   ## readers against slow references on mutated inputs, FUZZ_SECONDS of it
	@$(BIN)/python -m pip install --quiet --editable ".[dev,fuzz]" || echo "atheris cannot be installed" >&2
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS)

CASES ?= 100000
SEED ?= 0

torture: $(READY)  ## CASES difficult small problems: every solver, loss and engine compared with a reference; takes hours
	$(BIN)/python -m tests.torture --cases $(CASES) --seed $(SEED)

PEERS := $(VENV)/.peers

$(PEERS): $(READY) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev,peers]"
	@touch $@

bench: $(PEERS)  ## benchmarks against other libraries; rewrites benchmarks/README.md and its tables
	$(BIN)/python -m benchmarks

bench-quick: $(PEERS)  ## the same in minutes, with smaller data: benchmarks/results/quick
	$(BIN)/python -m benchmarks --quick

test-gpu:        ## the tests of fits on a device, by PYTHON as it is: for a machine with a GPU
	PYTHONPATH=src $(PYTHON) -m pytest -q tests/device

bench-gpu:       ## what a GPU does, likewise
	PYTHONPATH=src:. $(PYTHON) -m benchmarks.device --largest

DATA ?= ../shared/data

papers: $(READY) ## the papers' tables and figures on the data in DATA, under experiments/results
	$(BIN)/python -m pip install --quiet --editable ".[dev,papers]"
	$(BIN)/python -m experiments --data $(DATA)

papers-quick: $(READY) ## the same in small, under build/experiments/quick
	$(BIN)/python -m pip install --quiet --editable ".[dev,papers]"
	$(BIN)/python -m experiments --data $(DATA) --quick

DOCS := $(VENV)/.docs

$(DOCS): $(CORE) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

docs: $(DOCS)    ## the documentation as a site: build/docs/index.html; warnings are errors
	rm -rf build/docs build/doctrees docs/api docs/gallery
	$(BIN)/python -m sphinx -W --keep-going -q -b html -c docs -d build/doctrees . build/docs
	@echo "open build/docs/index.html"

format: $(READY) ## let ruff put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean-kernels:   ## forget compiled kernels: Numba does not see changes in kernels of other files
	find src -name '*.nb[ic]' -delete

clean:           ## remove environments, built files and caches, but nothing that took long: build/experiments, browser, fuzz, bench
	rm -rf $(VENV) build/docs build/doctrees build/dist $(OLDEST) docs/api docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
