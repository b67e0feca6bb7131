# Two commands do everything on a fresh machine: `make search` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# One BLAS thread per process unless the caller says otherwise: on a shared machine more is slower.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: search test docs docs-serve test-slow torture torture-short lint format benchmark quality install-neural install-baselines clean

search: $(VENV)/.installed
	$(BIN)/nasgoat search $(ARGS)

test: $(VENV)/.installed-dev lint
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

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

quality: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/quality.py

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

# Takes hours with its defaults; ARGS="--repeats 1 --random-kills 10 --flips 50" is a short one.
torture: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.torture $(ARGS)

# A minute of it, which CI runs: every named kill point once, a few random kills, a little of each fuzz.
torture-short: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.torture --only kills fuzz --repeats 1 --random-kills 3 \
	    --values 100 --vectors 100 --flips 10
