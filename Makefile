# The day-one commands. `make help` says what there is.
PYTHON ?= python3
# What pip is asked for before everything else. On Linux the plain name brings CUDA along;
# for another build give it and its index:
#   make env TORCH="torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"
TORCH ?= torch==2.13.0
CORES ?= all
# Which tests; pytest's default leaves out what is marked full.
MARK ?= not full and not cluster
# Where pytest looks, first things first.
TESTS ?= tests
# As many as there are cores; 8 at most, for each holds PyTorch and a compiler in memory.
TESTERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n > 8 ? 8 : n)))
COUNT ?= 40
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made

# The figure of the default study that README shows.
IMAGES := two_by_two

.PHONY: help env run test test-full test-cluster mutants archive bench lint findings images reference
.DEFAULT_GOAL := help

help:
	@echo "make env        make the environment in $(VENV) (once; TORCH=... chooses the build of PyTorch)"
	@echo "make run        run the headline of the default study and show its verdicts (CORES=$(CORES))"
	@echo "make test       run the whole test suite (TESTERS=$(TESTERS) processes)"
	@echo "make test-full  run it with what make test leaves out: pairs of parts, further whole studies"
	@echo "make test-cluster  run the quick study on a Slurm of two nodes that it starts on this machine (root; Debian's packages)"
	@echo "make mutants    make COUNT careless edits and print those that no test notices (ROOM=, SINCE=, SEED=, JOBS=)"
	@echo "make archive    bundle the study's code, registrations, results and reports as archive.zip (CONFIG=config/...)"
	@echo "make bench      measure speed and memory on this machine into benchmarks/results (half an hour, quiet)"
	@echo "make lint       check style and workflow"
	@echo "make findings   write docs/findings.md from the results of the default study"
	@echo "make images     copy the figure that README shows from the default study"
	@echo "make reference  write docs/reference.md and the schema of the config, from what the code declares"

env: $(STAMP)
	@:

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is older than 3.11; install Python 3.11 and: make env PYTHON=python3.11"; exit 1; }
	@echo "Making the environment in $(VENV): some minutes and about 2 GB, once."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "1 of 2: PyTorch ($(TORCH))"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	@echo "2 of 2: everything else (pyproject.toml)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[workflow,develop]'
	@touch $@
	@echo "The environment is made."

run: $(STAMP)
	@$(BIN)/python -m orla run headline -- --cores $(CORES)

test: $(STAMP)
	@OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TESTERS) --dist loadfile --no-loadscope-reorder -m "$(MARK)" $(TESTS)

test-full:
	@$(MAKE) --no-print-directory test MARK="not cluster"

test-cluster: $(STAMP)
	@OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -m cluster tests/cluster

mutants: $(STAMP)
	@OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m tests.mutants --count $(COUNT) --jobs $(JOBS) \
		$(if $(ROOM),--room $(ROOM)) $(if $(SINCE),--since $(SINCE)) $(if $(SEED),--seed $(SEED))

archive: $(STAMP)
	@$(BIN)/python -m orla archive archive.zip $(if $(CONFIG),--configfile $(CONFIG))

bench: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[benchmarks]'
	@$(BIN)/python -m benchmarks tables
	@$(BIN)/python -m benchmarks family
	@$(BIN)/python -m benchmarks gradients
	@$(BIN)/python -m benchmarks scaling
	@$(BIN)/python -m benchmarks memory
	@$(BIN)/python -m benchmarks invariance
	@$(BIN)/python -m benchmarks recorded

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/python workflow/lint.py

findings: $(STAMP)
	@$(BIN)/snakemake --cores $(CORES) docs/findings.md

images: $(STAMP)
	@$(BIN)/snakemake --cores $(CORES) $(IMAGES:%=reports/figure_%.png)
	@for name in $(IMAGES); do cp reports/figure_$$name.png docs/images/$$name.png; done

reference: $(STAMP)
	@$(BIN)/python workflow/reference.py > docs/reference.md.partial
	@mv docs/reference.md.partial docs/reference.md
	@$(BIN)/python -m orla schema
