"""The page of `gradus bench --report FILE.html`: its data are those of --json, and it draws all of them."""

import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from report_page import BUILD, DIGITS, browser, gradus, keys_of, reached, read_page, shown_words, unknown_keys  # noqa: E402

ARTIFACTS = os.path.join(BUILD, "tests", "bench_report")  # pages stay here
LENET, RECIPE = os.path.join(DIGITS, "lenet.onnx"), os.path.join(DIGITS, "recipe.json")


def path(name):
    return os.path.join(ARTIFACTS, name)


def bench(page, *settings_and_options):
    """Measures the digits' network; returns what --json tells, and the page's text, faults and data."""
    split = settings_and_options.index("--")
    settings, options = settings_and_options[:split], settings_and_options[split + 1:]
    gradus("compile", LENET, "--recipe", RECIPE, *settings, "-o", path("lenet.gradus"))
    told = json.loads(gradus("bench", path("lenet.gradus"), "--seconds", "0.2", "--json", "--report", path(page), *options))
    return (told, *read_page(path(page)))


class BenchReport(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(ARTIFACTS, ignore_errors=True)
        os.makedirs(ARTIFACTS)

    def check_page(self, told, text, problems, data):
        self.assertEqual(problems, [])
        self.assertIsNone(reached(text))
        self.assertEqual((data["format"], data["version"], data["kind"]), ("gradus.report", 1, "bench"))
        self.assertEqual({key: data[key] for key in told}, told)
        self.assertEqual(unknown_keys(data), set())
        self.assertGreater(len(keys_of(data)), 25)

    def test_a_prediction(self):
        found = bench("ranks.html", "--set", "distribution.mode=data_parallel", "--", "--ranks", "2..64", "--network", "1GB/s,5us")
        self.check_page(*found)
        self.assertEqual([step["ranks"] for step in found[0]["prediction"]["steps"]], [2, 4, 8, 16, 32, 64])

    def test_ranks_that_run(self):
        found = bench("sums.html", "--set", "distribution.mode=data_parallel", "--", "--simulate-ranks", "2")
        self.check_page(*found)
        self.assertEqual(found[0]["ranks"], 2)
        self.assertGreater(found[0]["sums"]["bytes_sent"], 0)

    def test_variants(self):
        self.check_page(*bench("turns.html", "--dim", "batch=4", "--set", "deterministic=true", "--set", "distribution.mode=data_parallel",
                               "--set", "distribution.logical_ranks=4", "--"))

    def test_a_gpu(self):
        self.check_page(*bench("gpu.html", "--dim", "batch=1", "--target", "emulated", "--", "--device", "emulated"))

    @unittest.skipUnless(browser(), "no Chromium")
    def test_a_browser_draws_it(self):
        bench("drawn.html", "--set", "distribution.mode=data_parallel", "--", "--ranks", "2..64", "--network", "1GB/s,5us")
        words, lost_links = shown_words(path("drawn.html"))
        self.assertEqual(lost_links, [])
        for each in ("On more ranks", "waits for sums", "Efficiency", "Commands in their order"):
            self.assertIn(each, words)
        self.assertNotIn("could not be drawn", words)


if __name__ == "__main__":
    unittest.main()
