"""Models from the hub: what is fetched, what is refused, and what a bad server or a kill leaves behind."""
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

import onnx
import onnx.numpy_helper

from hub_server import HubServer
from support import MODEL, STREAMGAUGE, Case

REPOSITORY = "someone/pedestrians"
BIG = "onnx/model.onnx"


class HubCase(Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "hub"
        shutil.copytree(MODEL, self.root / REPOSITORY)
        self.cache = self.folder / "cache"

    def describe(self, **facts):
        (self.root / REPOSITORY / ".hub.json").write_text(json.dumps({"pipeline_tag": "object-detection", **facts}))

    def environment(self, hub, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING")) and "proxy" not in k.lower()}
        env.update(HF_ENDPOINT=hub.url, HF_HOME=str(self.cache), HOME=str(self.folder), XDG_CACHE_HOME=str(self.folder / "xdg"))
        if hub.ca_file:
            env["SSL_CERT_FILE"] = str(hub.ca_file)
        env.update(more)
        return env

    def hub(self, server, *args, timeout=60, **more):
        return subprocess.run([str(STREAMGAUGE), "hub", *[str(a) for a in args]], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, env=self.environment(server, **more))

    def get(self, server, *args, **more):
        return self.hub(server, "get", REPOSITORY, *args, "--no-progress", **more)

    def snapshot(self):
        return next((self.cache / "hub" / "models--someone--pedestrians" / "snapshots").iterdir())

    def assert_fetched(self, result, path=BIG):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.snapshot() / path).read_bytes(), (self.root / REPOSITORY / path).read_bytes())

    def assert_no_blob(self):
        blobs = list((self.cache / "hub").rglob("blobs/*"))
        self.assertEqual([b.name for b in blobs if len(b.name) == 64], [], "a spoiled file got its name")

    def make_big(self, megabytes, seed=1):
        data = random.Random(seed).randbytes(megabytes << 20)
        path = self.root / REPOSITORY / BIG
        path.write_bytes(data)
        return data


class Listing(HubCase):
    def test_pages_are_followed_and_facts_are_shown(self):
        self.describe(license="apache-2.0")
        with HubServer(self.root, page_size=2) as server:
            result = self.hub(server, "ls", REPOSITORY, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            facts = json.loads(result.stdout)
            self.assertGreater(sum("/tree/" in r["path"] for r in server.requests), 1)
        self.assertEqual((facts["licence"], facts["task"], facts["revision"]), ("apache-2.0", "object-detection", "main"))
        self.assertRegex(facts["commit"], "^[0-9a-f]{40}$")
        sizes = {f["path"]: f["size_bytes"] for f in facts["files"]}
        want = {str(p.relative_to(self.root / REPOSITORY)): p.stat().st_size
                for p in (self.root / REPOSITORY).rglob("*") if p.is_file() and p.name != ".hub.json"}
        self.assertEqual(sizes, want)


class Fetching(HubCase):
    def test_only_what_is_needed_and_never_twice(self):
        with HubServer(self.root) as server:
            self.assert_fetched(self.get(server))
            asked = {r["path"].split("/")[-1] for r in server.requests if "resolve" in r["path"] or r["origin"] == "cdn"}
            self.assertNotIn("model.safetensors", asked)
            before = len(server.requests)
            self.assert_fetched(self.get(server))
            again = server.requests[before:]
            self.assertEqual([r for r in again if "/api/models/" not in r["path"]], [])
            offline = self.get(server, HF_HUB_OFFLINE="1")
            self.assert_fetched(offline)
        with_hub_gone = self.get(server)
        self.assert_fetched(with_hub_gone)

    def test_python_finds_what_we_fetch_and_we_find_what_it_fetched(self):
        from huggingface_hub import snapshot_download
        python = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        code = ("import sys, huggingface_hub as h; print(h.hf_hub_download(sys.argv[1], sys.argv[2]))")
        del snapshot_download

        def fetch_with_python(server, **more):
            return subprocess.run([os.sys.executable, "-c", code, REPOSITORY, BIG], capture_output=True, text=True,
                                  timeout=120, env=self.environment(server, **python, **more))
        with HubServer(self.root) as server:
            self.assert_fetched(self.get(server))
            before = len(server.requests)
            found = fetch_with_python(server, HF_HUB_OFFLINE="1")
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(pathlib.Path(found.stdout.strip()).read_bytes(), (MODEL / BIG).read_bytes())
            self.assertEqual(len(server.requests), before)
            shutil.rmtree(self.cache)
            fetched = fetch_with_python(server)
            self.assertEqual(fetched.returncode, 0, fetched.stderr)
            before = len(server.requests)
            self.assert_fetched(self.get(server))
            self.assertFalse([r for r in server.requests[before:] if r["path"].endswith(BIG) or r["origin"] == "cdn"])

    def test_safetensors_are_fetched_where_there_is_no_onnx(self):
        model = self.root / REPOSITORY
        shutil.rmtree(model / "onnx")
        with HubServer(self.root) as server:
            self.assert_fetched(self.get(server), "model.safetensors")
            weights = (model / "model.safetensors").read_bytes()
            (model / "model.safetensors").unlink()
            for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model-old.safetensors"):
                (model / name).write_bytes(weights)
            (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {
                "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}))
            shutil.rmtree(self.cache)
            result = self.get(server)
            self.assert_fetched(result, "model-00002-of-00002.safetensors")
            self.assertFalse((self.snapshot() / "model-old.safetensors").exists())

    def test_revisions_are_pinned(self):
        self.describe(revisions=["v1", "refs/pr/1"])
        with HubServer(self.root) as server:
            for source in (f"{REPOSITORY}@v1", f"{server.url}/{REPOSITORY}/tree/v1", f"{REPOSITORY}@refs/pr/1"):
                result = self.hub(server, "ls", source, "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
            commit = json.loads(result.stdout)["commit"]
            self.assertEqual(self.hub(server, "ls", REPOSITORY, "--revision", commit).returncode, 0)
            missing = self.hub(server, "ls", REPOSITORY, "--revision", "v9")
            self.assert_one_line(missing, 2, "v9", "no branch, tag or commit")


class Variants(HubCase):
    """Names lie or say nothing: the types of the weights decide, and no more is fetched than that takes."""

    def setUp(self):
        super().setUp()
        self.onnx = self.root / REPOSITORY / "onnx"
        self.fp32 = (MODEL / BIG).read_bytes()

    def put(self, name, elem_type=None, domain=""):
        """The demo model, its weights of float16 where that is asked for (only their types are looked at)."""
        model = onnx.load_from_string(self.fp32)
        model.producer_name = name  # no two files are the same blob
        model.graph.node[0].domain = domain
        for weight in model.graph.initializer:
            if elem_type and weight.data_type == onnx.TensorProto.FLOAT:
                values = onnx.numpy_helper.to_array(weight).astype("float16")
                weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
        (self.onnx / name).write_bytes(model.SerializeToString())

    def chosen(self, server, *args):
        """The name of the file that was taken, the line that says so, and the names of all that were fetched."""
        before = len(server.requests)
        result = self.get(server, *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        taken = [pathlib.Path(line).name for line in lines if line.startswith("/") and line.endswith(".onnx")]
        self.assertEqual(len(taken), 1, result.stdout)
        fetched = {r["path"].split("/")[-1] for r in server.requests[before:] if "/resolve/" in r["path"]}
        return taken[0], next(line for line in lines if line.startswith("Selected: ")), {f for f in fetched if "onnx" in f}, lines

    def test_a_name_that_is_true_costs_one_file(self):
        self.put("model_fp16.onnx", "fp16")
        with HubServer(self.root) as server:
            name, line, fetched, _ = self.chosen(server)
        self.assertEqual((name, fetched), ("model_fp16.onnx", {"model_fp16.onnx"}))
        self.assertRegex(line, r"^Selected: fp16 \(default\)\. All available: \[fp16 \S+ MB, fp32 \S+ MB\]$")

    def test_a_name_that_lies_is_said_and_the_next_one_is_looked_at(self):
        self.put("model_fp16.onnx")
        self.put("model.onnx", "fp16")
        self.put("model_q4.onnx")
        with HubServer(self.root) as server:
            name, line, fetched, lines = self.chosen(server)
            self.assertEqual((name, fetched), ("model.onnx", {"model_fp16.onnx", "model.onnx"}))
            self.assertIn("Selected: fp16 (default).", line)
            self.assertIn("model_fp16.onnx is named fp16 and holds float32 weights.", lines)
            self.assertEqual(self.chosen(server)[0::2], ("model.onnx", set()))
            self.assertEqual(self.chosen(server, "--variant", "fp16")[0], "model.onnx")
            self.assertEqual(self.chosen(server, "--variant", "fp32")[0], "model_fp16.onnx")
            name, line, fetched, _ = self.chosen(server, "--variant", "int4")
            self.assertEqual((name, fetched), ("model_q4.onnx", {"model_q4.onnx"}))
            self.assertIn("Selected: fp32 (by its name int4).", line)

    def test_a_second_file_of_the_same_name_is_looked_at_when_its_size_asks_for_it(self):
        self.put("model_1.onnx", "fp16")
        with HubServer(self.root) as server:
            name, line, fetched, _ = self.chosen(server)
            self.assertEqual((name, fetched), ("model_1.onnx", {"model.onnx", "model_1.onnx"}))
            self.assertIn("Selected: fp16 (default).", line)
            shutil.rmtree(self.cache)
            self.put("model_1.onnx")
            self.assertEqual(self.chosen(server)[0::2], ("model.onnx", {"model.onnx"}))

    def test_at_most_three_are_fetched(self):
        (self.onnx / "model.onnx").unlink()
        for word in ("fp16", "half", "float16", "f16"):
            self.put(f"model_{word}.onnx")
        with HubServer(self.root) as server:
            name, line, fetched, _ = self.chosen(server)
        self.assertEqual(len(fetched), 3)
        self.assertIn(name, fetched)
        self.assertIn("Selected: fp32 (fp16 not looked into).", line)

    def test_operators_of_one_runtime_are_passed_over(self):
        self.put("model_fp16.onnx", "fp16", "com.microsoft")
        with HubServer(self.root) as server:
            name, line, _, lines = self.chosen(server)
        self.assertEqual(name, "model.onnx")
        self.assertTrue([line for line in lines if "passed over" in line and "com.microsoft" in line], lines)


class Refusing(HubCase):
    def test_other_tasks_before_anything_large(self):
        config = json.loads((MODEL / "config.json").read_text())
        config["architectures"] = ["ResNetForImageClassification"]
        (self.root / REPOSITORY / "config.json").write_text(json.dumps(config))
        with HubServer(self.root) as server:
            result = self.get(server)
            self.assert_one_line(result, 4, "image classification")
            self.assertEqual([r for r in server.requests if r["origin"] == "cdn"], [])
        self.assert_no_blob()

    def test_each_refusal_has_its_words(self):
        with HubServer(self.root, token="hf_good") as server:
            self.assert_one_line(self.hub(server, "ls", "no/model"), 2, "no such model")
            self.describe(gated=True)
            gated = self.get(server)
            self.assert_one_line(gated, 2, "gated", f"{server.url}/{REPOSITORY}", "HF_TOKEN")
            wrong = self.get(server, HF_TOKEN="hf_bad")
            self.assert_one_line(wrong, 2, "gated", "account")
            self.assert_fetched(self.get(server, HF_TOKEN="hf_good"))
            self.describe(private=True)
            self.assert_one_line(self.hub(server, "ls", REPOSITORY), 2, "no such model", "HF_TOKEN")
            for result in (gated, wrong):
                self.assertNotIn("hf_bad", result.stdout + result.stderr)

    def test_the_token_stays_with_its_host(self):
        self.describe(gated=True)
        (self.cache).mkdir()
        (self.cache / "token").write_text("hf_login\n")
        with HubServer(self.root, token="hf_login", tls=True) as server:
            self.assert_fetched(self.get(server))
            self.assertTrue(any(r["authorization"] for r in server.requests if r["origin"] == "hub"))
            cdn = [r for r in server.requests if r["origin"] == "cdn"]
            self.assertTrue(cdn)
            self.assertFalse(any(r["authorization"] for r in cdn))

    def test_tls_dns_and_refused_connections_are_told_apart(self):
        with HubServer(self.root, tls=True) as server:
            self.assert_one_line(self.get(server, SSL_CERT_FILE=""), 3, "TLS")
        self.assert_one_line(self.get(server, HF_ENDPOINT="http://no-such-host.invalid"), 3, "DNS")

    def test_a_page_that_is_no_api(self):
        with HubServer(self.root) as server:
            server.set_fault("*", "html", times=None)
            self.assert_one_line(self.hub(server, "ls", REPOSITORY), 3, "HF_ENDPOINT")


class BadServers(HubCase):
    def test_cuts_are_resumed(self):
        self.make_big(12)
        with HubServer(self.root) as server:
            for after in (5, 1 << 20, 3_000_001, 7_777_777):
                server.set_fault(f"{REPOSITORY}/{BIG}", "cut", after=after, origin="cdn", min_body=2)
            self.assert_fetched(self.get(server, BIG))
            sent = sum(r["bytes"] or 0 for r in server.requests if r["origin"] == "cdn")
        self.assertLess(sent, (12 + 5) << 20)

    def test_a_reset_a_status_and_an_expired_link(self):
        self.make_big(6)
        with HubServer(self.root) as server:
            server.set_fault(f"{REPOSITORY}/{BIG}", "cut", after=2_000_000, reset=True, origin="cdn", min_body=2)
            server.set_fault(f"{REPOSITORY}/{BIG}", "status", status=429, retry_after=1, origin="cdn")
            server.set_fault(f"{REPOSITORY}/{BIG}", "status", status=503, origin="cdn", times=2)
            server.set_fault(f"{REPOSITORY}/{BIG}", "status", status=403, origin="cdn", min_body=2)
            started = time.monotonic()
            self.get(server, BIG)
            result = self.get(server, BIG)
            self.assert_fetched(result)
            self.assertGreater(time.monotonic() - started, 1)

    def test_ranges_that_are_ignored(self):
        self.make_big(6)
        with HubServer(self.root) as server:
            server.set_fault(f"{REPOSITORY}/{BIG}", "ignore_range", times=None)
            self.assert_fetched(self.get(server, BIG))

    def test_spoiled_files_never_get_their_name(self):
        for megabytes in (1, 6):
            self.make_big(megabytes, seed=megabytes)
            with self.subTest(megabytes=megabytes), HubServer(self.root) as server:
                server.set_fault(f"{REPOSITORY}/{BIG}", "zero", times=None, origin="cdn", min_body=2)
                self.assert_one_line(self.get(server, BIG), 3, "arrived damaged")
                self.assert_no_blob()
                server.faults.clear()
                server.set_fault(f"{REPOSITORY}/{BIG}", "short", delta=-1000, times=1, origin="cdn", min_body=2)
                self.assert_fetched(self.get(server, BIG))
            shutil.rmtree(self.cache)

    def test_a_read_only_cache_is_found_first(self):
        with HubServer(self.root) as server:
            self.cache.write_text("a file where a folder is needed")
            result = self.get(server, BIG)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertEqual([r for r in server.requests if r["origin"] == "cdn"], [])


class Stopping(HubCase):
    def start(self, server):
        return subprocess.Popen([str(STREAMGAUGE), "hub", "get", REPOSITORY, BIG, "--no-progress"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(server))

    def test_kill_at_fifty_points_repeats_little(self):
        megabytes, kills = 40, 50
        self.make_big(megabytes)
        points = random.Random(7)
        with HubServer(self.root, rate=14 << 20) as server:
            whole_after = None
            for kill in range(kills):
                process = self.start(server)
                time.sleep(points.uniform(0.03, 0.13))
                process.kill()
                process.communicate()
                if whole_after is None and self.cache.exists() and any(len(b.name) == 64 for b in self.cache.rglob("blobs/*")):
                    whole_after = kill
            self.assertIsNone(whole_after, "the kills came too late to matter")
            server.pace = type(server.pace)(0)
            self.assert_fetched(self.get(server, BIG))
            sent = sum(r["bytes"] or 0 for r in server.requests if r["origin"] == "cdn")
        # Each kill may cost the piece that was under way on each connection, and what lay in the sockets.
        print(f"{kills} kills, {sent / (megabytes << 20):.2f} times the file's bytes were sent")
        self.assertLess(sent, (megabytes + kills * 4 * 2) << 20)

    def test_ctrl_c_keeps_what_is_there(self):
        self.make_big(24)
        with HubServer(self.root, rate=8 << 20) as server:
            process = self.start(server)
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=5)
            self.assertEqual(process.returncode, 130)
            before = sum(r["bytes"] or 0 for r in server.requests if r["origin"] == "cdn")
            server.pace = type(server.pace)(0)
            self.assert_fetched(self.get(server, BIG))
            after = sum(r["bytes"] or 0 for r in server.requests if r["origin"] == "cdn") - before
        self.assertLess(after, 21 << 20)

    def test_two_at_once_share(self):
        data = self.make_big(12)
        with HubServer(self.root, rate=12 << 20) as server:
            both = [self.start(server) for _ in range(2)]
            for process in both:
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, errors)
            sent = sum(r["bytes"] or 0 for r in server.requests if r["origin"] == "cdn")
        self.assertEqual(hashlib.sha256((self.snapshot() / BIG).read_bytes()).digest(), hashlib.sha256(data).digest())
        self.assertLess(sent, 13 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
