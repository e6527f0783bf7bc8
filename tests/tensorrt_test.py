"""streamgauge engine build|time on TensorRT, against a stand-in for trtexec that prints in its form and misbehaves on
demand: each fault gets its own verdict, nothing half done is left, and what was built is used again only when it fits."""
import json
import os
import pathlib
import shutil
import unittest

from support import MODEL, STREAMGAUGE, Case, run

ENVIRONMENT = 3
GRAPH = MODEL / "onnx" / "model.onnx"
STAND_IN = pathlib.Path(__file__).resolve().parent / "stand_ins" / "trtexec"


class TensorRt(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        shutil.copy(STAND_IN, self.bin / "trtexec")
        self.gpu("NVIDIA H100 80GB HBM3, 595.45.04, 81559, 9.0")
        # A name that a shell or an option parser would trip over.
        self.work = self.folder / "it's $(a) folder"
        self.work.mkdir()
        self.onnx = self.work / "-v my model.onnx"
        shutil.copy(GRAPH, self.onnx)
        self.engines = self.work / "engines"

    def gpu(self, row):
        smi = self.bin / "nvidia-smi"
        smi.write_text(f"#!/bin/sh\necho '{row}'\n")
        smi.chmod(0o755)

    def act(self, *words):
        (self.bin / "act").write_text(" ".join(words))

    def calls(self):
        path = self.bin / "calls.jsonl"
        return [call for call in map(json.loads, path.read_text().splitlines()) if call != ["--help"]]

    def call(self, *args, env=None):
        return run(STREAMGAUGE, "engine", *args, "--no-progress", cwd=self.work,
                   env={"PATH": f"{self.bin}:{os.environ['PATH']}", **(env or {})})

    def build(self, *args, env=None):
        return self.call("build", self.onnx, "--out", self.engines, "--engine", "deepstream", *args, env=env)

    @property
    def engine(self):
        return self.engines / "-v my model_dynamic_b64.engine"

    def assert_failed(self, result, *words):
        self.assertEqual(result.returncode, ENVIRONMENT, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        left = [p.name for p in self.engines.iterdir()] if self.engines.exists() else []
        self.assertEqual([name for name in left if name.endswith((".engine", ".json")) or name.startswith(".")], [])

    def test_an_engine_is_built_with_the_words_that_are_asked_for(self):
        result = self.build("--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        (words,) = self.calls()
        self.assertEqual([w for w in words if not w.startswith("--saveEngine")], [
            f"--onnx={self.onnx}", "--minShapes=pixel_values:1x3x320x320", "--optShapes=pixel_values:64x3x320x320",
            "--maxShapes=pixel_values:64x3x320x320", "--fp16", "--skipInference", "--memPoolSize=workspace:32768M",
            f"--timingCacheFile={self.engines}/timing.cache"])
        self.assertTrue(words[-1].endswith("/-v my model_dynamic_b64.engine"), words[-1])
        sidecar = json.loads((self.engines / "-v my model_dynamic_b64.engine.json").read_text())
        self.assertEqual((sidecar["runtime"], sidecar["runtime_version"], sidecar["device_name"]),
                         ("TensorRT", "10.16.0", "NVIDIA H100 80GB HBM3"))
        self.assertEqual(sorted(p.name for p in self.engines.iterdir()), [
            "-v my model_dynamic_b64.engine", "-v my model_dynamic_b64.engine.json", "-v my model_dynamic_build_b64.log",
            "timing.cache"])

    def test_a_fitting_engine_is_used_again_and_another_is_built_with_its_reason(self):
        self.assertEqual(self.build().returncode, 0)
        again = self.build()
        self.assertIn("was there already", again.stdout)
        self.assertEqual(len(self.calls()), 1)
        self.gpu("NVIDIA A30, 595.45.04, 24576, 8.0")
        self.assertIn("Built again: built for GPU NVIDIA H100 80GB HBM3 (compute 9.0), this is NVIDIA A30 (compute 8.0)",
                      self.build().stdout)
        self.assertIn("Built again: precision fp32 was asked", self.build("--precision", "fp32").stdout)
        self.engine.write_bytes(self.engine.read_bytes()[:-3])
        self.assertIn("not the one its sidecar describes", self.build("--precision", "fp32").stdout)

    def test_every_misbehaviour_has_its_verdict_and_leaves_no_engine(self):
        cases = {("none",): "left no engine file", ("empty",): "left an empty engine file", ("one",): "exit code 1",
                 ("memory",): "the GPU's memory ran out", ("killed",): "signal 9",
                 ("foreign", "always"): "TensorRT fused a part of the graph"}
        for act, words in cases.items():
            with self.subTest(act):
                self.act(*act)
                self.assert_failed(self.build(), words, ".log")

    def test_a_foreign_node_is_tried_once_more_with_less_fusion(self):
        self.act("foreign")
        self.assertEqual(self.build().returncode, 0)
        first, second = self.calls()
        self.assertNotIn("--builderOptimizationLevel=2", first)
        self.assertIn("--builderOptimizationLevel=2", second)
        self.act("foreign", "always")
        self.engine.unlink()
        (self.bin / "calls.jsonl").unlink()
        self.build()
        self.assertEqual(len(self.calls()), 2)

    def test_one_that_is_silent_for_ever_is_ended(self):
        self.act("silent")
        result = self.build(env={"STREAMGAUGE_TRTEXEC_SILENCE_S": "1.5"})
        self.assert_failed(result, "said nothing for 1.5 s")

    def test_int64_warnings_are_no_failure(self):
        self.act("int64")
        self.assertEqual(self.build().returncode, 0)

    def test_timings_are_read_in_every_locale(self):
        self.assertEqual(self.build().returncode, 0)
        for act in ("good", "german"):
            self.act(act)
            logs = self.folder / act
            result = self.call("time", self.engine, "--out", logs, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            one, most = json.loads(result.stdout)
            self.assertAlmostEqual(one["throughput_qps"], 500, places=3)
            self.assertEqual(most["batch"], 64)
            self.assertAlmostEqual(most["images_per_s"], 64 * 600 / 13.8, delta=0.01)
            self.assertEqual(sorted(p.name for p in logs.iterdir()), ["trtexec_b1.log", "trtexec_b64.log"])
        words = self.calls()[-1]
        self.assertEqual(words[1:], ["--shapes=pixel_values:64x3x320x320", "--noDataTransfers", "--duration=10",
                                     "--warmUp=1000"])

    def test_a_timing_without_figures_is_no_timing(self):
        self.assertEqual(self.build().returncode, 0)
        self.act("wordless")
        result = self.call("time", self.engine, "--out", self.folder / "logs")
        self.assertEqual(result.returncode, ENVIRONMENT)
        self.assertIn("no throughput stands in its log", result.stderr)

    def test_without_trtexec_or_gpu_it_is_said(self):
        (self.bin / "nvidia-smi").unlink()
        result = self.build()
        self.assert_one_line(result, ENVIRONMENT, "no NVIDIA GPU")

    def test_auto_takes_the_embedded_engine_where_there_is_no_gpu(self):
        (self.bin / "nvidia-smi").unlink()
        result = self.call("build", self.onnx, "--out", self.engines, "--max-batch", 2, "--precision", "fp32")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Engine: OpenVINO, chosen by auto", result.stdout)
        timed = self.call("time", self.engines / "-v my model_dynamic_b2.blob", "--seconds", 0.5, "--out", self.folder / "l")
        self.assertEqual(timed.returncode, 0, timed.stderr)
        self.assertRegex(timed.stdout, r"batch    2: +[\d.]+ images/s")


if __name__ == "__main__":
    unittest.main()
