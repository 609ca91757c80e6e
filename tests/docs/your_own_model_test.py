"""The commands of docs/your_own_model.md run in their order, on a reader's files, and print what the page shows."""

import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own_models
from pages import check_consoles, consoles, read

PAGE = "docs/your_own_model.md"


def write_recipes(folder):
    """The recipes of the page, under the names that stand above them."""
    named = re.findall(r"^`(\w+\.json)`:\n\n```json\n(.*?)^```$", read(PAGE), re.M | re.S)
    for name, recipe in named:
        with open(os.path.join(folder, name), "w") as file:
            file.write(recipe)
    return [name for name, _ in named]


class YourOwnModel(unittest.TestCase):
    def test_each_command_prints_what_the_page_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            own_models.write_models(folder)
            own_models.write_data(folder)
            self.assertEqual(write_recipes(folder), ["photos.json", "table.json", "text.json"])
            check_consoles(self, PAGE, folder, any_figures=True)
            for name in ("trained.onnx", "new.safetensors", "prices.npz", "text.best.safetensors"):
                self.assertTrue(os.path.exists(os.path.join(folder, name)), name)

    def test_the_page_goes_from_a_model_to_an_exported_one(self):
        commands = [command.split()[1] for command, _ in consoles(PAGE) if command.startswith("gradus")]
        self.assertEqual(commands[:7], ["inspect", "compile", "train", "train", "evaluate", "predict", "export"])


if __name__ == "__main__":
    unittest.main()
