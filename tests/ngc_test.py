"""Models of NVIDIA NGC, against a server that answers as its registry does: lists in pages, keys, guests, archives, refusals."""
import base64
import http.server
import io
import json
import pathlib
import threading
import unittest
import urllib.parse
import zipfile

from support import MODEL, STREAMGAUGE, Case, run

ONNX = (MODEL / "onnx/model.onnx").read_bytes()
LEGACY_KEY, PERSONAL_KEY, SESSION = "legacy-key-of-40-letters", "nvapi-personal", "session-token"


class Ngc:
    """One model nvidia/tao/net of NGC; `versions` is {version: {path: bytes} or the bytes of a zip that is not listed}.

    `public`: a guest may read it.  `readers`: bearers that may.  `shape`: "pages", "numbered", "list" or "names"."""

    def __init__(self, versions, public=True, readers=(), shape="pages", statuses=None):
        self.versions, self.public, self.readers, self.shape = versions, public, readers, shape
        self.statuses = statuses or {}
        self.asked = []
        ngc = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                ngc.asked.append((urllib.parse.unquote(url.path), url.query, self.headers.get("Authorization")))
                status, body = ngc.answer(urllib.parse.unquote(url.path), urllib.parse.parse_qs(url.query),
                                          self.headers.get("Authorization", ""))
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except ConnectionError:
                    pass  # a first look at one byte ends where the whole body starts to come

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path, query, authorization):
        if path == "/token":
            user = base64.b64encode(f"$oauthtoken:{LEGACY_KEY}".encode()).decode()
            return (200, {"token": SESSION}) if authorization == f"Basic {user}" else (401, {})
        bearer = authorization.removeprefix("Bearer ")
        for base, with_key in (("/v2/models/nvidia/tao/net/versions", False), ("/v2/org/nvidia/team/tao/models/net/versions", True)):
            if path == base or path.startswith(base + "/"):
                allowed = bearer in self.readers if with_key else self.public
                return self.of_model(path[len(base):].strip("/"), query) if allowed else (403, {})
        return 404, {}

    def of_model(self, tail, query):
        if tail == "":
            return 200, self.listed("modelVersions", [{"versionId": v, "status": self.statuses.get(v, "UPLOAD_COMPLETE")}
                                                      for v in self.versions], query)
        version, _, rest = tail.partition("/")
        files = self.versions.get(version)
        if files is None:
            return 404, {}
        if rest == "files" and isinstance(files, dict):
            return 200, self.listed("modelFiles", [{"path": p, "sizeInBytes": len(b)} for p, b in files.items()], query)
        if rest == "zip" and not isinstance(files, dict):
            return 200, files
        path = rest.removeprefix("files/")
        return (200, files[path]) if isinstance(files, dict) and path in files else (404, {})

    def listed(self, key, entries, query):
        if self.shape == "list":
            return entries
        if self.shape == "names":
            return {key: [{"name": e.get("path", e.get("versionId")), "id": e.get("versionId")} for e in entries]}
        at = int(query.get("page-reference", query.get("page-number", ["0"]))[0].removeprefix("page &"))
        pages = [entries[i:i + 2] for i in range(0, len(entries), 2)] or [[]]
        info = {"index": at, "totalPages": len(pages), "totalResults": len(entries), "size": 2}
        if self.shape == "pages":
            info["nextPage"] = f"page &{at + 1}" if at + 1 < len(pages) else None
        return {"requestStatus": {"statusCode": "SUCCESS"}, key: pages[at], "paginationInfo": info}


def zip_of(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


FILES = {"net.onnx": ONNX, "labels.txt": b"person\n", "config.json": (MODEL / "config.json").read_bytes(),
         "deep/er/notes (1).md": b"x", "z.bin": b"z", "nvdsinfer_config.yaml": b"property:\n"}


class NgcCase(Case):
    SOURCE = "https://catalog.ngc.nvidia.com/orgs/nvidia/teams/tao/models/net"

    def ngc(self, server, version="v1.0", verb="ls", source=None, **env):
        clean = {"XDG_CACHE_HOME": str(self.folder / "xdg"), "HOME": str(self.folder), "NGC_API_KEY": "", "NGC_CLI_API_KEY": "",
                 "NGC_CLI_API_URL": "", "NGC_ENDPOINT": server.url, "NGC_AUTH_ENDPOINT": server.url + "/token"}
        source = source or self.SOURCE + (f"/files?version={version}" if version else "")
        return run(STREAMGAUGE, "hub", verb, source, "--no-progress", env={**clean, **env})

    def folder_of(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return pathlib.Path(result.stdout.splitlines()[-1])


class Lists(NgcCase):
    def test_every_shape_of_a_list_is_read_whole(self):
        for shape in ("pages", "numbered", "list", "names"):
            with self.subTest(shape=shape), Ngc({"v1.0": FILES}, shape=shape) as server:
                result = self.ngc(server)
                self.assertEqual(result.returncode, 0, result.stderr)
                for path in FILES:
                    self.assertIn(path, result.stdout)
                self.assertEqual(len(server.asked), len(FILES) // 2 if shape in ("pages", "numbered") else 1, server.asked)

    def test_versions_of_all_pages_are_shown(self):
        versions = {f"v{i}": {} for i in range(50)}
        with Ngc(versions, statuses={"v3": "UPLOAD_PENDING"}) as server:
            result = self.ngc(server, version="")
            self.assert_one_line(result, 2, "names no version", "v0, v1, v2, v4", "and 19 more")
            self.assert_one_line(self.ngc(server, version="v99"), 2, "has no such version", "v0, v1")

    def test_lists_that_cannot_be_right_end(self):
        endless = {"modelFiles": [{"path": "a.onnx", "sizeInBytes": 1}], "paginationInfo": {"nextPage": "again", "totalPages": 9}}
        broken = ({"modelFiles": [{"path": "../../evil.onnx"}]}, {"modelFiles": [{"path": "/etc/x.onnx"}]},
                  {"modelFiles": [{"path": ""}]}, {"modelFiles": [7]}, {"modelFiles": [{"name": 3}]}, b"<html>", b"",
                  {"modelFiles": [{"path": "a.onnx", "sizeInBytes": 1}, {"path": "a.onnx", "sizeInBytes": 2}]})
        for body in broken:
            with self.subTest(body=body), Ngc({"v1.0": FILES}) as server:
                server.of_model = lambda *_, body=body: (200, body)
                result = self.ngc(server)
                self.assertIn(result.returncode, (2, 3), result.stdout + result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        with Ngc({"v1.0": FILES}) as server:
            server.of_model = lambda *_: (200, endless)
            self.assertEqual(self.ngc(server).returncode, 0)
            self.assertEqual(len(server.asked), 2)

    def test_answers_of_odd_types_are_no_crash(self):
        for body in ([], {}, None, 3, {"modelFiles": None}, {"modelFiles": {}, "paginationInfo": 3},
                     {"modelFiles": [], "paginationInfo": {"nextPage": 3, "totalPages": -1}}):
            with self.subTest(body=body), Ngc({"v1.0": FILES}) as server:
                server.of_model = lambda tail, _, body=body: (404, {}) if tail.endswith("zip") else (200, body)
                self.assert_one_line(self.ngc(server), 2, "NGC does not have")

    def test_other_addresses_of_the_model_are_the_same(self):
        with Ngc({"v1.0": FILES}) as server:
            for source in ("https://catalog.ngc.nvidia.com/orgs/nvidia/tao/models/net/v1.0", server.url + "/v2/models/nvidia/tao/net/versions/v1.0/zip",
                           server.url + "/v2/models/org/nvidia/team/tao/net/v1.0/files?redirect=true&path=net.onnx"):
                result = self.ngc(server, source=source, verb="get")
                self.assertEqual((self.folder_of(result) / "net.onnx").read_bytes(), ONNX, source)


class Fetches(NgcCase):
    def test_versions_with_files_of_one_name_and_size_are_kept_apart(self):
        middle = len(ONNX) // 2
        other = ONNX[:middle] + bytes([ONNX[middle] ^ 1]) + ONNX[middle + 1:]  # within the weights
        with Ngc({"v1.0": FILES, "v2.0": {**FILES, "net.onnx": other}}) as server:
            self.assertEqual((self.folder_of(self.ngc(server, verb="get")) / "net.onnx").read_bytes(), ONNX)
            self.assertEqual((self.folder_of(self.ngc(server, "v2.0", verb="get")) / "net.onnx").read_bytes(), other)
            before = len(server.asked)
            self.assertEqual((self.folder_of(self.ngc(server, verb="get")) / "net.onnx").read_bytes(), ONNX)
            self.assertFalse([path for path, _, _ in server.asked[before:] if path.endswith("net.onnx")], "it is there already")

    def test_a_version_that_is_not_listed_is_fetched_as_an_archive(self):
        with Ngc({"v1.0": zip_of({f"net_v1.0/{path}": data for path, data in FILES.items()})}) as server:
            folder = self.folder_of(self.ngc(server, verb="get"))
            self.assertEqual((folder / "net.onnx").read_bytes(), ONNX)
            self.assertEqual((folder / "labels.txt").read_bytes(), b"person\n")

    def test_what_lies_beside_the_model_comes_along(self):
        with Ngc({"v1.0": FILES}) as server:
            folder = self.folder_of(self.ngc(server, verb="get"))
            for path in ("labels.txt", "config.json", "nvdsinfer_config.yaml"):
                self.assertEqual((folder / path).read_bytes(), FILES[path])
            self.assertFalse((folder / "z.bin").exists())

    def test_an_archive_among_the_files_is_unpacked(self):
        with Ngc({"v1.0": {"net.zip": zip_of(FILES), "README.md": b"x"}}) as server:
            self.assertEqual((self.folder_of(self.ngc(server, verb="get")) / "net.onnx").read_bytes(), ONNX)
            source = server.url + "/v2/models/nvidia/tao/net/versions/v1.0/files/net.zip"
            self.assertEqual((self.folder_of(self.ngc(server, verb="get", source=source)) / "net.onnx").read_bytes(), ONNX)

    def test_a_bad_archive_is_refused_and_fetched_again(self):
        with Ngc({"v1.0": zip_of({"../evil.onnx": ONNX})}) as server:
            self.assert_one_line(self.ngc(server, verb="get"), 2, "nothing was unpacked")
            server.versions["v1.0"] = zip_of(FILES)
            self.assertEqual((self.folder_of(self.ngc(server, verb="get")) / "net.onnx").read_bytes(), ONNX)
        self.assertEqual([p for p in self.folder.rglob("*") if p.name.startswith("evil")], [])

    def test_what_cannot_be_used_is_refused_before_it_is_fetched(self):
        for i, (files, code, words) in enumerate((({"m.etlt": b"x", "labels.txt": b"p\n"}, 4, "encrypted"), ({"m.tlt": b"x"}, 4, "encrypted"),
                                   ({"m.plan": b"x"}, 2, "machine that built it"), ({"m.engine": b"x", "m.etlt": b"x"}, 4, "encrypted"))):
            with self.subTest(files=files), Ngc({f"v{i}": files, "deployable_onnx": FILES}) as server:
                self.assert_one_line(self.ngc(server, f"v{i}", verb="get"), code, words, "deployable_onnx")
                self.assertFalse([path for path, _, _ in server.asked if path.rpartition("/")[2] in files])
            with self.subTest(archive=files), Ngc({f"z{i}": zip_of(files), "deployable_onnx": FILES}) as server:
                self.assert_one_line(self.ngc(server, f"z{i}", verb="get"), code, words, "deployable_onnx")
        with Ngc({"v1.0": {"m.etlt": b"x", **FILES}}) as server:
            self.assertEqual(self.ngc(server, verb="get").returncode, 0)


class Keys(NgcCase):
    def bearers(self, server):
        return {authorization for path, _, authorization in server.asked if path != "/token"}

    def test_a_guest_needs_none_for_a_public_model(self):
        with Ngc({"v1.0": FILES}) as server:
            self.assertEqual(self.ngc(server).returncode, 0)
            self.assertEqual(self.bearers(server), {None})
        with Ngc({"v1.0": FILES}, public=False) as server:
            self.assert_one_line(self.ngc(server), 2, "guest", "NGC_API_KEY", "https://org.ngc.nvidia.com/setup/api-keys")

    def test_keys_of_both_kinds_read_a_private_model(self):
        for key, bearer in ((LEGACY_KEY, SESSION), (PERSONAL_KEY, PERSONAL_KEY), (f" {PERSONAL_KEY}\n", PERSONAL_KEY)):
            with self.subTest(key=key), Ngc({"v1.0": FILES}, public=False, readers=[bearer]) as server:
                self.assertEqual((self.folder_of(self.ngc(server, verb="get", NGC_API_KEY=key)) / "net.onnx").read_bytes(), ONNX)
                self.assertEqual(self.bearers(server), {f"Bearer {bearer}"})
            for path in (self.folder / "xdg").rglob("*"):
                if path.is_file():
                    self.assertNotIn(key.strip().encode(), path.read_bytes(), path)

    def test_a_key_that_does_not_help_is_no_obstacle_to_a_public_model(self):
        for key in ("wrong-key", LEGACY_KEY, "nvapi-of-another-organisation"):
            with self.subTest(key=key), Ngc({"v1.0": FILES}) as server:
                self.assertEqual((self.folder_of(self.ngc(server, verb="get", NGC_API_KEY=key)) / "net.onnx").read_bytes(), ONNX)
                self.assertIsNone(server.asked[-1][2])

    def test_a_key_that_does_not_help_is_named_for_a_private_one(self):
        for key, words in (("wrong-key", "does not accept the key"), ("nvapi-wrong", "the user of NGC_API_KEY"), ("ключ", "no key has"),
                           ("a b", "no key has")):
            with self.subTest(key=key), Ngc({"v1.0": FILES}, public=False) as server:
                result = self.ngc(server, NGC_API_KEY=key)
                self.assert_one_line(result, 2, words)
                self.assertNotIn(key, result.stdout + result.stderr)

    def test_a_model_that_is_not_there_is_said(self):
        with Ngc({"v1.0": FILES}, readers=[PERSONAL_KEY]) as server:
            source = "https://catalog.ngc.nvidia.com/orgs/nvidia/teams/tao/models/nit?version=1"
            self.assert_one_line(self.ngc(server, source=source), 2, "no such model", "NGC_API_KEY")
            self.assert_one_line(self.ngc(server, source=source, NGC_API_KEY=PERSONAL_KEY), 2, "no such model")

    def test_the_endpoint_of_the_ngc_command_is_ours(self):
        with Ngc({"v1.0": FILES}) as server:
            self.assertEqual(self.ngc(server, NGC_ENDPOINT="http://127.0.0.1:1", NGC_CLI_API_URL=server.url + "/").returncode, 0)


if __name__ == "__main__":
    unittest.main()
