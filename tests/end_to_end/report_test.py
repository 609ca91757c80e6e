"""The page of `gradus compile --report FILE.html`: true, whole, alone, and to be looked at."""

import json
import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from report_page import BUILD, DIGITS, browse, browser, gradus, keys_of, png_rows, reached, read_page, shown_words, unknown_keys  # noqa: E402

ARTIFACTS = os.path.join(BUILD, "tests", "report")  # pages and their pictures stay here
RATES = '[{"type": "linear_warmup", "steps": 50}, {"type": "cosine", "steps": 450, "final": 0.1}]'


class Report(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(ARTIFACTS, ignore_errors=True)
        os.makedirs(ARTIFACTS)
        cls.page, cls.artifact = os.path.join(ARTIFACTS, "lenet.html"), os.path.join(ARTIFACTS, "lenet.gradus")
        gradus("compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(DIGITS, "recipe.json"), "--boost", "O1",
               "--set", "gradient_freeze.groups=5", "--set", "schedule.learning_rate=" + RATES, "-o", cls.artifact,
               "--report", cls.page)
        cls.text, cls.problems, cls.data = read_page(cls.page)

    def test_it_is_well_formed(self):
        self.assertEqual(self.problems, [])
        self.assertEqual(len(re.findall('id="data"', self.text)), 1)

    def test_it_needs_nothing_but_itself(self):
        self.assertTrue(self.text.startswith("<!DOCTYPE html>"))
        self.assertIsNone(reached(self.text))

    def test_its_script_reads_every_key(self):
        self.assertEqual((self.data["format"], self.data["version"], self.data["kind"]), ("gradus.report", 1, "compile"))
        self.assertGreater(len(keys_of(self.data)), 60)
        self.assertEqual(unknown_keys(self.data), set())
        self.assertEqual(unknown_keys({"a": [{"no_such_key": 1}]}), {"a", "no_such_key"})

    def test_its_numbers_are_those_of_inspect(self):
        graphs = json.loads(gradus("inspect", self.artifact, "--json"))["plans"][0]["graphs"]
        told = {graph["name"]: graph for graph in self.data["artifact"]["plans"][0]["graphs"]}
        self.assertEqual(set(told), {graph["name"] for graph in graphs})
        for graph in graphs:
            for key in ("flops", "bytes", "bound_bytes", "peak_bytes", "peak_command", "live_bytes"):
                self.assertEqual(told[graph["name"]][key], graph[key], (graph["name"], key))
        trained = next(graph for graph in graphs if graph["name"] == "train")
        self.assertEqual(told["train"]["map"], trained["map"])

    def test_variants_cost_less_the_less_they_train(self):
        graphs = {graph["name"]: graph for graph in self.data["artifact"]["plans"][0]["graphs"]}
        schedule, = self.data["schedules"]
        self.assertEqual(schedule["variants"], ["train"] + [f"train_cut{i}" for i in range(1, 5)])
        self.assertAlmostEqual(sum(schedule["shares"]), 1)
        self.assertAlmostEqual(schedule["shares"][0], 0.7, delta=0.01)
        for key in ("flops", "bytes", "expected_ms"):
            costs = [graphs[name][key][0] if key == "expected_ms" else graphs[name][key] for name in schedule["variants"]]
            self.assertEqual(costs, sorted(costs, reverse=True), key)

    def test_what_is_live_never_exceeds_the_arena(self):
        plan = self.data["artifact"]["plans"][0]
        for graph in plan["graphs"]:
            self.assertLessEqual(graph["peak_bytes"], plan["arena_bytes"])
            self.assertEqual(max(graph["live_bytes"]), graph["peak_bytes"])

    def test_it_has_remarks_passes_and_the_recipe(self):
        remarks = " ".join(remark["text"] for remark in self.data["remarks"])
        for words in ("train_cut1 trains", "conv1.weight (convolution): its gradient has zero mean for each output",
                      "0 of 0 batch normalizations taken out", "is a head of full normalization"):
            self.assertIn(words, remarks)
        self.assertLessEqual({"gradient-centralization", "expand-optimizer", "form-kernels"}, {each["pass"] for each in self.data["passes"]})
        self.assertEqual(self.data["artifact"]["recipe"]["optimizer"]["learning_rate"], 0.002)
        self.assertEqual(self.data["model"], "lenet.onnx")
        self.assertEqual(self.data["modules"]["/conv1/Conv"], "conv1")

    def test_no_text_of_a_model_is_markup(self):
        program, page = os.path.join(ARTIFACTS, "hostile.mlir"), os.path.join(ARTIFACTS, "hostile.html")
        name = "</script><script>alert(1)</script>&<b>"
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'gradus.program @"{name}" {{\n  gradus.state @"<i>w" : tensor<4xf32> {{role = #gradus.role<parameter>, '
                       'init = #gradus.init<zeros>}\n  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {\n'
                       '    %w = gradus.read @"<i>w" : tensor<4xf32>\n    %y = arith.mulf %x, %w : tensor<4xf32>\n'
                       '    gradus.return %y : tensor<4xf32>\n  }\n}\n')
        gradus("compile", program, "--set", "loss.type=mse", "-o", os.path.join(ARTIFACTS, "hostile.gradus"), "--report", page)
        text, problems, data = read_page(page)
        self.assertEqual(problems, [])
        self.assertEqual(data["artifact"]["name"], name)
        self.assertEqual(len(re.findall("<script", text)), len(re.findall("<script", self.text)))
        self.assertNotIn("<i>", text)
        # The script makes text of it: it never makes markup of a text.
        self.assertIsNone(re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(", text))

    def test_a_browser_draws_all_of_it(self):
        if not browser():
            self.skipTest("no browser here: the Debian package chromium has one")
        words, lost = shown_words(self.page)
        self.assertEqual(lost, [])
        self.assertNotIn("could not be drawn", words)
        for shown in ("70.0 %", "mean of the schedule", "train_cut1 trains", "expand-optimizer", "&quot;learning_rate&quot;: 0.002"
                      if "&quot;" in words else '"learning_rate": 0.002', "The first 192 steps", "Commands in their order"):
            self.assertIn(shown, words)

    def test_a_browser_shows_it(self):
        if not browser():
            self.skipTest("no browser here: the Debian package chromium has one")
        for name, width, scheme in (("desk", 1200, 1), ("phone", 400, 0)):  # light, dark
            picture = os.path.join(ARTIFACTS, f"{name}.png")
            browse(self.page, f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={width},2400", f"--screenshot={picture}")
            shown, rows = png_rows(picture)
            self.assertEqual(shown, width)
            self.assertGreater(len(set(rows)), 200, "the page is blank")


if __name__ == "__main__":
    unittest.main()
