"""What the README tells people to type works as it stands."""
import os
import re
import shlex
import subprocess
import unittest

from support import BIN, ROOT, SHORT, Case, real_clip

# They build, measure for minutes or run this very test; the tests around them do the same work.
MAKE = re.compile(r"make (demo|test|bench|lint)$")


class Readme(Case):
    def test_commands_run_in_order(self):
        real_clip()
        for name in ("assets", "docs", "README.md"):
            os.symlink(ROOT / name, self.folder / name)
        (self.folder / "build").mkdir()
        os.symlink(ROOT / "build" / "clips", self.folder / "build" / "clips")
        os.symlink(BIN.parent, self.folder / "build" / "release")
        blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
        lines = [line for block in blocks for line in block.splitlines()]
        self.assertGreaterEqual(len(lines), 8)
        for line in lines:
            if MAKE.match(line):
                self.assertIn(f"\n{line.split()[1]}:", (ROOT / "Makefile").read_text())
                continue
            with self.subTest(line=line):
                if " import " in line:  # the same walk, measured only briefly
                    line += " " + shlex.join(SHORT)
                done = subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True, text=True, timeout=200,
                                      stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.folder / "models/pedestrian-rtdetr/reports/benchmark_report.html").exists())
        self.assertTrue((self.folder / "build/frames/frame_0003.jpg").exists())

    def test_pictures_are_there(self):
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", (ROOT / "README.md").read_text()):
            self.assertTrue((ROOT / picture).exists(), picture)


if __name__ == "__main__":
    unittest.main(verbosity=2)
