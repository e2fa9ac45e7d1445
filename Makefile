# Everything is made on first use: the environment, the base image, the data set. `make help` lists what there is.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
export DAGSTER_HOME := $(CURDIR)

.PHONY: help setup dataset test test-long test-all lint bench dev clean train-setup train-smoke learn

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@echo "==> environment: .venv (about half a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "Termforge needs Python 3.11, 3.12 or 3.13; say which with make PYTHON=python3.12" >&2; exit 3; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(READY) ## environment, and what the embedded engine needs
	@sh scripts/engine-setup.sh

dataset: setup ## make, prove and publish the 331 tasks under datasets/main
	@$(BIN)/termforge build --recipe main

test: setup lint ## linters, types, import rules and the fast tests, real sandboxes included
	@echo "==> tests"
	@$(BIN)/pytest -m "not slow" --durations=12

test-long: setup ## chaos, faults, attacks, a small model, Harbor, 24 tasks in every engine; `eval "$$(.ci/engines)"` first (about half an hour)
	@$(BIN)/pytest -m "long or slow"

test-all: setup lint ## every test
	@$(BIN)/pytest

lint: $(READY) ## ruff, pyright, import-linter
	@echo "==> linters and types"
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check .
	@$(BIN)/pyright --warnings | tail -1
	@$(BIN)/lint-imports --no-cache | tail -3

bench: setup ## measure: a table, and build/bench.json
	@$(BIN)/python -m tests.bench

train-setup: setup ## an environment for training on a processor (.venv-train, 3.6 GB), and a small model
	@sh scripts/train-setup.sh

train-smoke: train-setup ## a real GRPO run on a processor: three steps, a checkpoint, a resume; what must hold is checked
	@$(BIN)/python -m tests.trainer.smoke

build/ladder/ladder/manifest.json: $(READY) datasets/recipes/ladder.yaml
	@$(BIN)/termforge build --recipe ladder --to build/ladder

learn: train-setup build/ladder/ladder/manifest.json ## a model of 135M parameters learns one-command tasks on a processor (an hour or more; Ctrl-C ends it after a step)
	@$(BIN)/termforge train learn-cpu --data build/ladder/ladder --model build/models/smollm2-135m --to runs/learn \
		$(if $(wildcard runs/learn/state.json),--resume)

dev: setup ## the Dagster UI on http://127.0.0.1:3000
	@$(BIN)/dagster dev --host 127.0.0.1

clean: ## remove environments, caches and run history (not the data set, nor training runs)
	rm -rf .venv .venv-train .dagster build .pytest_cache .ruff_cache .hypothesis
