# Two commands are all a newcomer needs: `cargo run --release -- demo` and `cargo test`. These are for developers.

CARGO ?= cargo
WORK := target/interop
FUZZ_SECONDS ?= 60
COMPARE ?= ../shared/bench/compare

.PHONY: lint test interop interop-core bench fuzz schema fmt

lint: ## formatting, clippy without warnings, generated files current
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path tests/fuzz/Cargo.toml
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) run --quiet -- schema --check protocol/schema

fmt:
	$(CARGO) fmt
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml

schema: ## write protocol/schema anew from the types
	$(CARGO) run --quiet -- schema --write protocol/schema

test:
	$(CARGO) test

# Programs written with the published SDKs, direct and through us, in front of the published runtimes. Needs node,
# npm, python3 and go; installs the packages into target/interop. ARGS chooses cells: make interop ARGS='--sdk node-1.0.14'
interop: ## every SDK version on every runtime version
	$(CARGO) build --release
	python3 tests/interop/run.py --daemon target/release/subagentd --work $(WORK) --set full $(ARGS)

interop-core: ## today's SDKs on today's runtimes
	$(CARGO) build --release
	python3 tests/interop/run.py --daemon target/release/subagentd --work $(WORK) --set core $(ARGS)

bench: ## a sub-agent's tool call carried direct, by socat and by us, in one run
	$(CARGO) build --release
	$(COMPARE) target/release/subagentd

# Needs a nightly toolchain's flags, which the stable compiler takes with RUSTC_BOOTSTRAP, and cargo-fuzz.
fuzz: ## each fuzz target for FUZZ_SECONDS
	command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	for target in codec envelope; do \
		RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run --fuzz-dir tests/fuzz $$target --sanitizer none -- -max_total_time=$(FUZZ_SECONDS) -max_len=4096 || exit 1; \
	done
