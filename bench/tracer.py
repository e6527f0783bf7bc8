#!/usr/bin/env python3
"""What sgtrace costs: ns of a hook beyond GStreamer's own dispatch, and fps and CPU of 100 paced small streams and of
two decoded ones.
    bench/tracer.py BIN_DIR [--rounds N] [--streams N] [--seconds S]
The machine should do nothing else meanwhile. Exit code 1: a cost is over its limit."""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

MOST_NS_A_HOOK = 60
MOST_FPS_LOST = 0.02
STAGES = 20
CLIP = pathlib.Path(__file__).resolve().parent.parent / "build" / "clips" / "vtest.mp4"
SMALL = "video/x-raw,format=I420,width=64,height=64,framerate=30/1"


def launch(pipeline, env):
    """Wall and CPU seconds of one gst-launch."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(["gst-launch-1.0", "-q", *pipeline.split()], env=env, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.trace = pathlib.Path(folder) / "bench.sgtrace"
        lib = pathlib.Path(options.bin).resolve().parent / "lib"
        self.env = dict(os.environ, GST_REGISTRY=str(pathlib.Path(folder) / "registry.bin"), SGTRACE_FILE=str(self.trace),
                        GST_PLUGIN_PATH=f"{lib / 'gstreamer-1.0'}:{lib / 'test-plugins'}")
        self.env.pop("GST_TRACERS", None)

    def run(self, pipeline, tracer):
        return launch(pipeline, dict(self.env, GST_TRACERS=tracer) if tracer else self.env)

    def hook(self):
        """Median of the rounds' CPU costs of a hook, in ns: of the dispatch alone, and beyond it."""
        stages = " ! ".join(["identity silent=true"] * STAGES)
        buffers = 60000
        pipeline = f"fakesrc num-buffers={buffers} silent=true ! {stages} ! fakesink silent=true"
        hooks = buffers * (STAGES + 1) * 2
        cost = {name: [] for name in ("", "sgnull", "sgtrace(allocations=false)", "sgtrace")}
        for _ in range(self.options.rounds):
            for name, costs in cost.items():
                costs.append(self.run(pipeline, name)[1])
        bare, null, plain, whole = (statistics.median(costs) * 1e9 / hooks for costs in cost.values())
        print(f"hook: {null - bare:.0f} ns GStreamer's dispatch, sgtrace {plain - null:.0f} ns on top "
              f"({whole - null:.0f} ns with allocations counted)")
        return plain - null, whole - null

    def streams(self):
        """Share of fps that is lost once the streams run: the start is taken off by a shorter run."""
        walls = {"": [], "sgtrace": []}
        starts = {"": [], "sgtrace": []}
        cpus = {"": [], "sgtrace": []}
        for _ in range(self.options.rounds):
            for name in walls:
                short, _ = self.run(self.pipeline(1), name)
                whole, cpu = self.run(self.pipeline(1 + self.options.seconds), name)
                walls[name].append(whole - short)
                starts[name].append(short - 1)
                cpus[name].append(cpu)
        fps = {name: self.options.streams * 30 * self.options.seconds / statistics.median(values)
               for name, values in walls.items()}
        start, cpu = ({name: statistics.median(values) for name, values in table.items()} for table in (starts, cpus))
        lost = 1 - fps["sgtrace"] / fps[""]
        print(f"{self.options.streams} streams paced at 30 fps: {fps['']:.1f} fps, traced {fps['sgtrace']:.1f} "
              f"({100 * lost:+.2f} % lost); CPU {cpu['']:.2f} s, traced {cpu['sgtrace']:.2f} s; "
              f"start {start['']:.2f} s, traced {start['sgtrace']:.2f} s; trace {self.trace.stat().st_size / 2**20:.1f} MiB")
        return lost

    def decoded(self):
        """Share of fps lost where decoding fills the cores: CPU seconds of the same frames, runs in turns, a long one
        less a short one, so that the start is not counted. None without the clip."""
        if not CLIP.exists():
            return None
        branch = "filesrc location={} ! qtdemux ! h264parse ! avdec_h264 ! identity eos-after={} ! fakesink sync=false"
        ratios = []
        for _ in range(self.options.rounds):
            used = {}
            for name in ("", "sgtrace"):
                short, whole = (self.run(" ".join([branch.format(CLIP, frames)] * 2), name)[1] for frames in (20, 780))
                used[name] = whole - short
            ratios.append(used["sgtrace"] / used[""])
        lost = 1 - 1 / statistics.median(ratios)
        print(f"2 decoded streams: {100 * lost:+.2f} % lost (median of {len(ratios)} rounds, "
              f"{100 * (1 - 1 / min(ratios)):+.2f} to {100 * (1 - 1 / max(ratios)):+.2f})")
        return lost

    def pipeline(self, seconds):
        branch = (f"videotestsrc is-live=true num-buffers={seconds * 30} ! {SMALL} ! queue ! "
                  "fakesink sync=false")
        return " ".join([branch] * self.options.streams)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        bench.run("fakesrc num-buffers=1 ! fakesink", "")
        plain, whole = bench.hook()
        losses = [bench.streams(), bench.decoded()]
    lost = max(loss for loss in losses if loss is not None)
    return 1 if whole > MOST_NS_A_HOOK or lost > MOST_FPS_LOST else 0


if __name__ == "__main__":
    sys.exit(main())
