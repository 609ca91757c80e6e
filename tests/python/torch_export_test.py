"""Modules are exported under their own names and left as they were; what a file cannot say is refused in words."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402
import steps  # noqa: E402  (puts the package on the path)

if torch:
    from gradus import NotExpressible  # noqa: E402
    from gradus.torch_.export import exported  # noqa: E402
    from gradus.torch_.recipe import recipe_of  # noqa: E402

Module = torch.nn.Module if torch else object


class Net(Module):
    """Of two inputs, one of them by keyword, with a dict of outputs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.norm, self.last = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3)

    def forward(self, x, scale=None, *, flip=False):
        hidden = self.norm(self.first(x))
        if scale is not None:
            hidden = hidden * scale
        return {"logits": self.last(-hidden if flip else hidden), "hidden": hidden, "count": torch.tensor(1)}


class Tied(Module):
    """One table is read and written by; a second layer is never used."""

    def __init__(self):
        super().__init__()
        self.table, self.head, self.unused = torch.nn.Embedding(9, 4, padding_idx=0), torch.nn.Linear(4, 9, bias=False), torch.nn.Linear(2, 2)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids).mean(1))


class Leaves(Module):
    """Its number leaves the graph."""

    def forward(self, x):
        return x * x.sum().item() if x.sum().item() > 0 else x


def x(rows=4):
    return torch.randn(rows, 6, generator=torch.Generator().manual_seed(1))


def step_of(file, recipe, dims=None):
    return steps.step_of(file.model, recipe, dims)


@unittest.skipIf(torch is None, torch_is_missing())
class Exported(unittest.TestCase):
    def says(self, words, *arguments, **options):
        with self.assertRaises(NotExpressible) as found:
            exported(*arguments, **options)
        self.assertIn(words, str(found.exception))

    def test_the_module_is_left_as_it_was(self):
        net = Net()
        net.norm.eval()
        net.first.weight.grad = torch.ones(8, 6)
        before = {name: value.clone() for name, value in net.state_dict().items()}
        buffer, kind, drawn = net.norm.running_mean, type(net), torch.get_rng_state()
        net.eval()
        file = exported(net, (x(),))
        self.assertEqual([part.training for part in net.modules()], [False] * 4)
        self.assertIs(type(net), kind)
        self.assertIs(net.norm.running_mean, buffer)
        self.assertTrue(torch.equal(torch.get_rng_state(), drawn))
        self.assertTrue(torch.equal(net.first.weight.grad, torch.ones(8, 6)))
        for name, value in net.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        net(x())
        step = step_of(file, recipe_of(net, "mse", "sgd", names=file.names, output="logits"))
        self.assertTrue((step.state_dict()["norm.running_mean"] == before["norm.running_mean"].numpy()).all())
        step.close()

    def test_a_part_in_eval_mode_stays_in_it(self):
        net = Net().train()
        net.norm.eval()
        exported(net, (x(),))
        self.assertEqual([net.training, net.norm.training, net.first.training], [True, False, True])

    def test_names_are_those_of_the_module(self):
        file = exported(Net(), (x(),))
        self.assertEqual(file.names, {name: name for name, _ in Net().named_parameters()})
        self.assertEqual((file.input_names, file.output_names), (["x"], ["logits", "hidden"]))

    def test_inputs_may_be_keywords_and_arrays(self):
        file = exported(Net(), {"x": x().numpy(), "scale": torch.ones(8), "flip": True}, outputs="logits")
        self.assertEqual((file.input_names, file.output_names), (["x", "scale"], ["logits"]))
        file = exported(Net(), (x(), torch.ones(8)), inputs=["image", "factor"])
        self.assertEqual(file.input_names, ["image", "factor"])

    def test_an_output_without_a_name_gets_one(self):
        layer = torch.nn.Linear(6, 2)
        self.assertEqual(exported(layer, x()).output_names, ["output"])
        self.assertEqual(exported(layer, x(), outputs="score").output_names, ["score"])
        self.says("the model has no output 'score'; it has logits, hidden", Net(), (x(),), outputs=["score"])

    def test_tied_parameters_have_one_name_and_unused_ones_none(self):
        file = exported(Tied(), torch.randint(0, 9, (3, 5)))
        self.assertEqual(set(file.names), {"table.weight", "head.weight"})
        self.assertEqual(file.names["head.weight"], file.names["table.weight"])
        tied = Tied()
        recipe = recipe_of(tied, "softmax_cross_entropy", torch.optim.SGD(tied.parameters(), lr=0.1), names=file.names, fixed=file.fixed)
        self.assertNotIn("fixed", recipe)
        step_of(file, recipe).close()

    def test_a_parameter_without_gradient_stays_fixed(self):
        net = Net()
        net.first.weight.requires_grad_(False)
        file = exported(net, (x(),), outputs="logits")
        self.assertEqual(file.fixed, ["first.weight"])
        recipe = recipe_of(net, "mse", torch.optim.SGD([net.last.weight, net.first.bias], lr=0.1), names=file.names)
        self.assertEqual(recipe["fixed"], ["first.weight", "last.bias", "norm.bias", "norm.weight"])
        step = step_of(file, recipe)
        step({"x": x().numpy(), "label": x()[:, :3].numpy()})
        moved = {name for name, value in net.named_parameters() if (step.state_dict()[name] != value.detach().numpy()).any()}
        step.close()
        self.assertEqual(moved, {"last.weight", "first.bias"})

    def test_the_batch_may_be_symbolic(self):
        file = exported(Net(), (x(),), dynamic=True, outputs="logits")
        for batch in (3, 7):
            step = step_of(file, recipe_of(loss="mse", optimizer="sgd"), {"batch": batch})
            out = step({"x": x(batch).numpy(), "label": x(batch)[:, :3].numpy()})
            step.close()
            net = Net().train()
            self.assertAlmostEqual(out.loss,
                                   torch.nn.functional.mse_loss(net(x(batch))["logits"], x(batch)[:, :3]).item(), places=5)
        self.assertEqual(exported(Net(), (x(),), dynamic={"x": {0: "rows"}}).input_names, ["x"])
        self.says("there is no input 'y'; there are x", Net(), (x(),), dynamic={"y": {0: "batch"}})
        self.says("has size 1, which torch.export takes for a constant", Net(), (x(1),), dynamic=True)

    def test_a_callable_loss_is_an_output(self):
        def loss(outputs, label, weight):
            each = torch.nn.functional.cross_entropy(outputs["logits"], label, reduction="none")
            return (each * weight).sum() + 0.01 * outputs["hidden"].square().mean()

        net, label, weight = Net(), torch.tensor([0, 2, 1, 1]), torch.tensor([1.0, 2.0, 0.5, 0.0])
        file = exported(net, (x(),), loss=loss, labels=(label, weight))
        self.assertEqual((file.output_names, file.label_names), (["loss", "logits", "hidden"], ["label_0", "label_1"]))
        step = step_of(file, recipe_of(net, loss, torch.optim.SGD(net.parameters(), lr=0.1), names=file.names))
        out = step({"x": x().numpy(), "label_0": label.numpy(), "label_1": weight.numpy()})
        step.close()
        self.assertAlmostEqual(out.loss, loss(net.train()(x()), label, weight).item(), places=5)

    def test_a_loss_that_leaves_the_graph_is_refused(self):
        plain = torch.nn.Linear(6, 3)
        self.says("hangs on no parameter", plain, x(), loss=lambda out, y: torch.tensor(out.sum().item()), labels=x())
        self.says("hangs on no parameter", plain, x(), loss=lambda out, y: (out.detach() - y[:, :3]).sum(), labels=x())
        self.says("the loss has the shape [4, 3]; expected one number", plain, x(), loss=lambda out, y: out - y[:, :3], labels=x())
        self.says("an input of the model is called 'label'", plain, x(), inputs="label", loss=torch.nn.MSELoss(), labels=x())

    def test_what_does_not_export_is_told_with_the_exporters_words(self):
        self.says("torch.onnx.export cannot write Leaves as ONNX", Leaves(), x())
        self.says("What is possible:", Leaves(), x())

    def test_what_a_file_cannot_say_is_refused(self):
        nn = torch.nn
        ids = torch.zeros(2, 3, dtype=torch.long)
        self.says("expected a torch.nn.Module, found a dict", {}, x())
        self.says("Embedding '0' has max_norm", nn.Sequential(nn.Embedding(4, 4, max_norm=1.0)), ids)
        self.says("has scale_grad_by_freq", nn.Embedding(4, 4, scale_grad_by_freq=True), ids)
        self.says("has padding_idx, of which", nn.EmbeddingBag(4, 4, padding_idx=0), ids)
        self.says("'weight' has no shape yet", nn.LazyLinear(3), x())
        self.says("is on the device meta", nn.Linear(6, 2, device="meta"), x())
        self.says("is a wrapper of several devices; give its .module", nn.DataParallel(nn.Linear(6, 2)), x())
        self.says("the example has no tensor in it", nn.Linear(6, 2), (None,))
        self.says("does not fit Net.forward", Net(), (x(), x(), x()))
        self.says("inputs has 2 names, and the example 1 tensors: x", Net(), (x(),), inputs=["a", "b"])
        self.says("without a floating-point tensor", Outless(), x())


class Outless(Module):
    def forward(self, x):
        return x.argmax(1)
