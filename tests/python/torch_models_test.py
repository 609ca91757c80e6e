"""Each module of models.txt trains five steps as in eager PyTorch, by SGD with momentum and by AdamW.

With GRADUS_PEERS (`./dev test --peers`) all 60 do, which takes some minutes; else a few small ones of torch.nn alone.
"""

import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from needs_torch import torch, torch_is_missing  # noqa: E402

if torch:
    import modules  # noqa: E402

FEW = ("mlp", "conv_bn", "gru_classifier", "attention", "wide_and_deep")
LIBRARIES = {"tv": "torchvision", "timm": "timm", "hf": "transformers"}


@unittest.skipIf(torch is None, torch_is_missing())
class Models(unittest.TestCase):
    def train(self, case):
        library = LIBRARIES.get(case.name.split("_")[0])
        if library and not importlib.util.find_spec(library):
            self.skipTest(f"{library} is not installed beside this Python")
        for verdict in modules.compare(case):
            with self.subTest(verdict.optimizer):
                self.assertTrue(verdict.passed, verdict.line())


def add_tests():
    """A test for each module, so that each counts by its name."""
    for case in modules.cases():
        if os.environ.get("GRADUS_PEERS") or case.name in FEW:
            setattr(Models, f"test_{case.name}", lambda self, case=case: self.train(case))


@unittest.skipIf(torch is None, torch_is_missing())
class List(unittest.TestCase):
    def test_it_has_sixty_modules(self):
        names = [case.name for case in modules.cases()]
        self.assertEqual((len(names), len(set(names))), (60, 60))


if torch:
    add_tests()
