"""Training on the emulated GPU goes as on the processor, and what a GPU cannot do is said in words."""

import array
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, EVERYTHING, GRADUS, Folder, run  # noqa: E402

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "gpu.md")
TYPES = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "U64": "Q"}


def tensors(path):
    """Name -> elements of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: array.array(TYPES[tensor["dtype"]], data[slice(*tensor["data_offsets"])])
            for name, tensor in header.items()}


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder("gpu")
        cls.artifact = cls.folder.compile("net.gradus", ("cpu", "emulated"), **EVERYTHING)

    def train(self, device, steps, name, *more, artifact=None, code=0, **environment):
        return run([GRADUS, "train", artifact or self.artifact, *DATA, "--device", device, "--steps", str(steps),
                    "--checkpoint", self.folder.at(name), *more, *([] if "--resume" in more else ["--overwrite"])],
                   code, **environment)

    def refusal(self, *arguments, **more):
        """The error in one line, without what stands before the artifact's name."""
        words = self.train(*arguments, code=more.pop("code", 2), **more)
        return re.sub(r"(?s).*gradus: [^ ]*/(?=[^/ ]*\.gradus)", "", words).strip()

    def expect_near(self, name, other):
        found, expected = tensors(self.folder.at(name)), tensors(self.folder.at(other))
        self.assertEqual(found.keys(), expected.keys())
        for key in expected:
            largest = max(map(abs, expected[key]), default=0)
            far = max((abs(a - b) for a, b in zip(found[key], expected[key])), default=0)
            self.assertLessEqual(far, 1e-4 * largest + 1e-7, key)

    def test_trains_as_the_processor_does(self):
        self.assertRegex(self.train("cpu", 6, "cpu.safetensors"), r"predicted \S+ \S+, measured \S+ \S+\n.*\(6 steps, \d+ threads\)")
        self.assertRegex(self.train("emulated", 6, "gpu.safetensors"),
                         r"predicted \S+ \S+ and \S+ \S+ at load, measured \S+ \S+ of the host's\n.*\(6 steps, the emulated GPU\)")
        self.expect_near("gpu.safetensors", "cpu.safetensors")

    def test_goes_on_where_another_device_stopped(self):
        self.train("cpu", 6, "whole.safetensors")
        for first, then in (("cpu", "emulated"), ("emulated", "cpu")):
            self.train(first, 4, "part.safetensors")
            self.train(then, 6, "part.safetensors", "--resume", self.folder.at("part.safetensors"))
            self.expect_near("part.safetensors", "whole.safetensors")

    def test_gives_the_same_bits_in_any_order(self):
        for seed in "12":
            self.train("emulated", 4, f"{seed}.safetensors", GRADUS_EMULATED=f"seed={seed}")
        self.assertEqual(self.folder.bytes("1.safetensors"), self.folder.bytes("2.safetensors"))

    def test_a_lost_card_leaves_the_last_checkpoint(self):
        self.train("emulated", 6, "whole.safetensors")
        with open(PAGE, encoding="utf-8") as page:
            fault, options, said = re.search(r'\$ GRADUS_EMULATED="(lost-at=\d+)" gradus train .* (--checkpoint-every .*)\n'
                                             r"gradus: model\.gradus: (.*)\n", page.read()).groups()
        words = self.refusal("emulated", 6, "lost.safetensors", *options.split(), code=1, GRADUS_EMULATED=fault)
        self.assertEqual(words, f"net.gradus: {said}")
        self.assertIn("the GPU forgot all that this program had there", said)
        self.assertIn("the checkpoint of step 4 is still there", said)
        self.train("emulated", 6, "lost.safetensors", "--resume", self.folder.at("lost.safetensors"))
        self.assertEqual(self.folder.bytes("lost.safetensors"), self.folder.bytes("whole.safetensors"))

    def test_too_little_memory_is_found_before_any_is_taken(self):
        self.assertRegex(
            self.refusal("emulated", 1, "none.safetensors", code=1, GRADUS_EMULATED="memory=100000"),
            r"^net\.gradus: needs [\d.]+ KiB of the GPU's memory \([\d.]+ KiB of state, [\d.]+ KiB of arena, .*, "
            r"[\d.]+ KiB of inputs\), and 97\.7 KiB of 97\.7 KiB are free on the emulated GPU$")
        self.assertRegex(
            self.refusal("emulated", 1, "none.safetensors", code=1, GRADUS_EMULATED="out-of-memory-at=1"),
            r"^net\.gradus: taking [\d.]+ KiB of the emulated GPU for arena: the GPU has too little free memory "
            r"\(CUDA_ERROR_OUT_OF_MEMORY 2\)$")

    def test_a_plan_for_others_says_what_to_compile(self):
        cpu = self.folder.compile("cpu.gradus", ("cpu:x86-64-v2",))
        self.assertEqual(self.refusal("emulated", 1, "none.safetensors", artifact=cpu),
                         "cpu.gradus: has plans for cpu:x86-64-v2, and none for the emulated GPU: compile it with "
                         "--target emulated")
        gpu = self.folder.compile("gpu.gradus", ("emulated",))
        self.assertEqual(self.refusal("cpu", 1, "none.safetensors", artifact=gpu),
                         "gpu.gradus: has plans for cuda, and none for this processor: compile it with --target cpu")

    def test_damaged_code_is_found(self):
        whole = self.folder.bytes("net.gradus")
        image = json.loads(run([GRADUS, "inspect", self.artifact, "--json"]))["plans"][1]["images"][0]
        for place in range(len(whole) - 1, 0, -image["bytes"] // 4):  # from what stands behind the image
            damaged = self.folder.at("damaged.gradus")
            with open(damaged, "wb") as file:
                file.write(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
            words = self.refusal("emulated", 1, "none.safetensors", artifact=damaged)
            if re.search("^damaged.gradus: the code for the emulated GPU of plan cuda: is damaged: it has hash [0-9a-f]{16} "
                         "instead of [0-9a-f]{16}$", words):
                return
        self.fail("no place of the image was damaged")

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia"), "this machine has a driver")
    def test_a_machine_without_a_driver_says_so(self):
        self.assertRegex(self.refusal("cuda", 1, "none.safetensors", code=1),
                         "^net.gradus: device cuda: no NVIDIA driver on this machine: libcuda.so.1: ")


if __name__ == "__main__":
    unittest.main()
