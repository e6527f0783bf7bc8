"""Measuring real pipelines: a fault that is put into one stream must show there and in the verdict, and nowhere else."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from support import MODEL, SHORT, STREAMGAUGE, Case, import_until, run, short_clip

PACE = 10


def source(location, number, extra=""):
    return f"filesrc location={location} ! qtdemux ! h264parse ! avdec_h264 max-threads=1 ! {extra} m.sink_{number}"


def folder_bytes(folder):
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Measure(Case):
    @classmethod
    def setUpClass(cls):
        out = pathlib.Path(tempfile.mkdtemp(prefix="sg_e2e."))
        cls.addClassCleanup(shutil.rmtree, out, ignore_errors=True)
        cls.imported = import_until("[Step 6]", MODEL, "--video", short_clip(), "--out", out,
                                    "--target-fps", 20, "--max-batch", 4, *SHORT)
        cls.model = out / "pedestrian-rtdetr"

    def setUp(self):
        super().setUp()
        self.assertIn("[Step 6] completed", self.imported)
        self.run_folder = self.folder / "run"

    def launch(self, sources):
        config = self.model / "benchmarks/ds/config_infer_ds_pedestrian-rtdetr.txt"
        return (f"sgmux name=m batch-size=4 width=1280 height=720 batched-push-timeout=50000 ! "
                f"sginfer config-file-path={config} batch-size=4 ! fakesink sync=false " + " ".join(sources))

    def measure(self, pipeline, *args, code=0):
        result = run(STREAMGAUGE, "run", pipeline, "--out", self.run_folder, "--no-progress", "--json", *args)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)["result"], result.stderr

    def test_a_stall_shows_in_its_stream_and_not_in_the_others(self):
        raw = self.folder / "stream.h264"
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(short_clip()), "-c", "copy", "-bsf:v",
                        "h264_mp4toannexb", str(raw)], check=True)
        fifo = self.folder / "camera"
        os.mkfifo(fifo)

        def feed():
            data = raw.read_bytes()
            stall_at = len(data) // 4  # of 20 s
            try:
                with open(fifo, "wb", buffering=0) as pipe:
                    pipe.write(data[:stall_at])
                    time.sleep(3)
                    pipe.write(data[stall_at:])
            except BrokenPipeError:
                pass  # the run was over

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        sources = [source(short_clip(), i) for i in (0, 1, 3)]
        sources.append(f"filesrc location={fifo} ! h264parse ! avdec_h264 max-threads=1 ! m.sink_2")
        result, words = self.measure(self.launch(sources), "--pace", PACE, "--duration", 14, code=1)
        feeder.join(timeout=30)
        paced = result["paced"][0]
        self.assertFalse(paced["holds"])
        self.assertEqual(paced["worst_stream"], 2)
        self.assertGreater(paced["each"][2]["latency_p99_ms"]["value"], 1000)
        for other in (0, 1, 3):
            self.assertLess(paced["each"][other]["latency_p99_ms"]["value"], 300, other)
            self.assertLess(paced["each"][other]["late_share"], 0.01, other)
        late = next(r for r in paced["rules"] if r["rule"].startswith("frames later"))
        self.assertFalse(late["holds"])
        self.assertIn("stream 2", late["where"])
        self.assertIn("FAILS", words)

    def test_a_starving_stream_fails_although_the_others_have_enough(self):
        sources = [source(short_clip(), i, "identity sleep-time=150000 !" if i == 1 else "") for i in range(4)]
        result, _ = self.measure(self.launch(sources), "--pace", PACE, "--duration", 10, code=1)
        paced = result["paced"][0]
        self.assertEqual(paced["worst_stream"], 1)
        self.assertLess(paced["each"][1]["fps"], 7)
        self.assertTrue(paced["each"][1]["backlog_grows"])
        self.assertLess(paced["jain_index"], 0.99)
        for other in (0, 2, 3):
            self.assertGreaterEqual(paced["each"][other]["fps"], 9.9, other)

    def test_decoding_is_part_of_the_latency(self):
        plain, _ = self.measure(self.launch([source(short_clip(), 0)]), "--pace", PACE, "--duration", 6)
        self.run_folder = self.folder / "slow"
        slow = source(short_clip(), 0, "identity sleep-time=40000 !")
        delayed, _ = self.measure(self.launch([slow]), "--pace", PACE, "--duration", 6)
        difference = (delayed["paced"][0]["each"][0]["latency_p50_ms"]["value"]
                      - plain["paced"][0]["each"][0]["latency_p50_ms"]["value"])
        # A frame held back in front of the mux only would still come in time: the sleep would be over by then.
        self.assertGreater(difference, 30)
        self.assertLess(difference, 80)

    def test_a_clock_synced_sink_is_named(self):
        result, _ = self.measure("videotestsrc num-buffers=120 ! video/x-raw,width=64,height=64,framerate=30/1 ! "
                                 "fakesink name=slow sync=true", "--starts", 1, "--duration", 30)
        causes = [t["cause"] for t in result["unpaced_peak"]["starts"][0]["taints"]]
        self.assertIn("clock-paced sink", causes)

    def test_the_search_finds_a_capacity_and_report_writes_the_same_bytes(self):
        result, words = self.measure(self.model, "--video", short_clip(), "--capacity", "--pace", 10, "--max-streams", 2,
                                     "--try", 4, "--duration", 6)
        self.assertEqual(result["capacity"], {"streams": 2, "is_search_limit": True})
        self.assertIsNotNone(result["simple_formula"])
        self.assertIsNotNone(result["unpaced_peak"])
        self.assertIn("capacity at 10 fps: at least 2 streams", words)
        self.assertEqual({p["batch"] for p in result["paced"]}, {4})  # never changed with the streams
        before = folder_bytes(self.run_folder)
        for file in ("result.json", "result.csv", "report.md"):
            (self.run_folder / file).unlink()
        shutil.rmtree(self.run_folder / "charts")
        again = run(STREAMGAUGE, "report", self.run_folder)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(folder_bytes(self.run_folder), before)
        explained = run(STREAMGAUGE, "explain", self.run_folder)
        self.assertIn("fps of the worst stream", explained.stdout)
        self.assertIn("_confirm.samples.jsonl", explained.stdout)

    def test_changed_samples_are_refused(self):
        self.measure(self.launch([source(short_clip(), 0)]), "--pace", PACE, "--duration", 4)
        samples = next(self.run_folder.glob("*.samples.jsonl"))
        samples.write_text(samples.read_text().replace(",3]", ",4]", 1) + "\n")
        self.assert_one_line(run(STREAMGAUGE, "report", self.run_folder), 2, str(samples), "is not what was measured")

    def test_bench_measures_every_batch_and_says_what_it_decided(self):
        folders = []
        for name in ("a", "b"):
            folders.append(self.folder / name)
            result = run(STREAMGAUGE, "bench", self.model, "--batches", "1,2", "--seconds", 1, "--max-rounds", 5,
                         "--out", folders[-1], "--no-progress", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
        data = json.loads(result.stdout)
        self.assertEqual([b["batch"] for b in data["result"]["batches"]], [1, 2])
        for batch in data["result"]["batches"]:
            self.assertEqual(len(batch["rounds"]), 5)
            self.assertLess(batch["images_per_s"]["low"], batch["images_per_s"]["high"])
            self.assertLessEqual(batch["latency_ms"]["p50"]["value"], batch["latency_ms"]["p99"]["value"])
        self.assertIn(data["result"]["plateau"]["state"], ("decided", "not reached", "undecided"))
        rows = list(csv.DictReader((folders[1] / "result.csv").read_text().splitlines()))
        self.assertEqual([row["batch"] for row in rows], ["1", "2"])
        self.assertEqual([p.name for p in folders[1].glob("engines*")], [])
        compared = run(STREAMGAUGE, "compare", *folders)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("images/s at batch   1", compared.stdout)
        self.assertNotIn("another ONNX model", compared.stdout)

    def test_what_cannot_be_measured_is_refused_in_one_line(self):
        self.assert_one_line(run(STREAMGAUGE, "run", "no-such-thing", "--out", self.run_folder), 2, "is neither a file")
        self.assert_one_line(run(STREAMGAUGE, "run", self.model, "--out", self.run_folder), 2, "--video")
        self.assert_one_line(run(STREAMGAUGE, "run", "videotestsrc num-buffers=9 ! fakesink", "--pace", 5, "--out",
                                 self.run_folder), 2, "no sgmux")
        self.assert_one_line(run(STREAMGAUGE, "explain", self.folder), 2, "not a run folder")
        self.assert_one_line(run(STREAMGAUGE, "bench", self.folder / "x.onnx"), 2, "does not exist")
        self.assert_one_line(run(STREAMGAUGE, "run", "videotestsrc num-buffers=9 ! tee name=t t. ! queue ! fakesink name=p "
                                 "t. ! queue ! fakesink name=q", "--out", self.folder / "two"), 2, "--tap", "p, q")


if __name__ == "__main__":
    import unittest
    unittest.main(verbosity=2)
