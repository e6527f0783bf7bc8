"""Planted truth: elements that know how long they worked and slept, and what the trace says of them."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

import nsys_exports
from support import BIN, PLUGINS, STREAMGAUGE, Case, run, short_clip

TEST_PLUGINS = BIN.parent / "lib" / "test-plugins"
SMALL = "video/x-raw,format=I420,width=64,height=64,framerate=30/1"


class TraceCase(Case):
    def environment(self, trace, tracers="sgtrace"):
        return {"GST_PLUGIN_PATH": f"{PLUGINS}:{TEST_PLUGINS}", "GST_REGISTRY": str(BIN.parent / "trace-registry.bin"),
                "GST_TRACERS": tracers, "SGTRACE_FILE": str(trace)}

    def launch(self, pipeline, **more):
        """Runs a pipeline under the tracer; gives what the trace says and what the elements said."""
        trace = self.folder / "run.sgtrace"
        env = self.environment(trace)
        env.update(more)
        result = run("gst-launch-1.0", "-q", *pipeline.split(), env=env, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        planted = {m[1]: {"calls": int(m[2]), "wall_ns": int(m[3]), "cpu_ns": int(m[4])} for m in re.finditer(
            r"planted (\S+) calls=(\d+) wall_ns=(\d+) cpu_ns=(\d+)", result.stdout)}
        self.log = result.stderr
        return self.read(trace), planted

    def read(self, trace):
        result = run(STREAMGAUGE, "trace", trace, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = json.loads(result.stdout)
        said["by_name"] = {e["path"].split("/")[-1]: e for e in said["elements"]}
        return said

    def assert_first(self, said, name):
        order = [e["path"].split("/")[-1] for e in said["elements"]]
        self.assertEqual(order[0], name, order)

    def assert_near(self, value, truth, share=0.03):
        self.assertAlmostEqual(value / truth, 1, delta=share, msg=f"{value} against {truth}")


class PlantedTruth(TraceCase):
    def test_sleeping_is_waiting_in_the_element_that_sleeps(self):
        said, planted = self.launch(f"videotestsrc num-buffers=200 ! {SMALL} ! identity ! "
                                    "sgplantedwork name=w sleep-us=3000 ! fakesink")
        self.assert_first(said, "w")
        element = said["by_name"]["w"]
        self.assertEqual(element["calls"], planted["w"]["calls"])
        self.assert_near(element["call_ns"], planted["w"]["wall_ns"])
        self.assertGreater(element["wait_ns"], 0.9 * element["call_ns"])

    def test_gstreamers_own_sleeping_element(self):
        said, _ = self.launch(f"videotestsrc num-buffers=100 ! {SMALL} ! identity name=w sleep-time=3000 ! fakesink")
        self.assert_first(said, "w")
        self.assertGreaterEqual(said["by_name"]["w"]["call_ns"], 100 * 3e6)
        self.assertLess(said["by_name"]["w"]["work_ns"], 30e6)

    def test_working_is_work_in_the_element_that_works(self):
        said, planted = self.launch(f"videotestsrc num-buffers=300 ! {SMALL} ! sgplantedwork name=w busy-us=2000 ! "
                                    "sgplantedwork name=half busy-us=1000 ! fakesink")
        self.assert_first(said, "w")
        for name in ("w", "half"):
            self.assert_near(said["by_name"][name]["work_ns"], planted[name]["cpu_ns"])
            self.assert_near(said["by_name"][name]["call_ns"], planted[name]["wall_ns"])

    def test_a_slow_sink_comes_before_the_queue_that_it_fills(self):
        said, planted = self.launch(f"videotestsrc num-buffers=150 ! {SMALL} ! queue name=q max-size-buffers=5 ! "
                                    "sgplantedsink name=s sleep-us=3000")
        self.assert_first(said, "s")
        self.assert_near(said["by_name"]["s"]["call_ns"], planted["s"]["wall_ns"])
        self.assertTrue(said["by_name"]["q"]["waits_for_others"])
        level = next(q for q in said["queues"] if q["element"].endswith("/q"))
        self.assertGreaterEqual(level["mean_buffers"], 3)

    def test_a_starved_queue_is_empty_and_not_to_blame(self):
        said, planted = self.launch(f"videotestsrc num-buffers=150 ! {SMALL} ! sgplantedwork name=w busy-us=500 "
                                    "sleep-us=2500 ! queue name=q ! fakesink")
        self.assert_first(said, "w")
        self.assert_near(said["by_name"]["w"]["call_ns"], planted["w"]["wall_ns"])
        level = next(q for q in said["queues"] if q["element"].endswith("/q"))
        self.assertGreater(level["empty_share"], 0.5)
        self.assertGreater(said["by_name"]["q"]["loop_ns"], 0.8 * said["duration_ns"])

    def test_a_muxer_that_waits_for_one_source_is_not_to_blame(self):
        def source(pad, more):
            return f"videotestsrc num-buffers=100 ! {SMALL} ! {more} mux.sink_{pad}"
        for mux in ("sgmux name=mux batch-size=2 width=64 height=64 sync-inputs=false", "compositor name=mux"):
            said, planted = self.launch(f"{mux} ! fakesink {source(0, '')} "
                                        f"{source(1, 'sgplantedwork name=w sleep-us=5000 !')}")
            self.assert_first(said, "w")
            self.assert_near(said["by_name"]["w"]["call_ns"], planted["w"]["wall_ns"])
            self.assertTrue(said["by_name"]["mux"]["waits_for_others"], mux)

    def test_a_source_that_is_paced_waits_in_its_own_loop(self):
        said, _ = self.launch(f"videotestsrc name=v is-live=true num-buffers=30 ! {SMALL} ! fakesink sync=false")
        self.assert_first(said, "v")
        self.assertGreater(said["by_name"]["v"]["loop_ns"], 0.8 * 29 / 30 * 1e9)
        self.assertLess(said["by_name"]["v"]["work_ns"], 0.2e9)

    def test_decoder_threads_belong_to_the_decoder_within_decodebin(self):
        source = f"filesrc location={short_clip()} ! decodebin ! queue ! fakesink"
        said, _ = self.launch(f"{source} {source}")
        decoders = [e for e in said["elements"] if e["factory"] == "avdec_h264"]
        self.assertEqual(len(decoders), 2)
        for decoder in decoders:
            self.assertGreater(decoder["helper_threads"], 0)
        owned = sum(e["helper_cpu_ns"] for e in decoders)
        self.assertGreater(owned, 0.7 * said["process_cpu_ns"])
        self.assertEqual(sum(e["helper_cpu_ns"] for e in said["elements"]), owned)

    def test_decoder_threads_belong_to_the_decoder(self):
        said, _ = self.launch(f"filesrc location={short_clip()} ! qtdemux ! h264parse ! avdec_h264 name=d ! fakesink")
        self.assert_first(said, "d")
        decoder = said["by_name"]["d"]
        self.assertGreater(decoder["helper_threads"], 0)
        owned = sum(e["work_ns"] + e["helper_cpu_ns"] for e in said["elements"])
        self.assertGreater(owned, 0.9 * said["process_cpu_ns"])
        self.assertLess(owned, 1.05 * said["process_cpu_ns"])


class Run(TraceCase):
    def test_a_traced_run_names_its_slowest_element(self):
        out = self.folder / "run"
        result = run(STREAMGAUGE, "run", f"videotestsrc ! {SMALL} ! queue ! identity name=slow sleep-time=3000 ! "
                     "fakesink name=tap sync=false", "--trace", "--duration", "3", "--starts", "1", "--no-progress",
                     "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"  slow: \d+\.\d % of the time")
        notes = json.loads((out / "result.json").read_text())["notes"]
        self.assertTrue(notes[0].startswith("part01_peak.sgtrace: slow: "), notes)
        self.assertTrue((out / "part01_peak.sgtrace").exists())


class Frames(TraceCase):
    def test_latency_is_what_gstreamers_own_tracer_says(self):
        trace = self.folder / "run.sgtrace"
        said, _ = self.launch(f"videotestsrc num-buffers=100 ! {SMALL} ! queue max-size-buffers=3 ! "
                              "identity sleep-time=3000 ! fakesink",
                              GST_TRACERS="latency(flags=pipeline);sgtrace", GST_DEBUG="GST_TRACER:7")
        own = sorted(int(t) / 1e6 for t in re.findall(r"\blatency,.*?time=\(guint64\)(\d+)", self.log))
        self.assertTrue(trace.exists())
        self.assertGreaterEqual(len(own), 95)
        latency = said["latency"][0]
        self.assertEqual(latency["frames"], 100)
        self.assert_near(latency["p50_ms"], own[len(own) // 2], 0.05)

    def test_frames_are_followed_through_mux_and_demux(self):
        sources = " ".join(f"videotestsrc num-buffers=50 ! {SMALL} ! identity name=i{i} sleep-time=2000 ! mux.sink_{i}"
                           for i in range(2))
        said, _ = self.launch(f"sgmux name=mux batch-size=2 width=64 height=64 ! queue ! sgdemux name=dm {sources} "
                              "dm.src_0 ! queue ! fakesink name=a dm.src_1 ! queue ! sgplantedsink name=b sleep-us=1000")
        for sink in said["latency"]:
            self.assertEqual(sink["frames"], 50, sink["sink"])
            self.assertEqual(sink["unfollowed"], 0)
            names = {step["element"].split("/")[-1] for step in sink["middle_frame"]["steps"]}
            source = "i0" if sink["sink"].endswith("/a") else "i1"
            self.assertIn(source, names)
            self.assertIn("mux", names)
            self.assertNotIn("i1" if source == "i0" else "i0", names)
        self.assertEqual(len(said["latency"]), 2)

    def test_leaky_queues_say_what_they_dropped(self):
        said, planted = self.launch(f"videotestsrc num-buffers=300 ! {SMALL} ! queue name=q leaky=downstream "
                                    "max-size-buffers=3 ! sgplantedsink name=s sleep-us=2000")
        level = next(q for q in said["queues"] if q["element"].endswith("/q"))
        self.assertGreater(level["dropped"], 0)
        self.assertAlmostEqual(level["dropped"], 300 - planted["s"]["calls"], delta=4)


class Robustness(TraceCase):
    def test_a_killed_process_leaves_its_trace(self):
        trace = self.folder / "killed.sgtrace"
        env = dict(os.environ, **self.environment(trace))
        process = subprocess.Popen(["gst-launch-1.0", "-q", "videotestsrc", "is-live=true", "!", "queue", "!", "fakesink"],
                                   env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 20
        calls = 0
        while time.monotonic() < deadline and calls < 30:
            time.sleep(0.2)
            if trace.exists():  # the file of a living process can be read too
                result = run(STREAMGAUGE, "trace", trace, "--json")
                if result.returncode == 0:
                    calls = sum(e["calls"] for e in json.loads(result.stdout)["elements"])
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertGreaterEqual(calls, 30)
        self.assertGreaterEqual(sum(e["calls"] for e in self.read(trace)["elements"]), calls)

    def test_a_trace_that_cannot_be_written_leaves_the_pipeline_alone(self):
        result = run("gst-launch-1.0", "-q", "videotestsrc", "num-buffers=3", "!", "fakesink",
                     env=self.environment(self.folder / "none" / "a.sgtrace"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sgtrace: ", result.stderr)

    def test_what_is_no_trace_is_said_in_one_line(self):
        text = self.folder / "a.txt"
        text.write_text("no trace\n")
        self.assert_one_line(run(STREAMGAUGE, "trace", text), 2, "a.txt")
        self.assert_one_line(run(STREAMGAUGE, "trace", self.folder / "nowhere"), 2, "nowhere")
        self.assert_one_line(run(STREAMGAUGE, "trace", self.folder), 2, str(self.folder))

    def test_timeline_and_flame_graph(self):
        self.launch(f"videotestsrc num-buffers=20 ! {SMALL} ! queue ! fakesink")
        timeline, folded = self.folder / "t.json", self.folder / "t.folded"
        result = run(STREAMGAUGE, "trace", self.folder / "run.sgtrace", "--perfetto", timeline, "--folded", folded)
        self.assertEqual(result.returncode, 0, result.stderr)
        events = json.loads(timeline.read_text())["traceEvents"]
        self.assertGreaterEqual(sum(e["ph"] == "X" and e["name"] == "fakesink0" for e in events), 20)
        for line in folded.read_text().splitlines():
            self.assertRegex(line, r"^\S.*;.* \d+$")


class Nsys(Case):
    def tables(self, path):
        result = run(STREAMGAUGE, "trace", path, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def stats(self, text):
        path = self.folder / "stats.csv"
        path.write_text(text)
        return self.tables(path)

    def test_each_layout_gives_the_same_sums(self):
        for layout in ("2019", "2022", "2024"):
            path = self.folder / f"{layout}.sqlite"
            nsys_exports.make(path, layout)
            said = self.tables(path)
            self.assertEqual([(k["name"], k["count"], k["total_ns"], k["min_ns"], k["max_ns"]) for k in said["kernels"]],
                             [("gemm<float>(int, int)", 2, 3500, 500, 3000), ("resize", 1, 700, 700, 700)], layout)
            self.assertEqual([(c["name"], c["count"], c["total_ns"], c["bytes"]) for c in said["copies"]],
                             [("Host-to-Device", 2, 800, 12288), ("Device-to-Host", 1, 10, 16)])
            self.assertEqual([(a["name"], a["total_ns"]) for a in said["api"]],
                             [("cudaStreamSynchronize", 4000), ("cudaLaunchKernel", 30)])
            domain = "" if layout == "2019" else "pipeline0"
            self.assertEqual([(r.get("domain", ""), r["name"], r["count"], r["total_ns"]) for r in said["range_families"]],
                             [(domain, "sink", 1, 3600), (domain, "queue_Frame=N", 2, 250)])
            # 100–900, 1000–4700, 5000–5500, 6000–6010
            self.assertEqual(said["gpu_busy_ns"], 800 + 3700 + 500 + 10)

    def test_what_is_not_there_is_said_and_not_zero(self):
        nsys_exports.make(self.folder / "a.sqlite", "2022", cuda=False)
        said = self.tables(self.folder / "a.sqlite")
        self.assertIsNone(said["gpu_busy_ns"])
        self.assertTrue(any("no CUDA in the trace" in line for line in said["absent"]), said["absent"])
        nsys_exports.make(self.folder / "b.sqlite", "2024", kernels=False, ranges=None,
                          diagnostics=["The user running has insufficient privileges: ERR_NVGPUCTRPERM"])
        absent = "\n".join(self.tables(self.folder / "b.sqlite")["absent"])
        for words in ("table is empty", "no NVTX", "no rights"):
            self.assertIn(words, absent)
        nsys_exports.make(self.folder / "c.sqlite", "2022", ranges=False)
        self.assertIn("NVTX table is empty", "\n".join(self.tables(self.folder / "c.sqlite")["absent"]))

    def test_foreign_and_damaged_databases_are_refused(self):
        other = self.folder / "other.sqlite"
        import sqlite3
        with sqlite3.connect(other) as db:
            db.execute("CREATE TABLE a (b)")
        db.close()
        self.assert_one_line(run(STREAMGAUGE, "trace", other), 2, "other.sqlite", "not an export of nsys")
        whole = self.folder / "whole.sqlite"
        nsys_exports.make(whole, "2022")
        data = bytearray(whole.read_bytes())
        data[4096:] = b"\xff" * (len(data) - 4096)
        cut = self.folder / "cut.sqlite"
        cut.write_bytes(data)
        result = run(STREAMGAUGE, "trace", cut)
        self.assertNotIn(result.returncode, (0, 5, -11), result.stderr)

    def test_printed_statistics_of_old_and_new_versions(self):
        old = self.stats('Processing [a.sqlite] with [/x/reports/gpukernsum.py]... \n'
                         'Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n'
                         '80.0,3500,2,1750.0,500,3000,"gemm<float>(int, int)"\n20.0,700,1,700,700,700,resize\n\n'
                         'Processing [a.sqlite] with [/x/reports/gpumemtimesum.py]... \n'
                         'Time(%),Total Time (ns),Operations,Average,Minimum,Maximum,Operation\n'
                         '100.0,800,2,400.0,300,500,[CUDA memcpy HtoD]\n')
        new = self.stats('NOTICE: Existing SQLite export found: a.sqlite\n'
                         'Processing [a.sqlite] with [/x/reports/cuda_gpu_kern_sum.py]... \n'
                         'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name\n'
                         '80.0,3500,2,1750.0,1750.0,500,3000,1.0,1 1 1,1 1 1,"gemm<float>(int, int)"\n'
                         '20.0,700,1,700.0,700.0,700,700,0.0,1 1 1,1 1 1,resize\n\n'
                         'Processing [a.sqlite] with [/x/reports/cuda_gpu_mem_time_sum.py]... \n'
                         'Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation\n'
                         '100.0,800,2,400.0,400.0,300,500,1.0,[CUDA memcpy Host-to-Device]\n')
        for key in ("kernels", "copies"):
            self.assertEqual([(row["name"], row["count"], row["total_ns"]) for row in old[key]],
                             [(row["name"], row["count"], row["total_ns"]) for row in new[key]])
        self.assertEqual(old["kernels"][0]["total_ns"], 3500)
        milliseconds = self.stats("Time (%),Total Time (ms),Num Calls,Name\n100.0,1.5,3,cudaFree\n")
        self.assertEqual(milliseconds["api"][0]["total_ns"], 1500000)

    def test_skipped_and_empty_statistics_are_said(self):
        said = self.stats("SKIPPED: a.sqlite does not contain CUDA kernel data.\n")
        self.assertIn("does not contain CUDA kernel data", said["absent"][0])
        said = self.stats("Processing [a.sqlite] with [cuda_gpu_kern_sum.py]...\nTime (%),Total Time (ns),Instances,Name\n")
        self.assertIn("kernels: the report is empty", said["absent"])

    def recorded(self, refused):
        """trace --nsys with a stand-in that refuses each of the words, and whose report is made beforehand."""
        made = self.folder / "made.sqlite"
        made.unlink(missing_ok=True)
        nsys_exports.make(made, "2022")
        bin = self.folder / "bin"
        bin.mkdir(exist_ok=True)
        nsys = bin / "nsys"
        nsys.write_text(f"""#!/bin/sh
case "$1" in
--version) echo 'NVIDIA Nsight Systems version 2022.4.2.1-df9881f'; exit 0 ;;
export) for word in "$@"; do case "$word" in --output=*) cp '{made}' "${{word#--output=}}" ;; esac; done; exit 0 ;;
esac
echo "$*" >> '{bin}/calls'
for word in {' '.join(refused)}; do
  case "$*" in *"$word"*) echo "unrecognised: $word" >&2; exit 1 ;; esac
done
for word in "$@"; do case "$word" in --output=*) touch "${{word#--output=}}.nsys-rep" ;; esac; done
""")
        nsys.chmod(0o755)
        result = run(STREAMGAUGE, "trace", "--nsys", self.folder / "report", "--", "true", "-x y",
                     env={"PATH": f"{bin}:{os.environ['PATH']}"})
        return result, (bin / "calls").read_text().splitlines()

    def test_recording_asks_for_less_until_there_is_a_report(self):
        result, calls = self.recorded(["osrt"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("gemm<float>", result.stdout)
        self.assertEqual(len(calls), 2)
        self.assertTrue(calls[1].endswith("true -x y"))
        (self.folder / "bin" / "calls").unlink()
        result, calls = self.recorded(["osrt", "memory-usage"])
        self.assertEqual((result.returncode, len(calls)), (0, 3))
        self.assertIn("--trace=cuda,nvtx ", calls[2])

    def test_recording_that_never_works_says_why(self):
        result, calls = self.recorded(["cuda"])
        self.assertEqual((result.returncode, len(calls)), (3, 3))
        self.assertIn("unrecognised: cuda", result.stderr)

    def test_a_stream_without_nsys_names_what_is_missing(self):
        (self.folder / "a.qdstrm").write_bytes(b"QDSTRM")
        result = run(STREAMGAUGE, "trace", self.folder / "a.qdstrm", env={"PATH": "/nowhere"})
        self.assertEqual(result.returncode, 3, result.stderr)


if __name__ == "__main__":
    unittest.main()
