# Every target sets up .venv by itself. `make PYTHON=/path/to/python` chooses the interpreter.

BIN := .venv/bin
COMPLETE := .venv/.complete
# More workers than cores: half of what the tests take is waiting for processes, links and terminals. One that has done
# its part takes over from the others.
PYTEST_ARGS ?= -n 4 --dist worksteal
export PYTHON

.PHONY: demo test lint types check-tests soak bench screenshots pages clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

$(COMPLETE): requirements.lock pyproject.toml .ci/venv
	@.ci/venv

demo: $(COMPLETE) ## the main job, offline, over this directory
	@$(BIN)/orbiter-console demo

test: lint types check-tests ## everything that must hold

check-tests: $(COMPLETE) ## the test suite alone
	@command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || \
		echo "no sshd: tests of remote operation are skipped (Debian: apt-get install openssh-server)" >&2
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

soak: $(COMPLETE) ## what takes too long for the suite: many runs, many histories; new ones each time
	SOAK=1 $(BIN)/python -m pytest -q tests/soak tests/runtime/link/transports/test_sshd.py -n 2 --timeout 7200 $(SOAK_ARGS)

lint: $(COMPLETE) ## ruff, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(COMPLETE) ## mypy, strict, over code and tests
	$(BIN)/python -m mypy

bench: $(COMPLETE) ## prints ratios
	@$(BIN)/python -m benchmarks

screenshots: $(COMPLETE) ## renders the screens anew
	@$(BIN)/python -m tests.screenshots

pages: $(COMPLETE) ## writes the pages that are made from the code: keys, commands, map of the source
	@$(BIN)/python -m tests.pages

clean: ## removes what the other targets made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache htmlcov .coverage
