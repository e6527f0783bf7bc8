"""Times `streamgauge hub get` of a large file on loopback against `curl && sha256sum` to the same disk, in turns.

bench/download.py BIN_DIR [--megabytes N] [--rounds N]. Exit code 1: below 0.9 of curl's speed, or 64 MB of memory and more."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

LEAST_RATIO = 0.9
MOST_MEMORY_MB = 64
REPOSITORY = "bench/large"


def timed(argv, **kwargs):
    start = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **kwargs)
    return time.monotonic() - start


def peak_memory_mb(argv, env):
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("bench: the download failed")
    return usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="sg_bench.", dir="build"))
    model = root / "hub" / REPOSITORY / "model.onnx"
    model.parent.mkdir(parents=True)
    with open(model, "wb") as file:
        for _ in range(args.megabytes):
            file.write(os.urandom(1000000))
    server = subprocess.Popen([sys.executable, "tests/hub_server.py", "--root", str(root / "hub")], stdout=subprocess.PIPE,
                              text=True)
    try:
        url = json.loads(server.stdout.readline())["url"]
        ours, theirs, memory = [], [], 0
        for number in range(args.rounds + 1):
            cache = root / f"cache{number}"
            env = dict(os.environ, HF_ENDPOINT=url, HF_HOME=str(cache))
            get = [str(args.bin_dir / "streamgauge"), "hub", "get", REPOSITORY, "model.onnx", "--no-progress"]
            start = time.monotonic()
            memory = max(memory, peak_memory_mb(get, env))
            mine = time.monotonic() - start
            copy = root / "curl.onnx"
            other = timed(["sh", "-c", f"curl -sSfL -o '{copy}' '{url}/{REPOSITORY}/resolve/main/model.onnx' && sha256sum '{copy}'"])
            subprocess.run(["rm", "-rf", str(cache), str(copy)], check=True)
            if number > 0:  # the first one fills the caches
                ours.append(mine)
                theirs.append(other)
    finally:
        server.terminate()
        server.wait()
        subprocess.run(["rm", "-rf", str(root)], check=True)
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    print(f"hub get: {args.megabytes / statistics.median(ours):.0f} MB/s; curl && sha256sum: "
          f"{args.megabytes / statistics.median(theirs):.0f} MB/s; ratio {ratio:.2f}, wanted {LEAST_RATIO}; "
          f"peak memory {memory:.1f} MB, at most {MOST_MEMORY_MB}")
    return ratio < LEAST_RATIO or memory >= MOST_MEMORY_MB


if __name__ == "__main__":
    sys.exit(main())
