.PHONY: demo test frozen golden oracle slow check bench bench-beside picture reproduction soak soak-baseline

SECONDS ?= 3600
SEED ?= 0
ORACLE ?= build/oracle

demo:
	unrelu demo

test:
	pytest

frozen:
	pytest src/unrelu/_old tests/_old

slow:
	pytest -m slow tests tests/_old

# Same, better, worse, changed, slower than 6936f05, instance by instance.
golden:
	python -m tests.golden

# 6936f05 itself in an environment of its own: `python -m tests.golden.oracle NAME` answers an instance by it.
oracle:
	rm -rf $(ORACLE) build/oracle-source && mkdir -p build/oracle-source
	git archive 6936f05 | tar x -C build/oracle-source
	python3 -m venv $(ORACLE)
	$(ORACLE)/bin/pip wheel -q --no-deps -w build/oracle-source build/oracle-source
	$(ORACLE)/bin/pip install -q "$$(ls build/oracle-source/unrelu-*.whl)[pandas,excel,parquet,structures,zarr,dask,sdp]"

check:
	ruff check .
	ruff format --check .
	lint-imports
	mypy

bench:
	python benchmarks/beside.py
	python benchmarks/peers.py
	python benchmarks/real.py
	python benchmarks/tables.py
	python benchmarks/distances.py large peers noise

# Beside an older version: make bench-beside OTHER=path/to/python, of an environment with its wheel, or a src folder.
bench-beside:
	python benchmarks/beside.py --beside $(OTHER)

picture:
	unrelu demo -o build/demo && cp build/demo/completed.png docs/images/completed.png
	python examples/real_data.py -o docs/images

# The full run that is kept in docs/reproduction; what is there already is not run again. Hours.
reproduction:
	unrelu reproduce all -o docs/reproduction

soak:
	python -m soak --seconds $(SECONDS) --seed $(SEED)

# Facts of the version that is installed, for later versions to be compared with. Hours.
soak-baseline:
	-for seed in 0 1 2 3; do python -m soak --count 566 --seed $$seed --journal build/soak/facts-$$seed.jsonl; \
		OPENBLAS_CORETYPE=Haswell python -m soak --count 566 --seed $$seed --journal build/soak/other-$$seed.jsonl; done
	python -m soak baseline build/soak/facts-[0-3].jsonl build/soak/other-[0-3].jsonl
