"""The ways in which the hub server answers badly on request, and how fast it sends."""
import dataclasses
import threading
import time

ANSWER_FAULTS = ("status", "html")  # another answer altogether
BODY_FAULTS = ("cut", "short", "zero", "ignore_range", "stall", "drip")  # the file's answer, spoiled


class ConnectionCut(ConnectionError):
    """The connection is to end here, in the middle of a body."""


@dataclasses.dataclass
class Fault:
    """`path`: a file as org/name/path or a URL's path, "*" for all; `times`: so many answers, None without end."""
    path: str
    fault: str
    times: int | None = 1
    origin: str | None = None  # "hub" or "cdn" alone
    min_body: int = 0  # shorter answers pass, such as that to a first look at one byte
    after: int = 0  # cut, stall, zero: from this byte of the answer's body on; shorter answers pass
    reset: bool = False  # cut: with a TCP reset instead of an orderly end
    delta: int = -1  # short: added to Content-Length; negative: only so many bytes come
    seconds: float = 5  # stall
    rate: float = 1000  # drip: bytes per second
    status: int = 503
    retry_after: int | str | None = None  # status

    def __post_init__(self):
        if self.fault not in ANSWER_FAULTS + BODY_FAULTS:
            raise ValueError(f"no fault {self.fault!r}; there are {', '.join(ANSWER_FAULTS + BODY_FAULTS)}")
        self.path = self.path if self.path == "*" else self.path.strip("/")
        if self.fault in ("cut", "stall", "zero"):
            self.min_body = max(self.min_body, self.after + 1)


class Faults:
    """Those that are still to happen. Any thread."""

    def __init__(self):
        self._lock = threading.Lock()
        self._faults = []

    def add(self, fault):
        with self._lock:
            self._faults.append(fault)

    def clear(self):
        with self._lock:
            self._faults.clear()

    def take(self, names, origin, kinds, body_bytes=0):
        """The oldest fault that is meant for this answer, counted down; None: answer well."""
        names = {"*", *(name.strip("/") for name in names)}
        with self._lock:
            for fault in self._faults:
                if (fault.fault in kinds and fault.path in names and fault.origin in (None, origin)
                        and body_bytes >= fault.min_body):
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times <= 0:
                            self._faults.remove(fault)
                    return fault
        return None


def spoiled(chunks, fault, wait):
    """The chunks as the fault (or None) lets them out. `wait` sleeps so many seconds."""
    kind = fault.fault if fault else ""
    sent, stalled = 0, False
    for chunk in chunks:
        pieces = [chunk]
        if kind in ("cut", "stall", "zero") and sent < fault.after < sent + len(chunk):
            pieces = [chunk[:fault.after - sent], chunk[fault.after - sent:]]
        elif kind == "drip":
            step = max(1, int(fault.rate / 20))
            pieces = [chunk[begin:begin + step] for begin in range(0, len(chunk), step)]
        for piece in pieces:
            is_after = fault is not None and sent >= fault.after
            if kind == "cut" and is_after:
                raise ConnectionCut
            if kind == "stall" and is_after and not stalled:
                stalled = True
                wait(fault.seconds)
            if kind == "drip":
                wait(len(piece) / fault.rate)
            yield bytes(len(piece)) if kind == "zero" and is_after else piece
            sent += len(piece)


class Pace:
    """Keeps all answers together at so many bytes per second; 0: as fast as it goes. Any thread."""

    def __init__(self, bytes_per_s):
        self._bytes_per_s = bytes_per_s
        self._lock = threading.Lock()
        self._free_at_s = 0.0

    def wait_for(self, size, wait):
        if not self._bytes_per_s:
            return
        with self._lock:
            now_s = time.monotonic()
            self._free_at_s = max(self._free_at_s, now_s) + size / self._bytes_per_s
            delay_s = self._free_at_s - now_s
        wait(delay_s)
