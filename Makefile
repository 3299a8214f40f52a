# Needs Python 3.11 or newer, git and make; the rest is installed into .venv.
# Another interpreter:  PYTHON=python3.12 make train      More flags:  make train ARGS="--seed 3"

PYTHON ?= python3
VENV ?= .venv
ENV_ID ?= PlanarHSA-Reach-v0
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --prefer-binary -q -c constraints.txt -e
REQUIREMENTS := pyproject.toml constraints.txt
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0.2

# one worker a robot of the zoo, which then compiles once,
# and none takes the place of one that crashed: with loadgroup pytest would then wait forever
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --max-worker-restart 0

.PHONY: help train train-seeds test test-slow test-all contract lint format bench clean
.DELETE_ON_ERROR:

help:
	@echo "make train        install what training needs (no torch) and train on $(ENV_ID)"
	@echo "make train-seeds  train five seeds, evaluate each on 1000 fresh episodes"
	@echo "make test         the default tests          make test-slow  the slow ones"
	@echo "make test-all     both, and the gpu ones where there is a GPU"
	@echo "make contract     the contract of every environment id (long)"
	@echo "make lint         ruff and pyright           make format     let ruff rewrite the files"
	@echo "make bench        speed and compile times    make clean      delete caches and build products"

train: $(VENV)/.installed-train
	$(BIN)/python -m agents.train --env $(ENV_ID) $(ARGS)

train-seeds: $(VENV)/.installed-train
	$(BIN)/python -m agents.train --env $(ENV_ID) --seeds 5 --eval-episodes 1000 $(ARGS)

test: $(VENV)/.installed-test
	$(PYTEST) -m "not slow and not gpu" $(ARGS)

test-slow: $(VENV)/.installed-test
	$(PYTEST) -m "slow and not gpu" $(ARGS)

contract: $(VENV)/.installed-test
	$(PYTEST) tests/test_env_contract.py tests/test_suite.py $(ARGS)

test-all: $(VENV)/.installed-test
	$(PYTEST) $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-train
	$(BIN)/python -m benchmarks.run $(ARGS)

clean:
	rm -rf build dist .cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path "./$(VENV)/*" -prune -exec rm -rf {} +

# pip is the last thing that venv writes, so a half-made environment is made again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "This project needs Python 3.11 or newer; %s is %d.%d. Name another: PYTHON=python3.12 make ..." % (sys.executable, v[0], v[1]))'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-train: $(REQUIREMENTS) | $(BIN)/pip
	$(INSTALL) ".[train]"
	@touch $@

$(VENV)/.installed-test: $(REQUIREMENTS) | $(BIN)/pip
	$(INSTALL) ".[test]"
	@touch $@

# pyright resolves the imports of every optional package, hence `test` too.
$(VENV)/.installed-dev: $(REQUIREMENTS) | $(BIN)/pip
	$(INSTALL) ".[test,dev]"
	@touch $@
