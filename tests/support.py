"""What the end-to-end tests share: the programs, the demo model, the clip, and one way to call them."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ["SG_BIN"])
STREAMGAUGE = BIN / "streamgauge"
PLUGINS = BIN.parent / "lib" / "gstreamer-1.0"
MODEL = ROOT / "assets" / "pedestrian-rtdetr"
REAL_CLIP = ROOT / "build" / "clips" / "vtest.mp4"

# Enough to walk the whole path; figures taken with these are not for a report.
SHORT = ["--duration", "3", "--warmup", "0.5", "--timing", "0.5", "--frames", "40", "--no-progress"]


def run(*args, timeout=240, env=None, cwd=None):
    """Runs a program; stdin is empty, so that nothing can wait for an answer."""
    full_env = dict(os.environ)
    full_env.pop("DS_VIDEO", None)
    full_env.update(env or {})
    return subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, env=full_env, cwd=cwd)


def import_model(*args, **kwargs):
    return run(STREAMGAUGE, "import", *args, **kwargs)


def import_until(marker, *args):
    """Starts an import and interrupts it once a line begins with the marker; returns what it printed."""
    process = subprocess.Popen([str(a) for a in (STREAMGAUGE, "import", *args)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = []
    for line in process.stdout:
        output.append(line)
        if line.startswith(marker):
            interrupt(process)
            break
    output.append(process.stdout.read())
    process.stdout.close()
    process.wait(timeout=60)
    return "".join(output)


def real_clip():
    if not REAL_CLIP.exists():
        raise unittest.SkipTest("the real clip could not be fetched on this machine")
    return REAL_CLIP


def short_clip():
    """The real clip's first 20 seconds: for tests that look at the way, not at figures."""
    clip = REAL_CLIP.with_name("vtest_20s.mp4")
    if not clip.exists():
        part = clip.with_name(f"vtest_20s.{os.getpid()}.mp4")
        ffmpeg("-i", real_clip(), "-c", "copy", "-frames:v", 200, part)
        part.rename(clip)
    return clip


def ffmpeg(*args):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *[str(a) for a in args]], check=True,
                   stdin=subprocess.DEVNULL)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sg_e2e."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "models"

    def assert_one_line(self, result, code, *words):
        """The promised form of a failure: this exit code, and one line on stderr with these words."""
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("streamgauge: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn("Traceback", lines[0])

    def assert_nothing_written(self):
        left = sorted(str(p) for p in self.out.rglob("*")) if self.out.exists() else []
        self.assertEqual(left, [])


def interrupt(process, wait_s=30):
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=wait_s)
