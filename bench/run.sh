#!/usr/bin/env bash
# Prints streamgauge's speed as ratios, measured in turns in one run. The machine should do nothing
# else meanwhile. Exit code 1: a ratio is below its limit.
#   bench/run.sh BIN_DIR [--rounds N] [--seconds S] [--warmup S] [--precision fp16|fp32]
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: bench/run.sh BIN_DIR [--rounds N] [--seconds S]" >&2; exit 2; }
folder=$(cd "$(dirname "$0")" && pwd)
exec "$folder/../build/.venv_tests/bin/python" "$folder/compare.py" "$@"
