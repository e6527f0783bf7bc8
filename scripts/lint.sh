#!/usr/bin/env bash
# clang-format and clang-tidy over every C++ file; fails on any finding.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
scripts/sources.sh | xargs clang-format --dry-run --Werror
scripts/sources.sh | grep '\.cc$' | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$build"
