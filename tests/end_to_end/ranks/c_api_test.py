"""Ranks that are programs of their own, with the C API alone: they train the bits of `gradus train`, and fail in one another's words."""

import array
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resumed_training import BUILD, EVERYTHING, GRADUS, RECIPE, Folder, run  # noqa: E402

PROGRAM = os.path.join(BUILD, "tests", "bin", "train_ranks")
BATCH, CLASSES, PIXELS, STEPS = 32, 10, 784, 12
# As root; and Open MPI keeps memory until a process ends, which sanitizers would
# find.
os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})
SECONDS = 60  # that no run here takes
MASK = (1 << 64) - 1


def missing():
    if not os.path.exists(PROGRAM):
        return "built without MPI"
    return "" if shutil.which("mpirun") else "there is no mpirun (openmpi-bin)"


def mix(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def order(seed, epoch, count):
    """The samples of an epoch in the order of `gradus train` (training/data/shuffle.h)."""
    half = ((count - 1).bit_length() + 1) // 2
    state, keys, mask = mix(seed + 0x9e3779b97f4a7c15 & MASK) ^ mix(~epoch & MASK), [], (1 << half) - 1
    for _ in range(6):
        state = state + 0x9e3779b97f4a7c15 & MASK
        keys.append(mix(state))

    def encrypted(place):
        left, right = place >> half, place & mask
        for key in keys:
            left, right = right, left ^ mix(right + key & MASK) & mask
        return left << half | right

    def sample(place):
        place = encrypted(place)
        return place if place < count else sample(place)

    return [sample(place) for place in range(count)]


def npy(kind, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes()


def tensors(path):
    """The bytes of each tensor of a checkpoint."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: data[slice(*tensor["data_offsets"])] for name, tensor in head.items() if name != "__metadata__"}


@unittest.skipIf(missing(), missing())
class CApiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Made-up samples: two epochs of them, which two ranks, or four logical ones, divide alike."""
        cls.folder, chance = Folder(cls.__name__), random.Random(5)
        cls.samples = 6 * 2 * BATCH
        cls.images = [array.array("f", [chance.random() for _ in range(PIXELS)]) for _ in range(cls.samples)]
        cls.labels = [chance.randrange(CLASSES) for _ in range(cls.samples)]
        cls.write("images.npy", npy("<f4", (cls.samples, 1, 28, 28), array.array("f", [x for each in cls.images for x in each])))
        cls.write("labels.npy", npy("<i8", (cls.samples,), array.array("q", cls.labels)))
        samples = [sample for epoch in range(2) for sample in order(RECIPE["seed"], epoch, cls.samples)]
        cls.write("batches", b"".join(cls.batch(samples[at:at + BATCH]) for at in range(0, len(samples), BATCH)))

    @classmethod
    def write(cls, name, content):
        with open(cls.folder.at(name), "wb") as file:
            file.write(content)

    @classmethod
    def batch(cls, samples):
        return b"".join([*(cls.images[i].tobytes() for i in samples), array.array("q", [cls.labels[i] for i in samples]).tobytes()])

    def compile(self, name, **recipe):
        distribution = {"mode": "data_parallel", **recipe.pop("distribution", {})}
        return self.folder.compile(name, **recipe, deterministic=True, distribution=distribution)

    def c_program(self, artifact, ranks, *more):
        checkpoint = self.folder.at("of_c.safetensors")
        words = ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), PROGRAM, artifact,
                 self.folder.at("batches"), str(STEPS), checkpoint, *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
        return done, checkpoint

    def expect_same_bits(self, artifact, ranks, turns):
        of_tool = self.folder.at("of_tool.safetensors")
        run([GRADUS, "train", artifact, "--data", f"image={self.folder.at('images.npy')}", "--data",
             f"label={self.folder.at('labels.npy')}", "--steps", str(STEPS), "--threads", "1", "--checkpoint", of_tool,
             "--overwrite", "--ranks", str(ranks)])
        done, of_c = self.c_program(artifact, ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, f"rank 0 of {ranks}, {turns} turns\n")
        expected, found = tensors(of_tool), tensors(of_c)
        self.assertGreater(len(expected), 3)
        self.assertEqual(expected.keys(), found.keys())
        self.assertEqual([name for name in expected if expected[name] != found[name]], [])

    def test_trains_the_bits_of_the_tool(self):
        self.expect_same_bits(self.compile("net.gradus"), 2, 1)

    def test_trains_the_bits_of_the_tool_with_all_that_a_step_remembers(self):
        self.expect_same_bits(self.compile("all.gradus", **EVERYTHING), 2, 1)

    def test_trains_the_bits_of_logical_ranks(self):
        artifact = self.compile("logical.gradus", distribution={"logical_ranks": 2})
        self.expect_same_bits(artifact, 2, 1)
        self.expect_same_bits(artifact, 1, 2)

    def test_a_rank_that_gives_up_ends_the_others(self):
        done, checkpoint = self.c_program(self.compile("net.gradus"), 2, "1")
        self.assertIn(done.returncode, (1, 3), done.stderr)
        said = re.findall(r"^train_ranks: (.*)", done.stderr, re.M)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], r"^.*rank 1 \(.*\): the batch is too hard$")


if __name__ == "__main__":
    unittest.main()
