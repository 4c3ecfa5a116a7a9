# `make run` answers for a directory, `make test` proves it, `make check` guards the style. Each sets up what it needs.

SHELL := /bin/sh
.DEFAULT_GOAL := run
.NOTPARALLEL:
.PHONY: run unit test repeats prove mutants hostile cuts calls fuzz endure faults lab goldens check fix bench lock pictures wheels clean

# The directory that `make run` looks at: `make run DIR=/mnt/scratch`. Only the default is made where it is missing:
# a mistyped one would be measured on whatever disk it lands.
DEFAULT_DIR := build/quick-dir
DIR ?= $(DEFAULT_DIR)

BIN := .venv/bin
READY := .venv/ready
PACKAGES := .venv/packages
# Folders are in the list too: they change when a file goes away.
ENGINE := $(shell find engine/src) engine/Cargo.toml engine/pyproject.toml Cargo.toml Cargo.lock
UV := $(BIN)/uv
# As in bootstrap, which says why.
export UV_SYSTEM_CERTS := 1
export UV_PYTHON_DOWNLOADS := never
export MATURIN_NO_INSTALL_RUST := 1
# With it, each start of `assay` compiles its 250 modules anew: 0.5 s of CPU time.
unexport PYTHONDONTWRITEBYTECODE

$(PACKAGES): bootstrap requirements.lock
	./bootstrap packages

$(READY): $(PACKAGES) pyproject.toml $(ENGINE)
	./bootstrap

run: $(READY)
	@mkdir -p "$(DEFAULT_DIR)"
	$(BIN)/assay quick "$(DIR)"

# What needs no device, no root and no other program, and does not take long: for every edit. Each reader gets 100 changed
# inputs here, and 500 in `make test`.
unit: export ASSAY_FUZZ ?= 100
unit: $(READY)
	@cargo test --locked --quiet --lib -- --skip in_64_mib --skip steps::ceilings & engine=$$!; failed=0; \
	$(BIN)/pytest -q -n logical --dist loadfile -m "not long" tests/unit || failed=1; wait $$engine && exit $$failed

# All tests: cargo's, then most of pytest's in parallel, then those that need a quiet machine (tests/suite). Ends, red, after
# MOST_S seconds where that is given.
# The release build of the engine keeps one CPU busy for two minutes: cargo's tests are compiled beside it.
test:
	@cargo test --locked --no-run --quiet & compiling=$$!; $(MAKE) --no-print-directory $(READY) && wait $$compiling
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m suite $(if $(MOST_S),--most-s $(MOST_S))

# Every proof at its full count, for docs/proof.md: before a release, and after a change of what a step covers. It goes on where
# it was stopped. `STEPS="lab cuts"` runs these steps again, `STEPS=--list` lists all with their state.
PROVE := cd tests && PYTHONPATH=.. ../$(BIN)/python -m suite.prove
prove: $(READY)
	$(PROVE) $(STEPS)

# Which small changes of the code that computes results does no test notice? ASSAY_MUTANTS: how many are tried; 0: all.
mutants: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m suite.mutation

# Another user attacks what root measures, or what a campaign is kept in and writes to, for MINUTES in each way: needs root.
MINUTES ?= 10
hostile: $(READY)
	ASSAY_HOSTILE_S=$$(( $(MINUTES) * 60 )) $(BIN)/pytest -rP -n 4 --dist loadgroup -o faulthandler_timeout=0 \
		tests/e2e/test_second_users.py tests/e2e/test_campaign_attacks.py -k nothing_done_outside

# Cuts the power at every flush while runs are kept, and 200 times in between, on each file system: needs root.
cuts: $(READY)
	$(PROVE) --no-record cuts

# Fails every system call of a short run that touches its data or its record, with each error that the call can return.
calls: $(READY)
	$(PROVE) --no-record calls

# Ever other changed inputs for every reader, and for the whole program (as root, which runs it as nobody), for MINUTES:
# stops at the first that is not taken or refused in words.
fuzz: MINUTES = 60
fuzz: $(READY)
	@end=$$(( $$(date +%s) + $(MINUTES) * 60 )); seed=$$(date +%s); \
	while [ "$$(date +%s)" -lt "$$end" ]; do \
	    seed=$$(( seed + 1 )); echo "seed $$seed"; export ASSAY_FUZZ_SEED=$$seed ASSAY_FUZZ=50000; \
	    cargo test --locked --quiet --release --test fuzz && $(BIN)/pytest -q tests/unit/test_fuzz.py && \
	    ASSAY_FUZZ_PROGRAMS=500 $(BIN)/pytest -q tests/e2e/test_fuzzed_programs.py || exit 1; \
	done

# A run of MINUTES whose memory is watched, and a set of ten million files, which takes 4 GiB of disk and root.
endure: MINUTES = 120
endure: $(READY)
	ASSAY_ENDURE_S=$$(( $(MINUTES) * 60 )) ASSAY_FILES=20000000 $(BIN)/pytest -s -o faulthandler_timeout=0 \
	    tests/e2e/test_endurance.py tests/e2e/test_scale.py

# What becomes of a run when something fails: provokes every row of docs/reliability.md and writes the rows anew, as root.
faults: $(READY)
	ASSAY_FAULTS=all $(BIN)/pytest --update-goldens tests/e2e/test_faults.py

# How often is what Assay says of a planted cause right? Tries each so often, with all its parameters, and writes the table of
# docs/method.md: some minutes for each time, as root, on a machine that has nothing else to do.
ASSAY_LAB ?= 3
lab: $(READY)
	cd tests && PYTHONPATH=.. ASSAY_LAB=$(ASSAY_LAB) ../$(BIN)/python -m e2e.planted

# Quick runs in a row on each file system, on a machine that does nothing else: do trusted numbers repeat? Needs root.
repeats: $(READY)
	$(PROVE) --no-record repeats

# Writes every document that a test compares with anew, for the difference to be read and committed.
goldens: $(READY)
	$(BIN)/pytest --update-goldens

# Without the engine, whose release build takes minutes.
check: $(PACKAGES)
	cargo fmt --all --check
	cargo clippy --locked --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fix: $(PACKAGES)
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# What an operation costs beside a bare loop, fio and elbencho ($ELBENCHO, or on PATH): writes docs/performance.md.
bench: $(READY)
	cargo build --release --locked --example bare
	$(BIN)/python -m bench.engine_cost

# Names, versions and hashes only: an index address in the lock would bind every user to one machine's mirror.
lock: $(READY)
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-header --no-annotate \
	    --no-emit-index-url --no-emit-find-links --no-emit-package assay-engine \
	    --extra report --extra cluster --group dev --output-file requirements.lock pyproject.toml
	@! grep -nE '://|^-' requirements.lock

pictures: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m e2e.pictures "$(abspath $(DIR))"

wheels: $(READY)
	rm -rf dist
	$(BIN)/maturin build --quiet --release --locked --manifest-path engine/Cargo.toml --out dist
	$(UV) build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist .
	@ls -l dist/*.whl | awk '{ printf "%8.2f MiB  %s\n", $$5 / 1048576, $$9 }'

clean:
	rm -rf .venv .tools build dist target
