"""streamgauge onnx: every kind of broken graph is found and named, its healthy twin is not, and what is rewritten
gives what ONNX Runtime, which had no part in it, gets from the original."""
import hashlib
import json
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from support import MODEL, STREAMGAUGE, Case, run, short_clip

GATE, USER, UNSUPPORTED = 1, 2, 4
DEMO = MODEL / "onnx" / "model.onnx"
RNG = np.random.default_rng(5)


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


class Graph:
    """A small detector: x [N,3,8,8] is convolved to 'f' [N,4,8,8]; the test adds what comes then."""

    def __init__(self, batch="batch", opset=17):
        self.batch, self.opset = batch, opset
        self.nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
                      helper.make_node("Sigmoid", ["c"], ["f"], name="sigmoid")]
        self.weights = [constant("w", RNG.normal(size=(4, 3, 1, 1)), np.float32)]
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 8, 8])]
        self.outputs = []

    def node(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output] if isinstance(output, str) else output,
                                           name="node_" + (output if isinstance(output, str) else output[0]),
                                           domain=domain, **attributes))
        return self

    def const(self, name, values, dtype=np.int64):
        self.weights.append(constant(name, values, dtype))
        return self

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return self

    def output(self, name, shape=None, kind=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))
        return self

    def model(self, domains=()):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tests")


def reshaped(shape, batch="batch"):
    return Graph(batch).const("s", shape).node("Reshape", ["f", "s"], "boxes").output("boxes")


def computed_reshape(first):
    """Reshape to [first, 64, 4] where `first` is a node's output of one element."""
    return (Graph().node("Shape", ["f"], "shape").const("zero", [0]).const("one", [1])
            .node("Slice", ["shape", "zero", "one"], "n").const("k", [1]).const("rest", [64, 4])
            .node("Concat", [first, "rest"], "s", axis=0).node("Reshape", ["f", "s"], "boxes").output("boxes"))


def query_concat(copies, follows):
    """Learned queries put in front of each picture's rows, as a DETR decoder does."""
    graph = Graph().const("s", [0, 4, 64]).node("Reshape", ["f", "s"], "rows")
    graph.const("q", np.repeat(RNG.normal(size=(1, 4, 5)), copies, 0), np.float32)
    queries = "q"
    if follows:
        (graph.node("Shape", ["x"], "shape").const("zero", [0]).const("one", [1])
         .node("Slice", ["shape", "zero", "one"], "n").const("rest", [4, 5])
         .node("Concat", ["n", "rest"], "qs", axis=0).node("Expand", ["q", "qs"], "queries"))
        queries = "queries"
    return graph.node("Concat", [queries, "rows"], "boxes", axis=2).output("boxes")


# name → (broken, the node that must be named, healthy twin)
PAIRS = {
    "reshape holds 1": (reshaped([1, 64, 4]), "node_boxes", reshaped([-1, 64, 4])),
    "reshape holds 2": (reshaped([2, 64, 4]), "node_boxes", reshaped([0, 64, 4])),
    "reshape mixes silently": (reshaped([1, -1, 4]), "node_boxes", reshaped([0, -1, 4])),
    "computed shape holds 1": (computed_reshape("k"), "node_boxes", computed_reshape("n")),
    "queries for one picture": (query_concat(1, False), "node_boxes", query_concat(1, True)),
    "queries for two pictures": (query_concat(2, False), "node_boxes", query_concat(1, True)),
    "split cuts the batch": (
        Graph().node("Split", ["f"], ["a", "b"], axis=0).node("Concat", ["b", "a"], "boxes", axis=0).output("boxes"),
        "node_a",
        Graph().node("Split", ["f"], ["a", "b"], axis=1).node("Concat", ["b", "a"], "boxes", axis=1).output("boxes")),
    "gather takes one picture": (
        Graph().const("i", 0).node("Gather", ["f", "i"], "first", axis=0).const("z", [0])
        .node("Unsqueeze", ["first", "z"], "boxes").output("boxes"), "node_first",
        Graph().const("i", 0).node("Gather", ["f", "i"], "boxes", axis=1).output("boxes")),
    "slice ends at picture 1": (
        Graph().const("a", [0]).const("e", [1]).node("Slice", ["f", "a", "e"], "boxes").output("boxes"), "node_boxes",
        Graph().const("a", [0]).const("e", [1]).const("x1", [1]).node("Slice", ["f", "a", "e", "x1"], "boxes")
        .output("boxes")),
    "mean over the batch": (
        Graph().node("ReduceMean", ["f"], "m", axes=[0]).node("Sub", ["f", "m"], "boxes").output("boxes"), "node_m",
        Graph().node("ReduceMean", ["f"], "m", axes=[1]).node("Sub", ["f", "m"], "boxes").output("boxes")),
    "softmax over the batch": (
        Graph().node("Softmax", ["f"], "boxes", axis=0).output("boxes"), "node_boxes",
        Graph().node("Softmax", ["f"], "boxes", axis=1).output("boxes")),
    "resize sizes hold 1": (
        Graph().const("z", [1, 4, 16, 16]).node("Resize", ["f", "", "", "z"], "boxes", mode="nearest").output("boxes"),
        "node_boxes",
        Graph().const("z", [1, 1, 2, 2], np.float32).node("Resize", ["f", "", "z"], "boxes", mode="nearest")
        .output("boxes")),
    "a constant of two pictures": (
        Graph().const("two", np.ones((2, 4, 8, 8)), np.float32).node("Add", ["f", "two"], "boxes").output("boxes"),
        "node_boxes",
        Graph().const("one", np.ones((1, 4, 8, 8)), np.float32).node("Add", ["f", "one"], "boxes").output("boxes")),
    "grid for one picture": (
        Graph().const("g", RNG.uniform(-1, 1, (1, 5, 5, 2)), np.float32).node("GridSample", ["f", "g"], "boxes")
        .output("boxes"), "node_boxes",
        Graph().const("p", [0, 2, 3, 1]).node("Transpose", ["f"], "t", perm=[0, 2, 3, 1]).const("a", [0])
        .const("e", [2]).const("x3", [3]).node("Slice", ["t", "a", "e", "x3"], "g")
        .node("GridSample", ["f", "g"], "boxes").output("boxes")),
}

# Fixed to a batch, and what makes them free is a rewrite.
FIXED = {
    "reshape": reshaped([1, 64, 4], 1),
    "reshape with -1 elsewhere": reshaped([1, -1, 4], 1),
    "reshape of four": reshaped([4, 64, 4], 4),
    "merged into rows and back": (
        Graph(1).const("s", [64, 4]).node("Reshape", ["f", "s"], "r").const("v", RNG.normal(size=(4, 6)), np.float32)
        .node("MatMul", ["r", "v"], "m").const("t", [1, 64, 6]).node("Reshape", ["m", "t"], "boxes").output("boxes")),
    "heads before the batch": (
        Graph(1).const("s", [1, 4, 64]).node("Reshape", ["f", "s"], "r").node("Transpose", ["r"], "t", perm=[2, 0, 1])
        .const("u", [64, 2, 2]).node("Reshape", ["t", "u"], "h").node("Transpose", ["h"], "boxes_t", perm=[1, 0, 2])
        .const("v", [1, 2, 64, 2]).node("Reshape", ["boxes_t", "v"], "boxes").output("boxes")),
    "queries": query_concat(1, False),
    "resize": (Graph(1).const("z", [1, 4, 16, 16]).node("Resize", ["f", "", "", "z"], "boxes", mode="nearest")
               .output("boxes")),
    "expand of weights": (
        Graph(2).const("q", RNG.normal(size=(1, 4, 8, 8)), np.float32).const("s", [2, 4, 8, 8])
        .node("Expand", ["q", "s"], "e").node("Mul", ["f", "e"], "boxes").output("boxes")),
    "slice of all": (Graph(1).const("a", [0]).const("e", [1]).node("Slice", ["f", "a", "e"], "boxes").output("boxes")),
    "shape kept as nodes": computed_reshape("n"),
}

HOPELESS = {
    "gather": (Graph(1).const("i", 0).node("Gather", ["f", "i"], "boxes", axis=0).output("boxes"), "node_boxes"),
    "squeeze": (Graph(1).const("a", [0]).node("Squeeze", ["f", "a"], "boxes").output("boxes"), "node_boxes"),
    "mean over all": (Graph(2).node("ReduceMean", ["f"], "m", axes=[0]).node("Sub", ["f", "m"], "boxes")
                      .output("boxes"), "node_m"),
    "split": (Graph(2).node("Split", ["f"], ["a", "b"], axis=0).node("Concat", ["b", "a"], "boxes", axis=0)
              .output("boxes"), "node_a"),
    "nms": (Graph(1).const("s", [1, 64, 4]).node("Reshape", ["f", "s"], "b").const("t", [1, 4, 64])
            .node("Reshape", ["f", "t"], "sc").const("k", [10]).const("iou", [0.5], np.float32)
            .node("NonMaxSuppression", ["b", "sc", "k", "iou"], "rows", ).output("rows", None, TensorProto.INT64),
            "node_rows"),
}


class Onnx(Case):
    def write(self, graph, name="model.onnx"):
        path = self.folder / name
        model = graph if isinstance(graph, onnx.ModelProto) else graph.model()
        onnx.save(model, str(path))
        return path

    def inspect(self, path, *args):
        result = run(STREAMGAUGE, "onnx", "inspect", path, "--json", "--no-progress", *args)
        return result, json.loads(result.stdout) if result.stdout else None

    def rebatch(self, path, *args):
        out = self.folder / "out.onnx"
        out.unlink(missing_ok=True)
        return run(STREAMGAUGE, "onnx", "rebatch", path, out, "--no-progress", *args), out

    def outputs(self, path, pictures, **further):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return session.run(None, {"x": pictures, **further})


class Batch(Onnx):
    def test_broken_graphs_are_refused_with_the_nodes_name(self):
        for name, (broken, node, _) in PAIRS.items():
            with self.subTest(name):
                result, facts = self.inspect(self.write(broken))
                self.assertEqual(result.returncode, GATE, result.stderr)
                self.assertEqual(facts["batch"]["verdict"], "broken")
                self.assertIn(node, result.stderr.splitlines()[-1])

    def test_healthy_twins_are_proven(self):
        for name, (_, _, healthy) in PAIRS.items():
            with self.subTest(name):
                result, facts = self.inspect(self.write(healthy))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(facts["batch"]["verdict"], "proven")
                self.assertEqual([b["batch"] for b in facts["batch"]["run"]["batches"]], [2, 3, 8])
                self.assertEqual(facts["batch"]["findings"], [])

    def test_reading_alone_suspects_no_healthy_graph(self):
        for name, (_, _, healthy) in PAIRS.items():
            with self.subTest(name):
                result, facts = self.inspect(self.write(healthy), "--no-run")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(facts["batch"]["findings"], [])
        result, facts = self.inspect(DEMO, "--no-run")
        self.assertEqual((result.returncode, facts["batch"]["findings"]), (0, []), result.stderr)

    def test_outputs_that_never_change_prove_nothing(self):
        graph = Graph().const("n", [0.0], np.float32).node("Mul", ["f", "n"], "boxes").output("boxes")
        result, facts = self.inspect(self.write(graph))
        self.assertEqual((result.returncode, facts["batch"]["verdict"]), (0, "unproven"), result.stderr)

    def test_fixed_graphs_become_free_and_equal(self):
        for name, graph in FIXED.items():
            with self.subTest(name):
                path = self.write(graph)
                result, out = self.rebatch(path)
                self.assertEqual(result.returncode, 0, result.stderr)
                fixed = onnx.load(str(path)).graph.input[0].type.tensor_type.shape.dim[0].dim_value or 1
                pictures = RNG.uniform(size=(5, 3, 8, 8)).astype(np.float32)
                alone = [self.outputs(path, np.repeat(p[None], fixed, 0))[0][:1] for p in pictures]
                together = self.outputs(out, pictures)[0]
                np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
                onnx.checker.check_model(onnx.load(str(out)))
                self.assertEqual(self.inspect(out)[1]["batch"]["verdict"], "proven")

    def test_what_cannot_be_made_free_is_refused_by_name(self):
        for name, (graph, node) in HOPELESS.items():
            with self.subTest(name):
                result, out = self.rebatch(self.write(graph))
                self.assertEqual(result.returncode, GATE, result.stderr)
                self.assertIn(node, result.stderr)
                self.assertFalse(out.exists())
                self.assertEqual([p.name for p in self.folder.iterdir()], ["model.onnx"])

    def test_broken_graphs_that_can_be_repaired_are(self):
        for name in ("reshape holds 1", "reshape mixes silently", "queries for one picture", "queries for two pictures"):
            with self.subTest(name):
                result, out = self.rebatch(self.write(PAIRS[name][0]))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.inspect(out)[1]["batch"]["verdict"], "proven")

    def test_static_is_the_reverse(self):
        path, out = self.write(reshaped([0, -1, 4])), self.folder / "out.onnx"
        self.assertEqual(run(STREAMGAUGE, "onnx", "static", path, out, "--batch", "3").returncode, 0)
        pictures = RNG.uniform(size=(3, 3, 8, 8)).astype(np.float32)
        np.testing.assert_allclose(self.outputs(out, pictures)[0], self.outputs(path, pictures)[0], atol=1e-5)
        dims = onnx.load(str(out)).graph.input[0].type.tensor_type.shape.dim
        self.assertEqual(dims[0].dim_value, 3)
        result, facts = self.inspect(out)
        self.assertEqual((result.returncode, facts["batch"]["fixed"]), (0, 3))

    def test_compare_tells_equal_from_different(self):
        a = self.write(reshaped([0, -1, 4]), "a.onnx")
        other = reshaped([0, -1, 4]).model()
        other.graph.initializer[0].CopyFrom(onnx.load(str(a)).graph.initializer[0])
        b = self.write(other, "b.onnx")
        self.assertEqual(run(STREAMGAUGE, "onnx", "compare", a, b).returncode, 0)
        weights = numpy_helper.to_array(other.graph.initializer[0]) * np.float32(1.05)
        other.graph.initializer[0].CopyFrom(constant("w", weights, np.float32))
        result = run(STREAMGAUGE, "onnx", "compare", a, self.write(other, "b.onnx"), "--no-progress")
        self.assert_one_line(result, GATE, "boxes", "differ")
        self.assertEqual(run(STREAMGAUGE, "onnx", "compare", a, b, "--tolerance", "0.1").returncode, 0)

    def test_input_is_never_overwritten(self):
        path = self.write(reshaped([1, 64, 4], 1))
        before = path.read_bytes()
        self.assertEqual(run(STREAMGAUGE, "onnx", "rebatch", path, path).returncode, USER)
        self.assertEqual(path.read_bytes(), before)

    def test_external_weights_go_with_the_graph(self):
        model = reshaped([1, 64, 4], 1).model()
        onnx.save(model, str(self.folder / "model.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)
        (self.folder / "there").mkdir()
        out = self.folder / "there" / "out.onnx"
        result = run(STREAMGAUGE, "onnx", "rebatch", self.folder / "model.onnx", out, "--no-progress")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(p.name for p in out.parent.iterdir()), ["out.onnx", "w.bin"])
        self.assertEqual(self.outputs(out, np.zeros((2, 3, 8, 8), np.float32))[0].shape, (2, 64, 4))


class Inspect(Onnx):
    def test_demo_model_is_what_it_is(self):
        result, facts = self.inspect(DEMO)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(facts["batch"]["verdict"], "proven")
        self.assertEqual((facts["opset"], facts["nms"], facts["unknown_operators"]), (17, [], []))
        self.assertEqual(facts["inputs"], [{"name": "pixel_values", "type": "float32", "shape": ["batch", 3, 320, 320]}])
        self.assertEqual(facts["fp16"]["exploded_layer_norms"], [])

    def test_every_standard_operator_is_known(self):
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "" and schema.name not in self.known():
                self.fail(schema.name)

    @classmethod
    def known(cls):
        if not hasattr(cls, "names"):
            source = (MODEL.parent.parent / "src/onnx/standard_operators.cc").read_text()
            table = source[source.index("kStandard[]"):source.index("kTensorRtNms[]")]
            cls.names = {part for part in table.split('"')[1::2]}
        return cls.names

    def test_unknown_operators_are_refused_by_name(self):
        for domain, op in (("com.acme", "Fancy"), ("", "Fancy"), ("mmdeploy", "grid_sampler")):
            with self.subTest(domain=domain, op=op):
                graph = Graph().node(op, ["f"], "boxes", domain=domain).output("boxes")
                result, facts = self.inspect(self.write(graph.model([domain] if domain else [])))
                self.assertEqual(result.returncode, UNSUPPORTED)
                self.assertIn(op, result.stderr.splitlines()[-1])
                self.assertEqual(len(facts["unknown_operators"]), 1)

    def test_tensorrt_nms_is_named_and_not_run(self):
        for domain in ("TRT", ""):
            graph = (Graph().node("EfficientNMS_TRT", ["f", "f"], ["num_dets", "boxes"], domain=domain)
                     .output("num_dets", None, TensorProto.INT32).output("boxes"))
            result, facts = self.inspect(self.write(graph.model([domain] if domain else [])))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((facts["nms"], facts["tensorrt_plugins"]),
                             (["EfficientNMS_TRT 'node_num_dets'"], ["EfficientNMS_TRT"]))
            self.assertEqual(facts["batch"]["verdict"], "not run")

    def layer_norm(self, square, opset=16):
        graph = Graph(opset=opset).node("ReduceMean", ["f"], "mean", axes=[-1]).node("Sub", ["f", "mean"], "d")
        graph.const("two", 2.0, np.float32).const("eps", 1e-5, np.float32)
        graph.node("Pow", ["d", "two"], "sq") if square == "Pow" else graph.node("Mul", ["d", "d"], "sq")
        return (graph.node("ReduceMean", ["sq"], "var", axes=[-1]).node("Add", ["var", "eps"], "ve")
                .node("Sqrt", ["ve"], "sd").node("Div", ["d", "sd"], "boxes").output("boxes"))

    def test_layer_normalisation_in_parts_is_found(self):
        for square in ("Pow", "Mul"):
            _, facts = self.inspect(self.write(self.layer_norm(square)))
            self.assertEqual(facts["fp16"]["exploded_layer_norms"], [f"{square} 'node_sq'"])
        whole = (Graph().const("s", np.ones(8), np.float32)
                 .node("LayerNormalization", ["f", "s"], "boxes", axis=-1).output("boxes"))
        self.assertEqual(self.inspect(self.write(whole))[1]["fp16"]["exploded_layer_norms"], [])

    def test_constants_beyond_half_are_found(self):
        for value, found in ((65504.0, 0), (65536.0, 1), (-1e9, 1), (float("-inf"), 0)):
            graph = Graph().const("v", [value], np.float32).node("Max", ["f", "v"], "boxes").output("boxes")
            _, facts = self.inspect(self.write(graph), "--no-run")
            self.assertEqual(len(facts["fp16"]["large_constants"]), found, value)

    def test_quantized_and_int64_are_counted(self):
        graph = (Graph().const("s", 0.1, np.float32).const("z", 0, np.uint8).node("QuantizeLinear", ["f", "s", "z"], "q")
                 .node("DequantizeLinear", ["q", "s", "z"], "boxes").node("ArgMax", ["f"], "classes", axis=1)
                 .output("boxes").output("classes", None, TensorProto.INT64))
        result, facts = self.inspect(self.write(graph))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((facts["quantize_nodes"], facts["dequantize_nodes"], facts["int64_outputs"]), (1, 1, ["classes"]))

    def two_inputs(self, name, kind=TensorProto.INT64, shape=("batch", 2)):
        return (Graph().input(name, list(shape), kind).node("Cast", [name], "size", to=TensorProto.FLOAT)
                .const("a", [1, 2]).node("ReduceMean", ["f"], "rows", axes=[2, 3], keepdims=0)
                .const("z", [0]).const("e", [2]).const("x1", [1]).node("Slice", ["rows", "z", "e", "x1"], "two")
                .node("Mul", ["two", "size"], "boxes").output("boxes"))

    def test_second_inputs_become_constants(self):
        for name, kind, value in (("orig_target_sizes", TensorProto.INT64, [8, 8]),
                                  ("im_shape", TensorProto.FLOAT, [8, 8]), ("scale_factor", TensorProto.FLOAT, [1, 1])):
            with self.subTest(name):
                path = self.write(self.two_inputs(name, kind))
                _, facts = self.inspect(path)
                self.assertEqual(facts["further_inputs"][0]["name"], name)
                result, out = self.rebatch(path)
                self.assertEqual(result.returncode, 0, result.stderr)
                pictures = RNG.uniform(size=(3, 3, 8, 8)).astype(np.float32)
                fed = np.repeat(np.array([value], np.int64 if kind == TensorProto.INT64 else np.float32), 3, 0)
                np.testing.assert_allclose(self.outputs(out, pictures)[0], self.outputs(path, pictures, **{name: fed})[0],
                                           atol=1e-4)

    def test_unknown_second_input_is_refused_by_name(self):
        result, _ = self.inspect(self.write(self.two_inputs("text_tokens")))
        self.assertEqual(result.returncode, UNSUPPORTED)
        self.assertIn("text_tokens", result.stderr.splitlines()[-1])

    def test_nms_of_the_standard_keeps_batch_one_only(self):
        graph = HOPELESS["nms"][0]
        result, facts = self.inspect(self.write(graph))
        self.assertEqual((result.returncode, facts["nms"]), (0, ["NonMaxSuppression 'node_rows'"]), result.stderr)

    def test_words_go_to_stdout_and_a_broken_file_gives_one_line(self):
        result = run(STREAMGAUGE, "onnx", "inspect", DEMO, "--no-run")
        self.assertIn("pixel_values [batch,3,320,320] float32", result.stdout)
        bad = self.folder / "bad.onnx"
        bad.write_bytes(DEMO.read_bytes()[:100000])
        self.assert_one_line(run(STREAMGAUGE, "onnx", "inspect", bad), USER, "bad.onnx")
        self.assert_one_line(run(STREAMGAUGE, "onnx", "rebatch", bad, self.folder / "o.onnx"), USER, "bad.onnx")

    def test_large_graph_is_read_fast_and_not_copied(self):
        import resource, time
        graph = Graph().const("big", np.ones((4, 50_000_000 // 4)), np.float32)
        graph.node("ReduceMean", ["big"], "m", axes=[1], keepdims=0).const("s", [1, 4, 1, 1])
        graph.node("Reshape", ["m", "s"], "r").node("Mul", ["f", "r"], "boxes").output("boxes")
        path = self.write(graph)
        size = path.stat().st_size
        self.assertGreater(size, 200_000_000)
        script = ("import resource,subprocess,sys; r=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL);"
                  "print(r.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss*1024)")
        run(STREAMGAUGE, "--help")
        started = time.monotonic()
        result = run("python3", "-c", script, STREAMGAUGE, "onnx", "inspect", path)
        seconds = time.monotonic() - started
        code, memory = (int(v) for v in result.stdout.split())
        self.assertEqual(code, 0, result.stderr)
        self.assertLess(memory, 1.5 * size)
        self.assertLess(seconds, 3)


class Simplify(Onnx):
    def simplify(self, path, *args):
        out = self.folder / "simple.onnx"
        out.unlink(missing_ok=True)
        return run(STREAMGAUGE, "onnx", "simplify", path, out, "--no-progress", *args), out

    def wordy(self, large=1.0):
        """A 3x3 convolution of 64 channels whose weights are computed, idle nodes, a weight that nothing takes."""
        graph = Graph().const("raw", RNG.normal(size=(64, 4, 3, 3)), np.float32).const("gain", [large], np.float32)
        graph.node("Mul", ["raw", "gain"], "w2").node("Identity", ["f"], "same")
        graph.node("Conv", ["same", "w2"], "deep", pads=[1, 1, 1, 1])
        graph.const("unused", np.ones(5000), np.float32).const("axes", [1, 2, 3])
        graph.node("Mul", ["deep", "deep"], "dead")
        return graph.node("ReduceMean", ["deep"], "boxes", axes=[2, 3], keepdims=0).output("boxes")

    def assert_equal_outputs(self, a, b, tolerance):
        pictures = RNG.uniform(size=(3, 3, 8, 8)).astype(np.float32)
        want, got = self.outputs(a, pictures)[0], self.outputs(b, pictures)[0]
        self.assertGreater(np.ptp(want), 0)
        self.assertLessEqual(np.abs(want - got).max(), tolerance * np.abs(want).max())

    def test_what_is_constant_is_worked_out_and_what_is_idle_goes(self):
        path = self.write(self.wordy())
        result, out = self.simplify(path)
        self.assertEqual(result.returncode, 0, result.stderr)
        simple = onnx.load(out)
        self.assertEqual([n.op_type for n in simple.graph.node], ["Conv", "Sigmoid", "Conv", "ReduceMean"])
        self.assertEqual({w.name for w in simple.graph.initializer} & {"unused", "raw", "gain"}, set())
        self.assert_equal_outputs(path, out, 1e-6)
        self.assertIn("at batch 1, 2, 3, 8", result.stdout)

    def test_half_weights_are_proven_and_smaller(self):
        path = self.write(self.wordy())
        result, out = self.simplify(path, "--half-weights")
        self.assertEqual(result.returncode, 0, result.stderr)
        halves = [w for w in onnx.load(out).graph.initializer if w.data_type == TensorProto.FLOAT16]
        self.assertEqual([tuple(w.dims) for w in halves], [(64, 4, 3, 3)])
        self.assert_equal_outputs(path, out, 2e-2)

    def test_weights_that_a_half_cannot_hold_stay(self):
        path = self.write(self.wordy(large=1e6))
        result, out = self.simplify(path, "--half-weights", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["kept_weights"]), 1)
        self.assertNotIn(TensorProto.FLOAT16, [w.data_type for w in onnx.load(out).graph.initializer])
        self.assert_equal_outputs(path, out, 1e-6)

    def test_quantisation_and_chance_are_not_worked_out(self):
        graph = Graph().const("s", 0.1, np.float32).const("z", 0, np.int8).const("q", RNG.integers(-9, 9, (4,)), np.int8)
        graph.node("DequantizeLinear", ["q", "s", "z"], "scale").const("shape", [1, 4, 1, 1])
        graph.node("Reshape", ["scale", "shape"], "r").node("Mul", ["f", "r"], "boxes").output("boxes")
        path = self.write(graph)
        result, out = self.simplify(path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("DequantizeLinear", [n.op_type for n in onnx.load(out).graph.node])
        self.assert_equal_outputs(path, out, 1e-6)

    def test_a_broken_batch_or_the_same_file_is_refused(self):
        broken = self.write(PAIRS["reshape holds 2"][0])
        before = broken.read_bytes()
        self.assert_one_line(run(STREAMGAUGE, "onnx", "simplify", broken, broken), USER, "model.onnx")
        result, out = self.simplify(broken)
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse(out.exists())
        self.assertEqual(broken.read_bytes(), before)


class Int8(Onnx):
    def start(self, graph, *args):
        folder = self.folder / "eight"
        folder.mkdir(exist_ok=True)
        onnx.save(graph.model(), str(folder / "model.onnx"))
        (folder / "config.json").write_text(json.dumps(
            {"architectures": ["RTDetrForObjectDetection"], "id2label": {"0": "a", "1": "b"}}))
        return run(STREAMGAUGE, "import", folder, "--out", self.out, "--video", short_clip(), "--precision", "int8",
                   "--no-progress", *args), folder

    def detector(self):
        graph = Graph().const("a", [0, 2, 1]).const("s", [0, 16, 4]).node("Reshape", ["f", "s"], "rows")
        graph.node("Sigmoid", ["rows"], "pred_boxes").const("b", [0, 0, 0]).const("e", [9, 99, 2]).const("ax", [0, 1, 2])
        graph.node("Slice", ["rows", "b", "e", "ax"], "logits")
        return graph.output("logits", ["batch", 16, 2]).output("pred_boxes", ["batch", 16, 4])

    def test_int8_needs_to_know_the_ranges(self):
        result, _ = self.start(self.detector())
        self.assert_one_line(result, USER, "QuantizeLinear")

    def test_a_table_of_another_model_is_refused(self):
        table = self.folder / "cal.table"
        table.write_text("TRT-101-EntropyCalibration2\nx: 3c010a14\n")
        graph = self.detector()
        result, folder = self.start(graph, "--calibration", table)
        self.assert_one_line(result, USER, "cal.table")
        table.write_text("# " + hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest() + "\n")
        result, _ = self.start(graph, "--calibration", table)
        self.assert_one_line(result, UNSUPPORTED, "TensorRT")

    def test_a_table_without_int8_is_a_mistake(self):
        result = run(STREAMGAUGE, "import", MODEL, "--out", self.out, "--video", short_clip(), "--precision", "fp16",
                     "--calibration", self.folder / "none")
        self.assert_one_line(result, USER, "--calibration")


if __name__ == "__main__":
    unittest.main()
