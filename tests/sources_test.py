"""Every other way to name a model: local files, archives, plain URLs; what import offers without one; clean."""
import http.server
import os
import pathlib
import shutil
import tarfile
import threading
import unittest
import zipfile

from support import MODEL, STREAMGAUGE, Case, import_model, run

ONNX = (MODEL / "onnx/model.onnx").read_bytes()


class Server:
    """Answers GET and HEAD from {path: (status, headers, body)}; notes what was asked."""

    def __init__(self, answers):
        self.asked = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path
                server.asked.append((self.command, path, self.headers.get("Authorization")))
                status, headers, body = answers.get(path, (404, {}, b"{}"))
                if callable(body):
                    status, body = body(self.headers)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    try:
                        self.wfile.write(body)
                    except ConnectionError:
                        pass  # a first look at one byte ends where the whole body starts to come

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class SourceCase(Case):
    def hub(self, *args, **env):
        clean = {"XDG_CACHE_HOME": str(self.folder / "xdg"), "HOME": str(self.folder), "HF_HOME": str(self.folder / "hf"),
                 "NGC_API_KEY": "", "NGC_CLI_API_KEY": ""}
        return run(STREAMGAUGE, "hub", *args, "--no-progress", env={**clean, **env})


class Local(SourceCase):
    def test_folders_files_and_archives_are_the_same_model(self):
        archive = self.folder / "model.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as z:
            for path in ("config.json", "preprocessor_config.json", "onnx/model.onnx"):
                z.write(MODEL / path, f"pedestrians/{path}")
        tar = self.folder / "model.tar.gz"
        with tarfile.open(tar, "w:gz") as t:
            t.add(MODEL, "x")
        for source in (MODEL, MODEL / "onnx/model.onnx", archive, tar, f"file://{MODEL}"):
            with self.subTest(source=str(source)):
                result = self.hub("get", source)
                self.assertEqual(result.returncode, 0, result.stderr)
                onnx = [line for line in result.stdout.splitlines() if line.startswith("/") and line.endswith("model.onnx")][0]
                self.assertEqual(pathlib.Path(onnx).read_bytes(), ONNX)

    def test_a_folder_whose_names_say_nothing_is_looked_into(self):
        import onnx.numpy_helper
        folder = self.folder / "m"
        folder.mkdir()
        (folder / "config.json").write_bytes((MODEL / "config.json").read_bytes())
        model = onnx.load_from_string(ONNX)
        for weight in model.graph.initializer:
            if weight.data_type == onnx.TensorProto.FLOAT:
                values = onnx.numpy_helper.to_array(weight).astype("float16")
                weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
        (folder / "detector.onnx").write_bytes(ONNX)
        (folder / "detector (1).onnx").write_bytes(model.SerializeToString())
        result = self.hub("get", folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^Selected: fp16 \(default\)\. All available: \[fp16 \S+ MB, fp32 \S+ MB\]$")
        self.assertIn(f"{folder}/detector (1).onnx\n", result.stdout)
        named = self.hub("get", folder / "detector.onnx")
        self.assertIn("Selected: fp32 (the source names detector.onnx).", named.stdout)
        (folder / "detector (1).onnx").write_bytes(ONNX)
        self.assert_one_line(self.hub("get", folder), 2, "several models", "detector (1).onnx (fp32, ")

    def test_what_is_no_model_is_said(self):
        (self.folder / "notes.txt").write_text("x")
        (self.folder / "a.engine").write_text("x")
        (self.folder / "bad.zip").write_text("<html>")
        (self.folder / "empty").mkdir()
        for source, code, words in (
                (self.folder / "notes.txt", 2, ["not an .onnx file"]), (self.folder / "a.engine", 2, ["TensorRT engine"]),
                (self.folder / "bad.zip", 2, ["no archive"]), (self.folder / "gone", 2, ["no such file or folder"]),
                ("a model for people", 2, ["nothing is guessed"]), ("s3://bucket/x.onnx", 2, ["not supported"])):
            with self.subTest(source=str(source)):
                self.assert_one_line(self.hub("get", source), code, *words)
        self.assertNotEqual(self.hub("get", self.folder / "empty").returncode, 0)

    def test_cut_safetensors_are_noticed(self):
        whole = (MODEL / "model.safetensors").read_bytes()
        folder = self.folder / "m"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(whole)
        self.assertEqual(self.hub("get", folder, "model.safetensors").returncode, 0)
        for size in (0, 7, 100, len(whole) - 1):
            (folder / "model.safetensors").write_bytes(whole[:size])
            self.assert_one_line(self.hub("get", folder, "model.safetensors"), 2, "no whole SafeTensors file")

    def test_weights_beside_the_graph_come_with_it(self):
        import onnx
        folder = self.folder / "hub/some/external"
        shutil.copytree(MODEL, folder)
        model = onnx.load(folder / "onnx/model.onnx")
        onnx.save(model, folder / "onnx/model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=1024)
        (folder / "model.safetensors").unlink()
        from hub_server import HubServer
        with HubServer(self.folder / "hub") as server:
            result = self.hub("get", "some/external", HF_ENDPOINT=server.url)
            self.assertEqual(result.returncode, 0, result.stderr)
            onnx_file = [pathlib.Path(line) for line in result.stdout.splitlines() if line.endswith("model.onnx")][0]
            self.assertEqual((onnx_file.parent / "weights.bin").read_bytes(), (folder / "onnx/weights.bin").read_bytes())
        # In the cache both are links; the model is the same by its own path, too.
        self.assertTrue(onnx_file.is_symlink())
        again = self.hub("get", onnx_file)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn(f"{onnx_file}\n", again.stdout)

    def test_evil_archives_write_nothing_outside(self):
        for name, entry in (("slip.zip", "../../evil"), ("absolute.zip", "/tmp/sg_evil")):
            with zipfile.ZipFile(self.folder / name, "w") as z:
                z.writestr("config.json", "{}")
                z.writestr(entry, "x")
            self.assert_one_line(self.hub("get", self.folder / name), 2, "nothing was unpacked")
        self.assertFalse(os.path.exists("/tmp/sg_evil"))
        self.assertEqual([p for p in self.folder.rglob("*") if p.name == "evil"], [])


class Urls(SourceCase):
    def test_an_onnx_is_fetched_once(self):
        with Server({"/files/net.onnx?key=secret": (200, {"ETag": '"1"'}, ONNX)}) as server:
            for _ in range(2):
                result = self.hub("get", f"{server.url}/files/net.onnx?key=secret", "net.onnx")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("secret", result.stdout + result.stderr)
            self.assertEqual(sum(method == "GET" and path.startswith("/files/net.onnx") for method, path, _ in server.asked), 2,
                             "one first look and one fetch")
            folder = pathlib.Path(result.stdout.splitlines()[-1])
            self.assertEqual((folder / "net.onnx").read_bytes(), ONNX)

    def test_pages_and_missing_files_are_told_apart(self):
        page = (200, {"Content-Type": "text/html"}, b"<html>log in</html>")
        with Server({"/a/model.onnx": page, "/page": page, "/gone.onnx": (410, {}, b"")}) as server:
            self.assert_one_line(self.hub("get", f"{server.url}/a/model.onnx"), 2, "web page")
            self.assert_one_line(self.hub("get", f"{server.url}/page"), 2, "neither an .onnx nor")
            self.assert_one_line(self.hub("get", f"{server.url}/none.onnx"), 2, "is not there (404)")
            self.assert_one_line(self.hub("get", f"{server.url}/gone.onnx"), 2, "is not there (410)")

    def test_redirects_end(self):
        with Server({"/loop.onnx": (302, {"Location": "/loop.onnx"}, b"")}) as server:
            self.assert_one_line(self.hub("get", f"{server.url}/loop.onnx"), 3, "redirected more than")


class WithoutASource(SourceCase):
    def test_two_options_are_offered_and_nothing_is_guessed(self):
        result = import_model("--video", "x.mp4")
        self.assertEqual(result.returncode, 2)
        self.assertIn("1. PekingU/rtdetr_r50vd", result.stdout)
        self.assertIn("2. Your own", result.stdout)
        self.assertNotIn("3.", result.stdout)

    def test_a_dry_run_touches_nothing(self):
        tree = self.folder / "empty"
        tree.mkdir()
        for source in ([], ["PekingU/rtdetr_r50vd"], [MODEL], ["https://example.invalid/x.onnx"]):
            with self.subTest(source=source):
                trace = self.folder / "trace"
                result = run("strace", "-f", "-e", "trace=execve,connect,openat,mkdir,unlink,rename", "-o", trace, STREAMGAUGE,
                             "import", *source, "--dry-run", cwd=tree) if shutil.which("strace") else run(
                                 STREAMGAUGE, "import", *source, "--dry-run", cwd=tree)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("Step 8", result.stdout)
                self.assertEqual(list(tree.iterdir()), [])
                if trace.exists():
                    lines = trace.read_text().splitlines()
                    self.assertEqual([line for line in lines if "connect(" in line or "O_CREAT" in line], [])
                    self.assertEqual(sum("execve(" in line for line in lines), 1)
        self.assert_one_line(import_model("any good model", "--dry-run"), 2, "nothing is guessed")


class Clean(SourceCase):
    def clean(self, *args):
        return run(STREAMGAUGE, "clean", *args, cwd=self.folder)

    def make(self):
        for folder in ("models/m/hf_model", "models/m/onnx_export", "models/m/ngc_download", "models/m/model",
                       "models/m/reports", "build/.venv_m", "build/.venv_optimum", "models/other/hf_model"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            (self.folder / folder / "file").write_text("x" * 1000)

    def left(self):
        return sorted(str(p.parent.relative_to(self.folder)) for p in self.folder.rglob("file"))

    def test_staging_goes_and_the_rest_stays(self):
        self.make()
        before = self.left()
        dry = self.clean("m", "--dry-run")
        self.assertEqual((dry.returncode, self.left()), (0, before), dry.stderr)
        self.assertIn("would remove models/m/hf_model", dry.stdout)
        self.assertEqual(self.clean("m").returncode, 0)
        self.assertEqual(self.left(), ["build/.venv_optimum", "models/m/model", "models/m/reports", "models/other/hf_model"])
        self.assertIn("nothing to remove", self.clean("m").stdout)

    def test_the_shared_venv_is_nobodys(self):
        self.make()
        self.assertEqual(self.clean("optimum").returncode, 0)
        self.assertTrue((self.folder / "build/.venv_optimum/file").exists())

    def test_links_and_bad_names_are_refused(self):
        self.make()
        precious = self.folder / "precious"
        precious.mkdir()
        (precious / "file").write_text("x")
        shutil.rmtree(self.folder / "models/m/hf_model")
        (self.folder / "models/m/hf_model").symlink_to(precious)
        self.assert_one_line(self.clean("m"), 2, "is a link")
        self.assertTrue((precious / "file").exists())
        self.assertTrue((self.folder / "models/m/onnx_export/file").exists(), "nothing goes when something is wrong")
        for name in ("..", ".", "a/b", "m/../..", ""):
            self.assertEqual(self.clean(name).returncode, 2, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
