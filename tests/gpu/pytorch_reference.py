"""How long PyTorch takes for the packed steps on the same card: its own forms of the
networks, the recipes' optimizers, products in bf16 by autocast, inputs on the card.

Prints a line of JSON for each figure as soon as it is known; where there is no
PyTorch, or it fails, a line that says so. The exit status is 0 in any case.
"""

import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def say(**facts):
    print(json.dumps(facts), flush=True)


def training(torch, models, step, device, how):
    """A function that makes one training step."""
    torch.manual_seed(0)
    model, inputs, labels = models.MAKERS[step["network"]](**step["sizes"])
    model, inputs, labels = model.to(device).train(), [each.to(device) for each in inputs], labels.to(device)
    optimizer = models.optimizer_of(step["optimizer"], model.parameters())

    def forward():
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            return models.cross_entropy(model(*inputs), labels)

    forward = torch.compile(forward) if how == "compiled" else forward

    def train():
        optimizer.zero_grad(set_to_none=True)
        forward().backward()
        optimizer.step()

    return train


def milliseconds(train, wait, seconds):
    """Of a step, of many begun one behind the other: the best of some rounds."""
    for _ in range(3):
        train()
    wait()
    began = time.perf_counter()
    train()
    wait()
    steps = max(1, min(100, int(seconds / 3 / (time.perf_counter() - began))))
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(steps):
            train()
        wait()
        best = min(best, (time.perf_counter() - began) / steps)
    return best * 1e3


def measure(torch, models, name, step, how, options):
    wait = torch.cuda.synchronize if options.device.startswith("cuda") else lambda: None
    try:
        ms = milliseconds(training(torch, models, step, options.device, how), wait, options.seconds)
        say(name=name, how=how, ms=ms, torch=torch.__version__)
    except Exception as error:  # of any kind: the figure is missing then, and that is all
        say(name=name, how=how, error=str(error).splitlines()[0] if str(error) else type(error).__name__)
    finally:
        if options.device.startswith("cuda"):
            torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default=os.path.join(HERE, "steps.json"), help="which steps, as pack.py writes them")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3, help="for each figure, beside what comes before")
    parser.add_argument("--how", nargs="+", default=["eager", "compiled"])
    options = parser.parse_args()
    try:
        import torch
    except Exception as error:
        return say(error=f"no PyTorch: {error}")
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        return say(error=f"PyTorch {torch.__version__} finds no card")
    import peer_torch_models as models
    torch.backends.cudnn.benchmark = True
    with open(options.steps) as file:
        steps = json.load(file)
    for how in options.how:  # what takes long to prepare comes last
        for name, step in steps.items():
            measure(torch, models, name, step, how, options)


if __name__ == "__main__":
    main()
