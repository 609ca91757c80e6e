"""The weights of a module are read where it has them: no file holds them, whatever their layout and type, and they may be more than one can."""

import os
import sys
import tempfile
import unittest
import unittest.mock
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402

ENOUGH = 16 << 30  # bytes of memory in which a model of more than 2 GiB is compiled and run


def available():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


def layers():
    """Large tensors of every sort: tied, used twice, not dense, in bf16, a buffer, one of no gradient; and small ones."""
    nn = torch.nn

    class Sorts(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(200, 128)
            self.twice = nn.Linear(128, 128)
            self.turned = nn.Parameter(torch.randn(256, 128).t() / 16)
            self.sliced = nn.Parameter(torch.randn(256, 256)[:, ::2] / 16)
            self.short = nn.Parameter((torch.randn(128, 300) / 16).bfloat16())
            self.register_buffer("shift", torch.randn(300, 128))
            self.fixed = nn.Parameter(torch.randn(128, 128) / 16, requires_grad=False)
            self.head = nn.Linear(128, 200)
            self.head.weight = self.table.weight

        def forward(self, ids):
            x = self.twice(self.twice(self.table(ids)).relu())
            x = (x @ self.turned) @ self.sliced
            return self.head((x @ self.short.float()) @ self.shift @ self.fixed)

    return Sorts()


@unittest.skipIf(torch is None, torch_is_missing())
class InMemory(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.module = layers()
        self.ids, self.labels = torch.randint(0, 200, (16,)), torch.randint(0, 200, (16,))

    def compiled(self, **options):
        import gradus

        with warnings.catch_warnings():
            warnings.simplefilter("error", gradus.CompileWarning)  # tied and shared parameters are not merged ones
            step = gradus.compile(self.module, example=(self.ids,), loss=torch.nn.CrossEntropyLoss(), threads=1,
                                  optimizer=torch.optim.SGD(self.module.parameters(), lr=0.1), **{"cache": False, **options})
        self.addCleanup(step.close)
        return step

    def test_the_artifact_has_the_bits_that_a_file_with_the_weights_gives(self):
        from gradus import _compile
        from gradus.torch_.export import exported

        whole, apart = exported(self.module, (self.ids,)), exported(self.module, (self.ids,), apart=True)
        self.assertEqual(set(apart.data), {"head.weight", "twice.weight", "turned", "sliced", "short", "shift", "fixed"})
        self.assertLess(len(apart.model), 1 << 16)
        self.assertGreater(len(whole.model), sum(array.nbytes for array in apart.data.values()))
        recipe = (None, b'{"loss": {"type": "softmax_cross_entropy", "output": "output"}}')
        artifacts = [bytes(_compile._run({"model": (None, file.model), "data_files": list(file.data.items()), "recipe": recipe})[0])
                     for file in (whole, apart)]
        self.assertTrue(artifacts[0] == artifacts[1])

    def test_values_are_those_of_the_module_to_the_bit(self):
        step = self.compiled()
        for name, value in self.module.state_dict().items():
            if name != "table.weight":
                bits = value.contiguous().view(torch.uint8).numpy().tobytes()
                self.assertTrue(step.state_dict()[name].tobytes() == bits, name)

    def test_dense_values_are_read_where_they_are(self):
        from gradus.torch_.export import exported

        data = exported(self.module, (self.ids,), apart=True).data
        for name in ("head.weight", "short", "fixed"):
            self.assertEqual(data[name].__array_interface__["data"][0], self.module.get_parameter(name).data_ptr(), name)

    def test_the_module_stays_as_it_was(self):
        called = []
        self.module.twice.register_forward_hook(lambda *_: called.append(1))
        gradient = self.module.twice.weight.grad = torch.ones(128, 128)
        tensors = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        was = {name: (each, each.data_ptr(), each.dtype, each.stride(), each.requires_grad, each.detach().clone())
               for name, each in tensors.items()}
        self.compiled()
        for name, each in [*self.module.named_parameters(), *self.module.named_buffers()]:
            same, address, dtype, stride, requires_grad, value = was[name]
            self.assertIs(each, same)
            self.assertEqual((each.data_ptr(), each.dtype, each.stride(), each.requires_grad), (address, dtype, stride, requires_grad))
            self.assertTrue(torch.equal(each, value), name)
        self.assertIs(self.module.twice.weight.grad, gradient)
        called.clear()
        self.module(self.ids)
        self.assertEqual(len(called), 2)

    def test_the_cache_knows_them(self):
        from gradus import _compile

        ran, run = [], _compile._run
        self.addCleanup(setattr, _compile, "_run", run)
        _compile._run = lambda options: ran.append(1) or run(options)
        with tempfile.TemporaryDirectory() as folder:
            before = os.environ.get("GRADUS_CACHE")
            os.environ["GRADUS_CACHE"] = folder
            self.addCleanup(lambda: os.environ.pop("GRADUS_CACHE") if before is None else os.environ.update(GRADUS_CACHE=before))
            self.compiled(cache=True)
            self.compiled(cache=True)
            self.assertEqual(len(ran), 1)
            with torch.no_grad():
                self.module.fixed[-1, -1] += 1
            step = self.compiled(cache=True)
            self.assertEqual(len(ran), 2)
            self.assertEqual(step.state_dict()["fixed"][-1, -1], self.module.fixed[-1, -1].item())

    def test_what_changes_while_it_is_compiled_is_not_kept(self):
        from gradus import _compile

        run = _compile._run
        self.addCleanup(setattr, _compile, "_run", run)

        def trained_meanwhile(options):
            with torch.no_grad():
                self.module.fixed += 1
            return run(options)

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, GRADUS_CACHE=folder):
            before = self.module.fixed.detach().clone()
            _compile._run = trained_meanwhile
            self.compiled(cache=True)
            self.assertEqual(os.listdir(folder), [])
            _compile._run = run
            with torch.no_grad():
                self.module.fixed.copy_(before)
            torch.testing.assert_close(torch.from_numpy(self.compiled(cache=True).state_dict()["fixed"]), before, rtol=0, atol=0)

    @unittest.skipIf(torch is not None and available() < ENOUGH, f"{ENOUGH >> 30} GiB of free memory are needed")
    def test_a_module_may_have_more_than_a_file_of_onnx_can_hold(self):
        import gradus
        from gradus.torch_.export import exported

        module = torch.nn.Sequential(torch.nn.Embedding.from_pretrained(torch.zeros(560_000, 1024)), torch.nn.Linear(1024, 4))
        with torch.no_grad():
            module[0].weight[559_999] = torch.randn(1024)
        ids, labels = torch.tensor([559_999, 3]), torch.tensor([1, 2])
        with self.assertRaisesRegex(gradus.NotExpressible, "the model has 2.1 GiB of parameters"):
            exported(module, (ids,))
        step = gradus.compile(module, example=(ids,), loss=torch.nn.CrossEntropyLoss(), cache=False,
                              optimizer=torch.optim.SGD(module[1].parameters(), lr=0.1))
        self.addCleanup(step.close)
        expected = torch.nn.functional.cross_entropy(module(ids), labels).item()
        self.assertAlmostEqual(step(ids, labels).loss, expected, delta=1e-5 * expected)


if __name__ == "__main__":
    unittest.main()
