"""One detector, its outputs written in the ways that exporters write them: every import finds the same boxes."""
import json
import shutil
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import MODEL, SHORT, STREAMGAUGE, Case, import_model, run, short_clip

SIZE = 320
GATE, USER = 1, 2


def variant(name):
    """The demo model with other outputs: boxes as corners in pixels, or labels, boxes and scores of their own."""
    model = onnx.load(str(MODEL / "onnx" / "model.onnx"))
    graph = model.graph

    def const(value, dtype, tensor):
        graph.initializer.append(numpy_helper.from_array(np.asarray(value, dtype), tensor))

    const([0, 1, 2, 3, 4], np.int64, "heads_cuts")
    const(2, np.float32, "heads_two")
    const(SIZE, np.float32, "heads_size")
    const([1, 1, 1, 1], np.int64, "heads_ones")
    const([-1], np.int64, "heads_last")
    add = graph.node.append
    add(helper.make_node("Split", ["pred_boxes", "heads_ones"], ["h_x", "h_y", "h_w", "h_h"], axis=-1))
    for size, half in (("h_w", "h_hw"), ("h_h", "h_hh")):
        add(helper.make_node("Div", [size, "heads_two"], [half]))
    for op, centre, half, out in (("Sub", "h_x", "h_hw", "h_l"), ("Sub", "h_y", "h_hh", "h_t"),
                                  ("Add", "h_x", "h_hw", "h_r"), ("Add", "h_y", "h_hh", "h_b")):
        add(helper.make_node(op, [centre, half], [out]))
    add(helper.make_node("Concat", ["h_l", "h_t", "h_r", "h_b"], ["h_corners"], axis=-1))
    add(helper.make_node("Mul", ["h_corners", "heads_size"], ["boxes"]))

    def value(tensor, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(tensor, kind, ["batch", *shape])

    if name == "corners":
        outputs = [value("logits", [50, 1]), value("boxes", [50, 4])]
    elif name == "parts":
        add(helper.make_node("Sigmoid", ["logits"], ["h_scores"]))
        add(helper.make_node("ReduceMax", ["h_scores"], ["scores"], axes=[-1], keepdims=0))
        add(helper.make_node("ArgMax", ["h_scores"], ["labels"], axis=-1, keepdims=0))
        outputs = [value("labels", [50], TensorProto.INT64), value("boxes", [50, 4]), value("scores", [50])]
    del graph.output[:]
    graph.output.extend(outputs)
    return model


def kitti(folder):
    frames = {}
    for path in sorted((folder / "samples" / "kitti_output").glob("*.txt")):
        lines = [line.split() for line in path.read_text().splitlines()]
        frames[path.name] = sorted([float(v) for v in line[-12:-8]] + [float(line[-1])] for line in lines)
    return frames


class Heads(Case):
    def model_folder(self, name):
        folder = self.folder / name
        folder.mkdir()
        for file in MODEL.iterdir():
            if file.suffix in (".json", ".md"):
                shutil.copy(file, folder)
        if name == "original":
            shutil.copy(MODEL / "onnx" / "model.onnx", folder / "model.onnx")
        else:
            onnx.save(variant(name), str(folder / "model.onnx"))
        return folder

    def boxes_of(self, name, *options):
        result = import_model(self.model_folder(name), "--out", self.out, "--video", short_clip(), "--precision",
                              "fp32", "--max-batch", "1", *SHORT, *options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return kitti(self.out / name), result.stdout + result.stderr

    def test_the_same_boxes_whatever_the_outputs_form(self):
        expected, _ = self.boxes_of("original")
        self.assertGreater(sum(len(boxes) for boxes in expected.values()), 40)
        for name in ("corners", "parts"):
            found, said = self.boxes_of(name)
            self.assertIn("heads fit the outputs; the clip's pictures decide", said)
            self.assertIn("xyxy in pixels", said.split("\nHead: ")[1].splitlines()[0])
            self.assertEqual(found.keys(), expected.keys())
            for frame, boxes in expected.items():
                self.assertEqual(len(found[frame]), len(boxes), (name, frame))
                for a, b in zip(found[frame], boxes):
                    self.assertLess(max(abs(x - y) for x, y in zip(a[:4], b[:4])), 1, (name, frame))
                    self.assertLess(abs(a[4] - b[4]), 0.01)

    def test_inspect_shows_the_card_with_its_evidence(self):
        folder = self.model_folder("parts")
        result = run(STREAMGAUGE, "onnx", "inspect", folder / "model.onnx", "--no-run", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        card = json.loads(result.stdout)["card"]
        self.assertEqual([head["family"] for head in card["heads"]],
                         ["labels-boxes-scores", "labels-boxes-scores-unit", "labels-boxes-scores-cxcywh"])
        self.assertTrue(card["heads"][0]["evidence"])
        self.assertEqual(card["labels"], ["person"])

    def test_a_head_that_does_not_fit_is_refused_with_those_that_do(self):
        result = import_model(self.model_folder("parts"), "--out", self.out, "--video", short_clip(), "--head",
                              "yolo-v8", "--max-batch", "1", "--no-progress")
        self.assertEqual(result.returncode, USER, result.stderr)
        self.assertIn("what fits: labels-boxes-scores", result.stderr)


if __name__ == "__main__":
    unittest.main()
