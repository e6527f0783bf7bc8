"""Exports one detection model from its SafeTensors folder to ONNX, in the process of its own.

Reads one JSON request on stdin, writes one JSON object on stdout; everything that libraries print goes to
stderr. Nothing is fetched, and no code of the model's folder runs unless the request says "trust".

Request:
  folder      the model's files as transformers reads them
  output      the .onnx to write
  backend     "dynamo" or "legacy-torchscript"
  opset       the opset to ask for
  height, width   of the network's input
  pictures    {"path", "count"}: f32 [count, 3, height, width], what the model expects of a picture
  recorded    {"path"}: gets the model's own outputs for these pictures, f32, one output after the other
  prompt      "person . car": freezes the text of a text+image detector into the graph; "" for other models
  trust       true: code in the model's folder may run

Result: {"event": "result", "opset": 18, "inputs": [{"name", "shape"}], "outputs": [...], "labels": [...],
"recorded": [{"name", "shape"}]}; or {"event": "error", "message": "one line"}.
"""

import json
import os
import sys
import traceback

for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
    os.environ[switch] = "1"

import numpy as np
import onnx
import torch
import transformers


class Detector(torch.nn.Module):
    """pixel_values [N,3,H,W] to logits [N,Q,C] and pred_boxes [N,Q,4]."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.labels = []

    def forward(self, pixel_values):
        outputs = self.model(pixel_values=pixel_values, return_dict=True)
        return outputs.logits, outputs.pred_boxes


class PromptedDetector(torch.nn.Module):
    """The same of a text+image detector whose text is a constant: one class a phrase.

    The score of a phrase is the highest of its tokens' where the model scores tokens (Grounding DINO), the
    query's own where it scores phrases (OWL-ViT).
    """

    def __init__(self, model, tokenizer, phrases):
        super().__init__()
        self.model = model
        self.labels = phrases
        self.scores_tokens = hasattr(model.config, "max_text_len")
        if self.scores_tokens:
            text = " . ".join(phrases) + " ."
            tokens = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
            self.token_sets = token_sets(text, phrases, tokens.pop("offset_mapping")[0].tolist())
            freeze_text_masks(model, tokens["input_ids"])
        else:
            tokens = tokenizer(phrases, return_tensors="pt", padding="max_length",
                               max_length=model.config.text_config.max_position_embeddings, truncation=True)
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            if name in tokens:
                self.register_buffer(name, tokens[name], persistent=False)

    def forward(self, pixel_values):
        batch = pixel_values.shape[0]
        text = {}
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            if not hasattr(self, name):
                continue
            value = getattr(self, name)
            if name == "token_type_ids" and not self.scores_tokens:
                continue
            text[name] = value.repeat(batch, 1)
        outputs = self.model(pixel_values=pixel_values, return_dict=True, **text)
        logits = outputs.logits
        if self.scores_tokens:
            logits = torch.stack([logits[:, :, tokens].amax(dim=-1) for tokens in self.token_sets], dim=-1)
        return logits, outputs.pred_boxes


def freeze_text_masks(model, input_ids):
    """Which token sees which depends on the text alone; the exporters know no operators for how it is found."""
    module = sys.modules[type(model).__module__]
    name = "generate_masks_with_special_tokens_and_transfer_map"
    constants = getattr(module, name)(input_ids, model.model.special_tokens)
    setattr(module, name, lambda ids, *_, **__: tuple(
        value.repeat(ids.shape[0], *[1] * (value.dim() - 1)) for value in constants))


def token_sets(text, phrases, offsets):
    """For each phrase of `text`, the indices of its tokens."""
    sets = []
    start = 0
    for phrase in phrases:
        begin = text.index(phrase, start)
        end = begin + len(phrase)
        start = end
        sets.append([i for i, (a, b) in enumerate(offsets) if a < b and a >= begin and b <= end])
    return sets


def load(request):
    folder = request["folder"]
    options = {"local_files_only": True, "trust_remote_code": bool(request["trust"]), "use_safetensors": True}
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True,
                                                     trust_remote_code=bool(request["trust"]))
    if hasattr(config, "disable_custom_kernels"):
        config.disable_custom_kernels = True
    # The folder holds all weights: a backbone of its own must not be looked up anywhere.
    if getattr(config, "use_pretrained_backbone", False):
        config.use_pretrained_backbone = False
    phrases = [phrase.strip() for phrase in request["prompt"].split(".") if phrase.strip()]
    kind = transformers.AutoModelForZeroShotObjectDetection if phrases else transformers.AutoModelForObjectDetection
    model, report = kind.from_pretrained(folder, config=config, dtype=torch.float32, output_loading_info=True,
                                         **options)
    missing = sorted(report["missing_keys"])
    if missing:
        raise ValueError(f"the weights lack {len(missing)} of the model's tensors, the first is {missing[0]}")
    if phrases:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return PromptedDetector(model, tokenizer, phrases)
    return Detector(model)


def record(detector, request):
    """The model's own outputs for the pictures, one picture at a time."""
    count = request["pictures"]["count"]
    pictures = np.fromfile(request["pictures"]["path"], dtype=np.float32)
    pictures = torch.from_numpy(pictures.reshape(count, 3, request["height"], request["width"]))
    with torch.no_grad():
        rows = [detector(picture.unsqueeze(0)) for picture in pictures]
    recorded = []
    with open(request["recorded"]["path"], "wb") as file:
        for i, name in enumerate(("logits", "pred_boxes")):
            values = torch.cat([row[i] for row in rows]).to(torch.float32).contiguous().numpy()
            file.write(values.tobytes())
            recorded.append({"name": name, "shape": list(values.shape)})
    return recorded


def export(detector, request):
    example = torch.rand(2, 3, request["height"], request["width"])
    names = {"input_names": ["pixel_values"], "output_names": ["logits", "pred_boxes"]}
    common = {"opset_version": request["opset"], **names}
    # Only the batch is free: Debian's converters and TensorRT want the other axes as numbers.
    with torch.no_grad():
        if request["backend"] == "dynamo":
            # Its own opset is 18; what it makes of a lower one is at times no valid graph.
            common["opset_version"] = max(18, request["opset"])
            program = torch.onnx.export(detector, (example,), dynamo=True, verbose=False,
                                        dynamic_shapes={"pixel_values": {0: torch.export.Dim("batch")}}, **common)
            program.save(request["output"], external_data=False)
        else:
            axes = {name: {0: "batch"} for name in ("pixel_values", "logits", "pred_boxes")}
            torch.onnx.export(detector, (example,), request["output"], dynamo=False, dynamic_axes=axes, **common)


def tidy(request, labels):
    """One file, or one more for the weights above 1.9 GB; labels of a prompt go into the metadata."""
    path = request["output"]
    model = onnx.load(path)
    if labels:
        entry = model.metadata_props.add()
        entry.key = "names"
        entry.value = repr(dict(enumerate(labels)))
    for value in list(model.graph.output):
        # TorchScript names axes that are numbers; the numbers are in the recorded outputs.
        dims = value.type.tensor_type.shape.dim
        if dims and dims[0].dim_param:
            dims[0].dim_param = "batch"
    for value in model.graph.output:
        for axis, size in request["output_sizes"][value.name].items():
            dim = value.type.tensor_type.shape.dim[axis]
            if dim.dim_param:
                dim.dim_value = size
    folder = os.path.dirname(path)
    for name in os.listdir(folder):
        if os.path.join(folder, name) != path:
            os.remove(os.path.join(folder, name))
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    if size > 1_900_000_000:
        onnx.save_model(model, path, save_as_external_data=True, all_tensors_to_one_file=True,
                        location=os.path.basename(path) + ".data", size_threshold=1024)
    else:
        onnx.save_model(model, path)
    onnx.checker.check_model(path, full_check=True)
    return model


def described(values):
    return [{"name": value.name,
             "shape": [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]}
            for value in values]


def run(request):
    torch.manual_seed(0)
    # Exporters switch the mode of the module that they are handed and restore what they found: a wrapper left in
    # training mode would leave the model in it.
    detector = load(request).eval()
    recorded = record(detector, request)
    export(detector, request)
    request["output_sizes"] = {output["name"]: {axis: size for axis, size in enumerate(output["shape"]) if axis > 0}
                               for output in recorded}
    model = tidy(request, detector.labels)
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    return {"event": "result", "opset": opset, "inputs": described(model.graph.input),
            "outputs": described(model.graph.output), "labels": detector.labels, "recorded": recorded}


def cause(error):
    """The innermost reason, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def main():
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    try:
        answer = run(request)
    except Exception as error:
        traceback.print_exc()
        answer = {"event": "error", "message": cause(error)[:400]}
    channel.write(json.dumps(answer) + "\n")
    channel.flush()


main()
