.PHONY: demo test slow check bench picture pages reproduction soak soak-edge soak-real

SECONDS ?= 3600
SEED ?= 0

demo:
	unrelu demo

test:
	pytest

slow:
	pytest -m slow

check:
	ruff check .
	ruff format --check .
	mypy

bench:
	python benchmarks/foundation.py
	python benchmarks/methods.py
	python benchmarks/peers.py
	python benchmarks/error_bars.py

picture:
	unrelu demo -o build/demo && cp build/demo/completed.png docs/images/completed.png
	python examples/real_data.py -o docs/images

soak:
	python -m soak --seconds $(SECONDS) --seed $(SEED)

# Distances at the edge of fixing their points; takes hours.
soak-edge:
	python -m soak --seconds 86400 --count 500 --seed $(SEED) --kind edge-plane --kind edge-chain \
		--kind edge-clusters --kind edge-slab --kind edge-wrong

# Random cuts of real data beside simple filling; takes about an hour.
soak-real:
	cd benchmarks && python soak_real.py --count 200

# What the page prints today, into the page.
pages:
	python tests/pages.py docs/real-data.md

# The full run that is kept in docs/reproduction; what is there already is not run again. Hours.
reproduction:
	unrelu reproduce all -o docs/reproduction
