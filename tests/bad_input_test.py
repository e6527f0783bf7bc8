"""Wrong input: one clear line, the right exit code, nothing half-written."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import numpy
import onnx

from support import MODEL, STREAMGAUGE, Case, ffmpeg, import_model, real_clip, run

GATE, USER, ENVIRONMENT, UNSUPPORTED = 1, 2, 3, 4


class Model(Case):
    def check(self, source, code, *words, extra=()):
        result = import_model(source, "--video", real_clip(), "--out", self.out, "--no-progress", *extra)
        self.assert_one_line(result, code, *words)
        self.assert_nothing_written()

    def copy(self):
        copy = self.folder / "detector"
        shutil.copytree(MODEL, copy)
        return copy

    def test_no_such_file(self):
        self.check(self.folder / "none.onnx", USER, "none.onnx", "no such file")

    def test_folder_without_a_model(self):
        (self.folder / "empty").mkdir()
        self.check(self.folder / "empty", USER, "empty", "onnx")

    def test_truncated_onnx(self):
        model = self.copy()
        path = model / "onnx" / "model.onnx"
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
        self.check(model, USER, "model.onnx")

    def test_onnx_that_is_a_web_page(self):
        model = self.copy()
        (model / "onnx" / "model.onnx").write_text("<!DOCTYPE html><html><body>404</body></html>")
        self.check(model, USER, "model.onnx")

    def test_empty_onnx(self):
        model = self.copy()
        (model / "onnx" / "model.onnx").write_bytes(b"")
        self.check(model, USER, "model.onnx")

    def test_batch_that_cannot_be_made_free(self):
        model = self.copy()
        path = model / "onnx" / "model.onnx"
        whole = onnx.load(str(path))
        for value in list(whole.graph.input) + list(whole.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = 1
        for node in whole.graph.node:
            node.output[:] = ["raw_logits" if name == "logits" else name for name in node.output]
        whole.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array([0], numpy.int64), "first"))
        whole.graph.node.append(onnx.helper.make_node("Gather", ["raw_logits", "first"], ["logits"], "only_first", axis=0))
        onnx.save(whole, str(path))
        self.check(model, GATE, "only_first", "pixel_values", "fixed to 1")

    def test_batch_that_is_only_said_to_be_free(self):
        model = self.copy()
        path = model / "onnx" / "model.onnx"
        whole = onnx.load(str(path))
        for node in whole.graph.node:
            node.output[:] = ["raw_logits" if name == "logits" else name for name in node.output]
        whole.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array([0], numpy.int64), "first"))
        whole.graph.node.append(onnx.helper.make_node("Gather", ["raw_logits", "first"], ["logits"], "only_first", axis=0))
        onnx.save(whole, str(path))
        result = import_model(model, "--video", real_clip(), "--out", self.out, "--no-progress")
        self.assert_one_line(result, GATE, "only_first")
        self.assertEqual(list(self.out.rglob("*.blob")), [])

    def test_labels_that_do_not_match_the_head(self):
        labels = self.folder / "labels.txt"
        labels.write_text("person\ncar\nbicycle\n")
        self.check(MODEL, USER, "3", "1", "label", extra=["--labels", labels])

    def test_classification_model(self):
        model = self.copy()
        config = model / "config.json"
        config.write_text(config.read_text().replace("RTDetrForObjectDetection", "ViTForImageClassification"))
        self.check(model, UNSUPPORTED, "ViTForImageClassification")

    def change_config(self, **changes):
        model = self.copy()
        path = model / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return model

    def test_another_task_by_the_readme_alone(self):
        model = self.change_config(architectures=None)
        (model / "README.md").write_text("---\npipeline_tag: image-segmentation\n---\n")
        self.check(model, UNSUPPORTED, "image-segmentation")

    def test_text_and_image_detector(self):
        self.check(self.change_config(architectures=["GroundingDinoForObjectDetection"]), UNSUPPORTED, "--prompt")

    def test_pickled_weights_alone(self):
        model = self.copy()
        shutil.rmtree(model / "onnx")
        (model / "model.safetensors").rename(model / "pytorch_model.bin")
        self.check(model, UNSUPPORTED, "pickle", "pytorch_model.bin", "SafeTensors")

    def test_variant_that_is_not_there(self):
        self.check(MODEL, USER, "no variant int8", "model.onnx (fp32, ", extra=["--variant", "int8"])

    def test_two_models_in_one_folder(self):
        model = self.copy()
        (model / "onnx" / "model.onnx").rename(model / "a.onnx")
        shutil.copy(model / "a.onnx", model / "b.onnx")
        self.check(model, USER, "a.onnx", "b.onnx", "--variant")

    def test_config_that_is_not_json(self):
        model = self.copy()
        (model / "config.json").write_text("{")
        self.check(model, USER, "config.json")

    def test_no_label_map_anywhere(self):
        model = self.copy()
        config = model / "config.json"
        text = config.read_text()
        config.write_text(text.replace('"id2label"', '"x"').replace('"label2id"', '"y"'))
        self.check(model, USER, "label")

    def test_name_that_leaves_the_folder(self):
        self.check(MODEL, USER, "../x", extra=["--name", "../x"])

    def test_deepstream_is_asked_for(self):
        self.check(MODEL, UNSUPPORTED, "--engine", extra=["--engine", "deepstream"])

    def test_no_source_and_no_terminal(self):
        result = import_model("--video", real_clip(), "--out", self.out)
        self.assertEqual(result.returncode, USER)
        self.assertIn("1. PekingU/rtdetr_r50vd", result.stdout)
        self.assertIn("2. ", result.stdout)
        self.assert_nothing_written()

    def test_unknown_flag(self):
        self.assertEqual(import_model(MODEL, "--no-such-flag").returncode, USER)

    def test_numbers_that_are_none(self):
        for flag, value in (("--duration", "abc"), ("--duration", "-1"), ("--score-threshold", "2"), ("--frames", "0")):
            with self.subTest(flag=flag, value=value):
                self.assertEqual(import_model(MODEL, flag, value).returncode, USER)


class Video(Case):
    def check(self, video, code, *words):
        result = import_model(MODEL, "--video", video, "--out", self.out, "--no-progress")
        self.assert_one_line(result, code, *words)
        self.assert_nothing_written()

    def test_no_such_file(self):
        self.check(self.folder / "none.mp4", USER, "none.mp4")

    def test_none_named(self):
        if os.path.exists("/opt/nvidia/deepstream/deepstream/samples/streams/sample_720p.mp4"):
            self.skipTest("DeepStream's own clip is here")
        self.assert_one_line(import_model(MODEL, "--out", self.out), ENVIRONMENT, "--video", "DS_VIDEO")
        self.assert_nothing_written()

    def test_folder(self):
        self.check(self.folder, USER, "folder")

    def test_empty(self):
        path = self.folder / "empty.mp4"
        path.write_bytes(b"")
        self.check(path, USER, "empty")

    def test_web_page(self):
        path = self.folder / "page.mp4"
        path.write_text("<!DOCTYPE html>\n<html><body>Sign in</body></html>\n" * 50)
        self.check(path, USER, "web page")

    def test_truncated_with_the_index_first(self):
        path = self.folder / "cut.mp4"
        data = real_clip().read_bytes()
        path.write_bytes(data[: len(data) * 6 // 10])
        self.check(path, USER, "cut")

    def test_truncated_with_the_index_last(self):
        whole, path = self.folder / "whole.mp4", self.folder / "cut.mp4"
        ffmpeg("-i", real_clip(), "-c", "copy", "-t", "5", whole)
        data = whole.read_bytes()
        path.write_bytes(data[: len(data) * 6 // 10])
        self.check(path, USER, "cut")

    def test_sound_only(self):
        path = self.folder / "sound.wav"
        ffmpeg("-f", "lavfi", "-i", "sine=duration=1", path)
        self.check(path, USER, "no video")

    def test_noise(self):
        path = self.folder / "noise.mp4"
        path.write_bytes(os.urandom(100_000))
        self.check(path, USER, "noise.mp4")

    def test_names_are_never_run_or_read_as_flags(self):
        for name in ("-v.mp4", "$(touch PWN).mp4", 'x"; touch PWN; ".mp4', "a b!c.mp4"):
            with self.subTest(name=name):
                shutil.copy(real_clip(), self.folder / name)
                result = run(STREAMGAUGE, "frame", "--out", "frames", "-n", "1", "--", name, cwd=self.folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue((self.folder / "frames" / "frame_0001.jpg").exists())
        self.assertFalse((self.folder / "PWN").exists())

    def test_sound_first_is_a_video_all_the_same(self):
        path = self.folder / "sound_first.mkv"
        ffmpeg("-f", "lavfi", "-i", "sine=duration=3", "-i", real_clip(), "-map", "0:a", "-map", "1:v", "-t", "3",
               "-c:v", "copy", path)
        result = run(STREAMGAUGE, "frame", path, "--out", self.folder / "frames", "-n", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.folder / "frames" / "frame_0002.jpg").exists())


class OutputFolder(Case):
    def mount_tmpfs(self, options):
        self.out.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.out)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no right to mount here")
        self.addCleanup(subprocess.run, ["umount", str(self.out)])

    def check(self, *words):
        result = import_model(MODEL, "--video", real_clip(), "--out", self.out, "--no-progress", timeout=20)
        self.assert_one_line(result, ENVIRONMENT, str(self.out), *words)
        self.assert_nothing_written()

    def test_full(self):
        self.mount_tmpfs("size=20m")
        self.check("MiB free")

    def test_read_only(self):
        self.mount_tmpfs("size=500m,ro")
        self.check("cannot be written")

    def test_a_file_in_the_way(self):
        self.out.write_text("not a folder")
        result = import_model(MODEL, "--video", real_clip(), "--out", self.out, "--no-progress")
        self.assert_one_line(result, ENVIRONMENT, str(self.out))


if __name__ == "__main__":
    unittest.main(verbosity=2)
