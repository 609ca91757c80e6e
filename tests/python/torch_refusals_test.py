"""The table has every optimizer, scheduler and loss of PyTorch, and what has no form in a recipe says what was found and what is possible."""

import inspect
import os
import sys
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402

if torch:
    from gradus import NotExpressible  # noqa: E402
    from gradus.torch_ import table  # noqa: E402
    from gradus.torch_.recipe import exports_loss, recipe_of  # noqa: E402


def layer():
    return torch.nn.Linear(6, 4)


def sgd(module=None, **options):
    return torch.optim.SGD((module or layer()).parameters(), **{"lr": 0.1, **options})


class Own(torch.optim.SGD if torch else object):
    """A class of somebody's own, which may move parameters by any rule."""


@unittest.skipIf(torch is None, torch_is_missing())
class Table(unittest.TestCase):
    def names(self, place, base, wanted=lambda name: True):
        return {name for name, kind in vars(place).items()
                if inspect.isclass(kind) and issubclass(kind, base) and not name.startswith("_") and wanted(name)}

    def test_it_has_every_class_of_pytorch(self):
        rates = torch.optim.lr_scheduler
        self.assertEqual(self.names(torch.optim, torch.optim.Optimizer), {row.name for row in table.OPTIMIZERS})
        self.assertEqual(self.names(rates, rates.LRScheduler), {row.name for row in table.SCHEDULES})
        self.assertEqual(self.names(torch.nn, torch.nn.Module, lambda name: "Loss" in name), {row.name for row in table.LOSSES})

    def test_an_argument_is_in_a_row_or_says_how(self):
        """An argument that no row names would be passed over in silence."""
        for row in table.OPTIMIZERS:
            if not row.why:
                known = {*row.keys, *table.HOW, "self", "params", "decoupled_weight_decay"}
                self.assertLessEqual(set(inspect.signature(getattr(torch.optim, row.name)).parameters), known, row.name)
        for row in table.LOSSES:
            if row.type:
                known = {*row.keys, "args", "kwargs", "size_average", "reduce", "weight" if row.name == "BCEWithLogitsLoss" else ""}
                self.assertLessEqual(set(inspect.signature(getattr(torch.nn, row.name)).parameters), known, row.name)


@unittest.skipIf(torch is None, torch_is_missing())
class Refused(unittest.TestCase):
    def says(self, words, make):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaises(NotExpressible) as found:
                make()
        self.assertIn(words, str(found.exception))

    def test_a_class_without_a_form_says_the_words_of_its_row(self):
        why = {row.name: row.why for row in (*table.OPTIMIZERS, *table.SCHEDULES, *table.LOSSES) if row.why}
        nn, optim, rates, base = torch.nn, torch.optim, torch.optim.lr_scheduler, sgd()
        made = {"LBFGS": lambda: recipe_of(optimizer=optim.LBFGS(layer().parameters())),
                "Optimizer": lambda: recipe_of(optimizer=optim.Optimizer(layer().parameters(), {"lr": 0.1})),
                "SparseAdam": lambda: recipe_of(optimizer=optim.SparseAdam(list(layer().parameters()))),
                "LRScheduler": lambda: recipe_of(optimizer=base, scheduler=object.__new__(rates.LRScheduler)),
                "ReduceLROnPlateau": lambda: recipe_of(optimizer=base, scheduler=rates.ReduceLROnPlateau(base)),
                "AdaptiveLogSoftmaxWithLoss": lambda: recipe_of(loss=nn.AdaptiveLogSoftmaxWithLoss(6, 9, [3])),
                "CTCLoss": lambda: recipe_of(loss=nn.CTCLoss()),
                "GaussianNLLLoss": lambda: recipe_of(loss=nn.GaussianNLLLoss()),
                "LinearCrossEntropyLoss": lambda: recipe_of(loss=nn.LinearCrossEntropyLoss(6, 4)),
                "MultiLabelMarginLoss": lambda: recipe_of(loss=nn.MultiLabelMarginLoss())}
        self.assertEqual(set(made), set(why))
        for name, make in made.items():
            with self.subTest(name):
                self.says(f"{name} has no form here: {why[name]}", make)

    def test_an_optimizer(self):
        self.says("Own, whose rule is unknown; known are those of torch.optim: Adadelta", lambda: recipe_of(optimizer=Own([torch.ones(2)], 0.1)))
        self.says("the optimizer is a builtins.int", lambda: recipe_of(optimizer=3))
        self.says("optimizer is the class Adam; give an object: Adam(module.parameters(), ...)", lambda: recipe_of(optimizer=torch.optim.Adam))
        used = layer()
        moves = sgd(used, momentum=0.9)
        used(torch.ones(1, 6)).sum().backward()
        self.assertEqual(recipe_of(used, optimizer=moves)["optimizer"]["momentum"], 0.9)
        moves.step()
        self.says("the SGD has made steps", lambda: recipe_of(used, optimizer=moves))
        self.says("that is none of the module's", lambda: recipe_of(layer(), optimizer=sgd()))
        strange = sgd()
        strange.param_groups[0]["speed"] = 1
        self.says("a group of the SGD has 'speed'", lambda: recipe_of(optimizer=strange))
        module = layer()
        groups = torch.optim.SGD([{"params": [module.weight]}, {"params": [module.bias], "lr": 0.2}], lr=0.1)
        self.says("give the module, too", lambda: recipe_of(optimizer=groups))

    def test_a_schedule(self):
        rates, module = torch.optim.lr_scheduler, layer()
        base = sgd(module)

        def two():
            return torch.optim.SGD([{"params": [module.weight]}, {"params": [module.bias], "lr": 0.2}], lr=0.1)

        def with_scheduler(make, optimizer=None, **keys):
            optimizer = optimizer or sgd(module)
            return lambda: recipe_of(module, optimizer=optimizer, scheduler=make(optimizer), **keys)

        self.says("say how long it is: schedule_steps=1000", with_scheduler(lambda o: rates.LambdaLR(o, lambda k: 1.0)))
        self.says("eta_min=0.01 comes to 0.1, 0.05 times the rates", with_scheduler(lambda o: rates.CosineAnnealingLR(o, 5, 0.01), two()))
        self.says("the functions of LambdaLR differ", with_scheduler(
            lambda o: rates.LambdaLR(o, [lambda k: 1.0, lambda k: 0.5]), two(), schedule_steps=3))
        self.says("has a scale_fn of its own", with_scheduler(lambda o: rates.CyclicLR(o, 0.1, 1, scale_fn=lambda k: 1, cycle_momentum=False)))
        self.says("MultiplicativeLR inside of SequentialLR", with_scheduler(
            lambda o: rates.SequentialLR(o, [rates.StepLR(o, 2), rates.MultiplicativeLR(o, lambda k: 1)], [3])))
        self.says("LambdaLR inside of ChainedScheduler", with_scheduler(
            lambda o: rates.ChainedScheduler([rates.StepLR(o, 2), rates.LambdaLR(o, lambda k: 1)]), schedule_steps=3))
        self.says("OneCycleLR has base_momentum=0", with_scheduler(lambda o: rates.OneCycleLR(o, 0.1, 9, base_momentum=0.0)))
        self.says("is that of another optimizer object", lambda: recipe_of(module, optimizer=sgd(module), scheduler=rates.StepLR(base, 2)))
        self.says("interval is 'batch'; expected 'step' or 'epoch'", with_scheduler(lambda o: rates.StepLR(o, 2), interval="batch"))
        self.says("needs its optimizer of torch.optim", lambda: recipe_of(optimizer="sgd", scheduler=rates.StepLR(base, 2)))
        self.says("without an optimizer of torch.optim it must be a dict", lambda: recipe_of(scheduler=rates.StepLR(base, 2)))
        self.says("scheduler is the class StepLR; give an object", lambda: recipe_of(module, optimizer=base, scheduler=rates.StepLR))
        self.says("a dict with a scheduler in it", lambda: recipe_of(scheduler={"scheduler": rates.StepLR(base, 2), "interval": "epoch"}))
        called = rates.StepLR(base, 2)
        called.step()
        self.says("has been called 1 times", lambda: recipe_of(module, optimizer=base, scheduler=called))

    def test_a_loss_and_the_rest(self):
        nn = torch.nn
        self.says("loss is the class MSELoss; give an object: MSELoss()", lambda: recipe_of(loss=nn.MSELoss))
        self.says("MSELoss has reduction='none'", lambda: recipe_of(loss=nn.MSELoss(reduction="none")))
        self.says("PoissonNLLLoss has reduction='none'", lambda: recipe_of(loss=nn.PoissonNLLLoss(reduction="none")))
        self.says("has parameters of its own (weight, bias)", lambda: recipe_of(loss=layer()))
        self.says("loss is a int; expected a loss of torch.nn", lambda: recipe_of(loss=3))
        self.says("soft_labels: MSELoss takes no probabilities", lambda: recipe_of(loss=nn.MSELoss(), soft_labels=True))
        self.says("clip_grad_norm and clip_grad_value are both given", lambda: recipe_of(clip_grad_norm=1, clip_grad_value=1))
        self.says("clip_grad_norm is a list; expected a number", lambda: recipe_of(clip_grad_norm=[1]))
        self.says("an AveragedModel keeps its decay inside", lambda: recipe_of(ema=torch.optim.swa_utils.AveragedModel(layer())))
        self.says("soft_labels=True is given, and this loss is exported", lambda: recipe_of(loss=nn.BCELoss(), soft_labels=True))
        self.says("output='logits' is given, and this loss is exported", lambda: recipe_of(loss=lambda out, y: out, output="logits"))
        self.says("soft_labels=True is given, and the loss says False", lambda: recipe_of(loss={"type": "mse", "soft_labels": False}, soft_labels=True))
        self.says("label='y' is given, and the loss is a sum", lambda: recipe_of(loss={"type": "sum", "of": []}, label="y"))
        self.says("the recipe's key 'clip' is given twice", lambda: recipe_of(clip_grad_norm=1, clip={"value": 1}))


@unittest.skipIf(torch is None, torch_is_missing())
class Recipes(unittest.TestCase):
    def test_arguments_are_the_recipes_keys(self):
        recipe = recipe_of(loss="mse", optimizer={"type": "lion"}, scheduler={"learning_rate": []}, clip_grad_norm=2, ema=0.99,
                           metrics="accuracy", precision=torch.bfloat16, seed=4, output="logits")
        self.assertEqual(recipe, {"loss": {"type": "mse", "output": "logits"}, "optimizer": {"type": "lion"},
                                  "schedule": {"learning_rate": []}, "clip": {"type": "global_norm", "value": 2.0}, "ema": {"decay": 0.99},
                                  "metrics": ["accuracy"], "precision": "bf16", "seed": 4})

    def test_which_losses_are_exported(self):
        nn = torch.nn
        self.assertTrue(exports_loss(nn.BCELoss()) and exports_loss(lambda out, y: out) and exports_loss(nn.BCEWithLogitsLoss(torch.ones(4))))
        self.assertFalse(exports_loss(nn.MSELoss()) or exports_loss("mse") or exports_loss(None) or exports_loss({"type": "mse"}))

    def test_epochs_are_counted_where_it_is_said(self):
        moves = sgd()
        recipe = recipe_of(optimizer=moves, scheduler=torch.optim.lr_scheduler.StepLR(moves, 3), interval="epoch")
        self.assertEqual(recipe["schedule"], {"learning_rate": [{"type": "step", "period": 3, "rate": 0.1, "interval": "epoch"}]})

    def test_no_argument_is_dropped_beside_a_dictionary_or_nothing(self):
        """Of each pair that says more of a thing: it is taken, or refused by its name."""
        more = {"loss": {"output": "logits", "label": "y", "soft_labels": True}, "scheduler": {"interval": "epoch", "schedule_steps": 12}}
        alone = {"loss": (None,), "scheduler": (None, {"learning_rate": []})}
        for what, said in more.items():
            for key, value in said.items():
                for given in alone[what]:
                    for optimizer in (None, "adamw", {"type": "adamw"}, sgd()):
                        with self.assertRaisesRegex(NotExpressible, f"{key}={value!r} is given without a {what}"):
                            recipe_of(**{what: given, key: value, "optimizer": optimizer})
        for loss in ("softmax_cross_entropy", {"type": "softmax_cross_entropy"}):
            self.assertEqual(recipe_of(loss=loss, **more["loss"])["loss"], {"type": "softmax_cross_entropy", **more["loss"]})

    def test_an_empty_list_of_metrics_is_said(self):
        self.assertEqual(recipe_of(metrics=[]), {"metrics": []})

    def test_probabilities_as_labels(self):
        recipe = recipe_of(loss=torch.nn.CrossEntropyLoss(label_smoothing=0.1), soft_labels=True)
        self.assertEqual(recipe["loss"], {"type": "softmax_cross_entropy", "reduction": "mean", "label_smoothing": 0.1, "class_axis": 1,
                                          "soft_labels": True})
