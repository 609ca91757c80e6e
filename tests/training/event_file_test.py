"""The event files of a run, and of one that goes on from its checkpoint, decoded as TensorBoard does."""

import json
import os
import shutil
import struct
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
GRADUS = os.path.join(BUILD, "bin", "gradus")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")


def masked_crc32c(data):
    """The checksum of TFRecord: CRC-32C, turned and with a number added."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (size,), (check,) = struct.unpack_from("<Q", data), struct.unpack_from("<I", data, 8)
        body, (sum,) = data[12 : 12 + size], struct.unpack_from("<I", data, 12 + size)
        assert (check, sum) == (masked_crc32c(data[:8]), masked_crc32c(body)), "a checksum is wrong"
        yield body
        data = data[16 + size :]


def varint(data, at):
    value, shift = 0, 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size = {1: 8, 5: 4}.get(key & 7, 0)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            if key & 7 == 2:
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def scalars(folder):
    """{tag: {step: value}} of the files in the order of their making; a restart takes back its step and later ones."""
    found = {}
    for name in sorted(os.listdir(folder), key=lambda name: os.path.getmtime(os.path.join(folder, name))):
        with open(os.path.join(folder, name), "rb") as file:
            events = [list(fields(record)) for record in records(file.read())]
        assert dict(events[0])[3] == b"brain.Event:2", events[0]
        for event in events[1:]:
            step = dict(event).get(2, 0)
            if 7 in dict(event):  # SessionLog: START
                for steps in found.values():
                    for later in [each for each in steps if each >= step]:
                        del steps[later]
            for summary in (value for number, value in event if number == 5):
                for figure in (dict(fields(value)) for number, value in fields(summary) if number == 1):
                    found.setdefault(figure[1].decode(), {})[step] = struct.unpack("<f", figure[2])[0]
    return found


class EventFile(unittest.TestCase):
    def setUp(self):
        self.work = os.path.join(BUILD, "tests", "events")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.artifact = os.path.join(self.work, "lenet.gradus")
        subprocess.run([GRADUS, "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe",
                        os.path.join(DIGITS, "recipe.json"), "-o", self.artifact], check=True, capture_output=True)

    def train(self, steps, *more):
        subprocess.run([GRADUS, "train", self.artifact, "--data", os.path.join(DIGITS, "train.safetensors"), "--eval",
                        os.path.join(DIGITS, "test.safetensors"), "--steps", str(steps), "--tensorboard",
                        os.path.join(self.work, "run"), *more], check=True, capture_output=True)

    def test_they_say_what_the_log_says(self):
        checkpoint, log = os.path.join(self.work, "c.safetensors"), os.path.join(self.work, "log.jsonl")
        self.train(50, "--checkpoint", checkpoint)
        os.rename(checkpoint, checkpoint + ".50")
        self.train(60, "--no-checkpoint")  # lost: the run that resumes does not know of it
        self.train(90, "--resume", checkpoint + ".50", "--log", log, "--no-checkpoint")
        events = scalars(os.path.join(self.work, "run"))
        self.assertEqual(sorted(events),
                         sorted(f"{of}/{metric}" for of in ("train", "epoch", "test") for metric in ("loss", "accuracy")))
        with open(log) as file:
            steps = {line["step"]: line["loss"] for line in map(json.loads, file) if "loss" in line}
        found = events["train/loss"]
        self.assertEqual(sorted(found), list(range(1, 91)))
        for step, loss in steps.items():
            self.assertAlmostEqual(found[step], loss, places=6)


if __name__ == "__main__":
    unittest.main()
