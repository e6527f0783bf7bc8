"""How exports are driven, tried in turn, judged and reused. torch is played by a program that answers as the exporter
does, so these tests need no venv of 6 GB; tests/export_models_test.py runs the real one."""
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from support import MODEL, ROOT, STREAMGAUGE, Case, import_until, run, short_clip

REQUIREMENTS = ROOT / "src" / "onnx" / "export" / "requirements.txt"
GRAPH = MODEL / "onnx" / "model.onnx"

# What torch is to do per backend is in PLAY: {"dynamo": "static", "legacy-torchscript": "good"}.
PLAYED_TORCH = f"""\
#!{ROOT}/build/.venv/bin/python
import json, os, pathlib, shutil, signal, sys
import numpy as np, openvino

request = json.load(sys.stdin)
here = pathlib.Path(__file__).parent
play = json.loads((here / "play.json").read_text())
(here / "seen.json").write_text(json.dumps({{"request": request, "environment": dict(os.environ), "argv": sys.argv}}))
act = play[request["backend"]]
print("torch says a lot", file=sys.stderr)
if act == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if act == "garbage":
    print("not json")
    sys.exit(7)
if act == "error":
    print(json.dumps({{"event": "error", "message": "DispatchError: no such operator"}}))
    sys.exit(0)
shutil.copy(play["static_graph"] if act == "static" else play["graph"], request["output"])
count, height, width = request["pictures"]["count"], request["height"], request["width"]
pictures = np.fromfile(request["pictures"]["path"], dtype=np.float32).reshape(count, 3, height, width)
# One picture at a time, in f32: what the graph's own run is compared with.
graph = openvino.compile_model(play["graph"], "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}})
names = [output.any_name for output in graph.outputs]
runs = [list(graph(picture[None]).values()) for picture in pictures]
outputs = [np.concatenate([run[i] for run in runs]) for i in range(len(names))]
if act == "different":
    outputs[names.index("pred_boxes")] += 0.01
with open(request["recorded"]["path"], "wb") as file:
    for values in outputs:
        file.write(values.astype(np.float32).tobytes())
print(json.dumps({{"event": "result", "opset": 17, "labels": [],
                  "inputs": [{{"name": "pixel_values",
                              "shape": [2 if act == "static" else "batch", 3, height, width]}}],
                  "outputs": [],
                  "recorded": [{{"name": n, "shape": list(v.shape)}} for n, v in zip(names, outputs)]}}))
"""


class ExportCase(Case):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "pedestrians"
        self.model.mkdir()
        for name in ("README.md", "config.json", "preprocessor_config.json", "model.safetensors"):
            shutil.copy(MODEL / name, self.model)
        self.venv = self.folder / "build" / ".venv_optimum"
        python = self.venv / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(PLAYED_TORCH)
        python.chmod(0o755)
        stamp = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
        (self.venv / f".streamgauge.{stamp}").touch()

    def play(self, dynamo, torchscript, **more):
        play = {"dynamo": dynamo, "legacy-torchscript": torchscript, "graph": str(GRAPH), **more}
        (self.venv / "bin" / "play.json").write_text(json.dumps(play))

    @classmethod
    def setUpClass(cls):
        cls.frames = pathlib.Path(tempfile.mkdtemp(prefix="sg_frames."))
        cls.addClassCleanup(shutil.rmtree, cls.frames)
        assert run(STREAMGAUGE, "frame", short_clip(), "--out", cls.frames, "-n", 2).returncode == 0

    def export(self, *args, env=None, pictures=None):
        pictures = pictures or ("--frames", self.frames)
        return run(STREAMGAUGE, "onnx", "export", self.model, "out", *pictures, "--no-progress", *args,
                   cwd=self.folder, env=env)

    def seen(self):
        return json.loads((self.venv / "bin" / "seen.json").read_text())


class LadderTest(ExportCase):
    def test_a_static_batch_goes_on_to_the_next_backend(self):
        self.play("static", "good", static_graph=str(GRAPH))
        result = self.export(pictures=("--video", short_clip()))
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:4], ["[export] backend=dynamo",
                                     "[export] dynamo produced a static batch dimension; trying the next backend",
                                     "[export] backend=legacy-torchscript",
                                     "[export] pixel_values shape=['batch', 3, 320, 320]"])
        self.assertIn("Parity with the torch model on 16 frames at batch 1, 2, 3, 8", result.stdout)
        self.assertRegex(result.stdout, r"Boxes of at least 0\.5: [1-9]\d* in 16 frames agree, by at most 0\.00\d px")
        self.assertEqual((self.folder / "out" / "model.onnx").read_bytes(), GRAPH.read_bytes())
        export = json.loads((self.folder / "out" / "export.json").read_text())
        self.assertEqual(export["backend"], "legacy-torchscript")
        self.assertIn("torch says a lot", (self.folder / "out" / "export.log").read_text())
        left = sorted(path.name for path in (self.folder / "out").iterdir())
        self.assertEqual(left, ["README.md", "config.json", "export.json", "export.log", "model.onnx",
                                "preprocessor_config.json"])

    def test_a_graph_that_is_not_the_model_goes_on_to_the_next_backend(self):
        self.play("different", "good")
        result = self.export()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("[export] dynamo produced a graph that differs from the model: at batch 1 output 'pred_boxes'",
                      result.stdout)

    def test_no_backend_that_gives_the_model_is_a_failed_export(self):
        self.play("error", "different")
        result = self.export()
        self.assert_one_line(result, 1, "legacy-torchscript", "not the model", "pred_boxes")
        self.assertFalse((self.folder / "out" / "model.onnx").exists())

    def test_what_torch_says_is_one_line_and_the_rest_is_in_the_log(self):
        self.play("error", "error")
        result = self.export()
        self.assert_one_line(result, 4, "DispatchError: no such operator", "out/export.log")
        self.assertIn("torch says a lot", (self.folder / "out" / "export.log").read_text())

    def test_an_exporter_that_is_killed_is_told_as_memory(self):
        self.play("killed", "good")
        self.assert_one_line(self.export(), 3, "memory")

    def test_an_exporter_without_an_answer_is_told(self):
        self.play("garbage", "garbage")
        self.assert_one_line(self.export(), 4, "exit code 7", "export.log")

    def test_a_batch_that_every_backend_fixes_is_made_free_with_proof(self):
        static = self.folder / "static.onnx"
        fixed = run(STREAMGAUGE, "onnx", "static", GRAPH, static, "--batch", "2", "--no-progress")
        self.assertEqual(fixed.returncode, 0, fixed.stderr)
        self.play("error", "static", static_graph=str(static))
        result = self.export()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("[export] the batch of legacy-torchscript's graph was made free", result.stdout)
        again = run(STREAMGAUGE, "onnx", "compare", self.folder / "out" / "model.onnx", GRAPH)
        self.assertEqual(again.returncode, 0, again.stderr)


class RequestTest(ExportCase):
    def test_the_same_export_is_not_done_again(self):
        self.play("good", "error")
        self.assertEqual(self.export().returncode, 0)
        self.play("error", "error")
        again = self.export()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("is there already", again.stdout)
        # Another file, another option: done again.
        self.assertEqual(self.export("--opset", "18").returncode, 4)
        with open(self.model / "config.json", "a") as file:
            file.write("\n")
        self.assertEqual(self.export().returncode, 4)

    def test_the_exporter_gets_the_options_and_no_token(self):
        self.play("good", "good")
        result = self.export("--opset", "19", env={"HF_TOKEN": "hf_secret", "NGC_API_KEY": "key_secret"})
        self.assertEqual(result.returncode, 0, result.stderr)
        seen = self.seen()
        self.assertEqual(seen["request"]["opset"], 19)
        self.assertEqual((seen["request"]["width"], seen["request"]["height"]), (320, 320))
        self.assertFalse(seen["request"]["trust"])
        self.assertNotIn("secret", json.dumps(seen))
        self.assertIn("Opset 19 was asked for; the exporter gave 17.", result.stdout)

    def test_an_input_size_that_is_none_is_refused(self):
        self.play("good", "good")
        self.assert_one_line(self.export("--image-size", "640x"), 2, "WIDTHxHEIGHT")

    def test_parity_needs_real_pictures(self):
        result = run(STREAMGAUGE, "onnx", "export", self.model, "out", cwd=self.folder)
        self.assert_one_line(result, 3, "--video", "--frames")

    def test_weights_are_needed(self):
        (self.model / "model.safetensors").unlink()
        shutil.copy(GRAPH, self.model / "model.onnx")
        self.assert_one_line(self.export(), 2, "no SafeTensors")

    def test_truncated_weights_never_reach_torch(self):
        self.play("good", "good")
        os.truncate(self.model / "model.safetensors", 100_000)
        self.assert_one_line(self.export(), 2, "model.safetensors")
        self.assertFalse((self.venv / "bin" / "seen.json").exists())

    def test_code_of_the_model_runs_only_when_trusted(self):
        self.play("good", "good")
        config = json.loads((self.model / "config.json").read_text())
        config["auto_map"] = {"AutoModel": "modeling.Detector"}
        (self.model / "config.json").write_text(json.dumps(config))
        self.assert_one_line(self.export(), 4, "auto_map", "--trust")
        self.assertEqual(self.export("--trust").returncode, 0)
        self.assertTrue(self.seen()["request"]["trust"])

    def test_text_detectors_need_a_prompt(self):
        self.play("good", "good")
        config = json.loads((self.model / "config.json").read_text())
        config["architectures"] = ["GroundingDinoForObjectDetection"]
        (self.model / "config.json").write_text(json.dumps(config))
        self.assert_one_line(self.export(), 4, "--prompt")
        self.assertEqual(self.export("--prompt", "person . car").returncode, 0)
        self.assertEqual(self.seen()["request"]["prompt"], "person . car")

    def test_a_dry_run_writes_nothing(self):
        result = self.export("--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.folder / "out").exists())


class ImportTest(ExportCase):
    def test_a_model_of_safetensors_alone_is_imported(self):
        self.play("error", "good")
        command = ["--out", self.folder / "models", "--video", short_clip(), "--no-progress"]
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        output = import_until("[Step 3]", self.model, *command)
        self.assertIn("[export] pixel_values shape=['batch', 3, 320, 320]", output)
        model = self.folder / "models" / "pedestrians"
        self.assertEqual((model / "model" / "pedestrians.onnx").read_bytes(), GRAPH.read_bytes())
        self.assertEqual((model / "config" / "labels.txt").read_text().split(), ["person"])
        self.assertIn("is there already", import_until("[Step 3]", self.model, *command))


if __name__ == "__main__":
    unittest.main()
