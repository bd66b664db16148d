# The one door for developers: `make` or `make help` lists what there is.
# Every target sets up what it needs by itself; once that is done, it costs nothing.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.installed
SERVICES := $(VENV)/.installed-services
S3     := build/services/s3
BENCH  := $(VENV)/.installed-bench
FLINK  := build/flink
# Two processes share the tests, file by file, in our order: the long ones come before the many short ones.
TOGETHER := -n 2 --dist loadfile --no-loadscope-reorder
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-services test-direct chaos soak features lint format bench bench-peers bench-quick api-missing flink-goldens lock clean java

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do printf '  %-14s %s\n' "$$name" "$$text"; done
	@echo "Variables: PYTHON=python3 (for .venv), ARGS='...' (passed on to pytest, the demo or the benchmarks)."

setup: $(READY) java ## create .venv, install the dependencies, make sure there is Java

demo: setup ## watch a stateful event-time job run on Spark (under a minute)
	@$(PY) examples/demo.py $(ARGS)

test: setup ## run all tests that need no outside services
	@$(PY) -m pytest $(TOGETHER) $(ARGS)

test-services: setup $(SERVICES) ## run the tests against real servers (S3, HDFS, YARN, Kafka, PostgreSQL, a browser) and other versions of Spark and Python
	@$(PY) -m pytest tests/services $(ARGS)
	@$(MAKE) test-direct

test-direct: setup ## run features, transcripts, properties and chaos with direct exchange
	@FIRESTEEL_TEST_EXCHANGE=direct $(PY) -m pytest $(TOGETHER) tests/features tests/transcripts tests/properties tests/pyflink tests/chaos tests/cluster/test_killed.py $(ARGS)

chaos: setup ## kill jobs a hundred times and compare what they wrote (KILLS=100, ARGS=--page for docs/reliability.md)
	@$(PY) -m tests.chaos --kills $(or $(KILLS),100) $(ARGS)

soak: setup $(BENCH) ## run two jobs for half an hour under load, see what grows, write it to docs/reliability.md (MINUTES=30)
	@$(PY) -m bench.soak --minutes $(or $(MINUTES),30) --page

features: setup ## run the tests, print which features they prove, write docs/features.md
	@mkdir -p build && rm -f build/features.json
	@status=0; page="--page docs/features.md"; \
	$(PY) -m pytest $(TOGETHER) --features-report=build/features.json $(ARGS) || { status=$$?; page=; }; \
	test ! -f build/features.json || $(PY) scripts/features.py build/features.json $$page; \
	exit $$status

lint: $(READY) ## check style, formatting and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy --strict firesteel examples

format: $(READY) ## format the code and apply safe fixes
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

bench: setup $(BENCH) ## run the benchmarks
	@$(PY) -m bench $(ARGS)

bench-quick: setup ## look for regressions in under two minutes (ARGS=--record keeps what is measured)
	@$(PY) -m bench.guard $(ARGS)

bench-peers: setup $(BENCH) ## run the same work on PyFlink, Bytewax, Pathway and Spark, write the table of docs/performance.md
	@$(PY) -m bench.peers --page $(ARGS)

api-missing: $(READY) ## rewrite the list of PyFlink names that are still missing
	@$(PY) scripts/api_missing.py

flink-goldens: $(FLINK) ## ask Flink itself: rewrite tests/flink_goldens and the table of its options (ten minutes)
	@$(FLINK)/bin/python scripts/flink_options.py
	@$(FLINK)/bin/python scripts/flink_csv_goldens.py
	@$(FLINK)/bin/python scripts/flink_sql_parser_goldens.py
	@$(FLINK)/bin/python scripts/flink_query_goldens.py
	@$(FLINK)/bin/python scripts/flink_changelog_goldens.py
	@$(FLINK)/bin/python scripts/flink_printed_goldens.py
	@$(FLINK)/bin/python scripts/flink_executed_goldens.py
	@$(FLINK)/bin/python scripts/flink_goldens.py
	@PATH=$(CURDIR)/$(FLINK)/bin:$$PATH $(FLINK)/bin/python scripts/flink_sql_goldens.py

lock: ## resolve the dependencies anew and rewrite constraints.txt
	@scripts/lock.sh $(PYTHON)

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@scripts/ensure-java.sh

$(READY): pyproject.toml constraints.txt
	@test -x $(PY) || scripts/ensure-venv.sh $(PYTHON) $(VENV)
	@echo "Installing the dependencies into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(FLINK): bench/peers/requirements/pyflink.txt
	@scripts/ensure-venv.sh $(PYTHON) $@
	@$@/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(BENCH): $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	@touch $@

$(SERVICES): $(READY) tests/services/requirements.txt
	@echo "Installing what the tests against real servers need into $(VENV) and $(S3)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,services]' && \
		scripts/ensure-venv.sh $(PYTHON) $(S3) && \
		$(S3)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/services/requirements.txt || \
		{ echo "They could not be downloaded: pip must reach PyPI, or a mirror of it." >&2; exit 1; }
	@touch $@
