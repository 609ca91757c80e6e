"""What convolutions of 3x3 take by Winograd's algorithm and without, and what it does to accuracy.

`./dev bench --convolutions`: eight layers of ResNets in f32 and in bf16, forward and both gradients, each in an artifact of its
own: milliseconds of `auto` and `direct` in turns, and beside each what `gradus inspect` expects of it.

`./dev bench --convolutions-accuracy`: a residual network from 32 channels on, trained both ways over several seeds, on the
digits and with `--mnist FOLDER` on MNIST's 5,000 images.
"""

import itertools
import json
import os

import boost
import run
import workloads

LAYERS = [(32, 64, 32), (32, 128, 16), (32, 256, 8), (32, 512, 4), (8, 64, 56), (8, 128, 28), (8, 256, 14), (8, 512, 7)]
PASSES = ("forward", "backward_data", "backward_weights")
CHOICES = ("auto", "direct")
ELEMENTS = ("f32", "bf16")
ROUNDS, SECONDS = 5, 0.5
NETWORKS = {"resnet_28_wide.onnx": ({"type": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 5e-4}, 4, {
    "auto": (), "direct": ("--convolutions", "direct")})}


def program(images, channels, size, which, element="f32"):
    """A program whose step is one pass of a convolution, as many outputs as channels, and little else. Weights are trained in f32."""
    many, trained = f"tensor<{images}x{channels}x{size}x{size}x{element}>", f"tensor<{channels}x{channels}x3x3xf32>"
    weights = trained.replace("f32", element)
    how = "strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]"
    name, operands, types = {
        "forward": ("convolution", "%x, %w", f"{many}, {weights} -> {many}"),
        "backward_data": ("convolution_backward_data", "%x, %w", f"{many}, {weights} -> {many}"),
        "backward_weights": ("convolution_backward_weights", "%x, %d", f"{many}, {many} -> {trained}")}[which]
    result = types.split(" -> ")[1]
    gradient = "%y" if result == trained else "%read"
    first = result.replace(result.rsplit("x", 1)[0], "tensor<1x1x1x1")
    number = first.replace("1x1x1x1x", "")
    rounds = f"arith.truncf %read : {trained} to {weights}" if weights != trained else f"gradus.reshape %read : {trained} -> {weights}"
    widens = f"arith.extf %f : {number} to tensor<f32>" if number != "tensor<f32>" else "gradus.reshape %f : tensor<f32> -> tensor<f32>"
    return f"""gradus.program @{which} attributes {{recipe = {{optimizer = {{type = "sgd", learning_rate = 1.0e-3}}}}}} {{
  gradus.state @w : {trained} {{role = #gradus.role<parameter>, init = #gradus.init<constant, 0.02 : f64>}}
  gradus.graph @train(%x: {many}, %d: {many}) -> (loss: tensor<f32>, y: {result}) {{
    %read = gradus.read @w : {trained}
    %w = {rounds}
    %y = gradus.{name} {operands} {how} : {types}
    gradus.update @w, {gradient} : {trained}
    %e = gradus.slice %y starts [0, 0, 0, 0] steps [1, 1, 1, 1] : {result} -> {first}
    %f = gradus.reshape %e : {first} -> {number}
    %loss = {widens}
    gradus.return %loss, %y : tensor<f32>, {result}
  }}
}}
"""


def belongs(command, channels):
    """Whether a command is part of a convolution: it convolves, adds parts of a gradient up, or reorders weights."""
    name = command["name"]
    return (name.startswith(("winograd", "convolution", "sum"))
            or name == "reorder" and command["bytes"] in [two * 9 * channels * channels for two in (4, 6, 8)])


def of_convolution(commands, channels, key):
    """Milliseconds of the commands that belong to it: reorders of images, which networks do not have, are not among them."""
    each = [command[key] for command in commands if belongs(command, channels)]
    return sum(value[0] if isinstance(value, list) else value for value in each) / 1e3


def compiled(layer, which, choice, element):
    """(artifact, expected milliseconds, whether it is by Winograd's algorithm)"""
    path = boost.artifact("convolution", *map(str, layer), which, choice, element)
    with open(path + ".mlir", "w") as file:
        file.write(program(*layer, which, element))
    boost.output_of("compile", path + ".mlir", "--convolutions", choice, "-o", path)
    plan = json.loads(boost.output_of("inspect", path, "--json"))["plans"][0]
    commands = next(graph for graph in plan["graphs"] if graph["name"] == "train")["commands"]
    return path, of_convolution(commands, layer[1], "expected_us"), any("winograd" in command["name"] for command in commands)


def measured(path, channels):
    words = ("bench", path, "--graph", "train", "--threads", workloads.THREADS, "--seconds", SECONDS, "--json")
    return of_convolution(json.loads(boost.output_of(*words))["commands"], channels, "us")


def row(layer, which, element):
    made = {choice: compiled(layer, which, choice, element) for choice in CHOICES}
    times = {choice: float("inf") for choice in CHOICES}
    for _ in range(ROUNDS):
        for choice, (path, _, _) in made.items():
            times[choice] = min(times[choice], measured(path, layer[1]))
    return {"layer": layer, "pass": which, "element": element, "winograd": made["auto"][2], "ms": times,
            "expected_ms": {choice: expected for choice, (_, expected, _) in made.items()}}


def line(figures):
    images, channels, size = figures["layer"]
    each = "  ".join(f"{choice} {figures['ms'][choice]:6.2f} ms (expected {figures['expected_ms'][choice]:6.2f})" for choice in CHOICES)
    ratio = figures["ms"]["direct"] / figures["ms"]["auto"]
    return (f"{images}x{channels}x{size}x{size} {figures['element']:5}{figures['pass']:17}{each}  {ratio:4.2f} x"
            + ("" if figures["winograd"] else "  auto is direct"))


def layers():
    rows = []
    for element, layer, which in itertools.product(ELEMENTS, LAYERS, PASSES):
        rows.append(row(layer, which, element))
        print(line(rows[-1]), flush=True)
    return rows


def bench(arguments):
    if arguments.convolutions:
        return boost.save(layers(), arguments.json)
    return boost.save(boost.accuracy(boost.data_sets(arguments.mnist), arguments.seeds or boost.SEEDS, NETWORKS), arguments.json)
