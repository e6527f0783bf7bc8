#!/usr/bin/env bash
# The C++ files of the project, one a line.
cd "$(dirname "$0")/.." && git ls-files --cached --others --exclude-standard 'src/*.cc' 'src/*.h' 'gst/*.cc' 'gst/*.h' 'tests/*.cc' 'bench/*.cc'
