# make demo | test | cover | test-long | vectors | lint | bench | media | screenshots. Each makes .venv first; nothing else need be prepared.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Processes that run the tests side by side.
WORKERS ?= 2
RUN_STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test

.PHONY: demo test cover test-long vectors lint bench media screenshots clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(TEST_STAMP): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $(RUN_STAMP) $@

demo: $(RUN_STAMP)
	$(BIN)/swarm demo --dir build

test: $(TEST_STAMP)
	$(BIN)/python -m pytest -m "not long" -n $(WORKERS) --dist worksteal

# The rules' own tests reach every line and branch of the rules.
cover: $(TEST_STAMP)
	$(BIN)/python -m pytest tests/protocols tests/vectors/names tests/vectors/test_track_cases.py tests/vectors/test_decide_cases.py -m "not long" --hypothesis-profile=ci -n $(WORKERS) --dist worksteal --cov=protocols --cov-report=json:build/coverage.json
	$(BIN)/python -m tests.support.coverage_gate build/coverage.json

test-long: $(TEST_STAMP)
	$(BIN)/python -m pytest -m long --timeout 1800

# The rules' vectors on every Python from 3.11 on that is here.
vectors: $(TEST_STAMP)
	$(BIN)/python tests/vectors/everywhere.py build/vectors

lint: $(TEST_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(TEST_STAMP)
	$(BIN)/python bench/start.py
	$(BIN)/python bench/selection.py
	$(BIN)/python bench/negotiation.py
	$(BIN)/python bench/tracker.py
	$(BIN)/python bench/referee.py
	$(BIN)/python bench/audit.py

# The README's pictures and the audit in the tutorial, from one run of the demo; the report's picture needs chromium.
media: $(TEST_STAMP)
	$(BIN)/python docs/media/make.py

# The report on every example, as pages and as pictures under build/; needs Debian's chromium.
screenshots: $(TEST_STAMP)
	$(BIN)/python tests/support/screenshots.py build/screenshots

clean:
	rm -rf $(VENV) build
