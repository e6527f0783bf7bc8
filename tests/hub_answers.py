"""What the hub and its CDN answer to a request; how it is sent is hub_server.py's business."""
import base64
import dataclasses
import hashlib
import hmac
import json
import pathlib
import secrets
import time
import urllib.parse

from hub_folder import Entry, ModelFolder


@dataclasses.dataclass
class Answer:
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    entry: Entry | None = None  # a file to send instead of the body, whole or in part
    file: str = ""  # the file asked for, as org/name/path: a name for faults


def json_answer(value, status=200, headers=None):
    return Answer(status, {"Content-Type": "application/json; charset=utf-8", **(headers or {})},
                  json.dumps(value).encode())


class Refused(Exception):
    """Ends the making of an answer with another one."""

    def __init__(self, answer):
        super().__init__(answer.status)
        self.answer = answer


def refusal(status, message, code="", headers=None):
    """The hub's way to say no."""
    said = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {}), **(headers or {})}
    return Refused(json_answer({"error": message}, status, said))


def html_answer():
    """The login page of a hotel's network."""
    return Answer(200, {"Content-Type": "text/html; charset=utf-8"},
                  b"<!DOCTYPE html><html><title>Sign in</title><form>Your room number: <input></form></html>\n")


def quoted(*parts):
    return "/".join(urllib.parse.quote(part) for part in parts)


class HubAnswers:
    """The rules of the hub. `url` and `cdn_url` are set once the ports are known. Any thread."""

    def __init__(self, root, token, page_size, lfs_bytes, link_s):
        self.root = pathlib.Path(root)
        self.token, self.page_size, self.lfs_bytes, self.link_s = token, page_size, lfs_bytes, link_s
        self.url = self.cdn_url = ""
        self._signing_key = secrets.token_bytes(32)

    def from_hub(self, target, authorization):
        """The answer to a path with query, and to the Authorization header or None."""
        path, _, query_text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query_text))
        match [urllib.parse.unquote(part) for part in path.split("/")[1:]]:
            case ["api", "models", org, name]:
                return json_answer(self._open(org, name, target, authorization).info())
            case ["api", "models", org, name, "revision", revision]:
                return json_answer(self._open(org, name, target, authorization, revision).info())
            case ["api", "models", org, name, "tree", revision, *folder]:
                model = self._open(org, name, target, authorization, revision)
                return self._tree_page(model, "/".join(folder), path, query)
            case ["api", "resolve-cache", "models", org, name, commit, *file] if file:
                model = self._open(org, name, target, authorization, commit)
                return self._file(model, "/".join(file), authorization, is_direct=True)
            case [org, name, "resolve", revision, *file] if file:
                model = self._open(org, name, target, authorization, revision)
                return self._file(model, "/".join(file), authorization, is_direct=False)
        raise refusal(404, "Sorry, we can't find the page you are looking for.")

    def from_cdn(self, target, authorization):
        if authorization is not None:  # a storage host takes a signed link or a header, never both
            return self._cdn_refusal(400, "InvalidArgument", "Only one auth mechanism allowed")
        path, _, query_text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query_text))
        expires = query.get("Expires", "")
        if not hmac.compare_digest(query.get("Signature", ""), self._signature(path, expires)):
            return self._cdn_refusal(403, "AccessDenied", "Access Denied")
        if time.time() > float(expires):
            return self._cdn_refusal(403, "AccessDenied", "Request has expired")
        org, name, sha256, *parts = [urllib.parse.unquote(part) for part in path.split("/")[1:]]
        entry = ModelFolder(self.root / org / name, self.lfs_bytes).files.get("/".join(parts))
        if entry is None or entry.sha256 != sha256:
            return self._cdn_refusal(404, "NoSuchKey", "The specified key does not exist.")
        return Answer(200, {"Content-Disposition": "inline"}, entry=entry, file="/".join((org, name, *parts)))

    @staticmethod
    def _cdn_refusal(status, code, message):
        body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>\n'
        return Answer(status, {"Content-Type": "application/xml"}, body.encode())

    def _signature(self, path, expires):
        # Of the decoded path: clients differ in what they encode.
        return hmac.new(self._signing_key, f"{urllib.parse.unquote(path)} {expires}".encode(),
                        hashlib.sha256).hexdigest()

    def _may_read(self, authorization):
        return self.token is not None and authorization == f"Bearer {self.token}"

    def _open(self, org, name, target, authorization, revision="main"):
        folder = self.root / org / name
        is_there = all(part not in ("", ".", "..") and "/" not in part for part in (org, name)) and folder.is_dir()
        model = ModelFolder(folder, self.lfs_bytes) if is_there else None
        if model is None or (model.settings.get("private") and not self._may_read(authorization)):
            # Without a token the hub does not tell a private model from none.
            if authorization is None:
                raise refusal(401, "Invalid username or password.", "RepoNotFound",
                              {"WWW-Authenticate": 'Bearer realm="Authentication required", charset="UTF-8"'})
            raise refusal(404, "Repository not found", "RepoNotFound")
        if moved_to := model.settings.get("moved_to"):
            new_target = target.replace(f"/{quoted(org, name)}", f"/{quoted(*moved_to.split('/'))}", 1)
            raise Refused(Answer(307, {"Location": new_target}))
        if not model.has_revision(revision):
            raise refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return model

    def _tree_page(self, model, folder, path, query):
        entries = model.tree(folder, query.get("recursive", "false").lower() in ("true", "1"))
        if entries is None:
            raise refusal(404, f'{folder} does not exist on "{model.commit}"', "EntryNotFound")
        try:
            size = max(1, min(int(query.get("limit", self.page_size)), self.page_size))
            begin = int(base64.urlsafe_b64decode(query.pop("cursor", "")) or b"0")
        except ValueError as error:
            raise refusal(400, "Invalid cursor or limit") from error
        headers = {}
        if begin + size < len(entries):
            query["cursor"] = base64.urlsafe_b64encode(str(begin + size).encode()).decode()
            headers["Link"] = f'<{self.url}{path}?{urllib.parse.urlencode(query)}>; rel="next"'
        return json_answer(entries[begin:begin + size], headers=headers)

    def _file(self, model, path, authorization, is_direct):
        """The small file itself when asked directly; else a redirect to it or, for LFS, to the CDN."""
        headers = {"X-Repo-Commit": model.commit}
        if model.settings.get("gated") and not self._may_read(authorization):
            message = f"Access to model {model.id} is restricted and you are not in the authorized list."
            raise refusal(401 if authorization is None else 403, message, "GatedRepo", headers)
        entry = model.files.get(path)
        if entry is None:
            raise refusal(404, "Entry not found", "EntryNotFound", headers)
        file = f"{model.id}/{path}"
        headers |= {"ETag": entry.etag, "X-Linked-Etag": entry.etag, "X-Linked-Size": str(entry.size),
                    "Accept-Ranges": "bytes"}
        if entry.sha256:
            where = "/" + quoted(*model.id.split("/"), entry.sha256, *path.split("/"))
            expires = f"{time.time() + self.link_s:.3f}"
            query = urllib.parse.urlencode({"Expires": expires, "Signature": self._signature(where, expires)})
            return Answer(302, {**headers, "Location": f"{self.cdn_url}{where}?{query}"}, file=file)
        if is_direct:
            return Answer(200, headers, entry=entry, file=file)
        # Relative, as on the hub since 2025.
        where = "/api/resolve-cache/models/" + quoted(*model.id.split("/"), model.commit, *path.split("/"))
        query = urllib.parse.urlencode({"etag": entry.etag})
        return Answer(307, {**headers, "Location": f"{where}?{query}"}, file=file)
