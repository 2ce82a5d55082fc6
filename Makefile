# From a bare clone: `make app` opens the app and compiles the kernels beside it, `make test` runs the tests in WORKERS processes, `make bench` measures this
# machine, `make examples` measures all shipped example results anew (hours; stop it and start it again as you like).
PORT ?= 8501
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

.PHONY: app test bench examples lint format clean

app: .venv/app.stamp
	@if $(BIN)/python -c 'import sys; from db.settings import setting; sys.exit(bool(setting("MIRROR_DB")))'; then $(BIN)/python -m bench_engine ingest --examples; fi
	@$(BIN)/python -c 'import socket, sys; s = socket.socket(); sys.exit(s.connect_ex(("localhost", $(PORT))) == 0 and "Port $(PORT) is in use: Mirror may be open there already; else choose another, as in: make app PORT=8502")'
	$(BIN)/python -m mirror app --port $(PORT)

test: .venv/dev.stamp
	$(BIN)/python -m bench_engine build
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

bench: .venv/app.stamp
	@$(BIN)/python -m bench_engine build || true
	$(BIN)/python -m bench_engine run quick
	@$(BIN)/python -m mirror ask "average lookup latency by method and batch size"

examples: .venv/app.stamp
	@$(BIN)/python -m bench_engine build || true
	$(BIN)/python -m bench_engine examples

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vulture
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'csrc/*')

format: .venv/dev.stamp
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files 'csrc/*')

clean:
	rm -rf .venv build

.venv/app.stamp: requirements.txt pyproject.toml setup.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mirror needs Python 3.11 or newer: name one, as in: make app PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

.venv/dev.stamp: .venv/app.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
