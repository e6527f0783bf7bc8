"""Makes small SQLite files as nsys exports them: each layout that its versions had, with sums that are known."""
import contextlib
import sqlite3

PUSH_POP, START_END, DOMAIN = 59, 60, 75
THREAD = (7 << 24) + 1  # process 7

# name → (times of each, in ns)
KERNELS = {"gemm<float>(int, int)": [(1000, 4000), (5000, 5500)], "resize": [(4000, 4700)]}
COPIES = [(1, 100, 400, 4096), (1, 400, 900, 8192), (2, 6000, 6010, 16)]  # kind, start, end, bytes
CALLS = {"cudaLaunchKernel_v7000": [(10, 30), (40, 50)], "cudaStreamSynchronize_v3020": [(60, 4060)]}
RANGES = {"queue_Frame=1": [(0, 100)], "queue_Frame=2": [(200, 350)], "sink": [(400, 4000)]}


def make(path, layout, cuda=True, kernels=True, ranges=True, diagnostics=()):
    """layout: "2019" (texts in their rows, no domains), "2022" (registered texts, domains) or "2024"."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        strings = Strings(db)
        if layout != "2019":
            meta = "EXPORT_META_DATA" if layout == "2022" else "META_DATA_EXPORT"
            db.execute(f"CREATE TABLE {meta} (name TEXT, value TEXT)")
            db.execute(f"INSERT INTO {meta} VALUES ('EXPORT_SCHEMA_VERSION', ?)", (layout,))
        if ranges is not None:
            make_ranges(db, strings, layout, ranges)
        if cuda:
            make_cuda(db, strings, layout, kernels)
        if diagnostics:
            db.execute("CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT)")
            db.executemany("INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 2, ?)", [(text,) for text in diagnostics])


class Strings:
    def __init__(self, db):
        self.db, self.ids = db, {}
        db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")

    def id(self, text):
        if text not in self.ids:
            self.ids[text] = len(self.ids) + 1
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.ids[text], text))
        return self.ids[text]


def make_ranges(db, strings, layout, filled):
    if layout == "2019":
        db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER)")
    else:
        db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, "
                   "textId INTEGER, domainId INTEGER, rangeId INTEGER)")
        db.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, ?, 'pipeline0', ?, NULL, 3, NULL)", (DOMAIN, THREAD))
    for name, times in RANGES.items() if filled else ():
        for start, end in times:
            if layout == "2019":
                db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?)", (start, end, PUSH_POP, name, THREAD))
            else:
                db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, NULL, ?, ?, 3, NULL)",
                           (start, end, PUSH_POP, THREAD, strings.id(name)))


def make_cuda(db, strings, layout, filled):
    suffix = "_V3" if layout == "2024" else ""
    kernel, copy = f"CUPTI_ACTIVITY_KIND_KERNEL{suffix}", f"CUPTI_ACTIVITY_KIND_MEMCPY{suffix}"
    db.execute(f"CREATE TABLE {kernel} (start INTEGER, end INTEGER, deviceId INTEGER, demangledName INTEGER, shortName INTEGER)")
    db.execute(f"CREATE TABLE {copy} (start INTEGER, end INTEGER, deviceId INTEGER, copyKind INTEGER, bytes INTEGER)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER)")
    for name, times in CALLS.items():
        for start, end in times:
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)", (start, end, THREAD, strings.id(name)))
    if not filled:
        return
    for name, times in KERNELS.items():
        for start, end in times:
            db.execute(f"INSERT INTO {kernel} VALUES (?, ?, 0, ?, ?)", (start, end, strings.id(name), strings.id(name[:4])))
    for kind, start, end, size in COPIES:
        db.execute(f"INSERT INTO {copy} VALUES (?, ?, 0, ?, ?)", (start, end, kind, size))
