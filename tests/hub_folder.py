"""A folder seen as a model of the Hugging Face hub: its files with their git and LFS hashes, and a commit.

`.hub.json` in the folder (never listed) says what the files do not: pipeline_tag, license, tags, gated, private,
revisions (more names of the one commit), moved_to (the "org/name" that this one was renamed to)."""
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import threading

SETTINGS_NAME = ".hub.json"
LFS_SUFFIXES = (".onnx", ".safetensors")
_hash_lock = threading.Lock()  # requests at the same time read a file once


@dataclasses.dataclass(frozen=True)
class Entry:
    """One file. `oid` is the git blob's id; for LFS that of the pointer, as on the hub."""
    path: str  # inside the repository, with slashes
    disk_path: str
    size: int
    oid: str
    sha256: str  # empty: not in LFS
    pointer_size: int
    modified_s: float

    @property
    def etag(self):
        return f'"{self.sha256 or self.oid}"'

    def to_json(self):
        entry = {"type": "file", "oid": self.oid, "size": self.size, "path": self.path}
        if self.sha256:
            entry["lfs"] = {"oid": self.sha256, "size": self.size, "pointerSize": self.pointer_size}
        return entry


def git_blob_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@functools.lru_cache(maxsize=4096)
def _hash_file(disk_path, size, _modified_ns, is_lfs):
    """(oid, sha256, pointer size); read again only when the file's size or time changed."""
    digest = hashlib.sha256() if is_lfs else hashlib.sha1(b"blob %d\0" % size)
    with open(disk_path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if not is_lfs:
        return digest.hexdigest(), "", 0
    sha256 = digest.hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
    return git_blob_id(pointer), sha256, len(pointer)


class ModelFolder:
    """What the folder holds now; made anew for each request, so that a test may change files at any time."""

    def __init__(self, folder, lfs_bytes):
        self.folder = pathlib.Path(folder)
        self.id = f"{self.folder.parent.name}/{self.folder.name}"
        settings_file = self.folder / SETTINGS_NAME
        self.settings = json.loads(settings_file.read_text()) if settings_file.is_file() else {}
        self.files = {entry.path: entry for entry in self._scan(lfs_bytes)}
        listing = "".join(f"{entry.oid} {path}\n" for path, entry in sorted(self.files.items()))
        self.commit = hashlib.sha1(f"{self.id}\n{listing}".encode()).hexdigest()

    def _scan(self, lfs_bytes):
        for parent, _, names in os.walk(self.folder, followlinks=True):
            for name in names:
                disk_path = pathlib.Path(parent, name)
                path = disk_path.relative_to(self.folder).as_posix()
                if path == SETTINGS_NAME:
                    continue
                stat = disk_path.stat()
                is_lfs = stat.st_size >= lfs_bytes or name.endswith(LFS_SUFFIXES)
                with _hash_lock:
                    hashes = _hash_file(str(disk_path), stat.st_size, stat.st_mtime_ns, is_lfs)
                yield Entry(path, str(disk_path), stat.st_size, *hashes, stat.st_mtime)

    def has_revision(self, revision):
        return revision in ("main", self.commit, *self.settings.get("revisions", []))

    def info(self):
        """The answer to /api/models/org/name."""
        licence = self.settings.get("license")
        tags = list(self.settings.get("tags", []))
        if isinstance(licence, str):
            tags.append(f"license:{licence}")
        info = {"_id": self.commit[:24], "id": self.id, "modelId": self.id, "author": self.folder.parent.name,
                "sha": self.commit, "private": bool(self.settings.get("private")), "disabled": False,
                "gated": "auto" if self.settings.get("gated") is True else self.settings.get("gated") or False,
                "downloads": 0, "likes": 0, "tags": tags,
                "siblings": [{"rfilename": path} for path in sorted(self.files)]}
        if "pipeline_tag" in self.settings:
            info["pipeline_tag"] = self.settings["pipeline_tag"]
        if licence:
            info["cardData"] = {"license": licence}
        return info

    def tree(self, folder, recursive):
        """Entries below the folder ("": all), folders first; None when there is no such folder."""
        prefix = f"{folder}/" if folder else ""
        below = [entry for path, entry in sorted(self.files.items()) if path.startswith(prefix)]
        if folder and not below:
            return None
        folders, files = {}, []
        for entry in below:
            parts = entry.path[len(prefix):].split("/")
            for depth in range(1, len(parts) if recursive else min(len(parts), 2)):
                folders.setdefault(prefix + "/".join(parts[:depth]), hashlib.sha1()).update(entry.oid.encode())
            if recursive or len(parts) == 1:
                files.append(entry.to_json())
        return [{"type": "directory", "oid": digest.hexdigest(), "size": 0, "path": path}
                for path, digest in sorted(folders.items())] + files
