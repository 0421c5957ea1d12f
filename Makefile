# Everything a checkout can do. `make demo` and `make test` need Python >= 3.11 and nothing else.

ARGS =
JOBS ?= 3
UV ?= uv
RUN := .venv/bin

# What the caller's shell has set up for other projects must not leak into .venv.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The first interpreter that runs (a version manager's shim may exist and fail), is new enough and can make
# environments; else the first that is new enough, so that the message can name what it lacks.
NEW := import sys; sys.exit(sys.version_info < (3, 11))
WHOLE := import ensurepip, venv; $(NEW)
PYTHON ?= $(shell for test in '$(WHOLE)' '$(NEW)'; do for python in python3.13 python3.12 python3.11 python3; do \
	env -u PYTHONPATH -u PYTHONHOME $$python -c "$$test" >/dev/null 2>&1 && echo $$python && exit; done; done)

# .venv/ready says where the environment was made. An environment that was moved, whose interpreter has gone or that
# was killed half-made has no ready file that fits, and is made again from nothing.
ifneq ($(shell .venv/bin/python -c '' 2>/dev/null && cat .venv/ready 2>/dev/null),$(CURDIR))
.PHONY: .venv/installed
endif

.PHONY: help .venv demo test check prove bench lock clean
help:
	@echo "make demo    crawl the built-in shop while killing the crawler, and check every row (about a minute)"
	@echo "make test    the quick test suite                     make demo ARGS='--runs 5'"
	@echo "make check   ruff, mypy --strict, import contracts    make test  ARGS='-k relay -x'"
	@echo "make prove   what takes minutes: long outages, a soak under random kills, a long crawl (half an hour)"
	@echo "make bench   CPU per page, against a plain loop"
	@echo "make lock    resolve the dependencies again (needs uv; ARGS=--upgrade for newer releases)"
	@echo "make clean   remove .venv, caches and the demo's folder"
	@echo "make .venv   only set up the environment; PYTHON=... picks the interpreter"

demo: .venv
	@$(RUN)/limpet demo $(ARGS)

test: .venv
	@$(RUN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ARGS)

check: .venv
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports

prove: .venv
	@$(RUN)/python -m pytest -m prove -v -s --durations=0 $(ARGS)

bench: .venv
	@$(RUN)/python bench/cpu.py $(ARGS)

.venv: .venv/ready

.venv/installed: requirements-dev.lock
	@python="$(PYTHON)"; \
	test -n "$$python" || { echo "limpet needs Python >= 3.11, and none is on the PATH; name one: make PYTHON=/path/to/python3"; exit 1; }; \
	"$$python" -c '$(NEW)' || { echo "limpet needs Python >= 3.11, and $$python is not that"; exit 1; }; \
	"$$python" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$$python cannot make environments: install its venv module (Debian and Ubuntu: python3-venv)"; exit 1; }; \
	echo "Setting up .venv with $$("$$python" -V), once; the packages are about 50 MB."; \
	"$$python" -m venv --clear .venv
	@{ $(RUN)/python -m pip install --no-input --require-hashes -r requirements-dev.lock && touch $@; } \
		| sed -n -e 's/^Collecting \([^ ]*\).*/  \1/p' -e 's/^Processing .*\//  /p' -e 's/^Installing collected.*/  unpacking .../p'
	@test -e $@

.venv/ready: .venv/installed pyproject.toml
	@$(RUN)/python -m pip install -q --no-input --no-deps --no-build-isolation -e .
	@echo "$(CURDIR)" > $@

# No index address may end up in a lock file: everyone installs from the index their own pip is set up for.
COMPILE = $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(ARGS) pyproject.toml
lock:
	@command -v $(UV) >/dev/null || { echo "make lock needs uv (pip install uv), or UV=/path/to/uv"; exit 1; }
	$(COMPILE) -o requirements.lock
	$(COMPILE) -c requirements.lock --group dev -o requirements-dev.lock

clean:
	rm -rf .venv build dist limpet-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
