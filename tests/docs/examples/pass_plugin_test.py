"""docs/examples/pass_plugin, made with an installed Gradus that was moved, changes what training gives."""

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from pages import check_consoles

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
WORK = os.path.join(BUILD, "tests", "pass_plugin")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
SOURCE = os.path.join(ROOT, "docs", "examples", "pass_plugin")
PLUGIN = os.path.join(WORK, "example", "libgradient_noise.so")
TREE = os.path.join(WORK, "moved")
COMPILERS = ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22", "-G", "Ninja"]

# Its gradient is x, whatever the slope: the sum of all noise shows in the slope.
LINE = """gradus.program @line {
  gradus.state @slope : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<2x3xf32>) -> (loss: tensor<f32>) {
    %slope = gradus.read @slope : tensor<2x3xf32>
    %y = arith.mulf %x, %slope : tensor<2x3xf32>
    %loss = gradus.reduce sum %y axes [0, 1] : tensor<2x3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}
"""
RECIPE = {"optimizer": {"type": "sgd", "learning_rate": 0.1}, "seed": 7}


def run(*command, status=0):
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(command)}\n{done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def tool(name, *arguments, status=0):
    return run(os.path.join(TREE, "bin", name), *arguments, status=status)


def states(name):
    with open(os.path.join(WORK, name), "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__")
    return {key: data[slice(*value["data_offsets"])] for key, value in header.items()}


def philox(counter, seed):
    """The first word of Philox4x32-10 (Salmon et al., SC 2011)."""
    x, key = list(counter), [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [b >> 32 ^ x[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ x[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x[0]


def djb(text):
    value = 5381
    for letter in text.encode():
        value = (value * 33 + letter) & 0xFFFFFFFF
    return value


def noise(name, step, place, seed):
    radius, angle = ((philox((place, 0, step, djb(f"{part} {name}")), seed) + 1) / 2**32 for part in ("radius", "angle"))
    return math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle)


class PassPlugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        run("cmake", "--install", BUILD, "--prefix", "first")
        os.rename(os.path.join(WORK, "first"), TREE)
        run("cmake", "-S", SOURCE, "-B", "example", *COMPILERS, f"-DCMAKE_PREFIX_PATH={TREE}")
        run("cmake", "--build", "example")

    def compile(self, name, *options, model=os.path.join(DIGITS, "lenet.onnx"),
                recipe=os.path.join(DIGITS, "recipe.json")):
        return tool("gradus", "compile", model, "--recipe", recipe, "-o", name, *options)

    def compile_noisy(self, name, settings="", **more):
        return self.compile(name, "--plugin", PLUGIN, f"--gradient-noise{settings}", **more)

    def train(self, artifact, checkpoint, steps, *more):
        return tool("gradus", "train", artifact, "--data", os.path.join(DIGITS, "train.safetensors"), "--steps",
                    str(steps), "--checkpoint", checkpoint, *more)

    def test_the_noise_is_that_of_the_paper(self):
        for name, text in (("line.mlir", LINE), ("line.json", json.dumps(RECIPE))):
            with open(os.path.join(WORK, name), "w") as file:
                file.write(text)
        x, steps = [0.5, -1.0, 2.0], 5
        run("python3", os.path.join(ROOT, "tests", "end_to_end", "write_tensors.py"), "line.safetensors",
            "x:f32:2,3:" + ",".join(map(str, x)))
        self.compile_noisy("line.gradus", "=scale=0.04,decay=0.9", model="line.mlir", recipe="line.json")
        tool("gradus", "train", "line.gradus", "--data", "line.safetensors", "--steps", str(steps), "--checkpoint",
             "line.checkpoint")
        found = struct.unpack("<6f", states("line.checkpoint")["slope"])
        for place in range(6):
            total = sum(x[place % 3] + 0.2 * (1 + t) ** -0.45 * noise("slope", t, place, RECIPE["seed"])
                        for t in range(steps))
            self.assertAlmostEqual(found[place], -0.1 * total, delta=1e-5)

    def test_a_real_model_trains_otherwise_and_as_well(self):
        self.compile("plain.gradus")
        self.compile_noisy("noisy.gradus", "=scale=0.0001")
        self.compile_noisy("silent.gradus", "=scale=0")
        for name in ("plain", "noisy", "silent"):
            self.train(f"{name}.gradus", f"{name}.checkpoint", 220)
        plain, noisy, silent = (states(f"{name}.checkpoint") for name in ("plain", "noisy", "silent"))
        self.assertEqual(plain, silent)
        self.assertEqual(plain.keys(), noisy.keys())
        self.assertEqual([name for name in plain if name.endswith(".weight") and plain[name] == noisy[name]], [])
        told = json.loads(tool("gradus", "evaluate", "noisy.gradus", "--checkpoint", "noisy.checkpoint", "--data",
                               os.path.join(DIGITS, "test.safetensors"), "--json").splitlines()[-1])
        self.assertGreater(told["accuracy"], 0.9)

    def test_a_run_goes_on_as_it_began_or_says_so(self):
        self.compile("other.gradus")
        self.compile_noisy("whole.gradus")
        self.assertIn('plug-in key gradient_noise {"scale":0.01,"decay":0.55}\n', tool("gradus", "inspect", "whole.gradus"))
        self.train("whole.gradus", "whole.checkpoint", 30)
        self.train("whole.gradus", "part.checkpoint", 13)
        told = self.train("other.gradus", "other.checkpoint", 14, "--resume", "part.checkpoint")
        self.assertIn('plugins.gradient_noise {"decay":0.55,"scale":0.01}, now null', told)
        told = self.train("whole.gradus", "part.checkpoint", 30, "--resume", "part.checkpoint")
        self.assertNotIn("gradient_noise", told)
        self.assertEqual(states("whole.checkpoint"), states("part.checkpoint"))
        tool("gradus", "export", "whole.gradus", "--plugin", PLUGIN, "--checkpoint", "whole.checkpoint", "-o", "whole.onnx")

    def test_it_is_told_as_any_pass_and_agrees_with_the_reference(self):
        self.compile("told.gradus", "--plugin", PLUGIN, "--gradient-noise", "--report", "told.html")
        with open(os.path.join(WORK, "told.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("gradient-noise", page)
        self.assertNotIn("added-passes", page)
        with open(os.path.join(DIGITS, "recipe.json"), encoding="utf-8") as file:
            recipe = json.load(file)
        with open(os.path.join(WORK, "told.json"), "w") as file:
            json.dump({**recipe, "plugins": {"gradient_noise": {"scale": 0.01}}}, file)
        tool("gradus", "verify", os.path.join(DIGITS, "lenet.onnx"), "--recipe", "told.json", "--plugin", PLUGIN)

    def test_a_recipe_has_its_key(self):
        def recipe(text, *options, status=0):
            with open(os.path.join(WORK, "key.json"), "w") as file:
                json.dump(text, file)
            return tool("gradus", "recipe", "key.json", *options, status=status)

        noisy, plugin = {"plugins": {"gradient_noise": {"scale": 0.1}}}, ("--plugin", PLUGIN)
        told = json.loads(recipe(noisy, *plugin, "--set", "plugins.gradient_noise.decay=0.75"))
        self.assertEqual(told["plugins"], {"gradient_noise": {"scale": 0.1, "decay": 0.75}})
        told = json.loads(recipe({"plugins": {"gradient_noise": True}}, *plugin, "--gradient-noise=decay=1"))
        self.assertEqual(told["plugins"], {"gradient_noise": {"scale": 0.01, "decay": 1.0}})
        self.assertEqual(json.loads(recipe({}, *plugin))["plugins"], {"gradient_noise": None})
        self.assertNotIn("plugins", json.loads(recipe({})))
        schema = json.loads(tool("gradus", "recipe", "--schema", *plugin))
        self.assertIn('"scale"', json.dumps(schema["properties"]["plugins"]["properties"]["gradient_noise"]))
        self.assertRegex(tool("gradus", "compile", "--help", *plugin),
                         "--gradient-noise +Adds noise to gradients; =KEY=VALUE,... sets its keys: scale, decay")
        # What is wrong is said by the key, and where the library is missing.
        self.assertIn("key.json: plugins.gradient_noise: is a key of a plug-in, and none was loaded; --plugin FILE.so "
                      "names its library", recipe(noisy, status=2))
        self.assertIn('plugins.gradient_nois: is a key of no plug-in that was loaded (--plugin FILE.so); did you mean '
                      '"gradient_noise"?', recipe({"plugins": {"gradient_nois": {}}}, *plugin, status=2))
        self.assertIn('gradient_noise: unknown key; did you mean "plugins.gradient_noise"?',
                      recipe({"gradient_noise": {}}, *plugin, status=2))
        self.assertIn('--gradient-noise=scal=1: plugins.gradient_noise.scal: unknown key; did you mean "scale"?',
                      recipe({}, *plugin, "--gradient-noise=scal=1", status=2))
        self.assertIn("scale: expected at least 0, found -1", recipe({}, *plugin, "--gradient-noise=scale=-1", status=2))

    def test_a_key_changes_nothing_where_it_is_off(self):
        self.compile("without.gradus")
        self.compile("off.gradus", "--plugin", PLUGIN)
        for name in ("without", "off"):
            self.train(f"{name}.gradus", f"{name}.checkpoint", 3)
        self.assertEqual(states("without.checkpoint"), states("off.checkpoint"))
        told = self.train("without.gradus", "resumed.checkpoint", 6, "--resume", "off.checkpoint")
        self.assertNotIn("plugins", told)

    def test_what_is_wrong_is_said_of_an_added_pass(self):
        def told(stage, *plugin, status=2):
            return tool("gradus", "compile", os.path.join(DIGITS, "lenet.onnx"), "--dim", "batch=32", "-o", "none.gradus",
                        *plugin, "--add-pass", stage, status=status)

        plugin = ("--plugin", PLUGIN)
        self.assertIn('unknown pass "gradient-nois"; did you mean "gradient-noise"?', told("methods:gradient-nois", *plugin))
        self.assertIn('unknown stage "method"; did you mean "methods"?', told("method:gradient-noise", *plugin))
        self.assertIn("no such option rate", told("methods:gradient-noise{rate=1}", *plugin))
        self.assertIn("no plug-in was loaded", told("methods:gradient-noise"))
        self.assertFalse(os.path.exists(os.path.join(WORK, "none.gradus")))
        self.assertIn("The recipe does not have its key plugins.gradient_noise",
                      told("methods:gradient-noise", *plugin, status=0))

    def test_the_commands_of_the_page_run(self):
        folder = os.path.join(WORK, "page")
        shutil.copytree(DIGITS, folder)
        shutil.copy(PLUGIN, folder)
        with open(os.path.join(folder, "program.mlir"), "w") as file:
            file.write(LINE)
        check_consoles(self, "docs/add_a_pass.md", folder)
        self.assertTrue(os.path.exists(os.path.join(folder, "noisy.gradus")))

    def test_gradus_opt_runs_it_by_name(self):
        with open(os.path.join(WORK, "opt.mlir"), "w") as file:
            file.write(LINE)
        printed = tool("gradus-opt", f"--load-pass-plugin={PLUGIN}", "opt.mlir", "--autodiff", "--gradient-noise=scale=4")
        self.assertEqual(printed.count("gradus.random_bits"), 2)
        self.assertRegex(printed, r"%\w+ = arith.addf %x, %\w+ : tensor<2x3xf32>\n *gradus.update @slope")


if __name__ == "__main__":
    unittest.main()
