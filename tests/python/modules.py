"""Trains the modules of models.txt in eager PyTorch and in Gradus, and says how far apart they end.

    modules.py [NAME ...]     prints a line for each module and optimizer; without names all

Needs torch, onnx, onnxscript, and for their modules torchvision, timm, transformers.
"""

import copy
import dataclasses
import importlib
import os
import re
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from steps import step_of  # noqa: E402  (puts the package on the path)

from gradus import CompileError, NotExpressible  # noqa: E402
from gradus.torch_.export import exported  # noqa: E402
from gradus.torch_.recipe import recipe_of  # noqa: E402

STEPS = 5
LOSSES, UPDATES, NOISE = 1e-4, 5e-3, 10  # relative bounds, and how many times PyTorch's own difference of f32 and f64 is allowed
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
    """The losses, and the state behind the last step, in f64."""
    torch.set_default_dtype(dtype)
    try:
        module = copy.deepcopy(module).to(dtype).train()
        moves, losses = OPTIMIZERS[optimizer]([each for each in module.parameters() if each.requires_grad]), []
        for step in range(STEPS):
            batch = {name: value.to(dtype) if value.is_floating_point() else value for name, value in batches[step % 2].items()}
            loss = loss_of(case, run(case, module, batch), labels[step % 2])
            moves.zero_grad()
            loss.backward()
            moves.step()
            losses.append(loss.item())
    finally:
        torch.set_default_dtype(torch.float32)
    return losses, {name: value.detach().double() for name, value in module.state_dict().items() if value.is_floating_point()}


@dataclasses.dataclass
class Verdict:
    """`loss` and `update` are the largest differences in units of what is allowed, so that 1 is the bound; `why` says what failed."""

    name: str
    optimizer: str
    loss: float = 0.0
    update: float = 0.0
    where: str = ""
    why: str = ""
    seconds: float = 0.0

    @property
    def passed(self):
        return not self.why and self.loss <= 1 and self.update <= 1

    def line(self):
        if self.why:
            return f"{self.name} {self.optimizer}: FAILED {self.why}"
        word = "ok" if self.passed else "DIFFERS"
        return f"{self.name} {self.optimizer}: {word} loss {self.loss:.3f} update {self.update:.3f} ({self.where}) {self.seconds:.0f} s"


def compare(case):
    """A verdict for each optimizer."""
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
    if moved:
        return [Verdict(case.name, optimizer, why=f"the export has changed {moved[0]}") for optimizer in OPTIMIZERS]
    return [beside(case, module, file, batches, labels, optimizer) for optimizer in OPTIMIZERS]


def beside(case, module, file, batches, labels, optimizer):
    started = time.monotonic()
    verdict = Verdict(case.name, optimizer)
    moves = OPTIMIZERS[optimizer]([each for each in module.parameters() if each.requires_grad])
    output = None if len(file.output_names) == 1 else "logits" if "logits" in file.output_names else file.output_names[0]
    recipe = recipe_of(module, None, moves, names=file.names, fixed=file.fixed)
    loss = recipe_of(loss=recipe_loss(case))["loss"]
    recipe["loss"] = {**loss, **({"output": output} if output else {})}
    try:
        step = step_of(file.model, recipe)
    except CompileError as error:
        verdict.why = f"compile: {error}"
        return verdict
    losses = [step({**arrays(file, batches[i % 2]), "label": labels[i % 2].numpy()}).loss for i in range(STEPS)]
    states = step.state_dict()
    placed = {name: file.names.get(name, name) for name in module.state_dict()}
    ours = {name: torch.from_numpy(states[place]).double() for name, place in placed.items() if place in states}
    step.close()
    runs = [in_eager(case, module, batches, labels, optimizer, dtype) for dtype in (torch.float32, torch.float64)]
    judge(verdict, module, (losses, ours), *runs)
    verdict.seconds = time.monotonic() - started
    return verdict


def arrays(file, batch):
    return {name: value.numpy() for name, value in zip(file.input_names, batch.values())}


def judge(verdict, module, ours, single, double):
    """A loss may be off by what PyTorch's runs differ by up to its step: at one step alone they may agree by chance."""
    noise = 0.0
    for mine, theirs, exact in zip(ours[0], single[0], double[0]):
        noise = max(noise, abs(theirs - exact))
        allowed = max(LOSSES * abs(theirs), NOISE * noise)
        verdict.loss = max(verdict.loss, abs(mine - theirs) / allowed if mine == mine else float("inf"))
    for name, first in module.state_dict().items():
        if not first.is_floating_point():
            continue
        theirs = single[1][name] - first.double()
        if name not in ours[1]:
            if theirs.norm() > 0:
                verdict.why = f"the artifact has no {name}, which PyTorch trains"
            continue
        change = ours[1][name].reshape(first.shape) - first.double()
        allowed = max(UPDATES * theirs.norm().item(), NOISE * (single[1][name] - double[1][name]).norm().item(), 1e-9)
        off = (change - theirs).norm().item() / allowed
        if not off <= verdict.update:
            verdict.update, verdict.where = off, name


def main(names):
    for case in cases():
        if names and case.name not in names:
            continue
        for verdict in compare(case):
            print(verdict.line(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
