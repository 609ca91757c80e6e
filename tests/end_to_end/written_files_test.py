"""What training writes reaches no other file, and no two runs write one checkpoint."""

import ctypes
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, EVAL, GRADUS, Folder, run, wait_for  # noqa: E402

ENDING = ".gradus-partial"  # behind a file's name until it is whole
NO_LOCKS = 37  # ENOLCK
LIBC = ctypes.CDLL(None)


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("then", ctypes.c_ubyte), ("otherwise", ctypes.c_ubyte), ("k", ctypes.c_uint)]


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction))]


def without_locks():
    """Every flock of this process fails from now on, as on a file system without locks (a filter of seccomp)."""
    flock = 73  # on x86-64
    instructions = (Instruction * 4)(Instruction(0x20, 0, 0, 0), Instruction(0x15, 0, 1, flock),
                                     Instruction(0x06, 0, 0, 0x00050000 | NO_LOCKS), Instruction(0x06, 0, 0, 0x7FFF0000))
    program = Program(len(instructions), instructions)
    if LIBC.prctl(38, 1, 0, 0, 0) or LIBC.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError("seccomp")


class WrittenFiles(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(f"written_files_{self._testMethodName}")
        self.artifact = self.folder.compile("net.gradus")

    def command(self, *more, artifact="net.gradus", steps=4):
        return [GRADUS, "train", self.folder.at(artifact), *DATA, "--steps", str(steps), *more]

    def write(self, name, text="somebody's"):
        with open(self.folder.at(name), "w") as file:
            file.write(text)
        return self.folder.at(name)

    def expect_unchanged(self, name, text="somebody's"):
        self.assertEqual(self.folder.bytes(name), text.encode())

    def test_nothing_is_written_through_a_link(self):
        victim, partial = self.write("victim"), self.folder.at("c.safetensors" + ENDING)
        for link, what in ((os.symlink, "a link"), (os.link, "a file that has other names, too")):
            link(victim, partial)
            said = run(self.command("--checkpoint", self.folder.at("c.safetensors")), code=2)
            self.assertIn(f"{partial}, and that is {what}; remove it", said)
            self.expect_unchanged("victim")
            os.remove(partial)

    def test_a_file_of_a_like_name_stays(self):
        for name in ("d.safetensors.partial", "d.safetensors.part", ".d.safetensors"):
            self.write(name)
        run(self.command("--checkpoint", self.folder.at("d.safetensors")))
        for name in ("d.safetensors.partial", "d.safetensors.part", ".d.safetensors"):
            self.expect_unchanged(name)

    def test_an_artifact_of_a_like_name_is_read(self):
        os.rename(self.artifact, self.folder.at("m.partial"))
        before = self.folder.bytes("m.partial")
        run(self.command("--checkpoint", self.folder.at("m"), artifact="m.partial"))
        self.assertEqual(self.folder.bytes("m.partial"), before)

    def test_an_input_under_the_name_of_what_is_not_whole_is_refused(self):
        os.rename(self.artifact, self.folder.at("m" + ENDING))
        before = self.folder.bytes("m" + ENDING)
        said = run(self.command("--checkpoint", self.folder.at("m"), artifact="m" + ENDING), code=2)
        self.assertIn(f"the artifact {self.folder.at('m' + ENDING)}: has the name under which --checkpoint", said)
        self.assertEqual(self.folder.bytes("m" + ENDING), before)

    def test_a_log_or_a_resumed_file_under_such_a_name_is_refused(self):
        state = self.folder.at("c.safetensors")
        self.assertIn("--log", run(self.command("--checkpoint", state, "--log", state + ENDING), code=2))
        run(self.command("--checkpoint", state + ENDING))
        before = self.folder.bytes("c.safetensors" + ENDING)
        said = run(self.command("--checkpoint", state, "--resume", state + ENDING, steps=8), code=2)
        self.assertIn(f"--resume {state}{ENDING}: has the name under which --checkpoint", said)
        self.assertEqual(self.folder.bytes("c.safetensors" + ENDING), before)

    def test_a_log_under_a_name_that_keep_writes_is_refused(self):
        said = run(self.command("--checkpoint", self.folder.at("c.safetensors"), "--keep", "1", "--log",
                                self.folder.at("c.step4.safetensors" + ENDING)), code=2)
        self.assertIn("has a name of the checkpoints that --keep writes", said)

    def start(self, *more):
        """A long run that has begun its steps."""
        log = self.folder.at("running.jsonl")
        process = subprocess.Popen(self.command(*more, "--log", log, steps=100000000), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(log, process)
        self.assertIsNone(process.poll())
        return process

    def expect_refused(self, process, *more):
        said = run(self.command(*more, steps=8), code=1)
        self.assertIn(f": process {process.pid} (gradus) is writing it; wait until that has ended", said)

    def test_a_second_run_is_refused_before_the_first_checkpoint(self):
        state = self.folder.at("c.safetensors")
        process = self.start("--checkpoint", state, "--checkpoint-every", "10h")
        self.assertFalse(os.path.exists(state))
        self.expect_refused(process, "--checkpoint", state)
        self.expect_refused(process, "--checkpoint", state, "--overwrite")
        self.expect_refused(process, "--checkpoint", state, "--overwrite", "--on-checkpoint-error", "continue")
        process.send_signal(signal.SIGKILL)
        process.wait()
        run(self.command("--checkpoint", state))
        self.assertEqual(sorted(name for name in os.listdir(self.folder.path) if name.startswith("c.")),
                         ["c.safetensors"])

    def test_a_second_run_is_refused_between_checkpoints(self):
        state = self.folder.at("c.safetensors")
        run(self.command("--checkpoint", state))
        for every in ("10h", "0"):
            process = self.start("--checkpoint", state, "--resume", state, "--checkpoint-every", every)
            for _ in range(5):
                self.expect_refused(process, "--checkpoint", state, "--resume", state)
                self.expect_refused(process, "--checkpoint", state, "--overwrite")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 130)
            os.remove(self.folder.at("running.jsonl"))

    def test_the_best_state_is_held_too(self):
        state, best = self.folder.at("c.safetensors"), self.folder.at("c.best.safetensors")
        process = self.start("--checkpoint", state, *EVAL, "--best", "loss")
        self.expect_refused(process, "--checkpoint", best, "--overwrite")
        run(self.command("--checkpoint", self.folder.at("other.safetensors")))

    def test_what_another_run_trains_is_read_but_not_replaced(self):
        state = self.folder.at("c.safetensors")
        run(self.command("--checkpoint", state))
        process = self.start("--checkpoint", state, "--resume", state)
        run(self.command("--init", state))
        said = run([GRADUS, "run", self.artifact, "train", "--steps", "1", "--checkpoint", state, "--overwrite"], code=1)
        self.assertIn(f"process {process.pid} (gradus) is writing it", said)

    def test_a_file_system_without_locks_is_said_and_trained_on(self):
        state = self.folder.at("c.safetensors")
        for steps, more in ((4, []), (8, ["--resume", state])):
            done = subprocess.run(self.command("--checkpoint", state, *more, steps=steps), preexec_fn=without_locks,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"warning: {state}: cannot be locked (No locks available): nothing keeps another run from "
                          "writing it", done.stderr)
            self.assertEqual(sorted(name for name in os.listdir(self.folder.path) if name.startswith("c.")),
                             ["c.safetensors"])


if __name__ == "__main__":
    unittest.main()
