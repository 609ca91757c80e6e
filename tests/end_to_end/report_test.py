"""The page of `gradus compile --report FILE.html`: true, whole, alone, and to be looked at."""

import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import unittest
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
ARTIFACTS = os.path.join(BUILD, "tests", "report")  # the page and its pictures stay here
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
RATES = '[{"type": "linear_warmup", "steps": 50}, {"type": "cosine", "steps": 450, "final": 0.1}]'


def gradus(*arguments):
    done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"gradus {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Reader(html.parser.HTMLParser):
    """Reads a page: its words, its elements, and where they do not nest."""

    VOID = {"meta", "br", "link", "img", "hr", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.words, self.ids, self.links = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes["href"]] if "href" in attributes else []
        if "src" in attributes or tag in ("link", "iframe", "object", "img"):
            self.problems.append(f"<{tag}> loads something")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


def read_page(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    reader = Reader()
    reader.feed(text)
    reader.close()
    facts = json.loads(re.search(r'<script type="application/json" id="facts">(.*?)</script>', text, re.S)[1])
    return text, reader, facts


def count(value):
    """As the tool shortens counts."""
    for unit in ("", "k", "M", "G", "T"):
        if value < 1000:
            return f"{value:.0f}" if not unit else (f"{value:.1f}{unit}" if value < 100 else f"{value:.0f}{unit}")
        value /= 1000


def png_rows(path):
    """The width of a PNG and its rows, as they are stored."""
    with open(path, "rb") as file:
        data = file.read()
    width, height, _, colors = struct.unpack(">IIBB", data[16:26])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    stride = 1 + width * (4 if colors == 6 else 3)
    raw = zlib.decompress(packed)
    return width, [raw[row * stride:(row + 1) * stride] for row in range(height)]


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
        cls.text, cls.reader, cls.facts = read_page(cls.page)
        cls.words = re.sub(r"\s+", " ", " ".join(cls.reader.words))

    def test_it_is_well_formed_and_its_links_lead_somewhere(self):
        self.assertEqual(self.reader.problems, [])
        self.assertEqual(self.reader.open, [])
        self.assertEqual([link for link in self.reader.links if link[:1] != "#" or link[1:] not in self.reader.ids], [])
        self.assertEqual(len(self.reader.ids), len(set(self.reader.ids)))

    def test_it_needs_nothing_but_itself(self):
        self.assertTrue(self.text.startswith("<!DOCTYPE html>"))
        self.assertIsNone(re.search(r"<script(?! type=\"application/json\")|<script[^>]*src|https?:|url\(|@import", self.text))

    def test_its_numbers_are_those_of_inspect(self):
        graphs = json.loads(gradus("inspect", self.artifact, "--json"))["plans"][0]["graphs"]
        told = {graph["name"]: graph for graph in self.facts["artifact"]["plans"][0]["graphs"]}
        self.assertEqual(set(told), {graph["name"] for graph in graphs})
        for graph in graphs:
            for key in ("flops", "bytes", "bound_bytes", "peak_bytes", "peak_command", "live_bytes"):
                self.assertEqual(told[graph["name"]][key], graph[key], (graph["name"], key))
        trained = next(graph for graph in graphs if graph["name"] == "train")
        self.assertEqual(told["train"]["map"], trained["map"])
        for graph in graphs:
            numbers = f"{count(graph['flops'])} {count(graph['bytes'])} [\\d.]+ [KM]?i?B {len(graph['commands'])} "
            self.assertRegex(self.words, f" {graph['name']} [\\d.]+ (\\S+ % )?{numbers}")

    def test_variants_cost_less_the_less_they_train(self):
        graphs = {graph["name"]: graph for graph in self.facts["artifact"]["plans"][0]["graphs"]}
        schedule, = self.facts["schedules"]
        self.assertEqual(schedule["variants"], ["train"] + [f"train_cut{i}" for i in range(1, 5)])
        self.assertAlmostEqual(sum(schedule["shares"]), 1)
        self.assertAlmostEqual(schedule["shares"][0], 0.7, delta=0.01)
        for key in ("flops", "bytes", "expected_ms"):
            costs = [graphs[name][key][0] if key == "expected_ms" else graphs[name][key] for name in schedule["variants"]]
            self.assertEqual(costs, sorted(costs, reverse=True), key)
        mean = sum(share * graphs[name]["expected_ms"][0] for share, name in zip(schedule["shares"], schedule["variants"]))
        self.assertIn(f"{mean:.{4 if mean < 0.1 else 3 if mean < 10 else 1}f}", self.words)
        self.assertIn("70.0 %", self.words)

    def test_what_is_live_never_exceeds_the_arena(self):
        plan = self.facts["artifact"]["plans"][0]
        for graph in plan["graphs"]:
            self.assertLessEqual(graph["peak_bytes"], plan["arena_bytes"])
            self.assertEqual(max(graph["live_bytes"]), graph["peak_bytes"])

    def test_remarks_are_there(self):
        for words in ("train_cut1 trains", "conv1.weight (convolution): its gradient has zero mean for each output",
                      "0 of 0 batch normalizations taken out", "is a head of full normalization"):
            self.assertIn(words, self.words)

    def test_the_recipe_and_the_passes_are_there(self):
        for words in ("gradient-centralization", "expand-optimizer", "form-kernels", '"learning_rate": 0.002', "lenet.onnx"):
            self.assertIn(words, self.words)

    def test_all_text_is_escaped(self):
        program, page = os.path.join(ARTIFACTS, "hostile.mlir"), os.path.join(ARTIFACTS, "hostile.html")
        name = "</script><script>alert(1)</script>&<b>"
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'gradus.program @"{name}" {{\n  gradus.state @"<i>w" : tensor<4xf32> {{role = #gradus.role<parameter>, '
                       'init = #gradus.init<zeros>}\n  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {\n'
                       '    %w = gradus.read @"<i>w" : tensor<4xf32>\n    %y = arith.mulf %x, %w : tensor<4xf32>\n'
                       '    gradus.return %y : tensor<4xf32>\n  }\n}\n')
        gradus("compile", program, "--set", "loss.type=mse", "-o", os.path.join(ARTIFACTS, "hostile.gradus"), "--report", page)
        text, reader, facts = read_page(page)
        self.assertEqual(reader.problems, [])
        self.assertEqual(facts["artifact"]["name"], name)
        self.assertIn(name, " ".join(reader.words))
        self.assertEqual(len(re.findall("<script", text)), 1)
        self.assertNotIn("<i>", text)

    def test_a_browser_shows_it(self):
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if not browser:
            self.skipTest("no browser here: the Debian package chromium has one")
        for name, width, scheme in (("desk", 1200, 1), ("phone", 390, 0)):  # light, dark
            picture = os.path.join(ARTIFACTS, f"{name}.png")
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            f"--user-data-dir={ARTIFACTS}/browser", f"--blink-settings=preferredColorScheme={scheme}",
                            f"--window-size={width},2400", f"--screenshot={picture}", "file://" + self.page],
                           capture_output=True, timeout=120, check=True)
            shown, rows = png_rows(picture)
            self.assertEqual(shown, width)
            self.assertGreater(len(set(rows)), 200, "the page is blank")
        shutil.rmtree(os.path.join(ARTIFACTS, "browser"), ignore_errors=True)


if __name__ == "__main__":
    unittest.main()
