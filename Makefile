# Everything a newcomer needs: `make demo` shows what the product is for, `make test` checks it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/installed
COMPILE = $(BIN)/uv pip compile pyproject.toml --generate-hashes --no-emit-index-url --no-annotate --no-header \
          --no-strip-extras --python-version 3.11 --quiet
NPM    := tests/npm
# Two more than there are cores: many tests wait for processes.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
PYTEST := $(BIN)/pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Only these files are read for the long tests: to read all of them takes each worker half a minute.
DRILLS = $(shell grep -rlF mark.drill tests --include='test_*.py')
# The tests start hundreds of processes: compiled modules are kept, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup npm gh coverage test lint types layers unit drills crash demo bench lock npm-lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 12

setup: $(STAMP) ## make .venv with the locked dependencies

$(STAMP): requirements/all.lock pyproject.toml
	@command -v git >/dev/null || { echo "git is missing: install it first" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make setup PYTHON=python3.11" >&2; exit 1; }
	@echo "Making $(VENV) with the locked dependencies (about a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/all.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

test: lint ## format, lint, types, layers and the tests (the long ones: make drills)
	@$(MAKE) --no-print-directory -j 2 unit types layers

lint: $(STAMP) ## format and lint (ruff)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP) ## types (mypy, strict on domain, ledger and controller)
	$(BIN)/mypy

layers: $(STAMP) ## who may import whom (import-linter)
	$(BIN)/lint-imports

npm: $(NPM)/node_modules/installed ## GitHub's descriptions and clients by others, for tests/contract and tests/clients (skipped without npm)

# The stamp holds the lock file's checksum: the tests use the packages only while it fits.
$(NPM)/node_modules/installed: $(NPM)/package.json $(NPM)/package-lock.json
	@if ! command -v npm >/dev/null; then \
	  echo "npm is missing: the tests that need its packages are skipped and say so" >&2; \
	elif (cd $(NPM) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then \
	  (cd $(NPM) && sha256sum package-lock.json | cut -d' ' -f1 >node_modules/installed); \
	else \
	  echo "npm could not install $(NPM)/package-lock.json: the tests that need it are skipped and say so" >&2; \
	fi

# Only root may install a Debian package, and only where there is one; elsewhere the tests that need gh say so.
gh: ## GitHub's command line, for tests/clients (skipped where it is not there and apt cannot install it)
	@if command -v gh >/dev/null; then :; \
	elif ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
	  echo "gh is missing: the tests that need it are skipped and say so" >&2; \
	elif ! { apt-get install -y -qq gh || { apt-get update -qq && apt-get install -y -qq gh; }; } >/dev/null 2>&1; then \
	  echo "apt could not install gh: the tests that need it are skipped and say so" >&2; \
	fi

coverage: $(STAMP) npm ## list anew in docs/emulator.md what the emulator serves
	$(BIN)/python -m tests.contract.coverage

unit: $(STAMP) npm gh ## the tests, in parallel
	$(PYTEST) -m "not drill"

drills: $(STAMP) npm ## the long tests: killed processes, calls disturbed, attacks on releases, the demo without its writes
	$(PYTEST) -m drill $(DRILLS)

crash: $(STAMP) ## every external call of every story, disturbed in every way (hours; CRASH=story/kind/n plays one)
	CRASH='$(or $(CRASH),all)' $(BIN)/pytest -q -n auto --dist load tests/controller/test_crash_everywhere.py \
	  tests/delivery/test_landing_crashes.py tests/commands/test_words_crash.py tests/release/test_release_crashes.py \
	  tests/resume/test_resume_crashes.py

# What is kept runs until it is ended, so that only one story is.
STORIES = $(or $(STORY),$(if $(filter 1,$(KEEP)),delivery,delivery resume))
define one_story
	$(BIN)/agent-recovery demo --story $(1) $(if $(SEED),--seed $(SEED)) $(if $(filter 1,$(KEEP)),--keep)

endef

demo: $(STAMP) ## the stories: an agent dies, a fresh one goes on; the App starts one (STORY=resume, SEED=n, KEEP=1)
	$(foreach story,$(STORIES),$(call one_story,$(story)))

bench: $(STAMP) ## print what a recovery, a start-up, a race and the webhook intake cost
	@set -e; for bench in benchmarks/*.py; do echo "== $$bench"; $(BIN)/python $$bench; done

lock: $(STAMP) ## compile the lock files anew from pyproject.toml
	$(COMPILE) --all-extras -o requirements/all.lock
	$(COMPILE) -o requirements/agent.lock
	$(COMPILE) --extra server -o requirements/server.lock
	@echo 'setuptools>=77' | $(subst pyproject.toml,-,$(COMPILE)) -c requirements/all.lock -o requirements/build.lock

# npm writes where each package asks for money into the lock; no address belongs there.
npm-lock: ## compile tests/npm/package-lock.json anew from its package.json
	cd $(NPM) && npm install --package-lock-only --ignore-scripts --loglevel=error
	cd $(NPM) && node -e 'const f = "package-lock.json", lock = JSON.parse(fs.readFileSync(f)); for (const p of Object.values(lock.packages)) delete p.funding; fs.writeFileSync(f, JSON.stringify(lock, null, 2) + "\n")'

clean: ## remove what setup and the tests made
	rm -rf $(VENV) $(NPM)/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info build
