"""The single-stream job as it is commonly written in Python: OpenCV decodes, resizes and swaps the
channels; OpenVINO's AsyncInferQueue infers; numpy and OpenCV make the boxes. Prints one JSON object.

Both ways run with the throughput hint, one stream a core, the device's own choice of precision.
--input numpy: numpy makes the float planes, as most programs do it. --input compiled: u8 NHWC goes
in and the conversion is compiled into the model, as the embedded engine does it; few know how."""

import argparse
import json
import os
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("onnx")
    parser.add_argument("video")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warmup", type=float, default=2)
    parser.add_argument("--precision", choices=["fp32", "fp16"], default="fp16")
    parser.add_argument("--input", choices=["numpy", "compiled"], default="numpy")
    parser.add_argument("--decode-threads", type=int, default=0, help="0: OpenCV's own choice")
    return parser.parse_args()


def compile_model(ov, args, cores):
    core = ov.Core()
    model = core.read_model(args.onnx)
    shape = model.input().partial_shape
    height, width = shape[2].get_length(), shape[3].get_length()
    model.reshape([1, 3, height, width])
    if args.input == "compiled":
        steps = ov.preprocess.PrePostProcessor(model)
        steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
        steps.input().model().set_layout(ov.Layout("NCHW"))
        steps.input().preprocess().convert_element_type(ov.Type.f32).scale(255.0)
        model = steps.build()
    settings = {"PERFORMANCE_HINT": "THROUGHPUT", "NUM_STREAMS": cores,
                "INFERENCE_NUM_THREADS": cores}
    if args.precision == "fp32":
        settings["INFERENCE_PRECISION_HINT"] = "f32"
    return core.compile_model(model, "CPU", settings), width, height


def boxes_of(np, cv2, logits, boxes, width, height):
    """Boxes in pixels of the frame, after NMS, for one class."""
    scores = 1 / (1 + np.exp(-logits[0, :, 0]))
    keep = scores >= 0.5
    scores, boxes = scores[keep], boxes[0][keep]
    size = boxes[:, 2:] * (width, height)
    corner = boxes[:, :2] * (width, height) - size / 2
    left_top_size = np.concatenate([corner, size], axis=1)
    chosen = cv2.dnn.NMSBoxes(left_top_size.tolist(), scores.tolist(), 0.5, 0.7)
    return [(left_top_size[i], scores[i]) for i in chosen]


def main():
    args = arguments()
    if args.decode_threads:
        os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = f"threads;{args.decode_threads}"
    import cv2
    import numpy as np
    import openvino as ov

    compiled, width, height = compile_model(ov, args, len(os.sched_getaffinity(0)))
    logits_port, boxes_port = compiled.output("logits"), compiled.output("pred_boxes")
    queue = ov.AsyncInferQueue(compiled, 2 * compiled.get_property("NUM_STREAMS"))
    compiled_input = args.input == "compiled"
    inputs = [np.empty((1, height, width, 3), np.uint8) if compiled_input else
              np.empty((1, 3, height, width), np.float32) for _ in range(len(queue))]
    for request, pixels in zip(queue, inputs):
        request.set_input_tensor(ov.Tensor(pixels, shared_memory=True))
    done = {"frames": 0, "boxes": 0}

    def on_done(request, frame_size):
        found = boxes_of(np, cv2, request.get_tensor(logits_port).data,
                         request.get_tensor(boxes_port).data, *frame_size)
        done["frames"] += 1
        done["boxes"] += len(found)

    queue.set_callback(on_done)
    capture = cv2.VideoCapture(args.video, cv2.CAP_FFMPEG)
    start = time.monotonic()
    begin = None
    while True:
        now = time.monotonic()
        if begin is None and now - start >= args.warmup:
            begin = (now, time.process_time(), done["frames"], done["boxes"])
        if begin is not None and now - begin[0] >= args.seconds:
            break
        read, frame = capture.read()
        if not read:
            if not capture.set(cv2.CAP_PROP_POS_FRAMES, 0):
                capture = cv2.VideoCapture(args.video, cv2.CAP_FFMPEG)
            continue
        pixels = inputs[queue.get_idle_request_id()]
        resized = cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR)
        if compiled_input:
            cv2.cvtColor(resized, cv2.COLOR_BGR2RGB, dst=pixels[0])
        else:
            rgb = cv2.cvtColor(resized, cv2.COLOR_BGR2RGB).astype(np.float32) / 255
            pixels[0] = rgb.transpose(2, 0, 1)
        queue.start_async(userdata=(frame.shape[1], frame.shape[0]))
    seconds = time.monotonic() - begin[0]
    cpu_seconds = time.process_time() - begin[1]
    frames = done["frames"] - begin[2]
    boxes = done["boxes"] - begin[3]
    queue.wait_all()
    print(json.dumps({
        "fps": frames / seconds, "cpu_ms_per_frame": cpu_seconds * 1e3 / frames,
        "boxes_per_frame": boxes / frames,
        "precision": str(compiled.get_property("INFERENCE_PRECISION_HINT")),
        "openvino": ov.get_version(), "opencv": cv2.__version__}), flush=True)
    # A callback that is still returning while the interpreter ends can abort it; nothing is lost here.
    os._exit(0)


if __name__ == "__main__":
    main()
