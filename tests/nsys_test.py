"""A pipeline under the real nsys: every element is a family of ranges, and our sums are those of nsys stats."""
import csv
import json
import shutil
import unittest

from support import BIN, PLUGINS, STREAMGAUGE, Case, run

ELEMENTS = {"videotestsrc0", "queue0", "identity0", "fakesink0"}
PIPELINE = "videotestsrc num-buffers=100 ! queue ! identity sleep-time=2000 ! fakesink"


@unittest.skipUnless(shutil.which("nsys"), "nsys is not on PATH (Debian: nsight-systems of non-free)")
class RealNsys(Case):
    def test_ranges_of_every_element_and_equal_sums(self):
        report = self.folder / "run"
        env = {"GST_PLUGIN_PATH": str(PLUGINS), "GST_REGISTRY": str(BIN.parent / "trace-registry.bin"),
               "GST_TRACERS": "sgtrace", "SGTRACE_FILE": str(self.folder / "run.sgtrace")}
        # The registry is written without nsys: what its scan starts is no pipeline.
        run("gst-inspect-1.0", "sgtrace", env=env, timeout=120)
        result = run("nsys", "profile", "--trace=nvtx,osrt", "--sample=none", "--cpuctxsw=none", "-o", report,
                     "gst-launch-1.0", "-q", *PIPELINE.split(), env=env, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = [path for path in (report.with_suffix(".nsys-rep"), report.with_suffix(".qdstrm")) if path.exists()]
        said = run(STREAMGAUGE, "trace", found[0], "--json", timeout=300)
        self.assertEqual(said.returncode, 0, said.stderr)
        tables = json.loads(said.stdout)
        ours = {(r.get("domain", ""), r["name"]): r for r in tables["ranges"]}
        self.assertEqual({name for domain, name in ours if domain == "pipeline0"}, ELEMENTS)
        self.assert_equal_to_stats(report.with_suffix(".sqlite"), ours, {r["name"]: r for r in tables["os"]})

    def test_a_program_is_recorded_and_shown(self):
        env = {"GST_PLUGIN_PATH": str(PLUGINS), "GST_REGISTRY": str(BIN.parent / "trace-registry.bin"),
               "GST_TRACERS": "sgtrace", "SGTRACE_FILE": str(self.folder / "run.sgtrace")}
        result = run(STREAMGAUGE, "trace", "--nsys", self.folder / "run", "--json", "--", "gst-launch-1.0", "-q",
                     *PIPELINE.split(), env=env, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        names = {r["name"] for r in json.loads(result.stdout)["ranges"]}
        self.assertLessEqual(ELEMENTS, names)

    def assert_equal_to_stats(self, sqlite, ranges, calls):
        new_names = "nvtx_sum" in run("nsys", "stats", "--help-reports").stdout
        for report, key, ours in (("nvtx_sum" if new_names else "nvtxsum", "Range",
                                   {f"{domain}:{name}": row for (domain, name), row in ranges.items()}),
                                  ("osrt_sum" if new_names else "osrtsum", "Name", calls)):
            printed = run("nsys", "stats", "--report", report, "--format", "csv", sqlite, timeout=120).stdout
            lines = printed.splitlines()
            header = next(i for i, line in enumerate(lines) if "Total Time" in line)
            rows = list(csv.DictReader(line for line in lines[header:] if line))
            self.assertEqual(len(rows), len(ours))
            for row in rows:
                mine = ours[row[key]]
                count = int(row.get("Instances") or row["Num Calls"])
                self.assertEqual((mine["total_ns"], mine["count"], mine["min_ns"], mine["max_ns"]),
                                 (int(row["Total Time (ns)"]), count, int(row["Min (ns)"]), int(row["Max (ns)"])), row[key])
            self.check_printed(report, printed, ours)

    def check_printed(self, report, printed, ours):
        path = self.folder / f"{report}.csv"
        path.write_text(printed)
        said = json.loads(run(STREAMGAUGE, "trace", path, "--json").stdout)
        read = said["ranges"] or said["os"] or said["api"]
        self.assertEqual(sum(row["total_ns"] for row in read), sum(row["total_ns"] for row in ours.values()))


if __name__ == "__main__":
    unittest.main()
