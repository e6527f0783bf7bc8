"""The whole path: the demo model and a real clip become a measured report."""
import json
import os
import re
import subprocess
import unittest

from support import MODEL, SHORT, STREAMGAUGE, Case, import_model, short_clip, run

SECTIONS = ["Model Configuration", "System Configuration", "Preprocessing", "Engine Build Summary", "OpenVINO",
            "PEAK_GPU_STREAMS Derivation", "Single-Stream Validation", "Benchmark Results", "Comparison",
            "Efficiency Analysis", "Pipeline Timing", "Reference Commands"]
CHARTS = ["chart_trtexec_bs1_vs_bsmax.png", "chart_trtexec_throughput.png", "chart_ds_streams_vs_fps.png",
          "chart_trt_vs_ds.png", "chart_efficiency.png"]


class Import(Case):
    @classmethod
    def setUpClass(cls):
        import pathlib, shutil, tempfile
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="sg_e2e."))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.result = import_model(MODEL, "--video", short_clip(), "--out", cls.shared, *SHORT)
        cls.model = cls.shared / "pedestrian-rtdetr"

    def setUp(self):
        super().setUp()
        self.assertEqual(self.result.returncode, 0, self.result.stdout + self.result.stderr)
        self.data = json.loads((self.model / "reports" / "benchmark_data.json").read_text())
        self.markdown = (self.model / "reports" / "benchmark_report.md").read_text()

    def test_every_step_says_how_long_it_took(self):
        for step in ["1", "2", "3", "4", "5", "6", "7 Run 1", "7 Run 2", "8"]:
            self.assertRegex(self.result.stdout, rf"(?m)^\[Step {re.escape(step)}\] completed in \d+\.\d\ds$")

    def test_folder_is_the_prescribed_one(self):
        max_batch = self.data["max_bs"]
        for folder in ["model", "parser", "config", "scripts", "benchmarks/engines", "benchmarks/b1",
                       f"benchmarks/b{max_batch}", "benchmarks/ds", "reports/charts", "samples/kitti_output"]:
            self.assertTrue((self.model / folder).is_dir(), folder)
            self.assertTrue(any((self.model / folder).iterdir()), f"{folder} is empty")
        name = "pedestrian-rtdetr"
        for file in [f"config/config_infer_primary_{name}.txt", "config/labels.txt", "config/config.json",
                     f"benchmarks/ds/config_infer_ds_{name}.txt", f"benchmarks/engines/{name}_dynamic_b{max_batch}.blob",
                     "parser/nvdsinfer_custombboxparser_pedestrian_rtdetr.cpp", "parser/Makefile",
                     "parser/libnvdsinfer_pedestrian_rtdetr_parser.so", f"samples/{name}_output.ogv",
                     "samples/frame_0001.jpg", "samples/frame_0002.jpg", "samples/frame_0003.jpg",
                     "reports/benchmark_report.md", "reports/benchmark_report.html",
                     f"reports/benchmark_report_{name}.pdf", "reports/benchmark_data.json"]:
            self.assertGreater((self.model / file).stat().st_size, 0, file)
        self.assertFalse((self.model / ".staging").exists())

    def test_config_is_the_one_deepstream_loads(self):
        config = (self.model / "config/config_infer_primary_pedestrian-rtdetr.txt").read_text()
        max_batch = self.data["max_bs"]
        for line in ["network-type=0", "process-mode=1", "gie-unique-id=1", "infer-dims=3;320;320", "cluster-mode=2",
                     "net-scale-factor=0.00392156862745098", "labelfile-path=labels.txt", "batch-size=1",
                     "num-detected-classes=1", "network-mode=2", "nms-iou-threshold=0.7", "pre-cluster-threshold=0.5",
                     "parse-bbox-func-name=NvDsInferParseCustomPedestrianRtdetr",
                     f"model-engine-file=../benchmarks/engines/pedestrian-rtdetr_dynamic_b{max_batch}.engine"]:
            self.assertIn("\n" + line + "\n", config)
        self.assertNotIn("model-type", config)

    def test_report_has_its_sections_in_order(self):
        headings = re.findall(r"(?m)^## (\d+)\. (.*)$", self.markdown)
        self.assertEqual([int(n) for n, _ in headings], list(range(1, 13)))
        for (_, heading), words in zip(headings, SECTIONS):
            self.assertIn(words, heading)
        self.assertNotRegex(self.markdown, r"(?i)\bnan\b|\binf\b|\{\{|TBD|placeholder")

    def test_html_is_self_contained_with_five_charts(self):
        html = (self.model / "reports/benchmark_report.html").read_text()
        self.assertEqual(html.count("data:image/png"), 5)
        self.assertNotRegex(html, r"(?:src|href)=\"(?!data:|#)")
        for chart in CHARTS:
            self.assertTrue((self.model / "reports/charts" / chart).exists(), chart)

    def test_figures_hang_together(self):
        trt, ds = self.data["trtexec"], self.data["deepstream"]
        self.assertAlmostEqual(trt["bsmax"]["imgs_per_sec"], trt["bsmax"]["qps"] * self.data["max_bs"], delta=0.1)
        self.assertEqual(self.data["peak_gpu_streams"], int(trt["bsmax"]["imgs_per_sec"] // 30))
        for key in ("run1", "run2"):
            self.assertAlmostEqual(ds[key]["total_fps"], ds[key]["fps_per_stream"] * ds[key]["streams"], delta=0.1)
            log = self.model / f"benchmarks/ds/ds_s{ds[key]['streams']}_{key}.log"
            self.assertTrue(log.exists(), log)

    def test_report_names_engine_precision_and_hashes(self):
        self.assertIn("OpenVINO", self.markdown)
        used = self.data["report"]["engine"]["precision_used"]
        self.assertIn(used, ("f32", "bf16", "f16"))
        self.assertIn(used, self.markdown)
        import hashlib
        for path in (MODEL / "onnx/model.onnx", short_clip()):
            self.assertIn(hashlib.sha256(path.read_bytes()).hexdigest(), self.markdown.replace("\n", ""))

    def test_half_type_stays_near_f32(self):
        deviation = self.data["report"]["engine"]["deviation"]
        if self.data["report"]["engine"]["precision_used"] == "f32":
            self.skipTest("this CPU has no half type: nothing to compare")
        self.assertEqual(deviation["frames"], 40)
        self.assertGreater(deviation["boxes"], 100)
        # Measured on the demo clip's first 200 frames in bf16; the margin is for other CPUs' rounding.
        self.assertLess(deviation["max_box_px"], 25)
        self.assertLess(deviation["max_score"], 0.15)
        self.assertLess(deviation["unmatched_boxes"], 0.05 * deviation["boxes"])

    def test_report_again_is_the_same_bytes(self):
        reports = self.model / "reports"
        before = {name: (reports / name).read_bytes()
                  for name in ("benchmark_report.md", "benchmark_report.html", "benchmark_data.json")}
        self.assertEqual(run(STREAMGAUGE, "report", self.model).returncode, 0)
        for name, data in before.items():
            self.assertEqual((reports / name).read_bytes(), data, name)

    def test_reference_commands_run_as_pasted(self):
        blocks = re.findall(r"```bash\n(.*?)```", self.markdown, re.S)
        launches = [b for b in blocks if "gst-launch-1.0" in b]
        self.assertGreaterEqual(len(launches), 2)
        env = dict(os.environ, PATH=f"{STREAMGAUGE.parent}:{os.environ['PATH']}")
        makes = [b for b in blocks if b.startswith("make ")]
        for block in launches[-1:] + makes:
            done = subprocess.run(["bash", "-c", block], env=env, capture_output=True, text=True, timeout=200,
                                  cwd=self.folder, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, block + done.stderr)

    def test_second_import_repeats_nothing(self):
        again = import_model(MODEL, "--video", short_clip(), "--out", self.shared, *SHORT, timeout=30)
        self.assertEqual(again.returncode, 0, again.stderr)
        for step in ["4", "5", "6", "7 Run 1", "7 Run 2", "8"]:
            self.assertRegex(again.stdout, rf"\[Step {step}\] completed in .*\(earlier")

    def test_json_goes_to_stdout_alone(self):
        again = import_model(MODEL, "--video", short_clip(), "--out", self.shared, *SHORT, "--json", timeout=30)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(json.loads(again.stdout)["model_name"], "pedestrian-rtdetr")
        self.assertIn("[Step 8]", again.stderr)


class DryRun(Case):
    def test_touches_nothing(self):
        result = import_model(MODEL, "--video", short_clip(), "--out", self.out, "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Step 7", result.stdout)
        self.assertFalse(self.out.exists())


class CommandLine(Case):
    def test_it_links_neither_gstreamer_nor_openvino(self):
        libraries = run("ldd", STREAMGAUGE).stdout
        self.assertNotIn("libgstreamer", libraries)
        self.assertNotIn("libopenvino", libraries)
        self.assertEqual(run(STREAMGAUGE, "--help").returncode, 0)

    def test_figures_do_not_follow_the_locale(self):
        for name in ("de_DE.UTF-8", "tr_TR.UTF-8"):
            with self.subTest(locale=name):
                result = run(STREAMGAUGE, "import", MODEL, "--video", short_clip(), "--out", self.out, "--dry-run",
                             "--duration", "3.5", env={"LC_ALL": name})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("3.5 s", result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
