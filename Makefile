# Two commands do everything on a fresh machine: `make search` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# One BLAS thread per process unless the caller says otherwise: on a shared machine more is slower.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

# Tables that are beside the project, if any: NAS-Bench-101, which no package brings along.
DATA := $(if $(NASGOAT_DATA),,$(if $(wildcard ../shared/data),NASGOAT_DATA=../shared/data))
GOAT := $(DATA) $(BIN)/nasgoat
WORKERS ?= 1

.PHONY: search test quick-tests test-python docs docs-serve test-slow torture torture-short lint format benchmark quality reproduce reproduce-full \
    install-neural install-baselines clean

search: $(VENV)/.installed
	$(BIN)/nasgoat search $(ARGS)

# Lint and types beside the tests, which wait for compiled code at first.
test: $(VENV)/.installed-dev
	$(MAKE) --no-print-directory --jobs 2 lint quick-tests

# On every core, four at most. A test by itself is quicker without: make test ARGS="-n 0 -k its_name".
quick-tests: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m "not slow" -n logical --maxprocesses 4 --dist worksteal $(ARGS)

# Whether another Python does, in an environment of its own: it installs, searches, and passes the
# doctests and the tests of the layers up to the search. make test-python PYTHON=python3.13
OTHER := build/other-python
OTHER_TESTS := src tests/graphs tests/kernels tests/surrogate tests/bayesopt tests/evaluation \
    tests/test_package.py tests/test_platforms.py tests/test_child_process.py
test-python:
	$(PYTHON) -m venv --clear $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --editable ".[molecules,pandas,postgres]" pytest pytest-xdist hypothesis
	$(OTHER)/bin/python --version
	cd $(OTHER) && bin/nasgoat search --evaluations 20 --seed 1 --new
	$(OTHER)/bin/python -m pytest -m "not slow" -n logical --maxprocesses 4 $(OTHER_TESTS) $(ARGS)

# The site in build/site; a warning is an error. No network is needed.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

docs-serve: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/speed.py

# How often and how soon our own method reaches the optimum; runs that are recorded are not repeated.
quality: $(VENV)/.installed
	$(GOAT) compare experiments/compare.toml --out experiments/compare --workers $(WORKERS) \
	    --only method=goat-e,goat-l,paper-e,paper-l --only noisy=false

# Every table and figure of the paper from a reduced set of runs: minutes.
reproduce: $(VENV)/.installed
	$(GOAT) kernels experiments/reduced/kernels.toml --out runs/reproduce/kernels --workers $(WORKERS)
	$(GOAT) scale experiments/reduced/scale.toml --out runs/reproduce/scale --workers $(WORKERS)
	$(GOAT) compare experiments/reduced/ablation.toml --out runs/reproduce/ablation --workers $(WORKERS)
	$(GOAT) compare experiments/reduced/compare.toml --out runs/reproduce/compare --workers $(WORKERS)

# The paper's own size: hours; the same command goes on where it was stopped.
reproduce-full: install-baselines
	$(GOAT) kernels experiments/kernels.toml --out runs/reproduce-full/kernels --workers $(WORKERS)
	$(GOAT) scale experiments/scale.toml --out runs/reproduce-full/scale --workers $(WORKERS)
	$(GOAT) compare experiments/ablation.toml --out runs/reproduce-full/ablation --workers $(WORKERS)
	$(GOAT) compare experiments/compare.toml --out runs/reproduce-full/compare --workers $(WORKERS)

# PyTorch, for two neural baselines, Optuna's GPSampler and nasgoat.export.to_torch.
install-neural: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet "torch==2.13.0" --editable ".[neural]"

# What every baseline and benchmark needs.
install-baselines: install-neural
	$(BIN)/python -m pip install --quiet --editable ".[smac,nbgraph]"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# About an hour of one core. Every result is kept in torture.jsonl: broken off, the same call goes on;
# delete the file to begin anew.
torture: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.torture $(ARGS)

# A few minutes of it, which CI runs: every named kill point once on SQLite and on PostgreSQL, a few
# random kills, a little of each fuzz.
torture-short: $(VENV)/.installed-dev
	rm -f build/torture-short.jsonl
	$(BIN)/python -m benchmarks.torture --record build/torture-short.jsonl --only kills fuzz \
	    --repeats 1 --random-kills 5 --values 200 --vectors 100 --flips 10 --documents 300 --limits 50
