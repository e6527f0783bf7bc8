#!/usr/bin/env bash
# The whole path on the demo model and a real street scene: from an ONNX file to a measured report.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:?usage: scripts/demo.sh FOLDER_OF_THE_PROGRAMS}

extra=()
if scripts/setup.sh clip; then
  clip=build/clips/vtest.mp4
else
  clip=build/clips/synthetic.ogv
  printf 'demo: no real clip, so this one is made with videotestsrc; the report says so\n' >&2
  mkdir -p build/clips
  gst-launch-1.0 -q videotestsrc num-buffers=600 pattern=ball ! \
    video/x-raw,width=768,height=576,framerate=10/1 ! theoraenc quality=48 ! oggmux ! \
    filesink location="$clip.part"
  mv "$clip.part" "$clip"
  extra=(--synthetic-video)
fi
"$bin/streamgauge" import assets/pedestrian-rtdetr --video "$clip" "${extra[@]}"
