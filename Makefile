# Every target sets up .venv by itself. `make PYTHON=/path/to/python` chooses the interpreter.

BIN := .venv/bin
COMPLETE := .venv/.complete
PROGRAM := .venv/.program
PYRIGHT := .venv/.pyright
# More workers than cores: half of what the tests take is waiting for processes, links and terminals. One that has done
# its part takes over from the others.
PYTEST_ARGS ?= -n 4 --dist worksteal
export PYTHON
# The suite starts hundreds of processes, and each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types check-tests coverage mutants soak wheel bench bench-guests bench-peers guests-oldest guests-newest \
	guests-upgrade docs screenshots pages clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

$(COMPLETE): requirements.lock pyproject.toml .ci/venv
	@.ci/venv

$(PROGRAM): requirements.lock pyproject.toml .ci/venv
	@.ci/venv program

$(PYRIGHT): requirements-pyright.lock $(COMPLETE)
	@uv pip install --quiet --python $(BIN)/python -r $< 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

demo: $(PROGRAM) ## the main job, offline, over this directory
	@$(BIN)/orbiter-console demo || [ $$? -eq 3 ] # 3: it was left while a decision waits, which is not an error

test: lint ## everything that must hold; mypy, which uses one core, runs beside the tests
	@$(MAKE) --no-print-directory -j2 types check-tests

check-tests: $(COMPLETE) $(PYRIGHT) ## the test suite alone; the few that fail run once more, and are named
	@command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || \
		echo "no sshd: tests of remote operation are skipped (Debian: apt-get install openssh-server)" >&2
	@$(BIN)/python -m compileall -q orbiter runtime console screens themes # once, and not in each worker at the same time
	$(BIN)/python -m tests.rerun -q $(PYTEST_ARGS)

coverage: $(COMPLETE) ## the test suite with coverage of all processes; the report is in htmlcov
	$(BIN)/python -m pytest -q $(PYTEST_ARGS) --cov --cov-report=html --cov-report=term:skip-covered

mutants: $(COMPLETE) ## mutation tests of permission matching and the table of options; prints what no test noticed
	$(BIN)/python -m tests.function_mutants $(FUNCTION_MUTANTS_ARGS)
	$(BIN)/python -m tests.option_mutants $(OPTION_MUTANTS_ARGS)

wheel: $(COMPLETE) ## the wheel with each extra, installed into empty environments; needs a package index
	SOAK=1 $(BIN)/python -m pytest -q tests/test_project.py -k "wheel or packaged or extra"

soak: $(COMPLETE) ## what takes too long for the suite: many runs, many histories; new ones each time
	SOAK=1 $(BIN)/python -m pytest -q tests/soak tests/runtime/chaos tests/runtime/link/transports/test_sshd.py tests/test_tutorial.py -n 2 --timeout 7200 $(SOAK_ARGS)

lint: $(COMPLETE) ## ruff, who may import whom, the workflow of CI
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/ci.yml

types: $(COMPLETE) ## mypy, strict, over code and tests
	$(BIN)/python -m mypy

bench: $(COMPLETE) ## prints ratios
	@$(BIN)/python -m benchmarks

bench-guests: ## the benchmark of guests beside DBOS and LangGraph's SQLite saver, in an environment of its own
	@.ci/guests bench

bench-peers: ## a journaled step beside LangGraph with its SQLite saver, in an environment of its own
	@.ci/guests peers

guests-oldest: ## tests of guests with the oldest version of each framework
	@.ci/guests oldest

guests-newest: ## tests of guests with the newest version of each framework, and deepagents
	@.ci/guests newest

guests-upgrade: ## takes runs of guests that wait for a person from the oldest to the newest version of each framework, and back
	@.ci/guests upgrade

docs: $(COMPLETE) ## the manual as a site, in site/; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

screenshots: $(COMPLETE) ## renders the pictures of the screens again
	@$(BIN)/python -m tests.screenshots

pages: $(COMPLETE) ## writes the pages that are made from the code: keys, commands, map of the source
	@$(BIN)/python -m tests.pages

clean: ## removes what the other targets made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache htmlcov site .coverage mutants mutants.log
