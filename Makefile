# GNU make 3.81 or newer. `make help` lists the targets.

# Given on the command line; empty here, so that a stray variable of the environment is not taken.
ROBOT =
LOG =
VALIDATE =
OUT =
ARGS =

PYTHONS = $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3)
IDENT = .venv/bin/ident
PIP = .venv/bin/python -m pip -qq --disable-pip-version-check --no-input install
# One thread for each test worker: two workers on two cores would otherwise fight over them.
ONE_THREAD = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1
PYTEST = $(ONE_THREAD) .venv/bin/python -m pytest
COMPILE = .venv/bin/uv pip compile --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock" pyproject.toml

.PHONY: help install plan identify validate excite export notebooks readme-figure sample-logs \
	trajectories test lint check bench study lock clean need-ROBOT need-LOG
.DEFAULT_GOAL = help

help: ## this list
	@echo "make TARGET [ROBOT=ur5] [LOG='a.parquet b.parquet'] [VALIDATE='c*.parquet'] [OUT=folder] [ARGS='--option …']"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Each target sets up .venv when needed; PYTHON=… chooses the interpreter that it is made with."

install: .venv/.dev ## set up .venv with everything that development needs

identify: need-ROBOT need-LOG .venv/.runtime ## identify ROBOT from LOG, score on VALIDATE, write OUT
	@set --; for log in $(VALIDATE); do set -- "$$@" --validate "$$log"; done; \
	$(IDENT) identify "$(ROBOT)" $(LOG) "$$@" $(if $(OUT),-o "$(OUT)") $(ARGS)

validate: need-ROBOT need-LOG .venv/.runtime ## score an identified model (ROBOT=run folder) on LOG
	@$(IDENT) validate "$(ROBOT)" $(LOG) $(ARGS)

plan: need-ROBOT .venv/.runtime ## write a campaign for ROBOT to play and log, into OUT
	@$(IDENT) plan "$(ROBOT)" $(if $(OUT),-o "$(OUT)") $(ARGS)

excite: need-ROBOT .venv/.runtime ## design an excitation trajectory for ROBOT, write OUT
	@$(IDENT) excite "$(ROBOT)" $(if $(OUT),-o "$(OUT)") $(ARGS)

export: need-ROBOT .venv/.runtime ## export an identified model (ROBOT=run folder) to OUT
	@$(IDENT) export "$(ROBOT)" $(if $(OUT),-o "$(OUT)") $(ARGS)

notebooks: .venv/.dev ## execute the notebooks, each into an .ipynb beside it
	@.venv/bin/jupytext --quiet --to ipynb --set-kernel python3 notebooks/*.py
	@.venv/bin/jupyter-execute --inplace notebooks/*.ipynb

readme-figure: need-LOG .venv/.runtime ## draw README's figure from the KUKA LWR logs in folder LOG
	@.venv/bin/python notebooks/readme/kuka_lwr.py $(LOG)

# The planar arm hangs on a wall; the frame of the PUMA 560 is at its shoulder.
trajectories: .venv/.dev ## design the shipped trajectories again, one by one (half an hour)
	@for robot in $$(ls data/robots | grep -v README); do \
	  case $$robot in planar2r|puma560) floor= ;; *) floor="--floor 0" ;; esac; \
	  for name in excitation validation; do \
	    seed=$$([ $$name = excitation ] || echo "--seed 1"); \
	    $(ONE_THREAD) $(IDENT) excite $$robot $$floor $$seed --name $$name --format none \
	      -o trajectories/$$robot $(ARGS) || exit 1; \
	  done; \
	done

study: .venv/.dev ## what designed trajectories are worth, and other statistics
	@$(PYTEST) -m study -s $(ARGS)

sample-logs: .venv/.dev ## simulate the sample logs in data/logs again
	@$(IDENT) simulate-samples $(ARGS)

test: .venv/.dev ## run the tests
	@$(PYTEST) -n 2 $(ARGS)

lint: .venv/.dev ## check style, format and types
	@status=0; for check in "ruff check" "ruff format --check" mypy; do \
	  .venv/bin/$$check || status=1; \
	done; exit $$status

check: lint test ## all that a change must pass: lint and test

bench: .venv/.dev ## measure speed against peers
	@$(PYTEST) -m bench -s $(ARGS)

lock: .venv/.dev ## pin the dependencies again (ARGS=--upgrade for newer releases)
	@$(COMPILE) --extra mujoco --group dev --output-file requirements-dev.lock $(ARGS)
	@$(COMPILE) --group build --constraint requirements-dev.lock --output-file requirements.lock

clean: ## remove .venv, builds and caches; runs/ stays
	@rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find ident tests notebooks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

need-ROBOT need-LOG: need-%:
	@$(if $($*),:,echo "$* is not given; make help shows how" >&2; exit 2)

# A stamp is the last thing that its recipe makes: an interrupted set-up starts again.

.venv/.created:
	@found=; python=; \
	for candidate in $(PYTHONS); do \
	  version=$$("$$candidate" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3]); sys.exit(sys.version_info < (3, 11))' 2>/dev/null) \
	    && python=$$candidate && break; \
	  found="$$found$${version:+ $$candidate $$version}"; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "ident needs Python 3.11 or newer, found$${found:- none}; install one or name it: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$python has no venv module; install it (Debian, Ubuntu: apt install python3-venv) or name another: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	"$$python" -m venv --clear .venv && touch $@

.venv/.runtime: .venv/.created pyproject.toml requirements.lock
	@echo "Setting up .venv ..." >&2
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: .venv/.runtime requirements-dev.lock
	@echo "Setting up .venv for development ..." >&2
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@
