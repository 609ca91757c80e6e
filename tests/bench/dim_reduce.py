"""What DimReduce costs, and what it brings: `./dev bench --dim-reduce`.

Cost: a step beside a first-order one of the same recipe. Its bound is that step, two
forward passes, and three readings of the basis at the machine's bandwidth, and 10 %.

Gain: LeNet on the digits is trained at a constant rate, with the labels as they are and with
30 % of them false. From the last checkpoint two more epochs follow: in the subspace of the
last twelve; in a random one; by DimReduce's optimizer without a subspace; at a tenth of the
rate. Beside these stands the mean of the twelve checkpoints, which needs no epoch.

`--only gain` measures that alone, `--only resnet18-cifar` the cost of a network.
"""

import json
import math
import os
import random
import shutil
import statistics
import struct

import boost
import run
import workloads

SEEDS, EPOCHS, MORE, KEPT, COMPONENTS, FALSE_PART = 3, 20, 2, 12, 8, 0.3
RATES = (0.1, 0.03)
ROUNDS = 5
REST = {"type": "sgd", "learning_rate": 0.001, "momentum": 0.9}  # the default of a recipe with dim_reduce
DIGITS = os.path.join(boost.EXAMPLES, "digits")
COSTS = {"lenet5": 8, "resnet18-cifar": 8}  # workload: directions


def folder():
    path = os.path.join(run.BUILD, "bench", "dim_reduce")
    os.makedirs(path, exist_ok=True)
    return path


def at(name):
    return os.path.join(folder(), name)


# -- files -----------------------------------------------------------------------


def with_false_labels(source, target, part, seed=1):
    """Copies a file of samples, of which every label is drawn anew in this part: another class than it was."""
    header, content = boost.read_tensors(source)
    begin, end = header["label"]["data_offsets"]
    labels = list(struct.unpack(f"<{(end - begin) // 8}q", content[begin:end]))
    draw = random.Random(seed)
    for sample in draw.sample(range(len(labels)), round(part * len(labels))):
        labels[sample] = draw.choice([label for label in range(10) if label != labels[sample]])
    boost.write_tensors(target, header, content[:begin] + struct.pack(f"<{len(labels)}q", *labels) + content[end:])


def write_random_basis(path, rows, columns, seed=0):
    """An .npy matrix of orthonormal rows that point anywhere, as `gradus basis --from-npy` reads it."""
    draw, basis = random.Random(seed), []
    for _ in range(rows):
        row = [draw.gauss(0, 1) for _ in range(columns)]
        for other in basis:
            part = sum(a * b for a, b in zip(row, other))
            row = [a - part * b for a, b in zip(row, other)]
        length = math.hypot(*row)
        basis.append([a / length for a in row])
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in basis:
            file.write(struct.pack(f"<{columns}d", *row))


def write_images(path, name, shape, seed=0):
    """Samples of noise, for steps whose time is measured."""
    draw, count = random.Random(seed), math.prod(shape)
    images = struct.pack(f"<{count}f", *(draw.gauss(0, 1) for _ in range(count)))
    labels = struct.pack(f"<{shape[0]}q", *(draw.randrange(10) for _ in range(shape[0])))
    header = {name: {"dtype": "F32", "shape": list(shape), "data_offsets": [0, len(images)]},
              "label": {"dtype": "I64", "shape": [shape[0]], "data_offsets": [len(images), len(images) + len(labels)]}}
    boost.write_tensors(path, header, images + labels)


# -- cost ------------------------------------------------------------------------


def measured(path, graph):
    words = ("--graph", graph, "--threads", workloads.THREADS, "--seconds", 1.0, "--random-states", "--json")
    figures = json.loads(boost.output_of("bench", path, *words))
    return figures["step"]["ms_min"], figures["bandwidth"]["gb_per_s"]


def bound_of(first, forward, basis_bytes, bandwidth):
    """Milliseconds that a step may take; bandwidth in GB/s."""
    return 1.1 * (first + 2 * forward + 3 * basis_bytes / bandwidth / 1e6)


def cost_of(name, components):
    """A step's least times over interleaved rounds: first order, DimReduce, forward pass."""
    workload, first = workloads.BY_NAME[name], at(f"{name}-first.gradus")
    words = (os.path.join(workloads.MODELS, workload.model), "--recipe", os.path.join(workloads.MODELS, workload.recipe),
             *(("--dim", *workload.dims) if workload.dims else ()), "--initialize", "pytorch", "--set", "optimizer=" + json.dumps(REST))
    boost.output_of("compile", *words, "-o", first)
    image = json.loads(boost.output_of("inspect", first, "--json"))["plans"][0]["graphs"][0]["inputs"][0]
    batch, *shape = map(int, image["type"].split("x")[:-1])
    write_images(at("noise.safetensors"), image["name"], (batch * (components + 1), *shape))
    boost.output_of("train", first, "--data", at("noise.safetensors"), "--steps", components + 1, "--checkpoint", at("noise.ckpt"),
                    "--checkpoint-every", "1steps", "--keep", components + 1, "--overwrite")
    kept = sorted(os.path.join(folder(), each) for each in os.listdir(folder()) if each.startswith("noise.step"))
    boost.output_of("basis", first, *kept, "--components", components, "-o", at(f"{name}-basis.safetensors"))
    for each in kept:
        os.remove(each)
    reduced = at(f"{name}-reduced.gradus")
    boost.output_of("compile", *words, f"--dim-reduce={at(f'{name}-basis.safetensors')}", "-o", reduced)
    times = {"first": [], "reduced": [], "forward": []}
    for _ in range(ROUNDS):
        for key, path, graph in (("first", first, "train"), ("reduced", reduced, "train"), ("forward", first, "predict")):
            times[key].append(measured(path, graph))
    least = {key: min(each)[0] for key, each in times.items()}
    bandwidth = max(speed for each in times.values() for _, speed in each)
    basis_bytes = os.path.getsize(at(f"{name}-basis.safetensors"))
    return {**least, "bound": bound_of(least["first"], least["forward"], basis_bytes, bandwidth), "basis_bytes": basis_bytes,
            "gb_per_s": bandwidth, "components": components}


def print_costs(costs):
    print("\nms a step, least of interleaved rounds\n\n| network | directions | first order | forward pass | DimReduce | bound |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, each in costs.items():
        print(f"| {name} | {each['components']} | {each['first']:.3g} | {each['forward']:.3g} | {each['reduced']:.3g} | "
              f"{each['bound']:.3g} ({each['reduced'] / each['bound']:.2f} of it) |")


# -- gain ------------------------------------------------------------------------


def compiled(name, optimizer, *more):
    recipe = {**json.load(open(os.path.join(DIGITS, "recipe.json"))), "optimizer": optimizer}
    with open(at(f"{name}.json"), "w") as file:
        json.dump(recipe, file)
    boost.output_of("compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", at(f"{name}.json"), *more, "-o", at(f"{name}.gradus"))
    return at(f"{name}.gradus")


def tested(artifact, checkpoint):
    """(accuracy, loss) of the test's samples."""
    found = json.loads(boost.output_of("evaluate", artifact, "--checkpoint", checkpoint, "--data", os.path.join(DIGITS, "test.safetensors"),
                                       "--json").splitlines()[-1])
    return found["accuracy"], found["loss"]


def trained(artifact, data, seed, epochs, name, *more):
    boost.output_of("train", artifact, "--data", data, "--epochs", epochs, "--seed", seed, "--checkpoint", at(name), "--overwrite",
                    "--threads", 1, *more)
    return tested(artifact, at(name))


def gains_of(rate, data, seed):
    """(accuracy, loss) of each way to go on from one first training."""
    for each in os.listdir(folder()):
        if each.startswith("first.step"):
            os.remove(at(each))
    sgd = {"type": "sgd", "learning_rate": rate, "momentum": 0.9}
    first = compiled("first", sgd, "--set", f"seed={seed}", "--initialize", "pytorch")
    found = {"the last checkpoint": trained(first, data, seed, EPOCHS, "first.safetensors", "--checkpoint-every", "1epochs", "--keep", KEPT)}
    kept = sorted(at(each) for each in os.listdir(folder()) if each.startswith("first.step"))
    boost.output_of("basis", first, *kept, "--components", COMPONENTS, "-o", at("basis.safetensors"), "--mean", at("mean.safetensors"))
    found["the mean of twelve"] = tested(first, at("mean.safetensors"))
    go_on = (data, seed, MORE, "more.safetensors", "--init", at("first.safetensors"))
    for name, basis in (("DimReduce", "basis.safetensors"), ("a random basis", "random.safetensors")):
        found[name] = trained(compiled("reduced", REST, f"--dim-reduce={at(basis)}"), *go_on)
    found["its optimizer alone"] = trained(compiled("rest", REST), *go_on)
    found["a tenth of the rate"] = trained(compiled("tenth", {**sgd, "learning_rate": rate / 10}), *go_on)
    return found


def make_random_basis():
    """Writes random directions as a basis. The order of parameters is the artifact's, and does not matter here."""
    path = compiled("any", REST)
    states = json.loads(boost.output_of("inspect", path, "--states", "--json"))["states"]
    count = sum(each["bytes"] // 4 for each in states if each["role"] == "parameter")
    write_random_basis(at("random.npy"), COMPONENTS, count)
    boost.output_of("basis", path, "--from-npy", at("random.npy"), "-o", at("random.safetensors"))


def gains(seeds):
    make_random_basis()
    plain, spoilt, found = os.path.join(DIGITS, "train.safetensors"), at("spoilt.safetensors"), {}
    with_false_labels(plain, spoilt, FALSE_PART)
    for what, data in ((f"{FALSE_PART:.0%} of the labels false", spoilt), ("labels as they are", plain)):
        for rate in RATES:
            runs = [gains_of(rate, data, seed) for seed in range(seeds)]
            found[f"{what}, rate {rate:g}"] = {name: [each[name] for each in runs] for name in runs[0]}
            run.say(f"bench: {what}, rate {rate:g}: done")
    return found


def print_gains(found):
    names = list(next(iter(found.values())))
    print(f"\ntest accuracy (loss), means of seeds\n\n| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for what, each in found.items():
        cells = [" ({:.3f})".join(["{:.3f}", ""]).format(*map(statistics.mean, zip(*each[name]))) for name in names]
        print(f"| {what} | {' | '.join(cells)} |")


def bench(arguments):
    found = gains(arguments.seeds or SEEDS) if arguments.only in "gain" else {}
    if found:
        print_gains(found)
    costs = {name: cost_of(name, components) for name, components in COSTS.items() if arguments.only in name}
    if costs:
        print_costs(costs)
    shutil.rmtree(folder())
    boost.save({"gains": found, "costs": costs}, arguments.json)
