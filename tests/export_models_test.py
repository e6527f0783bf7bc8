"""The real exporter on one small model of each architecture; makes build/.venv_optimum on first need (6 GB).
ONNX Runtime, with pictures of its own, is the independent check of what the program calls equal."""
import json
import subprocess
import unittest

from support import MODEL, ROOT, SHORT, STREAMGAUGE, Case, import_model, run, short_clip

PYTHON = ROOT / "build" / ".venv_optimum" / "bin" / "python"
TINY = ROOT / "tests" / "tiny_detectors.py"
PROMPTS = {"owlvit": "person . traffic light", "grounding_dino": "person . traffic light"}
NAMES = ("detr", "table_transformer", "conditional_detr", "deformable_detr", "dab_detr", "rt_detr", "rt_detr_v2",
         "d_fine", "yolos", "owlvit", "grounding_dino")


def export(source, folder, *args):
    return run(STREAMGAUGE, "onnx", "export", source, folder, "--video", short_clip(), "--no-progress", *args,
               cwd=ROOT, timeout=1500)


def boxes(kitti_file):
    """[left, top, right, bottom, score] of each line."""
    rows = [line.split() for line in kitti_file.read_text().splitlines()]
    return [[float(v) for v in row[-12:-8] + row[-1:]] for row in rows]


def distance(a, b):
    return max(abs(x - y) for x, y in zip(a[:4], b[:4]))


def in_venv(*args):
    return subprocess.run([PYTHON, TINY, *map(str, args)], check=True, capture_output=True, text=True).stdout.strip()


class ArchitectureTest(Case):
    def exported(self, name):
        source, folder = self.folder / name, self.folder / "out"
        in_venv(source, name)
        prompt = PROMPTS.get(name, "")
        result = export(source, folder, *(["--prompt", prompt] if prompt else []))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertLess(float(in_venv("--check", source, folder / "model.onnx", prompt)), 1e-3)
        if prompt:
            labels = json.loads((folder / "config.json").read_text())["id2label"]
            self.assertEqual(labels, {"0": "person", "1": "traffic light"})
        return result.stdout

    @classmethod
    def setUpClass(cls):
        # Makes the venv, by the program itself.
        folder = ROOT / "build" / "export_test"
        result = export(MODEL, folder)
        assert result.returncode == 0, result.stdout + result.stderr


for _name in NAMES:
    setattr(ArchitectureTest, f"test_{_name}", lambda self, name=_name: self.exported(name) and None)


class DemoModelTest(Case):
    def test_exported_and_published_graph_give_the_same_boxes(self):
        result = export(MODEL, self.folder / "out")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        folders = {}
        for name, source in (("published", MODEL), ("exported", self.folder / "out")):
            result = import_model(source, "--name", name, "--out", self.out, "--video", short_clip(),
                                  "--precision", "fp32", *SHORT)
            self.assertEqual(result.returncode, 0, result.stderr)
            kitti = self.out / name / "samples" / "kitti_output"
            folders[name] = {file.name: boxes(file) for file in sorted(kitti.glob("*.txt"))}
        self.assertEqual(len(folders["exported"]), 40)
        self.assertEqual(folders["exported"].keys(), folders["published"].keys())
        apart, scores, pairs = 0, 0, 0
        for name, published in folders["published"].items():
            exported = list(folders["exported"][name])
            for box in published:
                near = min(exported, key=lambda other: distance(box, other), default=None)
                if near is None or distance(box, near) > 1:
                    # A score on the threshold may fall on either side of it.
                    self.assertLess(box[4], 0.26, f"{name}: {box} has no partner")
                    continue
                exported.remove(near)
                pairs += 1
                apart, scores = max(apart, distance(box, near)), max(scores, abs(box[4] - near[4]))
            for box in exported:
                self.assertLess(box[4], 0.26, f"{name}: {box} is the export's alone")
        print(f"{pairs} boxes, at most {apart:.3f} px and {scores:.4f} in score apart")
        self.assertGreater(pairs, 100)
        self.assertLess(scores, 0.01)


if __name__ == "__main__":
    unittest.main()
