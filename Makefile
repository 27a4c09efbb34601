# Everything runs in .venv, which these targets make; they need Python >= 3.11 and a package index.
PYTHON ?= python3
BIN := .venv/bin
STAMPS := .venv/.stamps

.PHONY: demo test test-browser lint types imports pytest oldest hooks docs bench-detector bench-labels bench-speed bench-tables bench-tables-real bench-cells bench-models figures fuzz fuzz-tables reproduce clean
.DEFAULT_GOAL := test

$(STAMPS)/venv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	mkdir -p $(STAMPS) && touch $@

# One stamp per set of extras; an edited pyproject.toml reinstalls it.
$(STAMPS)/%: pyproject.toml | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

demo: $(STAMPS)/cli,plots
	$(BIN)/eosparse demo --picture demo.png

test: lint types imports pytest

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMPS)/dev
	$(BIN)/mypy

imports: $(STAMPS)/dev
	$(BIN)/lint-imports

# BLAS keeps to one thread, for pytest runs two processes. `make pytest COVERAGE=` measures no coverage.
COVERAGE ?= --cov=eosparse --cov-report=term:skip-covered
pytest: export OMP_NUM_THREADS = 1
pytest: export OPENBLAS_NUM_THREADS = 1
pytest: $(STAMPS)/dev
	$(BIN)/python -m pytest -n 2 $(COVERAGE)

# The tests with the oldest version of each dependency that pyproject.toml allows. The digits printed on the pages are
# those of the newest versions.
OLDEST := .venv-oldest
$(OLDEST)/.stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --editable '.[test]'
	touch $@

oldest: export OMP_NUM_THREADS = 1
oldest: export OPENBLAS_NUM_THREADS = 1
oldest: $(OLDEST)/.stamp
	$(OLDEST)/bin/python -m pytest -n 2 --deselect tests/test_docs.py::test_its_code_prints_what_it_shows

# All hooks of .pre-commit-config.yaml, on all files.
hooks: $(STAMPS)/dev
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

# The site; a warning is an error.
docs: $(STAMPS)/docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# Chromium comes from Debian; elsewhere install it first.
test-browser: $(STAMPS)/browser
	command -v chromium >/dev/null || (apt-get update && apt-get install -y --no-install-recommends chromium)
	$(BIN)/python -m pytest tests/browser

bench-detector: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.detector

bench-labels: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.labels

bench-speed: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.speed

bench-tables: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.tables

# Real tables and planted mistakes, in the folder EOSPARSE_DATA; half an hour on one core.
bench-tables-real: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.real_tables

bench-cells: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.cells

bench-models: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.models

# Tables and numbers of the pages, from the CSV files; benchmarks do it at their end.
figures: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.pages

# Parts of real tables, in the folder EOSPARSE_DATA: a line for every broken promise.
FITS ?= 10000
SEED ?= 0
fuzz-tables: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.fuzz --fits $(FITS) --seed $(SEED)

# Damaged files of every format, for ten minutes: a line for every traceback, hang or silent change.
SECONDS ?= 600
fuzz: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.fuzz.hostile --seconds $(SECONDS) --seed $(SEED)

# The quick mode; make reproduce MODE=--full takes hours.
MODE ?= --quick
reproduce: $(STAMPS)/bench
	$(BIN)/eosparse reproduce $(MODE)

clean:
	rm -rf .venv .venv-oldest build dist docs/_build docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
