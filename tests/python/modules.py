"""Trains the modules of models.txt in eager PyTorch and in Gradus, and says how far apart they end.

    modules.py [--double] [NAME ...]     prints a line for each module and optimizer; without names all

Needs torch, onnx, onnxscript, and for their modules torchvision, timm, transformers.

Steps in f32 may differ by what rounding does, and in deep modules that normalize by four values each step multiplies it by a hundred. How
much that is, one run of PyTorch in f32 beside one in f64 says by chance. Where it says too little, two things decide. Further runs
of PyTorch in f32, which differ in nothing but roundings, say what rounding does. And Gradus trains the module in f64 beside PyTorch's runs
in f64, which differ by a hundred millionth of that, so that nothing wrong passes for rounding. With --double it does so in every module.
"""

import contextlib
import copy
import dataclasses
import importlib
import itertools
import math
import os
import re
import sys
import time
from unittest import mock

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from steps import step_of  # noqa: E402  (puts the package on the path)

from gradus import CompileError, NotExpressible  # noqa: E402
from gradus.torch_.export import exported  # noqa: E402
from gradus.torch_.recipe import recipe_of  # noqa: E402

STEPS = 5
LOSSES, UPDATES = {torch.float32: 1e-4, torch.float64: 1e-7}, {torch.float32: 5e-3, torch.float64: 1e-6}  # relative bounds
TINY = {torch.float32: 1e-9, torch.float64: 1e-14}  # a difference that always is allowed
NOISE = 10  # how many times PyTorch's own difference between its runs is allowed
NUDGES = {torch.float32: (1, 2, 3, 4), torch.float64: (1, 2)}  # seeds of further runs
OPTIMIZERS = {"sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
              "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)}


@dataclasses.dataclass
class Case:
    name: str
    made: str
    inputs: list  # (name, shape, number of ids or 0)
    labels: str

    def module(self):
        torch.manual_seed(1)
        names = {"torch": torch, "plain": lazily("plain_models")}
        names.update({name: lazily(name) for name in ("torchvision", "timm", "transformers") if name in self.made})
        module = eval(self.made, names)
        for part in module.modules():
            quiet(part)
        return module.float()

    def batch(self, seed):
        generator = torch.Generator().manual_seed(seed)
        return {name: torch.randint(0, ids, shape, generator=generator) if ids else torch.randn(shape, generator=generator)
                for name, shape, ids in self.inputs}


def lazily(name):
    module = importlib.import_module(name)
    if name == "torchvision":
        importlib.import_module("torchvision.models.segmentation")
    return module


def quiet(part):
    """Switches off what draws random numbers."""
    if re.search("drop|StochasticDepth", type(part).__name__, re.IGNORECASE):
        for name in ("p", "drop_prob"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
    for name in ("dropout", "attention_dropout", "drop_prob", "layerdrop", "dropout_rate"):
        if isinstance(getattr(part, name, None), float):
            setattr(part, name, 0.0)


def cases():
    with open(os.path.join(HERE, "models.txt")) as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        name, made, inputs, labels = (part.strip() for part in line.split(" | "))
        found = re.findall(r"(\w+) (\d+(?:x\d+)*)(?:<(\d+))?", inputs)
        yield Case(name, made, [(each, [int(size) for size in shape.split("x")], int(ids or 0)) for each, shape, ids in found], labels)


def first_output(result):
    if torch.is_tensor(result):
        return result
    values = result.values() if isinstance(result, dict) else result
    return next(value for value in values if torch.is_tensor(value))


def given(case, module, batch):
    """transformers has names for its inputs; others get them in order."""
    return batch if case.name.startswith("hf_") else tuple(batch.values())


def run(case, module, batch):
    arguments = given(case, module, batch)
    return first_output(module(**arguments) if isinstance(arguments, dict) else module(*arguments))


def labels_for(case, output, seed):
    generator = torch.Generator().manual_seed(seed)
    if case.labels == "numbers":
        return torch.randn(output.shape, generator=generator)
    axis = 1 if case.labels == "classes" else output.dim() - 1
    shape = [size for i, size in enumerate(output.shape) if i != axis]
    return torch.randint(0, output.shape[axis], shape, generator=generator)


def loss_of(case, output, labels):
    if case.labels == "numbers":
        return torch.nn.functional.mse_loss(output, labels.to(output.dtype))
    return torch.nn.functional.cross_entropy(output.movedim(-1, 1) if case.labels == "tokens" else output, labels)


def recipe_loss(case):
    if case.labels == "numbers":
        return torch.nn.MSELoss()
    return torch.nn.CrossEntropyLoss() if case.labels == "classes" else {"type": "softmax_cross_entropy", "class_axis": -1}


def in_eager(case, module, batches, labels, optimizer, dtype):
    """The losses, and what the state has changed by behind the last step, in f64."""
    with default_dtype(dtype):
        module = copy.deepcopy(module).to(dtype).train()
        before = state_of(module)
        moves, losses = OPTIMIZERS[optimizer]([each for each in module.parameters() if each.requires_grad]), []
        for step in range(STEPS):
            batch = cast(batches[step % 2], dtype)
            loss = loss_of(case, run(case, module, batch), labels[step % 2])
            moves.zero_grad()
            loss.backward()
            moves.step()
            losses.append(loss.item())
    return losses, {name: value - before[name] for name, value in state_of(module).items()}


def in_gradus(case, module, file, batches, labels, optimizer):
    """The same of the compiled step; `file` is the exported module, whose type the batches have."""
    moves = OPTIMIZERS[optimizer]([each for each in module.parameters() if each.requires_grad])
    output = None if len(file.output_names) == 1 else "logits" if "logits" in file.output_names else file.output_names[0]
    recipe = recipe_of(module, None, moves, names=file.names, fixed=file.fixed)
    loss = recipe_of(loss=recipe_loss(case))["loss"]
    recipe["loss"] = {**loss, **({"output": output} if output else {})}
    with step_of(file.model, recipe) as step:
        losses = [step({**arrays(file, batches[i % 2]), "label": labels[i % 2].numpy()}).loss for i in range(STEPS)]
        states = step.state_dict()
    places = {name: file.names.get(name, name) for name in module.state_dict()}
    before = state_of(module)
    return losses, {name: torch.from_numpy(numpy.asarray(states[places[name]])).double().reshape(value.shape) - value
                    for name, value in before.items() if places[name] in states}


def state_of(module):
    return {name: value.detach().double().clone() for name, value in module.state_dict().items() if value.is_floating_point()}


def cast(batch, dtype):
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in batch.items()}


def arrays(file, batch):
    return {name: value.numpy() for name, value in zip(file.input_names, batch.values())}


@contextlib.contextmanager
def default_dtype(dtype):
    """In f64, what a module itself makes f32 by `.float()` is f64 as well (timm's EfficientViT, before its attention)."""
    whole = mock.patch.object(torch.Tensor, "float", torch.Tensor.double) if dtype == torch.float64 else contextlib.nullcontext()
    torch.set_default_dtype(dtype)
    try:
        with whole:
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def in_double(module):
    """The module in f64. Its epsilons become what a file can hold, which is f32: there 1e-5 is off by 2e-13."""
    module = copy.deepcopy(module).double()
    for part in module.modules():
        if isinstance(getattr(part, "eps", None), float):
            part.eps = float(numpy.float32(part.eps))
    return module


def nudged(module, seed):
    """The module with each parameter moved to one of its two neighbours among the numbers of its type."""
    module, generator = copy.deepcopy(module), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            way = torch.randint(0, 2, parameter.shape, generator=generator) * 2.0 - 1
            parameter.copy_(torch.nextafter(parameter, (way * float("inf")).to(parameter.dtype)))
    return module


def further_runs(case, module, *rest):
    """Runs, one after the other, that are as right as that of `in_eager`: by PyTorch's own convolutions, and from parameters an ulp away.
    The last argument is their type, which is the module's."""
    with torch.backends.mkldnn.flags(enabled=False):
        own = in_eager(case, module, *rest)
    yield own
    del own
    for seed in NUDGES[rest[-1]]:
        yield in_eager(case, nudged(module, seed), *rest)


@dataclasses.dataclass
class Verdict:
    """`loss` and `update` are the largest differences in units of what is allowed, so that 1 is the bound; `why` says what failed. `runs`
    counts PyTorch's runs in f32 that say what is allowed. If they are several, `double` is the verdict of f64."""

    name: str
    optimizer: str
    loss: float = 0.0
    update: float = 0.0
    where: str = ""
    why: str = ""
    seconds: float = 0.0
    runs: int = 1
    double: "Verdict" = None

    @property
    def passed(self):
        return not self.why and self.loss <= 1 and self.update <= 1 and (self.double is None or self.double.passed)

    def line(self):
        if self.why:
            return f"{self.name} {self.optimizer}: FAILED {self.why}"
        word = "ok" if self.passed else "DIFFERS"
        return f"{self.name} {self.optimizer}: {word} {self.figures()} {self.seconds:.0f} s"

    def figures(self):
        text = f"loss {self.loss:.3f} update {self.update:.3f} ({self.where})"
        if self.runs > 1:
            text += f" beside {self.runs} runs"
        return text + (f"; in f64 {self.double.why or self.double.figures()}" if self.double else "")


def compare(case, always_double=False):
    """A verdict for each optimizer; with `always_double` also of f64 where f32 says enough."""
    torch.set_num_threads(1)
    module = case.module()
    batches = [case.batch(seed) for seed in (2, 3)]
    with torch.no_grad():
        output = run(case, copy.deepcopy(module).train(), batches[0])
    labels = [labels_for(case, output, seed) for seed in (4, 5)]
    before = {name: value.detach().clone() for name, value in module.state_dict().items()}
    try:
        file = exported(module, given(case, module, batches[0]))
    except NotExpressible as error:
        return [Verdict(case.name, optimizer, why=f"export: {error}") for optimizer in OPTIMIZERS]
    moved = [name for name, value in module.state_dict().items() if not torch.equal(value, before[name])]
    del before
    if moved:
        return [Verdict(case.name, optimizer, why=f"the export has changed {moved[0]}") for optimizer in OPTIMIZERS]
    return [beside(case, module, file, batches, labels, optimizer, always_double) for optimizer in OPTIMIZERS]


def beside(case, module, file, batches, labels, optimizer, always_double=False):
    started = time.monotonic()
    verdict = Verdict(case.name, optimizer)
    given = (batches, labels, optimizer)
    try:
        ours = in_gradus(case, module, file, *given)
    except CompileError as error:
        verdict.why = f"compile: {error}"
        return verdict
    first, exact = in_eager(case, module, *given, torch.float32), in_eager(case, module, *given, torch.float64)
    verdict = judge(verdict, ours, [first], exact)
    unclear = not verdict.passed and not verdict.why
    if unclear:
        verdict = Verdict(case.name, optimizer, runs=2 + len(NUDGES[torch.float32]))
        verdict = judge(verdict, ours, itertools.chain([first], further_runs(case, module, *given, torch.float32)), exact)
    del ours, first, exact  # Those of a large module fill the memory that f64 needs.
    if unclear or always_double:
        verdict.double = beside_double(case, module, *given)
    verdict.seconds = time.monotonic() - started
    return verdict


def beside_double(case, module, batches, labels, optimizer):
    double = in_double(module)
    batches = [cast(batch, torch.float64) for batch in batches]
    labels = [value.double() if value.is_floating_point() else value for value in labels]
    with default_dtype(torch.float64):
        file = exported(double, given(case, double, batches[0]))
    ours = in_gradus(case, double, file, batches, labels, optimizer)
    del file
    exact = in_eager(case, double, batches, labels, optimizer, torch.float64)
    runs = itertools.chain([exact], further_runs(case, double, batches, labels, optimizer, torch.float64))
    return judge(Verdict(case.name, optimizer), ours, runs, exact, torch.float64)


def judge(verdict, ours, runs, exact, dtype=torch.float32):
    """The verdict, filled in. Compares with the first of `runs`, which have the type `dtype`. All of them say, by how far they are from
    `exact`, what is allowed: a loss may be off by what they are off by up to its step, because at one step alone they may agree by
    chance."""
    theirs, noise = None, Noise(exact)
    for run in runs:
        theirs = theirs or run
        noise.hear(run)
        del run  # Another one may need its memory.
    for step, mine in enumerate(ours[0]):
        allowed = max(LOSSES[dtype] * abs(theirs[0][step]), NOISE * max(noise.losses[: step + 1]))
        verdict.loss = max(verdict.loss, in_units(abs(mine - theirs[0][step]), allowed))
    for name, change in theirs[1].items():
        if name not in ours[1]:
            if change.norm() != 0:
                verdict.why = f"the artifact has no {name}, which PyTorch trains"
            continue
        allowed = max(UPDATES[dtype] * change.norm().item(), NOISE * noise.updates[name], TINY[dtype])
        off = in_units((ours[1][name] - change).norm().item(), allowed)
        if off > verdict.update:
            verdict.update, verdict.where = off, name
    return verdict


class Noise:
    """How far runs are at most from `exact`: a number for each step's loss and for each parameter's update."""

    def __init__(self, exact):
        self.exact, self.losses, self.updates = exact, [0.0] * len(exact[0]), dict.fromkeys(exact[1], 0.0)

    def hear(self, run):
        self.losses = [max(most, abs(a - b)) for most, a, b in zip(self.losses, run[0], self.exact[0])]
        self.updates = {name: max(most, (run[1][name] - self.exact[1][name]).norm().item()) for name, most in self.updates.items()}


def in_units(difference, allowed):
    """How much of what is allowed it is. What is no number, or infinite, is more than any bound."""
    return difference / allowed if math.isfinite(difference) and math.isfinite(allowed) else math.inf


def main(arguments):
    names = [each for each in arguments if each != "--double"]
    for case in cases():
        if names and case.name not in names:
            continue
        for verdict in compare(case, always_double="--double" in arguments):
            print(verdict.line(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
