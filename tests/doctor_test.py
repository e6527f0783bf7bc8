"""streamgauge doctor and container run against stand-ins for nvidia-smi, trtexec, deepstream-app and docker, which print
what the real ones print and misbehave on demand. The real ones are never reached: the stand-ins are first on PATH."""
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from support import ROOT, STREAMGAUGE, Case, run

GATE, USER, ENVIRONMENT = 1, 2, 3
SMI = "echo 'NVIDIA H100 80GB HBM3, 595.45.04, 81559, 9.0'"
TRTEXEC = "echo '&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b34] # trtexec --help'; exit 1"
APP = "echo 'deepstream-app version 9.1.0'; echo 'DeepStreamSDK 9.1.0'"


class Stood(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.work = self.folder / "my work"
        self.work.mkdir()

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def call(self, *args, **kwargs):
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        return run(STREAMGAUGE, *args, env=env, cwd=self.work, **kwargs)


class Doctor(Stood):
    def rows(self, *args):
        result = self.call("doctor", "--json", *args)
        facts = json.loads(result.stdout)
        return result, facts, {check["what"].split(":")[0]: check for check in facts["checks"]}

    def test_this_machine_can_run_the_embedded_engine(self):
        result, facts, rows = self.rows()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(rows["sginfer"]["verdict"], "PASS")
        self.assertNotIn("embedded", [c["part"] for c in facts["checks"] if c["verdict"] == "FAIL"])

    def test_a_deepstream_machine_is_taken_as_one(self):
        self.stand_in("nvidia-smi", SMI)
        self.stand_in("trtexec", TRTEXEC)
        self.stand_in("deepstream-app", APP)
        result, facts, rows = self.rows("--engine", "deepstream")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(facts["engine"], "deepstream")
        self.assertEqual(facts["deepstream"]["trtexec"]["version"], "101600")
        self.assertIn("driver 595.45.04", rows["GPU and driver"]["found"])

    def test_an_old_driver_is_a_fail_with_its_reason(self):
        self.stand_in("nvidia-smi", "echo 'NVIDIA A30, 580.65.06, 24576, 8.0'")
        _, _, rows = self.rows()
        self.assertEqual(rows["GPU and driver"]["verdict"], "FAIL")
        self.assertIn("595 or newer", rows["GPU and driver"]["remedy"])

    def test_deepstream_that_is_asked_for_and_missing_is_exit_3(self):
        self.stand_in("nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
        self.stand_in("trtexec", "exit 127")
        self.stand_in("deepstream-app", "exit 1")
        result, _, _ = self.rows("--engine", "deepstream")
        self.assertEqual(result.returncode, ENVIRONMENT)

    def test_a_driver_that_hangs_ends_within_its_deadline(self):
        self.stand_in("nvidia-smi", "exec sleep 300")
        start = time.monotonic()
        result, _, rows = self.rows()
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(result.returncode, 0)
        self.assertIn("no answer within", rows["GPU and driver"]["found"])

    def test_a_log_is_looked_up(self):
        log = self.folder / "build.log"
        log.write_text("[W] [TRT] INT64 weights\n" * 200 + "[E] Error Code 1: Cuda Runtime (out of memory)\n"
                       "[E] Could not find any implementation for node {ForeignNode[a]}\n")
        result = self.call("doctor", "--log", log)
        self.assertEqual(result.returncode, 0)
        titles = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
        self.assertEqual(titles, ["GPU memory ran out", "ForeignNode without implementation", "INT64 weights (harmless)"])
        self.assert_one_line(self.call("doctor", "--log", self.folder / "none"), USER, "none")

    def test_set_up_in_a_dry_run_starts_nothing(self):
        self.stand_in("apt-get", "touch started")
        result = self.call("doctor", "--setup", "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.work / "started").exists())

    def test_the_page_is_the_list(self):
        self.assertEqual(self.call("doctor", "--symptoms").stdout, (ROOT / "docs" / "troubleshooting.md").read_text())


# Writes each call's words, a line each, and does what `act` says.
DOCKER = """
here=$(dirname "$0")
[ "$1" = kill ] && {{ echo "$2" >> "$here/killed"; exit 0; }}
for word in "$@"; do printf '%s\\n' "$word"; done > "$here/words"
{act}
"""


class Container(Stood):
    def docker(self, act, name="docker"):
        self.stand_in(name, DOCKER.format(act=act))

    def words(self):
        return (self.bin / "words").read_text().splitlines()

    def test_a_command_runs_in_the_image_with_the_working_folder(self):
        self.docker("echo out; echo err >&2")
        result = self.call("container", "run", "--", "trtexec", "--onnx=-a b $(x).onnx")
        self.assertEqual((result.returncode, result.stdout), (0, "out\n"), result.stderr)
        self.assertIn("err", result.stderr)
        words = self.words()
        self.assertEqual(words[:2], ["run", "--rm"])
        self.assertIn(f"--user={os.getuid()}:{os.getgid()}", words)
        self.assertEqual(words[words.index("--gpus") + 1:], [
            "all", "--shm-size=16g", "-v", f"{self.work}:/work", "-w", "/work", "--entrypoint", "trtexec",
            "nvcr.io/nvidia/deepstream:9.1-triton-multiarch", "--onnx=-a b $(x).onnx"])

    def test_podman_and_cdi(self):
        self.docker("true", "podman")
        result = self.call("container", "run", "--runtime", "podman", "--cdi", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nvidia.com/gpu=all", self.words())
        self.assertNotIn("--user", " ".join(self.words()))

    def test_failures_are_told_apart(self):
        self.docker("exit 7")
        self.assert_one_line(self.call("container", "run", "--", "false"), GATE, "exit code 7")
        self.docker("echo 'docker: Error response from daemon: could not select device driver \"\" with capabilities: "
                    "[[gpu]].' >&2; exit 125")
        result = self.call("container", "run", "--", "true")
        self.assertEqual(result.returncode, ENVIRONMENT)
        self.assertIn("nvidia-container-toolkit", result.stderr)

    def test_a_cancelled_run_leaves_no_container(self):
        # A client that does not pass the signal on, as one that lost its daemon.
        self.docker("trap '' INT; touch \"$here/started\"; sleep 60 & wait $!; wait $!")
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        process = subprocess.Popen([STREAMGAUGE, "container", "run", "--", "true"], env=env, cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not (self.bin / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        name = next(word for word in self.words() if word.startswith("--name=")).removeprefix("--name=")
        self.assertEqual((self.bin / "killed").read_text().split(), [name])

    def test_a_dry_run_prints_the_line_of_each_shell(self):
        self.docker("touch \"$here/started\"")
        mounts = {"bash": '"$PWD":/work', "powershell": '"${PWD}:/work"', "cmd": '"%cd%:/work"'}
        for shell, mount in mounts.items():
            with self.subTest(shell):
                result = self.call("container", "run", "--dry-run", "--shell", shell, "--", "bash", "-lc", "echo hi")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(f"-v {mount} -w /work --entrypoint bash", result.stdout)
        self.assertFalse((self.bin / "started").exists())

    def test_a_printed_bash_line_is_what_runs(self):
        self.docker("true")
        line = self.call("container", "run", "--dry-run", "--", "bash", "-lc", "echo \"it's\" $HOME").stdout
        subprocess.run(["bash", "-c", line], check=True, cwd=self.work,
                       env={"PATH": f"{self.bin}:{os.environ['PATH']}"})
        self.assertEqual(self.words()[-2:], ["-lc", "echo \"it's\" $HOME"])
        self.assertIn(f"{self.work}:/work", self.words())

    def test_without_docker_the_way_to_get_it_is_said(self):
        result = run(STREAMGAUGE, "container", "run", "--runtime", "dockerx", "--", "true", cwd=self.work)
        self.assert_one_line(result, ENVIRONMENT, "doctor")


if __name__ == "__main__":
    unittest.main()
