# make demo: from nothing to a measured report.  make test: from nothing to every test run, but for
# those of the exporter, which need torch: make test-export.
PRESET ?= release
BUILD := build/$(PRESET)
CTEST_ARGS ?=

.PHONY: build demo test test-export test-nsys bench format lint clean
.DEFAULT_GOAL := build

build:
	@scripts/setup.sh build
	@$(MAKE) --no-print-directory compile

# The set-up must have run; sub-makes come here after theirs.
.PHONY: compile
compile:
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache) >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD)

demo: build
	@scripts/demo.sh $(BUILD)/bin

test:
	@scripts/setup.sh test
	@scripts/setup.sh clip || true
	@scripts/setup.sh detectors || true
	@$(MAKE) --no-print-directory compile
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j2 -LE 'export|nsys' $(CTEST_ARGS)

test-export:
	@scripts/setup.sh test
	@scripts/setup.sh clip
	@$(MAKE) --no-print-directory compile
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L export $(CTEST_ARGS)

# Needs Nsight Systems (Debian: nsight-systems of non-free); without it the test says it is skipped.
test-nsys:
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory compile
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L nsys $(CTEST_ARGS)

bench: build
	@scripts/setup.sh test
	@scripts/setup.sh clip
	@bench/run.sh $(BUILD)/bin

format:
	@scripts/sources.sh | xargs clang-format -i

lint: compile
	@scripts/lint.sh $(BUILD)

clean:
	@rm -rf build/release build/dev build/asan build/tsan
