# `make help` lists the targets. Everything is installed into .venv and built inside this folder.

# The first interpreter that is new enough; choose another with `make PYTHON=/path/to/python demo`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PYTEST_ARGS ?= -n auto --dist worksteal

# Bytecode is kept, also where the environment says otherwise: each process would compile all sources anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
STAMPS := .venv/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := src paper tests benchmarks examples docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-engines lint check faults planted fuzz oldest versions one-version bench quality paper newcomer docs format clean distclean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(STAMPS)/report  ## install, select features of a dataset and write a page about it to build/
	@$(BIN)/python examples/demo.py

test: $(STAMPS)/test $(STAMPS)/browser  ## install what the tests need, then run them
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-slow: $(STAMPS)/test $(STAMPS)/browser  ## the tests that take long
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m slow

test-engines: $(STAMPS)/test $(STAMPS)/engines  ## tests of DuckDB, Delta, Iceberg and Spark, which are installed for it
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m engines

lint: $(STAMPS)/lint $(STAMPS)/test  ## format, lint, types
	$(BIN)/ruff format --check $(wildcard $(SOURCES))
	$(BIN)/ruff check $(wildcard $(SOURCES))
	$(BIN)/mypy

check: lint test  ## format, lint, types, tests: what must pass before a change lands

# What is run on other versions: what depends most on libraries. The fuzzer asks all kernels for all they can do.
QUICK_TESTS ?= $(addprefix tests/,test_package.py test_signatures.py test_results.py test_selectors.py data/test_reading.py \
	data/test_table.py data/test_sparse.py search/test_greedy.py cli/test_select.py cli/test_files.py cli/test_odd_inputs.py \
	cli/test_commands.py plotting report/test_report.py fuzz)
# Old libraries warn of things that are new to them, and each version has its own compiled kernels.
define quick_tests
@test -x $(1)/bin/python || $(2) -m venv $(1)
@$(1)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade "pip>=25.1"
@$(1)/bin/python tests/lower_bounds.py > $(1)/bounds.txt
@$(1)/bin/python -m pip --disable-pip-version-check --quiet install --editable ".[all]" --group test $(3)
@$(1)/bin/python -m pip --disable-pip-version-check list | grep -i -E "^(numpy|scipy|numba|scikit-learn|typer|click) "
@NUMBA_CACHE_DIR=$(CURDIR)/$(1)/kernels $(1)/bin/python -m pytest $(PYTEST_ARGS) \
	-W ignore::DeprecationWarning -W ignore::FutureWarning $(QUICK_TESTS)
endef

OLDEST_PYTHON ?= $(firstword $(shell command -v python3.11) $(wildcard $(HOME)/.pyenv/versions/3.11.*/bin/python))
oldest:  ## quick tests on Python 3.11 with every dependency at its lower bound
	@test -n "$(OLDEST_PYTHON)" || { echo "there is no Python 3.11; name one: make OLDEST_PYTHON=/path oldest"; exit 1; }
	$(call quick_tests,build/oldest,$(OLDEST_PYTHON),--constraint build/oldest/bounds.txt)

versions:  ## quick tests on every newer Python that is found
	@for version in 3.12 3.13 3.14; do \
		for python in "$$(command -v python$$version)" "$(HOME)"/.pyenv/versions/$$version.*/bin/python; do \
			"$$python" -c "" 2>/dev/null || continue; \
			echo "Python $$version: $$python"; \
			$(MAKE) --no-print-directory one-version VERSION=$$version VERSION_PYTHON="$$python" || exit 1; \
			continue 2; \
		done; echo "Python $$version: not found"; \
	done

one-version:
	$(call quick_tests,build/python-$(VERSION),$(VERSION_PYTHON))

SECONDS ?= 600
SEED ?= 0
fuzz: $(STAMPS)/test  ## random tables against an independent oracle, for SECONDS=600; FUZZ_ARGS="--tables 50000 --jobs 2"
	@PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED) $(FUZZ_ARGS)

faults: $(STAMPS)/test  ## signals at random moments: COUNT interrupts, half as many kills
	@$(BIN)/python tests/faults/trials.py --count $(or $(COUNT),40)

planted: $(STAMPS)/test $(STAMPS)/browser  ## plant faults in copies of the tree, and see which tests notice; long
	@$(BIN)/python tests/planted_faults.py $(PLANTED_ARGS)

bench: $(STAMPS)/package  ## time the library beside its peers and print a table
	@$(BIN)/python -m benchmarks

quality: $(STAMPS)/quality  ## compare the accuracy that selectors lead to; hours, resumable, set UNIREL_DATA for the paper's datasets
	@$(BIN)/python -m benchmarks.quality $(QUALITY_ARGS)

PAPER_ARGS ?= all --preset small
paper: $(STAMPS)/quality  ## compute the tables of the paper again; set UNIREL_DATA, PAPER_ARGS="accuracy_ksg --preset full --journal runs.jsonl"
	@$(BIN)/python -m paper $(PAPER_ARGS)

newcomer:  ## from a clone of the last commit to the first page in a browser, timed
	@$(PYTHON) tests/newcomer.py

docs: $(STAMPS)/docs  ## build the documentation into docs/_build/html; a warning is an error
	@MPLBACKEND=agg MPLCONFIGDIR=$(CURDIR)/docs/_build/matplotlib \
		$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(STAMPS)/lint  ## format the code and mend what the linter can
	$(BIN)/ruff check --fix-only $(wildcard $(SOURCES))
	$(BIN)/ruff format $(wildcard $(SOURCES))

clean:  ## delete builds and caches
	@rm -rf docs/_build docs/auto_examples docs/generated build dist
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src paper tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean  ## delete the virtual environment as well
	@rm -rf .venv

# One stamp per thing installed, so that a second run installs nothing.
$(STAMPS)/venv:
	@test -n "$(PYTHON)" || { echo "unirel needs Python 3.11 or newer; name one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
		v < (3, 11) and sys.exit("unirel needs Python 3.11 or newer; $(PYTHON) is %d.%d" % v[:2])'
	@echo "Making .venv"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --upgrade "pip>=25.1"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/package: $(STAMPS)/venv pyproject.toml
	@echo "Installing unirel into .venv"
	@$(PIP) install --editable .
	@touch $@

$(STAMPS)/report: $(STAMPS)/package
	@echo "Installing what a report needs into .venv"
	@$(PIP) install --editable ".[report]"
	@touch $@

# Tests of the report drive a browser. As root, in a container, it is installed; elsewhere that is for you to decide.
$(STAMPS)/browser: | $(STAMPS)/venv
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "Installing Chromium" \
			&& apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 300 \
			apt-get -qq install -y --no-install-recommends chromium >/dev/null; } \
		|| echo "There is no Chromium: tests that need a browser will be skipped."
	@touch $@

$(STAMPS)/test $(STAMPS)/engines $(STAMPS)/lint $(STAMPS)/docs $(STAMPS)/quality: $(STAMPS)/%: $(STAMPS)/package
	@echo "Installing what '$*' needs into .venv"
	@$(PIP) install --group $*
	@touch $@
