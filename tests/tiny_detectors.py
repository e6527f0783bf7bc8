"""Detectors of transformers' architectures with a few thousand random weights; runs in the exporter's venv.

  python tiny_detectors.py FOLDER NAME    writes the model NAME to FOLDER
  python tiny_detectors.py --names        lists them
  python tiny_detectors.py --check FOLDER MODEL.onnx [PROMPT]
      compares ONNX Runtime with torch on random pictures at batch 1 and 3; prints the largest difference
"""
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers as t

HEIGHT, WIDTH = 96, 128
LABELS = {"id2label": {0: "cat", 1: "dog", 2: "bird"}, "label2id": {"cat": 0, "dog": 1, "bird": 2}}
SIZES = [16, 24, 32, 48]
DETR = dict(d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=20, use_timm_backbone=False,
            use_pretrained_backbone=False, backbone=None, **LABELS)
RT_DETR = dict(d_model=32, encoder_hidden_dim=32, encoder_in_channels=SIZES[1:], encoder_layers=1, decoder_layers=2,
               num_queries=30, num_feature_levels=3, decoder_in_channels=[32, 32, 32], encoder_attention_heads=2,
               decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, decoder_n_points=2, **LABELS)


def resnet(features, config=t.ResNetConfig):
    return config(embedding_size=16, hidden_sizes=SIZES, depths=[1, 1, 1, 1], layer_type="basic",
                  out_features=features)


def hgnet():
    return t.HGNetV2Config(stem_channels=[3, 8, 8], stage_in_channels=[8, 16, 24, 32], stage_mid_channels=[8] * 4,
                           stage_out_channels=SIZES, hidden_sizes=SIZES, stage_num_blocks=[1] * 4,
                           stage_numb_of_layers=[1] * 4, out_features=["stage2", "stage3", "stage4"])


THREE = ["stage2", "stage3", "stage4"]
MODELS = {
    "detr": lambda: t.DetrForObjectDetection(t.DetrConfig(backbone_config=resnet(["stage4"]), **DETR)),
    "table_transformer": lambda: t.TableTransformerForObjectDetection(
        t.TableTransformerConfig(backbone_config=resnet(["stage4"]), **DETR)),
    "conditional_detr": lambda: t.ConditionalDetrForObjectDetection(
        t.ConditionalDetrConfig(backbone_config=resnet(["stage4"]), **DETR)),
    "deformable_detr": lambda: t.DeformableDetrForObjectDetection(
        t.DeformableDetrConfig(backbone_config=resnet(THREE), num_feature_levels=3, **DETR)),
    "dab_detr": lambda: t.DabDetrForObjectDetection(
        t.DabDetrConfig(backbone_config=resnet(["stage4"]), hidden_size=32, num_queries=20,
                        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, encoder_layers=1,
                        decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
                        decoder_ffn_dim=32, **LABELS)),
    "rt_detr": lambda: t.RTDetrForObjectDetection(
        t.RTDetrConfig(backbone_config=resnet(THREE, t.RTDetrResNetConfig), **RT_DETR)),
    "rt_detr_v2": lambda: t.RTDetrV2ForObjectDetection(
        t.RTDetrV2Config(backbone_config=resnet(THREE, t.RTDetrResNetConfig), **RT_DETR)),
    "d_fine": lambda: t.DFineForObjectDetection(
        t.DFineConfig(backbone_config=hgnet(), **{**RT_DETR, "decoder_n_points": [2, 2, 2]})),
    "yolos": lambda: t.YolosForObjectDetection(
        t.YolosConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                      image_size=[HEIGHT, WIDTH], num_detection_tokens=20, use_mid_position_embeddings=False,
                      **LABELS)),
    "owlvit": lambda: t.OwlViTForObjectDetection(t.OwlViTConfig(
        text_config=dict(vocab_size=1100, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
                         num_attention_heads=2, max_position_embeddings=16, bos_token_id=101, eos_token_id=102,
                         pad_token_id=0),
        vision_config=dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
                           image_size=96, patch_size=16),
        projection_dim=32)),
    "grounding_dino": lambda: t.GroundingDinoForObjectDetection(t.GroundingDinoConfig(
        backbone_config=resnet(THREE), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        text_config=t.BertConfig(vocab_size=1100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                 intermediate_size=32, max_position_embeddings=64),
        d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=20, num_feature_levels=3, max_text_len=32)),
}
PROMPTED = ("owlvit", "grounding_dino")
# BERT's numbers of these tokens: Grounding DINO tells phrases apart by them.
VOCABULARY = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "person": 7, "car": 8, "traffic": 9, "light": 10,
              ".": 1012}


def save_tokenizer(folder):
    """A word tokenizer: real ones have files of their own."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)])
    t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                              unk_token="[UNK]").save_pretrained(folder)


def save(folder, name):
    torch.manual_seed(1)
    model = MODELS[name]().eval()
    # transformers' own initialisation is so small that all queries tie; trained weights do not.
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=parameter[0].numel() ** -0.5)
    model.save_pretrained(folder)
    size = {"height": 96, "width": 96} if name == "owlvit" else {"height": HEIGHT, "width": WIDTH}
    processor = {"do_resize": True, "size": size, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
                 "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    with open(os.path.join(folder, "preprocessor_config.json"), "w") as file:
        json.dump(processor, file)
    if name in PROMPTED:
        save_tokenizer(folder)


def expected_of(folder, picture, phrases):
    """torch's own logits and boxes of one picture: [queries, classes + 4]."""
    inputs = {"pixel_values": torch.from_numpy(picture[None])}
    if not phrases:
        outputs = t.AutoModelForObjectDetection.from_pretrained(folder).eval()(**inputs)
        return torch.cat([outputs.logits[0], outputs.pred_boxes[0]], dim=1).numpy()
    model = t.AutoModelForZeroShotObjectDetection.from_pretrained(folder).eval()
    tokenizer = t.AutoTokenizer.from_pretrained(folder)
    if "Owl" in type(model).__name__:
        text = tokenizer(phrases, return_tensors="pt", padding="max_length", max_length=16)
        outputs = model(**inputs, input_ids=text["input_ids"], attention_mask=text["attention_mask"])
        logits = outputs.logits[0]
    else:
        text = tokenizer(" . ".join(phrases) + " .", return_tensors="pt")
        outputs = model(**inputs, **text)
        ids = text["input_ids"][0].tolist()
        places = [[ids.index(VOCABULARY[word]) for word in phrase.split()] for phrase in phrases]
        logits = torch.stack([outputs.logits[0][:, place].max(dim=1).values for place in places], dim=1)
    return torch.cat([logits, outputs.pred_boxes[0]], dim=1).numpy()


def check(folder, onnx_path, prompt=""):
    import onnxruntime
    session = onnxruntime.InferenceSession(onnx_path)
    height, width = session.get_inputs()[0].shape[2:]
    pictures = np.random.default_rng(7).standard_normal((3, 3, height, width), dtype=np.float32)
    phrases = [phrase.strip() for phrase in prompt.split(".") if phrase.strip()]
    with torch.no_grad():
        expected = [expected_of(folder, picture, phrases) for picture in pictures]
    worst = 0.0
    for batch in (1, 3):
        logits, boxes = session.run(None, {"pixel_values": pictures[:batch]})
        for i in range(batch):
            rows = np.concatenate([logits[i], boxes[i]], axis=1)
            # As sets: each row of one has its twin in the other.
            distance = np.abs(rows[:, None, :] - expected[i][None, :, :]).max(axis=2)
            worst = max(worst, distance.min(axis=1).max(), distance.min(axis=0).max())
    print(worst)


if sys.argv[1] == "--names":
    print(" ".join(MODELS))
elif sys.argv[1] == "--check":
    check(*sys.argv[2:])
else:
    save(*sys.argv[1:])
