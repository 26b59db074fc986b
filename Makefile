# Everything that a person or a machine does with this tree. `make` alone lists it.
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_TIME ?= 60
PYTHON := .venv/bin/python
IN_TREE := eval "$$(tools/env.sh)" &&

.PHONY: help build setup-build setup-test setup-fuzz native python env demo test faults bench compare scale tsan asan lint fuzz fuzz-keep format clean

help:
	@echo 'make demo     build, then a short demonstration from Python and from Lua'
	@echo 'make test     everything that can be checked; ends with "N passed, N failed, N skipped"'
	@echo 'make faults   servers that die, hang and lie: the programs of tests/faults/postgres with full counts (hours)'
	@echo 'make build    the C library, the Lua modules, and .venv with the Python package'
	@echo 'make env      shell lines that make these findable: eval "$$(make env)"'
	@echo 'make bench    measures checks from C, Python and Lua'
	@echo 'make compare  licet beside SpiceDB and others, in one run (QUICK=1: two minutes; BENCH_TIME, BENCH_WARMUP)'
	@echo 'make scale    how times and memory grow, up to 10 million relationships (QUICK=1)'
	@echo 'make tsan     the C tests under the thread sanitizer'
	@echo 'make asan     the C, Python and Lua tests under the address and undefined-behaviour sanitizers'
	@echo 'make lint     formatting, warnings of several tools'
	@echo 'make fuzz     every fuzzer for FUZZ_TIME seconds (60), or those of FUZZ="cel_text ..."'
	@echo 'make fuzz-keep   keeps what they have found as tests'
	@echo 'make format   formats the C and Python sources'
	@echo 'make clean    removes build/ and .venv'

setup-build:
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

setup-fuzz:
	@tools/setup.sh fuzz

build: setup-build
	@$(MAKE) native python

native:
	@echo '==> Building the C library and the Lua modules' >&2
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)

python: build/python.stamp

PYTHON_INPUTS := setup.py pyproject.toml README.md cmake/python.map tools/requirements.txt \
    $(shell find core bindings/python python -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.py' -o -name '*.pyi' -o -name py.typed \) 2>/dev/null)

build/python.stamp: $(PYTHON_INPUTS) .venv/.requirements
	@echo '==> Building and installing the Python package into .venv' >&2
	@LICET_WERROR=1 $(PYTHON) -m pip --disable-pip-version-check install -q --no-build-isolation --no-deps \
	    --force-reinstall .
	@mkdir -p build && touch $@

env:
	@tools/env.sh

demo: build
	@$(IN_TREE) licet demo && lua5.4 examples/demo.lua

test: setup-test
	@$(PYTHON) tools/run_tests.py

faults: setup-test build
	@$(PYTHON) tests/faults/postgres/all_faults.py --full

tsan asan lint: setup-test
	@$(PYTHON) tools/run_tests.py $@

fuzz: setup-fuzz
	@$(PYTHON) tools/run_fuzz.py --seconds $(FUZZ_TIME) --jobs $(JOBS) $(FUZZ)

fuzz-keep: setup-fuzz
	@$(PYTHON) tools/run_fuzz.py --keep $(FUZZ)

bench: build
	@echo '==> Building the benchmarks' >&2
	@cmake --build --preset release -j $(JOBS) --target bench
	@$(IN_TREE) tools/run_benches.sh

compare: setup-build
	@python3 bench/compare $(if $(QUICK),--quick) --json build/compare.json --svg build/compare.svg

scale: setup-build
	@python3 bench/compare/prepare.py
	@.venv-bench/bin/python bench/scale $(if $(QUICK),--quick) --json build/scale.json --charts build/scale

format: setup-test
	@find core bindings tests bench examples \( -name '*.[ch]' -o -name '*.cc' \) ! -path core/include/licet.h ! -name '*_table.h' \
	    -exec .venv/bin/clang-format -i {} +
	@.venv/bin/ruff format -q . && .venv/bin/ruff check -q --fix .

clean:
	rm -rf build .venv dist python/licet.egg-info
