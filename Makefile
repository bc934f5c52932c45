# Every target creates .venv on a fresh clone and reuses it afterwards. Only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV := .venv
TOOLS := .venv-tools
BIN := $(VENV)/bin
# Of what is installed a third is ever used: Python compiles that when it is first used, which saves a minute and more.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile
unexport PYTHONDONTWRITEBYTECODE
# A quarter of the time tests wait for servers and other processes, so there is one more than there are cores.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

.PHONY: demo check check-tools test lint speed schema clean

demo: $(VENV)/.base
	$(BIN)/fcconan demo --out demo-dataset --report demo-report

# Linting wants one core, and the tests wait now and then: side by side they take a minute less.
check: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs=2 lint test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: $(VENV)/.dev
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

# Against a real Label Studio, in an environment of its own of about 1 GB.
check-tools: $(VENV)/.dev $(TOOLS)/.label-studio
	FCCONAN_LABEL_STUDIO=$(abspath $(TOOLS))/bin/label-studio $(BIN)/pytest -m tools tests/tools

speed: $(VENV)/.dev
	$(INSTALL) polars
	$(BIN)/python benchmarks/speed/build.py
	$(BIN)/python benchmarks/speed/retrieval.py
	$(BIN)/python benchmarks/speed/judge.py
	$(BIN)/python benchmarks/speed/scoring.py
	$(BIN)/python benchmarks/speed/tournament.py

schema: $(VENV)/.base
	$(BIN)/python -m fcconan.build.schema > builders/recipe.schema.json

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/.base

$(TOOLS)/.label-studio:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile 'label-studio>=1.23,<2'
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS) demo-dataset demo-report demo-ratings.csv build dist .pytest_cache .mypy_cache .ruff_cache
