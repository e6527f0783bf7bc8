"""The pipeline's boxes against an independent reference: FFmpeg decodes, NumPy and Pillow make the
network's input in floating point, ONNX Runtime infers in f32, NumPy decodes and suppresses. Every slot of every batch must agree within 1 px (mux space) and 0.01 score."""
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
import PIL.Image

from support import MODEL, PLUGINS, SHORT, Case, ffmpeg, import_until, real_clip, short_clip

FRAMES = 200
WIDTH, HEIGHT = 768, 576  # of the clip
SCORE, NMS_IOU = 0.5, 0.7
MUX_W, MUX_H = 1280, 720
MAX_PX, MAX_SCORE = 1.0, 0.01


def iou(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)


def with_float_cosines(path):
    """ONNX Runtime has no Cos for float64, which this model's position embedding uses: it goes through float32."""
    model = onnx.load(str(path))
    nodes = []
    for node in model.graph.node:
        if node.op_type != "Cos":
            nodes.append(node)
            continue
        name = node.output[0]
        nodes += [onnx.helper.make_node("Cast", [node.input[0]], [name + "_in"], to=onnx.TensorProto.FLOAT),
                  onnx.helper.make_node("Cos", [name + "_in"], [name + "_out"]),
                  onnx.helper.make_node("Cast", [name + "_out"], [name], to=onnx.TensorProto.DOUBLE)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model.SerializeToString()


def decode(path, frames):
    """The first frames' planes Y, U, V, as the file has them: none repeated to fill a gap in the timestamps."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-frames:v", str(frames), "-fps_mode", "passthrough",
               "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
    data = np.frombuffer(subprocess.run(command, check=True, capture_output=True).stdout, dtype=np.uint8)
    y_size, c_size = WIDTH * HEIGHT, WIDTH * HEIGHT // 4
    for frame in data.reshape(-1, y_size + 2 * c_size):
        yield (frame[:y_size].reshape(HEIGHT, WIDTH),
               frame[y_size:y_size + c_size].reshape(HEIGHT // 2, WIDTH // 2),
               frame[y_size + c_size:].reshape(HEIGHT // 2, WIDTH // 2))


def network_input(y, u, v):
    """Steps 1 to 3 of docs/formats.md, "Network input", in floating point: BT.601, limited range."""
    y = (y.astype(np.float64) - 16) * (255 / 219)
    u, v = ((plane.repeat(2, 0).repeat(2, 1).astype(np.float64) - 128) * (255 / 224) for plane in (u, v))
    kr, kb = 0.299, 0.114
    r = y + 2 * (1 - kr) * v
    b = y + 2 * (1 - kb) * u
    g = (y - kr * r - kb * b) / (1 - kr - kb)
    small = [PIL.Image.fromarray(c.astype(np.float32), mode="F").resize((320, 320), PIL.Image.Resampling.BILINEAR)
             for c in (r, g, b)]
    return np.clip(np.rint(np.stack([np.asarray(c) for c in small], axis=2)), 0, 255)


class Reference:
    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(with_float_cosines(MODEL / "onnx/model.onnx"), options,
                                                    providers=["CPUExecutionProvider"])

    def boxes(self, planes):
        """[(left, top, right, bottom, score)] in mux space, best first."""
        image = network_input(*planes)
        tensor = np.ascontiguousarray(image.transpose(2, 0, 1)[None], dtype=np.float32) / 255
        logits, boxes = self.session.run(["logits", "pred_boxes"], {"pixel_values": tensor})
        found = []
        for logit, (cx, cy, w, h) in zip(logits[0, :, 0], boxes[0]):
            score = 1 / (1 + math.exp(-float(logit)))
            if score >= SCORE:
                corners = np.clip([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 0, 319 / 320)
                found.append((corners[0] * MUX_W, corners[1] * MUX_H, corners[2] * MUX_W, corners[3] * MUX_H, score))
        found.sort(key=lambda box: -box[4])
        kept = []
        for box in found:
            if all(iou(box, other) <= NMS_IOU for other in kept):
                kept.append(box)
        return kept

    def clip(self, path, frames):
        return [self.boxes(planes) for planes in decode(path, frames)]


def read_kitti(folder, source, frames):
    result = []
    for frame in range(frames):
        text = (folder / f"00_{source:03}_{frame:06}.txt").read_text()
        result.append([tuple(float(v) for v in (f[-12], f[-11], f[-10], f[-9], f[-1]))
                       for f in map(str.split, text.splitlines())])
    return result


class Boxes(Case):
    @classmethod
    def setUpClass(cls):
        out = pathlib.Path(tempfile.mkdtemp(prefix="sg_e2e."))
        cls.addClassCleanup(shutil.rmtree, out, ignore_errors=True)
        # At 10 fps a stream, MAX is above 1 on any machine that runs these tests.
        cls.imported = import_until("[Step 6]", MODEL, "--video", short_clip(), "--out", out, "--precision", "fp32",
                                    "--target-fps", 10, "--max-batch", 8, *SHORT)
        cls.model = out / "pedestrian-rtdetr"
        cls.reference = Reference()

    def setUp(self):
        super().setUp()
        self.assertIn("[Step 6] completed", self.imported)
        engine = next((self.model / "benchmarks/engines").glob("*_dynamic_b*.blob"))
        self.max_batch = int(engine.stem.rpartition("_b")[2])
        self.assertGreater(self.max_batch, 1)

    def pipeline(self, clips, batch):
        """Boxes of each clip, all through one pipeline with that batch."""
        folder = self.folder / f"kitti_b{batch}"
        folder.mkdir()
        config = self.model / "benchmarks/ds/config_infer_ds_pedestrian-rtdetr.txt"
        launch = [f"sgmux name=m batch-size={batch} width={MUX_W} height={MUX_H} batched-push-timeout=-1 ! "
                  f"sginfer config-file-path={config} batch-size={batch} ! "
                  f"sgkitti output-dir={folder} ! fakesink sync=false"]
        for i, clip in enumerate(clips):
            launch.append(f"filesrc location={clip} ! qtdemux ! h264parse ! avdec_h264 max-threads=1 ! m.sink_{i}")
        subprocess.run(["gst-launch-1.0", "-q", *" ".join(launch).split()], check=True, timeout=240,
                       stdin=subprocess.DEVNULL, env=dict(os.environ, GST_PLUGIN_PATH=str(PLUGINS)))
        return folder

    def compare(self, got, want, where):
        """Boxes near the threshold may fall on either side of it; all others must have their partner."""
        pairs = worst_px = worst_score = 0
        self.assertEqual(len(got), len(want), where)
        for frame, (a, b) in enumerate(zip(got, want)):
            rest = list(b)
            for box in a:
                partner = max(rest, key=lambda other: iou(box, other), default=None)
                if partner is None or iou(box, partner) < 0.5:
                    self.assertLess(box[4], SCORE + MAX_SCORE, f"{where}, frame {frame}: {box} has no partner")
                    continue
                rest.remove(partner)
                pairs += 1
                worst_px = max(worst_px, max(abs(box[i] - partner[i]) for i in range(4)))
                worst_score = max(worst_score, abs(box[4] - partner[4]))
            for box in rest:
                self.assertLess(box[4], SCORE + MAX_SCORE, f"{where}, frame {frame}: {box} was not found")
        print(f"{where}: {len(want)} frames, {pairs} pairs, at most {worst_px:.3f} px and {worst_score:.4f} score apart")
        self.assertGreater(pairs, 3 * len(want) // 2, where)
        self.assertLessEqual(worst_px, MAX_PX, where)
        self.assertLessEqual(worst_score, MAX_SCORE, where)

    def test_batch_one(self):
        clip = self.folder / "first.mp4"
        ffmpeg("-i", real_clip(), "-c", "copy", "-frames:v", FRAMES, clip)
        folder = self.pipeline([clip], 1)
        self.compare(read_kitti(folder, 0, FRAMES), self.reference.clip(clip, FRAMES), "batch 1")

    def test_every_slot_of_the_largest_batch(self):
        frames = FRAMES // self.max_batch
        clips = []
        for slot in range(self.max_batch):  # from key frame to key frame, every 5 s
            clips.append(self.folder / f"slot{slot}.mp4")
            ffmpeg("-ss", slot * 70 // self.max_batch // 5 * 5, "-i", real_clip(), "-c", "copy", "-frames:v", frames, clips[-1])
        folder = self.pipeline(clips, self.max_batch)
        for slot, clip in enumerate(clips):
            self.compare(read_kitti(folder, slot, frames), self.reference.clip(clip, frames),
                         f"batch {self.max_batch}, slot {slot}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
