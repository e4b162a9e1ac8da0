# make book: the site.  make test: everything CI runs.  Everything else is a part of one of the two.
PYTHON   ?= python3
RENDERER ?= auto
VENV     := .venv
BIN      := $(VENV)/bin
STAMP    := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help book serve test test-fast test-chapters test-cpus reference mutants experiments bench data env lint lock clean

help:  ## what there is to do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

book: env data  ## run every chapter that changed and build the site in _site/
	@$(BIN)/bookbuild build --renderer $(RENDERER)

serve: env data  ## build, show at a local address, rebuild when a file changes
	@$(BIN)/bookbuild serve --renderer $(RENDERER)

test: env data lint  ## everything that CI runs (needs a browser; finds or installs one)
	@$(BIN)/python tests/site/browser.py
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests book index.qmd

test-fast: env data lint  ## the part that takes under 3 minutes: no chapters, no browser
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" tests

test-chapters: env data  ## re-execute every chapter and compare with tests/reference/
	@$(BIN)/python -m pytest book index.qmd

test-cpus: env data  ## check every chapter as other processors compute it; prints a table
	@$(BIN)/bookbuild cpus

reference: env data  ## re-execute, rewrite expected outputs and computed numbers, show the diff
	@$(BIN)/bookbuild reference

mutants: env  ## do the checks of the exercises find every change of their solutions? (minutes)
	@$(BIN)/python -m tests.mutants

experiments: env data  ## run the committed experiments that have changed since
	@$(BIN)/python -m tinygpt.experiments

bench: env data  ## speeds, as ratios measured in one run
	@$(BIN)/python -m tests.bench

lint: env
	@$(BIN)/ruff check --quiet code tests

env: $(STAMP)

# uv, where it is on PATH, is faster and takes the PyTorch that fits the machine, without CUDA
# where there is no GPU. That build has an index of its own; where it is out of reach, and with
# an older uv, pip installs the usual one.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"make: PYTHON={sys.executable} is Python {sys.version.split()[0]}; Python 3.11 or newer is needed (make book PYTHON=/path/to/python3.11)")'
	@echo "Creating the environment in $(VENV) (once; a few minutes with a fresh download of PyTorch)"
	@$(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) -m venv failed; on Debian and Ubuntu install python3-venv"; exit 1; }
	@if ! command -v uv >/dev/null || ! UV_HTTP_RETRIES=1 \
	  uv pip install --python $(BIN)/python --torch-backend=auto -r requirements.lock; then \
	  echo "Installing with pip"; \
	  $(BIN)/python -m pip install --disable-pip-version-check -r requirements.lock; fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

data: env
	@$(BIN)/python -m tinygpt.data

# One NumPy for every Python, and a PyTorch that has a CPU build. The CUDA libraries are left
# to PyTorch itself: named here, they would be installed on machines that do not need them.
lock:  ## choose new versions for requirements.lock (needs uv)
	@printf 'numpy==2.4.6\ntorch==2.13.0\n' | uv pip compile --quiet --universal --python-version 3.11 \
	  --extra book --extra test --no-annotate --no-header --upgrade --constraint /dev/stdin pyproject.toml \
	  -o requirements.lock.new
	@grep -vE '^(nvidia-|cuda-|triton)' requirements.lock.new > requirements.lock.tmp
	@mv requirements.lock.tmp requirements.lock
	@rm requirements.lock.new

clean:  ## remove what was built (not the environment, not the data)
	rm -rf _site .bookcache .jupyter_cache book/.jupyter_cache
