"""Each row of the table that is taken trains ten steps as eager PyTorch does; each that is refused says what is possible."""

import copy
import os
import sys
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402
from steps import step_of  # noqa: E402  (puts the package on the path)

if torch:
    from gradus import NotExpressible  # noqa: E402
    from gradus.torch_ import table  # noqa: E402
    from gradus.torch_.export import exported  # noqa: E402
    from gradus.torch_.recipe import exports_loss, recipe_of  # noqa: E402

STEPS = 10
OUTPUT_LOSS, UPDATES = 2e-5, 1e-4  # relative


def small():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))


class Pair(torch.nn.Module if torch else object):
    """Gives `count` outputs."""

    def __init__(self, count):
        super().__init__()
        torch.manual_seed(3)
        self.parts = torch.nn.ModuleList(torch.nn.Linear(6, 4) for _ in range(count))

    def forward(self, x):
        return tuple(part(x) for part in self.parts)


FILES = {}  # of modules that are exported without a loss, by their outlines: their weights are those of one seed


def file_of(module, example, loss, labels):
    if exports_loss(loss):
        return exported(module, (example,), loss=loss, labels=labels)
    outline = str(module)
    if outline not in FILES:
        FILES[outline] = exported(module, (example,))
    return FILES[outline]


def updates(module, before):
    return {name: value.detach().double() - before[name].double() for name, value in module.named_parameters()}


def compare(test, module, loss, optimizer, *, scheduler=None, labels=None, shape=(5, 6), every=1, clip=None, **keys):
    """Trains with the objects that are given, which moves `module`, beside the step that is compiled of them.

    `optimizer` and `scheduler` make theirs from the parameters and the optimizer; `every`: updates between calls of the scheduler.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare_quietly(test, module, loss, optimizer, scheduler, labels, shape, every, clip, keys)


def compare_quietly(test, module, loss, optimizer, scheduler, labels, shape, every, clip, keys):
    generator = torch.Generator().manual_seed(5)
    batches = [torch.randn(shape, generator=generator) for _ in range(STEPS)]
    moves = optimizer(module)
    calls = scheduler(moves) if scheduler else None
    file = file_of(module, batches[0], loss, labels)
    recipe = recipe_of(module, loss, moves, calls, clip_grad_norm=clip, names=file.names, fixed=file.fixed, **keys)
    before = {name: value.detach().clone() for name, value in module.named_parameters()}
    step = step_of(file.model, recipe)
    several = labels if isinstance(labels, tuple) else () if labels is None else (labels,)
    names = [name for name in step.inputs if name not in file.input_names]
    for i, batch in enumerate(batches):
        given = {file.input_names[0]: batch.numpy(), **dict(zip(names, (label.numpy() for label in several)))}
        ours = step(given).loss
        result = module(batch)
        value = loss(*(result if isinstance(result, tuple) and isinstance(loss, torch.nn.Module) else (result,)), *several)
        for each in moves if isinstance(moves, list) else [moves]:
            each.zero_grad()
        value.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
        for each in moves if isinstance(moves, list) else [moves]:
            each.step()
        if calls and (i + 1) % every == 0:
            calls.step()
        test.assertLessEqual(abs(ours - value.item()), OUTPUT_LOSS * max(abs(value.item()), 1e-2), f"loss of step {i}")
    for name, theirs in updates(module, before).items():
        mine = torch.from_numpy(step.state_dict()[file.names[name]]).double().reshape(theirs.shape) - before[name].double()
        test.assertLessEqual((mine - theirs).norm().item(), UPDATES * theirs.norm().item() + 1e-9, f"update of {name}")
        test.assertEqual(theirs.norm() > 0, mine.norm() > 0, name)
    step.close()
    return recipe


def classes(count=5, of=4):
    return torch.arange(count) % of


def numbers(*shape):
    return torch.randn(shape or (5, 4), generator=torch.Generator().manual_seed(8))


def two_groups(kind, first, second, **both):
    """The weights and the biases with options of their own."""
    return lambda module: kind([{"params": [p for n, p in module.named_parameters() if n.endswith("weight")], **first},
                                {"params": [p for n, p in module.named_parameters() if n.endswith("bias")], **second}], **both)


def optimizers():
    """{class: makers of optimizers with arguments that are not the defaults}"""
    optim = torch.optim

    def of(kind, *several):
        return [lambda module, options=options: kind(module.parameters(), **options) for options in several]

    def matrices(module):
        return [p for p in module.parameters() if p.dim() == 2]

    return {
        "Adadelta": of(optim.Adadelta, {}, {"lr": 0.5, "rho": 0.8, "eps": 1e-5, "weight_decay": 0.01}),
        "Adafactor": of(optim.Adafactor, {}, {"lr": 0.02, "beta2_decay": -0.7, "eps": (1e-6, 2e-3), "d": 1.1, "weight_decay": 0.1}),
        "Adagrad": of(optim.Adagrad, {}, {"lr": 0.02, "lr_decay": 0.1, "initial_accumulator_value": 0.1, "eps": 1e-8, "weight_decay": 0.1}),
        "Adam": of(optim.Adam, {}, {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1, "amsgrad": True},
                   {"decoupled_weight_decay": True, "weight_decay": 0.3, "maximize": True}),
        "Adamax": of(optim.Adamax, {}, {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
        "AdamW": of(optim.AdamW, {}, {"lr": torch.tensor(0.01), "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1, "amsgrad": True}),
        "ASGD": of(optim.ASGD, {}, {"lr": 0.1, "lambd": 0.01, "alpha": 0.6, "t0": 3.0, "weight_decay": 0.1}),
        "Muon": [lambda module: [optim.Muon(matrices(module), lr=0.02, momentum=0.9, ns_steps=4),
                                 optim.AdamW([p for p in module.parameters() if p.dim() == 1], lr=0.01)],
                 lambda module: optim.Muon(matrices(module), adjust_lr_fn="match_rms_adamw", nesterov=False, weight_decay=0.0)],
        "NAdam": of(optim.NAdam, {}, {"lr": 0.01, "betas": (0.8, 0.99), "momentum_decay": 0.01, "weight_decay": 0.1,
                                      "decoupled_weight_decay": True}),
        "RAdam": of(optim.RAdam, {}, {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
        "RMSprop": of(optim.RMSprop, {}, {"lr": 0.005, "alpha": 0.9, "eps": 1e-6, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
        "Rprop": of(optim.Rprop, {}, {"lr": 0.002, "etas": (0.4, 1.3), "step_sizes": (1e-4, 0.1)}),
        "SGD": of(optim.SGD, {}, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1},
                  {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True})
        + [two_groups(optim.SGD, {"weight_decay": 0.1}, {"lr": 0.01}, lr=0.05, momentum=0.9),
           two_groups(optim.SGD, {"momentum": 0.9}, {"momentum": 0.5, "nesterov": True}, lr=0.05)],
    }


def schedulers():
    """{class: makers of schedulers that change the rate within ten steps}"""
    rates = torch.optim.lr_scheduler
    return {
        "ChainedScheduler": [lambda o: rates.ChainedScheduler([rates.ConstantLR(o, 0.5, 3), rates.ExponentialLR(o, 0.9),
                                                               rates.StepLR(o, 4)])],
        "ConstantLR": [lambda o: rates.ConstantLR(o, 0.3, 4)],
        "CosineAnnealingLR": [lambda o: rates.CosineAnnealingLR(o, 20, 0.01), lambda o: rates.CosineAnnealingLR(o, 4)],
        "CosineAnnealingWarmRestarts": [lambda o: rates.CosineAnnealingWarmRestarts(o, 3, 2, 0.02)],
        "CyclicLR": [lambda o: rates.CyclicLR(o, 0.02, 0.2, 3, 2), lambda o: rates.CyclicLR(o, 0.02, 0.2, 2, mode="triangular2"),
                     lambda o: rates.CyclicLR(o, 0.02, 0.2, 3, mode="exp_range", gamma=0.9, cycle_momentum=False)],
        "ExponentialLR": [lambda o: rates.ExponentialLR(o, 0.8)],
        "LambdaLR": [lambda o: rates.LambdaLR(o, lambda k: 1 / (1 + k * k))],
        "LinearLR": [lambda o: rates.LinearLR(o, 0.2, 0.9, 6)],
        "MultiplicativeLR": [lambda o: rates.MultiplicativeLR(o, lambda k: 0.9 if k % 2 else 0.8)],
        "MultiStepLR": [lambda o: rates.MultiStepLR(o, [2, 5, 5], 0.5)],
        "OneCycleLR": [lambda o: rates.OneCycleLR(o, 0.2, 12), lambda o: rates.OneCycleLR(o, 0.3, 11, three_phase=True, pct_start=0.4),
                       lambda o: rates.OneCycleLR(o, 0.2, 10, anneal_strategy="linear", cycle_momentum=False, div_factor=5)],
        "PolynomialLR": [lambda o: rates.PolynomialLR(o, 8, 2.0)],
        "SequentialLR": [lambda o: rates.SequentialLR(o, [rates.LinearLR(o, 0.1, 1.0, 3), rates.CosineAnnealingLR(o, 9)], [3]),
                         lambda o: rates.SequentialLR(o, [rates.ConstantLR(o, 0.5, 9), rates.LambdaLR(o, lambda k: 1 / (1 + k)),
                                                          rates.ExponentialLR(o, 0.7)], [2, 6]),
                         lambda o: rates.SequentialLR(o, [rates.LinearLR(o, 0.1, 1.0, 6), rates.StepLR(o, 2, 0.5)], [4])],
        "StepLR": [lambda o: rates.StepLR(o, 3, 0.5)],
    }


def losses():
    """{class: (loss, labels, count of outputs)}"""
    nn, positive = torch.nn, numbers().abs()
    signs, part = numbers().sign(), torch.softmax(numbers(), 1)
    some = torch.tensor([1.0, 2.0, 0.5, 1.5])
    distance = lambda a, b: (a - b).abs().mean(1)  # noqa: E731
    return {
        "BCELoss": [(nn.BCELoss(), positive.clamp(max=1), "sigmoid")],
        "BCEWithLogitsLoss": [(nn.BCEWithLogitsLoss(), positive.clamp(max=1), 1),
                              (nn.BCEWithLogitsLoss(pos_weight=some, reduction="sum"), positive.clamp(max=1), 1),
                              (nn.BCEWithLogitsLoss(weight=some), positive.clamp(max=1), 1)],
        "CosineEmbeddingLoss": [(nn.CosineEmbeddingLoss(0.1), signs[:, 0], 2)],
        "CrossEntropyLoss": [(nn.CrossEntropyLoss(), classes(), 1),
                             (nn.CrossEntropyLoss(some, ignore_index=2, label_smoothing=0.1, reduction="sum"), classes(), 1)],
        "HingeEmbeddingLoss": [(nn.HingeEmbeddingLoss(0.7), signs, 1)],
        "HuberLoss": [(nn.HuberLoss(delta=0.3), numbers(), 1)],
        "KLDivLoss": [(nn.KLDivLoss(reduction="batchmean"), part, "log"), (nn.KLDivLoss(log_target=True), part.log(), "log")],
        "L1Loss": [(nn.L1Loss(reduction="sum"), numbers(), 1)],
        "MarginRankingLoss": [(nn.MarginRankingLoss(0.2), signs, 2)],
        "MSELoss": [(nn.MSELoss(), numbers(), 1)],
        "MultiLabelSoftMarginLoss": [(nn.MultiLabelSoftMarginLoss(), (signs + 1) / 2, 1)],
        "MultiMarginLoss": [(nn.MultiMarginLoss(2, 0.8, some), classes(), 1)],
        "NLLLoss": [(nn.NLLLoss(some, ignore_index=1), classes(), "log")],
        "NLLLoss2d": [(nn.NLLLoss2d(), classes(), "log")],
        "PoissonNLLLoss": [(nn.PoissonNLLLoss(), positive, 1)],
        "SmoothL1Loss": [(nn.SmoothL1Loss(beta=0.4), numbers(), 1)],
        "SoftMarginLoss": [(nn.SoftMarginLoss(), signs, 1)],
        "TripletMarginLoss": [(nn.TripletMarginLoss(0.9), None, 3)],
        "TripletMarginWithDistanceLoss": [(nn.TripletMarginWithDistanceLoss(distance_function=distance), None, 3)],
    }


def module_for(outputs):
    if isinstance(outputs, int):
        return small() if outputs == 1 else Pair(outputs)
    return torch.nn.Sequential(small(), torch.nn.Sigmoid() if outputs == "sigmoid" else torch.nn.LogSoftmax(1))


def refused(test, make, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with test.assertRaises(NotExpressible) as found:
            make()
    test.assertIn(words, str(found.exception))


@unittest.skipIf(torch is None, torch_is_missing())
class Taken(unittest.TestCase):
    def each(self, table_rows, tried, run):
        taken = {row.name for row in table_rows if not row.why}
        self.assertEqual(taken, set(tried))
        for name, several in tried.items():
            for i, one in enumerate(several):
                with self.subTest(name, variant=i):
                    run(one)

    def test_each_optimizer_moves_as_in_pytorch(self):
        self.each(table.OPTIMIZERS, optimizers(), lambda make: compare(self, small(), torch.nn.MSELoss(), make, labels=numbers()))

    def test_each_schedule_moves_as_in_pytorch(self):
        self.each(table.SCHEDULES, schedulers(), lambda make: compare(
            self, small(), torch.nn.MSELoss(), lambda module: torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.8), scheduler=make,
            labels=numbers(), schedule_steps=12))

    def test_each_loss_trains_as_in_pytorch(self):
        self.each(table.LOSSES, losses(), lambda case: compare(
            self, module_for(case[2]), case[0], lambda module: torch.optim.SGD(module.parameters(), lr=0.05), labels=case[1]))

    def test_one_cycle_moves_beta1(self):
        compare(self, small(), torch.nn.MSELoss(), lambda module: torch.optim.AdamW(module.parameters()), labels=numbers(),
                scheduler=lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.02, 12))

    def test_the_callable_in_place_of_gaussian_nll_trains_as_it(self):
        class Spread(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.both = Pair(2)

            def forward(self, x):
                mean, spread = self.both(x)
                return mean, torch.nn.functional.softplus(spread)

        said = next(row.why for row in table.LOSSES if row.name == "GaussianNLLLoss").split("formula: ")[1]
        module = Spread()
        mean, variance = module(numbers(5, 6))
        formula = eval(said)
        self.assertAlmostEqual(formula((mean, variance), numbers()).item(), torch.nn.GaussianNLLLoss()(mean, numbers(), variance).item(), places=5)
        compare(self, module, formula, lambda module: torch.optim.SGD(module.parameters(), lr=0.05), labels=numbers())

    def test_gradients_are_clipped_as_in_pytorch(self):
        compare(self, small(), torch.nn.MSELoss(), lambda module: torch.optim.SGD(module.parameters(), lr=0.1), labels=numbers(), clip=0.2)
