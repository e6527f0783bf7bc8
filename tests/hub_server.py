"""A server that speaks the Hugging Face hub's API for the folders ROOT/org/name, and misbehaves on request.

Two origins, as on the hub: one answers the API and the small files, the other ("cdn") the LFS files, by signed links.
    python3 hub_server.py --root ROOT [--token T] [--tls] …      prints {"url": …, "cdn": …} when it is ready
    POST /_control  {"path": "org/name/model.onnx", "fault": "cut", "after": 1000, "times": 2}     see hub_faults.py
    with HubServer(root) as hub: … hub.url, hub.requests, hub.set_fault("org/name/model.onnx", "status", status=429)"""
import argparse
import email.utils
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

from hub_answers import Answer, HubAnswers, Refused, html_answer, json_answer
from hub_faults import ANSWER_FAULTS, BODY_FAULTS, ConnectionCut, Fault, Faults, Pace, spoiled

CHUNK_BYTES = 64 << 10


def wanted_range(headers, entry):
    """(begin, end) of the file's bytes; None: the whole file; end ≤ begin: a range that it does not have."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("Range", "").strip())
    modified = email.utils.formatdate(entry.modified_s, usegmt=True)
    if not match or match[1] + match[2] == "" or headers.get("If-Range", entry.etag) not in (entry.etag, modified):
        return None
    if match[1] == "":
        return max(0, entry.size - int(match[2])), entry.size
    if match[2] and int(match[2]) < int(match[1]):
        return None
    return int(match[1]), min(int(match[2] or entry.size) + 1, entry.size)


def read_chunks(path, begin, end):
    with open(path, "rb") as file:
        file.seek(begin)
        while begin < end and (chunk := file.read(min(CHUNK_BYTES, end - begin))):
            begin += len(chunk)
            yield chunk


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120  # seconds without a request
    disable_nagle_algorithm = True  # else small bodies wait for an acknowledgement of their headers

    def do_GET(self):
        hub, origin = self.server.hub, self.server.origin
        path = self.path.partition("?")[0]
        self.note = {"origin": origin, "method": self.command, "path": path, "query": self.path.partition("?")[2],
                     "range": self.headers.get("Range"), "if_range": self.headers.get("If-Range"),
                     "authorization": "Authorization" in self.headers, "status": None, "bytes": 0, "fault": None}
        hub.requests.append(self.note)
        try:
            rules = hub.answers.from_hub if origin == "hub" else hub.answers.from_cdn
            answer = rules(self.path, self.headers.get("Authorization"))
        except Refused as refused:
            answer = refused.answer
        try:
            fault = hub.faults.take((path, answer.file), origin, ANSWER_FAULTS)
            if fault is not None:
                self.note["fault"] = fault.fault
                answer = self._faulty_answer(fault)
            if answer.entry is not None:
                self._send_file(answer)
            else:
                self._send(answer, len(answer.body), [answer.body])
        except (ConnectionError, ssl.SSLError, TimeoutError):
            self.close_connection = True  # cut on purpose, or the client went away
        finally:
            hub.write_log(self.note)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.note = {"bytes": 0}
        if self.path != "/_control" or self.server.origin != "hub":
            self._send(json_answer({"error": "no such page"}, 404), None, [])
            return
        try:
            request = json.loads(body)
            if request.pop("clear", False):
                self.server.hub.faults.clear()
            if request:
                self.server.hub.faults.add(Fault(**request))
            answer = json_answer({"ok": True})
        except (ValueError, TypeError, AttributeError) as error:
            answer = json_answer({"error": str(error)}, 400)
        self._send(answer, len(answer.body), [answer.body])

    @staticmethod
    def _faulty_answer(fault):
        if fault.fault == "html":
            return html_answer()
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        return json_answer({"error": "asked for by a test"}, fault.status, headers)

    def _send_file(self, answer):
        entry = answer.entry
        headers = {"Content-Type": "application/octet-stream", "ETag": entry.etag, "Accept-Ranges": "bytes",
                   "Last-Modified": email.utils.formatdate(entry.modified_s, usegmt=True), **answer.headers}
        part = wanted_range(self.headers, entry)
        begin, end = part or (0, entry.size)
        fault = None
        if self.command == "GET" and begin < end:
            names = (self.note["path"], answer.file)
            fault = self.server.hub.faults.take(names, self.server.origin, BODY_FAULTS, end - begin)
        if fault is not None:
            self.note["fault"] = fault.fault
            if fault.fault == "ignore_range":
                part, begin, end = None, 0, entry.size
                del headers["Accept-Ranges"]
        if part and begin >= end:
            self._send(Answer(416, {**headers, "Content-Range": f"bytes */{entry.size}"}), 0, [])
            return
        if part:
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{entry.size}"
        announced = end - begin
        if fault is not None and fault.fault == "short":
            announced = max(0, announced + fault.delta)
            end = min(end, begin + announced)
            self.close_connection = fault.delta > 0
        chunks = spoiled(read_chunks(entry.disk_path, begin, end), fault, self.server.hub.wait)
        try:
            self._send(Answer(206 if part else 200, headers), announced, chunks)
        except ConnectionCut:
            if fault is not None and fault.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())
            raise

    def _send(self, answer, length, chunks):
        self.note["status"] = answer.status
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(length or 0)}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "HEAD":
            return
        for chunk in chunks:
            self.server.hub.pace.wait_for(len(chunk), self.server.hub.wait)
            self.wfile.write(chunk)
            self.note["bytes"] += len(chunk)

    def log_message(self, *_):
        pass  # write_log says it


class Origin(http.server.ThreadingHTTPServer):
    """One of the two servers, on a port that the system chooses."""
    request_queue_size = 128

    def __init__(self, hub, origin, context):
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub, self.origin = hub, origin
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.server_port}"
        if context:  # the handshake in the connection's own thread, at its first read
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), (OSError, ValueError)):
            super().handle_error(request, client_address)


class HubServer:
    """Both origins, from `with` to its end. `requests` holds one dict per request, in the order of arrival."""

    def __init__(self, root, token=None, page_size=1000, lfs_bytes=10 << 20, link_s=3600.0, rate=0, tls=False,
                 log=None):
        self.answers = HubAnswers(root, token, page_size, lfs_bytes, link_s)
        self.faults, self.pace, self.requests = Faults(), Pace(rate), []
        self.ca_file = None  # with tls: the certificate that clients must trust
        self._tls, self._log_path, self._log = tls, log, None
        self._log_lock, self._closing = threading.Lock(), threading.Event()

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="sg_hub.")
        self._log = open(self._log_path, "a", buffering=1) if self._log_path else None
        context = self._make_certificate() if self._tls else None
        self._origins = [Origin(self, "hub", context), Origin(self, "cdn", context)]
        self.url, self.cdn_url = (origin.url for origin in self._origins)
        self.answers.url, self.answers.cdn_url = self.url, self.cdn_url
        for origin in self._origins:
            origin.thread.start()
        return self

    def __exit__(self, *_):
        self._closing.set()
        for origin in self._origins:
            origin.shutdown()
            origin.server_close()
        with self._log_lock:
            if self._log:
                self._log.close()
            self._log = None
        self._folder.cleanup()

    def set_fault(self, path, fault, **details):
        """See hub_faults.Fault for the details."""
        self.faults.add(Fault(path, fault, **details))

    def wait(self, seconds):
        """Sleeps; the connection is cut when the server closes meanwhile."""
        if self._closing.wait(seconds):
            raise ConnectionCut

    def write_log(self, note):
        with self._log_lock:
            if self._log:
                self._log.write(json.dumps(note) + "\n")

    def _make_certificate(self):
        key, certificate = (pathlib.Path(self._folder.name) / name for name in ("key.pem", "ca.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        self.ca_file = str(certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context


def main():
    parser = argparse.ArgumentParser(description="A hub to test downloads with.")
    parser.add_argument("--root", required=True, help="holds org/name/… folders")
    parser.add_argument("--token", help="the token that may read gated and private models")
    parser.add_argument("--page-size", type=int, default=1000, help="entries per page of a tree")
    parser.add_argument("--lfs-bytes", type=int, default=10 << 20, help="files from this size on are in LFS")
    parser.add_argument("--link-s", type=float, default=3600, help="lifetime of a signed link, in seconds")
    parser.add_argument("--rate", type=float, default=0, help="bytes per second of all answers together; 0: no limit")
    parser.add_argument("--tls", action="store_true", help="https, with a certificate of its own")
    parser.add_argument("--log", help="gets one JSON line per request")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with HubServer(**vars(parser.parse_args())) as hub:
            print(json.dumps({"url": hub.url, "cdn": hub.cdn_url, **({"ca": hub.ca_file} if hub.ca_file else {})}),
                  flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
