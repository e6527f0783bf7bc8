"""Detectors that other people trained and exported (YOLOv8, YOLOX, PicoDet), as PyPI's wheels carry them: `import` finds
out by itself how they are read, and their boxes are those of decoders written here, which share nothing with the
program. Once at the network's own size, where no resampling stands between the two, and once on pictures that must be
fitted in."""
import subprocess
import unittest

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

from support import ROOT, SHORT, Case, import_until

DETECTORS = ROOT / "build" / "detectors"
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
WORDS = "every stream that a camera sends has frames and a frame that comes late is lost on the way to the sink".split()
FRAMES = 24
THRESHOLD, NMS_IOU, TOPK = 0.25, 0.45, 200
MUX = (1280, 720)


def background(rng, width, height):
    small = rng.integers(60, 220, (height // 40 + 2, width // 40 + 2), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height), Image.BICUBIC)


def puzzle(rng, width, height):
    """A slider puzzle: the dark notch is what the YOLOv8 looks for."""
    side = int(70 * min(width, height) / 512)
    x, y = rng.integers(int(width * 0.35), width - side - 20), rng.integers(20, height - side - 20)
    notch = Image.new("L", (width, height), 0)
    draw, r = ImageDraw.Draw(notch), side // 5
    draw.rectangle((x, y, x + side, y + side), fill=150)
    draw.ellipse((x + side // 2 - r, y - r, x + side // 2 + r, y + r), fill=150)
    draw.ellipse((x + side - r, y + side // 2 - r, x + side + r, y + side // 2 + r), fill=150)
    return Image.composite(Image.new("L", (width, height), 0), background(rng, width, height), notch)


def letters(rng, width, height):
    picture = background(rng, width, height)
    draw = ImageDraw.Draw(picture)
    for _ in range(rng.integers(3, 7)):
        font = ImageFont.truetype(FONT, int(rng.integers(36, 64) * min(width, height) / 416))
        at = (rng.integers(10, width - 80), rng.integers(10, height - 80))
        draw.text(at, rng.choice(list("ABCDEFGHKLMNPRSTUVWXYZ23456789")), font=font, fill=int(rng.choice([0, 255])))
    return picture


def page(rng, width, height):
    """A title, paragraphs and tables."""
    picture = Image.new("L", (width, height), 255)
    draw, s = ImageDraw.Draw(picture), height / 800
    title, body = ImageFont.truetype(FONT, int(26 * s)), ImageFont.truetype(FONT, int(12 * s))
    y = int(30 * s)
    draw.text((width * 0.2, y), " ".join(rng.choice(WORDS, 4)), font=title, fill=0)
    y += int(55 * s)
    while y < height * 0.9:
        if rng.integers(0, 3):
            for _ in range(rng.integers(4, 8)):
                line = ""
                while draw.textlength(line, font=body) < width * 0.78:
                    line += rng.choice(WORDS) + " "
                draw.text((width * 0.08, y), line, font=body, fill=0)
                y += int(16 * s)
            y += int(20 * s)
            continue
        rows, left, right, step = int(rng.integers(4, 7)), width * 0.1, width * 0.88, int(20 * s)
        for row in range(rows + 1):
            draw.line((left, y + row * step, right, y + row * step), fill=0)
        for column in range(5):
            x = left + (right - left) * column / 4
            draw.line((x, y, x, y + rows * step), fill=0)
            for row in range(rows if column < 4 else 0):
                draw.text((x + 5, y + row * step + 3), str(rng.integers(10, 9999)), font=body, fill=0)
        y += rows * step + int(25 * s)
    return picture


def iou(box, others):
    x0, y0 = np.maximum(box[:2], others[:, :2]).T
    x1, y1 = np.minimum(box[2:4], others[:, 2:4]).T
    both = np.clip(x1 - x0, 0, None) * np.clip(y1 - y0, 0, None)
    area = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    return both / ((box[2] - box[0]) * (box[3] - box[1]) + area - both)


def chosen(boxes, scores, limits):
    """Rows l t r b score class: each box has its best class; thresholds, then NMS class by class. boxes [N,4], scores
    [N,C]."""
    scores = np.where(scores == scores.max(1, keepdims=True), scores, 0)
    boxes = np.clip(boxes, 0, np.tile(np.array(limits) - 1, 2))
    rows = []
    for c in range(scores.shape[1]):
        order = np.argsort(-scores[:, c], kind="stable")
        order = order[scores[order, c] >= THRESHOLD]
        while len(order):
            best, order = order[0], order[1:]
            rows.append([*boxes[best], scores[best, c], c])
            order = order[iou(boxes[best], boxes[order]) <= NMS_IOU]
    return np.array(rows).reshape(-1, 6)


def corners(cx, cy, w, h):
    return np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 1)


def decode_yolov8(outputs, size):
    rows = outputs[0][0].T
    return chosen(corners(*rows[:, :4].T), rows[:, 4:], size)


def decode_yolox(outputs, size):
    rows, grid = outputs[0][0], []
    for stride in (8, 16, 32):
        ys, xs = np.mgrid[0:size[1] // stride, 0:size[0] // stride]
        grid.append(np.stack([xs.ravel(), ys.ravel(), np.full(xs.size, stride)], 1))
    grid = np.concatenate(grid)
    centre, extent = (rows[:, :2] + grid[:, :2]) * grid[:, 2:], np.exp(rows[:, 2:4]) * grid[:, 2:]
    return chosen(corners(*centre.T, *extent.T), rows[:, 4:5] * rows[:, 5:], size)


def decode_picodet(outputs, size):
    boxes, scores = [], []
    for level, stride in enumerate((8, 16, 32, 64)):
        wide, high = -(-size[0] // stride), -(-size[1] // stride)
        ys, xs = np.mgrid[0:high, 0:wide]
        x, y = (xs.ravel() + 0.5) * stride, (ys.ravel() + 0.5) * stride
        bins = outputs[4 + level][0].reshape(-1, 4, 8)
        bins = np.exp(bins - bins.max(2, keepdims=True))
        l, t, r, b = (bins @ np.arange(8) / bins.sum(2)).T * stride
        boxes.append(np.stack([x - l, y - t, x + r, y + b], 1))
        scores.append(outputs[level][0])
    return chosen(np.concatenate(boxes), np.concatenate(scores), size)


class Detector:
    def __init__(self, file, size, draw, decode, fit, prepare, options=()):
        self.file, self.size, self.draw, self.decode = file, size, draw, decode
        self.fit, self.prepare, self.options = fit, prepare, options


MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
YOLOV8 = Detector("slider.onnx", (512, 512), puzzle, decode_yolov8, "centre", lambda p: p / 255)
YOLOX = Detector("common_det.onnx", (416, 416), letters, decode_yolox, "corner", lambda p: p[..., ::-1].astype(float),
                 ["--labels", "letter"])
PICODET = Detector("layout_cdla.onnx", (608, 800), page, decode_picodet, "stretch", lambda p: (p / 255 - MEAN) / STD)


class RealDetectors(Case):
    def setUp(self):
        super().setUp()
        if not (DETECTORS / "slider.onnx").exists():
            self.skipTest("the detectors could not be fetched on this machine")

    def clip(self, detector, width, height):
        """Lossless; grey, so that no colour conversion stands between the two sides."""
        rng = np.random.default_rng(11)
        pictures = [np.repeat(np.asarray(detector.draw(rng, width, height))[..., None], 3, 2) for _ in range(FRAMES)]
        path = self.folder / f"{width}x{height}.mkv"
        subprocess.run(["ffmpeg", "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
                        "-r", "10", "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "ffv1", path],
                       input=b"".join(p.tobytes() for p in pictures), check=True)
        raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"],
                             capture_output=True, check=True).stdout
        planes = np.frombuffer(raw, np.uint8).reshape(FRAMES, height * width * 3 // 2).astype(float)
        grey = (planes[:, :height * width] - 16) * 255 / 219  # the video's luma is 16 to 235
        return path, np.clip(np.rint(grey), 0, 255).astype(np.uint8).reshape(FRAMES, height, width)

    def fitted(self, detector, picture):
        """The network's picture, and scale and offset that lead back. What is padded is black, as nvinfer pads."""
        width, height = detector.size
        high, wide = picture.shape
        if detector.fit == "stretch":
            image = Image.fromarray(picture).resize(detector.size, Image.BILINEAR)
            return np.asarray(image), (width / wide, height / high), (0, 0)
        scale = min(width / wide, height / high)
        inner = (round(wide * scale), round(high * scale))
        at = ((width - inner[0]) // 2, (height - inner[1]) // 2) if detector.fit == "centre" else (0, 0)
        image = Image.new("L", detector.size, 0)
        image.paste(Image.fromarray(picture).resize(inner, Image.BILINEAR), at)
        return np.asarray(image), (inner[0] / wide, inner[1] / high), at

    def expected(self, detector, pictures):
        session = onnxruntime.InferenceSession(str(DETECTORS / detector.file), providers=["CPUExecutionProvider"])
        for picture in pictures:
            grey, scale, at = self.fitted(detector, picture)
            rgb = detector.prepare(np.repeat(grey[..., None], 3, 2))
            outputs = session.run(None, {session.get_inputs()[0].name: rgb.transpose(2, 0, 1)[None].astype(np.float32)})
            rows = detector.decode(outputs, detector.size)
            high, wide = picture.shape
            back = np.array([MUX[0] / wide / scale[0], MUX[1] / high / scale[1]] * 2)
            rows[:, :4] = np.clip((rows[:, :4] - np.tile(at, 2)) * back, 0, np.tile(np.array(MUX) - 1, 2))
            yield rows

    def found(self, detector, clip):
        options = list(detector.options)
        if "--labels" in options:
            labels = self.folder / "labels.txt"
            labels.write_text(options[1] + "\n")
            options[1] = labels
        text = import_until("[Step 6]", DETECTORS / detector.file, *options, "--name", "real", "--out", self.out, "--video",
                            clip, "--synthetic-video", "--precision", "fp32", "--max-batch", 1, "--target-fps", 1000,
                            *SHORT)
        self.assertIn("[Step 6] completed", text)
        labels = (self.out / "real/config/labels.txt").read_text().splitlines()
        for path in sorted((self.out / "real/samples/kitti_output").glob("*.txt")):
            rows = [line.split() for line in path.read_text().splitlines()]
            yield np.array([[*map(float, r[-12:-8]), float(r[-1]), labels.index(" ".join(r[:-15]))] for r in rows]
                           ).reshape(-1, 6)

    def difference(self, some, others):
        """Pairs by class and overlap, the largest distance and score difference of one, and how many stand alone."""
        pairs, alone, px, score = 0, 0, 0.0, 0.0
        for got, want in zip(some, others):
            for row in want:
                same = got[got[:, 5] == row[5]]
                overlap = iou(row, same) if len(same) else np.zeros(0)
                if not len(overlap) or overlap.max() < 0.5:
                    alone += 1
                    continue
                partner = same[overlap.argmax()]
                pairs += 1
                px, score = max(px, np.abs(partner[:4] - row[:4]).max()), max(score, abs(partner[4] - row[4]))
            alone += max(0, len(got) - len(want))
        return pairs, alone, px, score

    def compared(self, detector, width, height):
        """At the network's size nothing may differ. Else two resamplers stand between, whose pictures differ by a grey
        level here and there, to which small networks react."""
        clip, pictures = self.clip(detector, width, height)
        want = list(self.expected(detector, pictures))
        same_size = (width, height) == detector.size
        most_px, most_score, most_alone = (0.1, 0.001, 0) if same_size else (3, 0.05, 1)
        found = list(self.found(detector, clip))
        self.assertEqual(len(found), FRAMES)
        pairs, alone, px, score = self.difference(found, want)
        print(f"{detector.file} at {width}x{height}: {pairs} boxes, at most {px:.3f} px and {score:.4f} apart, {alone} "
              "alone")
        self.assertGreater(pairs, FRAMES // 2)
        self.assertLessEqual(px, most_px)
        self.assertLessEqual(score, most_score)
        self.assertLessEqual(alone, most_alone)

    def test_yolov8(self):
        self.compared(YOLOV8, 512, 512)
        self.compared(YOLOV8, 960, 540)

    def test_yolox(self):
        self.compared(YOLOX, 416, 416)
        self.compared(YOLOX, 640, 480)

    def test_picodet(self):
        self.compared(PICODET, 608, 800)
        self.compared(PICODET, 760, 1000)


if __name__ == "__main__":
    unittest.main()
