"""An import that is stopped, in whatever step and however rudely, goes on where it was."""
import os
import signal
import subprocess
import time
import unittest

from support import MODEL, SHORT, STREAMGAUGE, Case, import_model, import_until, short_clip

# What is printed just before or while a step works, and the steps that are finished by then.
STEPS = [("[Step 3]", []), ("[Step 4]", ["4"]), ("[Step 5]", ["4", "5"]), ("[Step 6]", ["4", "5", "6"]),
         ("[Step 7 Run 1]", ["4", "5", "6", "7 Run 1"]), ("[Step 7 Run 2]", ["4", "5", "6", "7 Run 1", "7 Run 2"])]


class Stopped(Case):
    def start(self):
        return subprocess.Popen([str(STREAMGAUGE), "import", str(MODEL), "--video", str(short_clip()), "--out",
                                 str(self.out), *SHORT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, SG_TEST_FOLDER=str(self.folder)))

    def stop_after(self, marker, signal_number, delay_s=0.4):
        """Starts an import and sends the signal `delay_s` after the marker was printed."""
        process = self.start()
        output = []
        for line in process.stdout:
            output.append(line)
            if line.startswith(marker):
                time.sleep(delay_s)
                process.send_signal(signal_number)
                break
        output.append(process.stdout.read())
        code = process.wait(timeout=60)
        process.stdout.close()
        return code, "".join(output)

    def finish(self, kept):
        result = import_model(MODEL, "--video", short_clip(), "--out", self.out, *SHORT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for step in kept:
            self.assertRegex(result.stdout, rf"\[Step {step}\] completed in .*\(earlier")
        model = self.out / "pedestrian-rtdetr"
        self.assertTrue((model / "reports" / "benchmark_report_pedestrian-rtdetr.pdf").exists())
        parts = [p for p in model.rglob("*") if ".part." in p.name]
        self.assertEqual(parts, [])
        return result

    def test_ctrl_c_in_every_step(self):
        """One folder, interrupted in each step in turn: no finished step is done twice."""
        for marker, kept in STEPS:
            with self.subTest(after=marker):
                code, output = self.stop_after(marker, signal.SIGINT)
                self.assertEqual(code, 130, output)
                self.assertIn("interrupted", output)
                for step in kept[:-1]:
                    self.assertRegex(output, rf"\[Step {step}\] completed in .*\(earlier")
                self.assertEqual(self.children_left(), [])
        self.finish(["4", "5", "6", "7 Run 1", "7 Run 2"])

    def test_kill_in_the_engine_build_and_in_a_run(self):
        for marker, delay_s in (("[Step 3]", 0.3), ("[Step 4]", 0.5), ("[Step 5]", 2.0), ("[Step 6]", 2.0)):
            with self.subTest(after=marker):
                code, output = self.stop_after(marker, signal.SIGKILL, delay_s)
                self.assertEqual(code, -signal.SIGKILL, output)
                deadline = time.monotonic() + 15
                while self.children_left() and time.monotonic() < deadline:
                    time.sleep(0.2)
                self.assertEqual(self.children_left(), [], "a worker outlived its parent")
        output = import_until("[Step 6]", MODEL, "--video", short_clip(), "--out", self.out, *SHORT)
        for step in ("4", "5", "6"):
            self.assertRegex(output, rf"\[Step {step}\] completed in .*\(earlier")

    def test_two_at_once_do_not_mix(self):
        first = self.start()
        try:
            for line in first.stdout:
                if line.startswith("[Step 3]"):
                    break
            second = import_model(MODEL, "--video", short_clip(), "--out", self.out, *SHORT)
            self.assert_one_line(second, 3, "at work in this folder")
        finally:
            first.send_signal(signal.SIGINT)
            first.stdout.read()
            self.assertEqual(first.wait(timeout=60), 130)
            first.stdout.close()

    def test_a_damaged_engine_is_built_again_with_the_reason(self):
        # At 2 fps MAX is the cap on any machine, however busy, so both builds are of one engine.
        arguments = (MODEL, "--video", short_clip(), "--out", self.out, "--max-batch", 2, "--target-fps", 2, *SHORT)
        self.assertNotIn("damaged", import_until("[Step 5]", *arguments))
        engine = next((self.out / "pedestrian-rtdetr/benchmarks/engines").glob("*.blob"))
        data = bytearray(engine.read_bytes())
        data[len(data) // 2] ^= 0xFF
        engine.write_bytes(data)
        output = import_until("[Step 4]", *arguments)
        self.assertIn("damaged", output)
        self.assertRegex(output, r"\[Step 4\] completed in [0-9.]+s\n")
        self.assertIn("earlier", import_until("[Step 4]", *arguments))

    def children_left(self):
        """Processes that this test's imports started and that still run."""
        mark = f"SG_TEST_FOLDER={self.folder}".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.append(pid)
            except OSError:
                continue
        return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
