"""What reaches the network: a square at a known place comes back where it is for every letterbox kind, and a graph
that was given a front computes what ONNX Runtime gets from the original and pictures prepared in NumPy."""
import json
import os
import re
import shutil
import subprocess
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from support import MODEL, PLUGINS, SHORT, Case, import_model, import_until, short_clip

NET_W, NET_H = 320, 256
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
RNG = np.random.default_rng(11)


class Finder:
    """A network that finds one bright square on black: outputs as RT-DETR has them. Its edges are sums of brightness,
    so they are exact to a fraction of a pixel. Nodes of `entry` make the brightness 'g' [N,1,H,W] of the input 'x'."""

    def __init__(self, dims=None, kind=TensorProto.FLOAT):
        self.input = helper.make_tensor_value_info("x", kind, dims or ["batch", 3, NET_H, NET_W])
        self.nodes, self.weights = [], []

    def const(self, name, values, dtype=np.float32):
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name="node_" + output, **attributes))
        return self

    def grey(self, source, weights=(1 / 3, 1 / 3, 1 / 3), bias=0.0):
        self.const("grey_w", np.asarray(weights).reshape(1, 3, 1, 1))
        self.const("grey_b", [bias])
        return self.node("Conv", [source, "grey_w", "grey_b"], "g")

    def axis(self, name, axis, size):
        """Centre and extent, 0 to 1, of the profile along the axis."""
        self.node("ReduceMax", ["g"], f"{name}_p", axes=[5 - axis], keepdims=1)
        shape = [1, 1, size, 1] if axis == 2 else [1, 1, 1, size]
        self.const(f"{name}_at", ((np.arange(size) + 0.5) / size).reshape(shape))
        self.const(f"{name}_size", [float(size)])
        self.node("ReduceSum", [f"{name}_p", "map_axes"], f"{name}_s", keepdims=0)
        self.node("Mul", [f"{name}_p", f"{name}_at"], f"{name}_m")
        self.node("ReduceSum", [f"{name}_m", "map_axes"], f"{name}_ms", keepdims=0)
        self.node("Add", [f"{name}_s", "tiny"], f"{name}_st")
        self.node("Div", [f"{name}_ms", f"{name}_st"], f"{name}_c")
        return self.node("Div", [f"{name}_s", f"{name}_size"], f"{name}_e")

    def model(self, metadata=None):
        self.const("map_axes", [1, 2, 3], np.int64)
        self.const("tiny", [1e-6])
        self.axis("v", 2, NET_H).axis("h", 3, NET_W)
        self.const("box_axes", [1, 2], np.int64)
        for value in ("h_c", "v_c", "h_e", "v_e"):
            self.node("Unsqueeze", [value, "box_axes"], value + "_u")
        self.node("Concat", ["h_c_u", "v_c_u", "h_e_u", "v_e_u"], "pred_boxes", axis=2)
        # Found when it is there: the logit grows with the extent.
        self.const("gain", [200.0])
        self.const("least", [-4.0])
        self.node("Mul", ["h_e_u", "gain"], "logit_g").node("Add", ["logit_g", "least"], "logits")
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1, 1]),
                   helper.make_tensor_value_info("pred_boxes", TensorProto.FLOAT, ["batch", 1, 4])]
        graph = helper.make_graph(self.nodes, "finder", [self.input], outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, metadata or {})
        return model


def plain():
    return Finder().grey("x")


def normalised_weights():
    """The picture, normalised, goes into a convolution that pads nothing."""
    return Finder().grey("x", [s / 3 for s in STD], sum(MEAN) / 3)


def normalised_nodes():
    """The same behind a convolution that pads: the mean cannot be in its weights."""
    finder = Finder()
    kernel = np.zeros((3, 3, 3, 3))
    for c in range(3):
        kernel[c, c, 1, 1] = 1
    kernel += RNG.normal(size=kernel.shape) * 1e-3
    finder.const("w", kernel)
    finder.node("Conv", ["x", "w"], "same", pads=[1, 1, 1, 1])
    return finder.grey("same", [s / 3 for s in STD], sum(MEAN) / 3)


def channels_last():
    return Finder(["batch", NET_H, NET_W, 3]).node("Transpose", ["x"], "t", perm=[0, 3, 1, 2]).grey("t")


def bytes_last():
    finder = Finder(["batch", NET_H, NET_W, 3], TensorProto.UINT8)
    finder.node("Transpose", ["x"], "t", perm=[0, 3, 1, 2]).node("Cast", ["t"], "f", to=TensorProto.FLOAT)
    return finder.grey("f", [1 / 765] * 3)


def bytes_dequantized():
    finder = Finder(kind=TensorProto.UINT8)
    finder.const("scale", 1 / 255)
    finder.const("zero", 0, np.uint8)
    return finder.node("DequantizeLinear", ["x", "scale", "zero"], "f").grey("f")


STRETCH = {"size": {"height": NET_H, "width": NET_W}}
CORNER = {"size": {"longest_edge": NET_W}, "do_pad": True, "pad_size": {"height": NET_H, "width": NET_W}}
PLAIN = {"do_rescale": True, "do_normalize": False}
IMAGENET = {"do_rescale": True, "do_normalize": True, "image_mean": MEAN, "image_std": STD}
ULTRALYTICS = {"author": "Ultralytics", "description": "Ultralytics finder", "task": "detect"}


def normalised(pictures):
    """uint8 [N,3,H,W] as the model's own preprocessor makes them."""
    shape = (1, 3, 1, 1)
    scaled = pictures.astype(np.float32) / np.float32(255)
    return (scaled - np.float32(MEAN).reshape(shape)) / np.float32(STD).reshape(shape)


def session(model):
    data = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


class Preprocessing(Case):
    def model_folder(self, model, processor, files=None):
        folder = self.folder / "finder"
        folder.mkdir(exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        (folder / "config.json").write_text(json.dumps(
            {"architectures": ["RTDetrForObjectDetection"], "id2label": {"0": "square"}}))
        if processor is not None:
            (folder / "preprocessor_config.json").write_text(json.dumps(processor))
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        return folder

    def clip(self, width, height, square, colour=(255, 255, 255), frames=24):
        """Lossless, black with one square; odd sizes too."""
        path = self.folder / f"{width}x{height}.mkv"
        x, y, size = square
        picture = np.zeros((height, width, 3), np.uint8)
        picture[y:y + size, x:x + size] = colour
        subprocess.run(["ffmpeg", "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
                        "-r", "10", "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "ffv1", str(path)],
                       input=picture.tobytes() * frames, check=True)
        return path

    def imported(self, model, processor, marker):
        folder = self.model_folder(model, processor)
        clip = self.clip(1280, 720, (400, 200, 240))
        text = import_until(marker, folder, "--video", clip, "--synthetic-video", "--out", self.out, "--precision",
                            "fp32", "--target-fps", 1000, "--max-batch", 2, *SHORT)
        self.assertIn(f"{marker} completed", text)
        return self.out / "finder", text

    # The fronts.

    def front(self, finder, processor, feed, words):
        """The rewritten graph on grey levels against the original on what its preprocessor would give it."""
        original = finder().model()
        model, text = self.imported(original, processor, "[Step 3]")
        self.assertRegex(text, words)
        rewritten = model / "model" / "finder.onnx"
        onnx.checker.check_model(str(rewritten), full_check=True)
        scale = 1 / 255 if original.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT else 1
        pictures = RNG.integers(0, 256, (3, 3, NET_H, NET_W), dtype=np.uint8)
        for i in range(3):  # smooth parts too
            pictures[i, :, 40 * i:40 * i + 60, 50:120] = (30, 120, 240)[i]
        want = session(original.SerializeToString()).run(["logits", "pred_boxes"], {"x": feed(pictures)})
        got = session(rewritten).run(["logits", "pred_boxes"], {"x": pictures.astype(np.float32) * np.float32(scale)})
        worst = max(np.abs(a - b).max() for a, b in zip(want, got))
        print(f"{self.id()}: at most {worst:.2e} apart")
        self.assertGreater(np.ptp(want[0]), 0)
        self.assertLessEqual(worst, 1e-4)
        return onnx.load(rewritten)

    def test_std_goes_into_an_unpadded_convolution(self):
        model = self.front(normalised_weights, {**STRETCH, **IMAGENET}, normalised, r"weights of its first convolution")
        self.assertNotIn("Sub", [node.op_type for node in model.graph.node])

    def test_std_goes_in_front_of_a_padded_convolution(self):
        model = self.front(normalised_nodes, {**STRETCH, **IMAGENET}, normalised, r"computed in front")
        self.assertEqual([node.op_type for node in model.graph.node[:3]], ["Sub", "Div", "Conv"])

    def test_channels_last(self):
        model = self.front(channels_last, {**STRETCH, **PLAIN},
                           lambda p: np.ascontiguousarray(p.transpose(0, 2, 3, 1).astype(np.float32) / np.float32(255)),
                           r"transposed in front")
        self.assertEqual([d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim[1:]], [3, NET_H, NET_W])

    def test_bytes_with_channels_last(self):
        self.front(bytes_last, {**STRETCH, **IMAGENET},
                   lambda p: np.ascontiguousarray(p.transpose(0, 2, 3, 1)), r"bytes are taken as floats")

    def test_bytes_that_are_dequantized(self):
        model = self.front(bytes_dequantized, {**STRETCH, **PLAIN}, lambda p: p, r"cast to its bytes")
        self.assertEqual(model.graph.node[0].op_type, "Cast")

    def test_the_demo_model_with_a_std_of_each_channel(self):
        folder = self.folder / "rtdetr"
        (folder / "onnx").mkdir(parents=True)
        os.link(MODEL / "onnx/model.onnx", folder / "onnx/model.onnx")
        (folder / "config.json").write_bytes((MODEL / "config.json").read_bytes())
        processor = json.loads((MODEL / "preprocessor_config.json").read_text())
        (folder / "preprocessor_config.json").write_text(json.dumps({**processor, **IMAGENET}))
        text = import_until("[Step 3]", folder, "--video", self.clip(1280, 720, (400, 200, 240)), "--out", self.out, *SHORT)
        self.assertRegex(text, r"computed in front of it; proven at batch 1")
        front = onnx.load(self.out / "rtdetr/model/rtdetr.onnx").graph.node[:2]
        self.assertEqual([node.op_type for node in front], ["Sub", "Div"])

    # The colours.

    def detections_of_red(self, channel, to_rgb):
        """Frames with a box when the network looks at one channel, normalised as mmdeploy's pipeline.json says."""
        mean, std = [103.53, 116.28, 123.675], [57.375, 57.12, 58.395]
        weights = [std[c] / 255 if c == channel else 0 for c in range(3)]
        model = Finder().grey("x", weights, mean[channel] / 255).model()
        transforms = [{"type": "LoadImageFromFile"}, {"type": "Resize", "size": [NET_W, NET_H], "keep_ratio": False},
                      {"type": "Normalize", "mean": mean, "std": std, "to_rgb": to_rgb}, {"type": "ImageToTensor"}]
        pipeline = {"pipeline": {"tasks": [{"module": "Transform", "transforms": transforms}]}}
        folder = self.model_folder(model, None, {"pipeline.json": json.dumps(pipeline)})
        out = self.folder / f"models_{channel}_{to_rgb}"
        text = import_until("[Step 6]", folder, "--video", self.clip(1280, 720, (400, 200, 240), (255, 0, 0)),
                            "--synthetic-video", "--out", out, "--precision", "fp32", "--target-fps", 1000,
                            "--max-batch", 1, *SHORT)
        config = (out / "finder/config/config_infer_primary_finder.txt").read_text()
        self.assertIn(f"model-color-format={0 if to_rgb else 1}\n", config)
        self.assertIn("net-scale-factor=1\n", config)
        self.assertNotIn("offsets=", config)
        return int(re.search(r"Detections in (\d+) of 24 frames", text)[1])

    def test_red_is_first_in_rgb_and_last_in_bgr(self):
        self.assertEqual(self.detections_of_red(0, True), 24)
        self.assertEqual(self.detections_of_red(2, False), 24)
        self.assertEqual(self.detections_of_red(0, False), 0)

    # The check.

    def checked(self, changes):
        folder = self.folder / "rtdetr"
        shutil.copytree(MODEL, folder)
        path = folder / "preprocessor_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        result = import_model(folder, "--check-preprocessing", "--video", short_clip(), "--out", self.out, "--json",
                              "--no-progress")
        self.assert_nothing_written()
        return result, json.loads(result.stdout)

    def test_the_demo_models_own_preprocessing_is_the_best(self):
        result, answer = self.checked({})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(answer["candidates"]), 24)
        self.assertTrue(answer["candidates"][0]["card"])
        self.assertEqual(answer["best"], 0)
        self.assertGreater(answer["margin"], 0)
        self.assertRegex(result.stderr, r"(?m)^Margin of the card's own over the best other: \+\d+\.\d %$")
        rows = re.findall(r"(?m)^(\*| ) .*\d %.*\d\.\d{3}$", result.stderr)
        self.assertEqual(len(rows), 24)
        self.assertEqual(rows[0], "*")

    def test_a_wrong_colour_order_is_found_out(self):
        result, answer = self.checked({"do_flip_channel_order": True})
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.splitlines()[-1], r"^streamgauge: .*not the best.*RGB, stretch")
        best = answer["candidates"][answer["best"]]
        self.assertEqual((best["colour"], best["resize"]), ("RGB", "stretch"))
        self.assertLess(answer["margin"], -0.03)

    def test_a_wrong_std_is_found_out(self):
        result, answer = self.checked(IMAGENET)
        self.assertEqual(result.returncode, 1)
        best = answer["candidates"][answer["best"]]
        self.assertEqual((best["values"], best["mean"]), ("÷ 255", []))

    # The geometry.

    def boxes(self, model, clip, mux):
        kitti = self.folder / f"kitti_{clip.stem}_{mux[0]}"
        kitti.mkdir()
        config = model / "config/config_infer_primary_finder.txt"
        launch = (f"sgmux name=m batch-size=1 width={mux[0]} height={mux[1]} batched-push-timeout=-1 ! "
                  f"sginfer config-file-path={config} ! sgkitti output-dir={kitti} ! fakesink sync=false "
                  f"filesrc location={clip} ! matroskademux ! avdec_ffv1 ! m.sink_0")
        subprocess.run(["gst-launch-1.0", "-q", *launch.split()], check=True, timeout=120, stdin=subprocess.DEVNULL,
                       env=dict(os.environ, GST_PLUGIN_PATH=str(PLUGINS)))
        files = sorted(kitti.glob("*.txt"))
        self.assertGreater(len(files), 3)
        for file in files:
            lines = file.read_text().splitlines()
            self.assertEqual(len(lines), 1, file)
            yield [float(v) for v in lines[0].split()[-12:-8]]

    def geometry(self, finder, processor, metadata, keys):
        model, _ = self.imported(finder().model(metadata), processor, "[Step 6]")
        config = (model / "config/config_infer_primary_finder.txt").read_text()
        for key in keys:
            self.assertRegex(config, rf"(?m)^{re.escape(key)}$")
        worst = 0
        for width, height in [(1920, 1080), (1080, 1920), (768, 576), (641, 363), (363, 641), (320, 256), (1281, 1280)]:
            size = min(width, height) // 4
            # Off the centre both ways, and near an edge.
            for n, (x, y) in enumerate([(width // 5, height // 3), (width - size - 6, height - size - 8)]):
                clip = self.clip(width, height, (x // 2 * 2, y // 2 * 2, size // 2 * 2), frames=6)
                clip = clip.rename(clip.with_stem(f"{clip.stem}_{n}"))
                want = np.array([x // 2 * 2, y // 2 * 2, x // 2 * 2 + size // 2 * 2, y // 2 * 2 + size // 2 * 2], float)
                for mux in {(width, height), (1280, 720)}:
                    expected = want * np.tile([mux[0] / width, mux[1] / height], 2)
                    for box in self.boxes(model, clip, mux):
                        apart = np.abs(np.array(box) - expected).max()
                        worst = max(worst, apart)
                        self.assertLessEqual(apart, 1.0, f"{width}x{height} in {mux}: {box}, want {expected}")
        print(f"{self.id()}: at most {worst:.3f} px apart")

    def test_a_square_comes_back_when_stretched(self):
        self.geometry(normalised_weights, {**STRETCH, **IMAGENET}, None, ["maintain-aspect-ratio=0"])

    def test_a_square_comes_back_from_a_corner_letterbox(self):
        self.geometry(bytes_last, {**CORNER, **PLAIN}, None, ["maintain-aspect-ratio=1", "symmetric-padding=0"])

    def test_a_square_comes_back_from_a_centred_letterbox(self):
        self.geometry(plain, None, ULTRALYTICS, ["maintain-aspect-ratio=1", "symmetric-padding=1"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
