# `make help` lists the targets. Everything is installed into .venv and built inside this folder.

# The first interpreter that is new enough; choose another with `make PYTHON=/path/to/python demo`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PYTEST_ARGS ?= -n auto

BIN := .venv/bin
STAMPS := .venv/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := src tests benchmarks examples docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check faults bench quality docs format clean-kernels clean distclean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(STAMPS)/report  ## install, select features of a dataset and write a page about it to build/
	@$(BIN)/python examples/demo.py

test: $(STAMPS)/test $(STAMPS)/browser  ## install what the tests need, then run them
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-slow: $(STAMPS)/test $(STAMPS)/browser  ## the tests that take long
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m slow

check: $(STAMPS)/lint $(STAMPS)/test $(STAMPS)/browser  ## format, lint, types, tests: what must pass before a change lands
	$(BIN)/ruff format --check $(wildcard $(SOURCES))
	$(BIN)/ruff check $(wildcard $(SOURCES))
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PYTEST_ARGS)

faults: $(STAMPS)/test  ## signals at random moments: COUNT interrupts, half as many kills
	@$(BIN)/python tests/faults/trials.py --count $(or $(COUNT),40)

bench: $(STAMPS)/package  ## time the library beside its peers and print a table
	@$(BIN)/python -m benchmarks

quality: $(STAMPS)/quality  ## compare the accuracy that selectors lead to; hours, resumable, set UNIREL_DATA for the paper's datasets
	@$(BIN)/python -m benchmarks.quality $(QUALITY_ARGS)

docs: $(STAMPS)/docs  ## build the documentation into docs/_build/html; a warning is an error
	@MPLBACKEND=agg MPLCONFIGDIR=$(CURDIR)/docs/_build/matplotlib \
		$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(STAMPS)/lint  ## format the code and mend what the linter can
	$(BIN)/ruff check --fix-only $(wildcard $(SOURCES))
	$(BIN)/ruff format $(wildcard $(SOURCES))

clean-kernels:  ## delete compiled kernels, needed after a change in a file that another kernel calls
	@find src -name '*.nb[ic]' -delete

clean: clean-kernels  ## delete builds and caches
	@rm -rf docs/_build docs/auto_examples docs/generated build dist
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

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

$(STAMPS)/test $(STAMPS)/lint $(STAMPS)/docs $(STAMPS)/quality: $(STAMPS)/%: $(STAMPS)/package
	@echo "Installing what '$*' needs into .venv"
	@$(PIP) install --group $*
	@touch $@
