"""What Boost's methods cost and save, and what they do to accuracy.

`./dev bench --boost`: a step of ResNet-18 at O0, O1 and O2 in turns on one machine,
each variant of gradient freezing by itself. A level's step takes the mean over its
variants by their shares, and freezing should save what their FLOPs and bytes say.

`./dev bench --boost-accuracy`: LeNet-5 and a small residual network on the digits,
with `--mnist FOLDER` also on MNIST's 5,000 images (docs/examples/mnist), with each
method and without, over several seeds.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile

import run
import workloads

GRADUS = os.path.join(run.BUILD, "bin", "gradus")
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(run.HERE)), "docs", "examples")
ROUNDS, SECONDS = 4, 1.0
UNFROZEN = "less_bn, fn and gc"  # O1 and O2 but for freezing
LEVELS = {"O0": (), UNFROZEN: ("--less-bn", "--fc-to-fn", "--gradient-centralization"), "O1": ("--boost", "O1"),
          "O2": ("--boost", "O2")}
CLAIMS = {"O1": 1.2, "O2": 1.3}  # MindSpore's, of steps per second on Ascend


def output_of(*words):
    done = subprocess.run([GRADUS, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"gradus {words[0]}: {done.stderr.strip()}")
    return done.stdout


def artifact(*words):
    path = os.path.join(run.BUILD, "bench", "-".join(words).replace(" ", "-") + ".gradus")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


# -- times -----------------------------------------------------------------------


def shares(graphs):
    """Part of the steps that each graph runs in: MindSpore's type 1 with p = 0.7 (docs/methods/gradient_freeze.md)."""
    groups = len(graphs)
    if groups == 1:
        return {"train": 1.0}
    all_cuts = groups * (groups - 1) / 2
    return {graph: 0.7 if graph == "train" else 0.3 * (groups - int(graph.removeprefix("train_cut"))) / all_cuts
            for graph in graphs}


def mean_time(graphs, times):
    return sum(share * times[graph] for graph, share in shares(graphs).items())


def saving(graphs, times):
    """What freezing saves of a step that trains everything."""
    return 1 - mean_time(graphs, times) / times["train"]


def step_graphs(path):
    """name -> milliseconds that its FLOPs and bytes take"""
    plan = json.loads(output_of("inspect", path, "--json"))["plans"][0]
    return {graph["name"]: graph["expected_ms"][0] for graph in plan["graphs"] if re.fullmatch(r"train(_cut\d+)?", graph["name"])}


def timed(path, graph):
    """Of a graph; of `train` with variants, whichever the schedule picks."""
    words = ("--graph", graph, "--threads", workloads.THREADS, "--seconds", SECONDS, "--json")
    return json.loads(output_of("bench", path, *words))["step"]["ms_min"]


def times():
    workload = workloads.BY_NAME["resnet18-cifar"]
    levels, found = {}, {}
    for name, options in LEVELS.items():
        path = artifact("boost", name)
        output_of("compile", os.path.join(workloads.MODELS, workload.model), "--recipe", os.path.join(workloads.MODELS, workload.recipe),
                  "--dim", *workload.dims, "--initialize", "pytorch", *options, "-o", path)
        levels[name], found[name] = (path, step_graphs(path)), {}
    for _ in range(ROUNDS):
        for name, (path, graphs) in levels.items():
            for graph in graphs:
                found[name][graph] = min(timed(path, graph), found[name].get(graph, float("inf")))
    for name in CLAIMS:
        found[name]["train"] = found[UNFROZEN]["train"]
    base = found["O0"]["train"]
    print(f"{workload.what}: {base:.1f} ms at O0")
    for name, (_, expected) in levels.items():
        mean = mean_time(expected, found[name])
        print(f"{name:20} {mean:7.1f} ms a step, {base / mean:.2f} x O0"
              + (f" (MindSpore says {CLAIMS[name]:.1f} x)" if name in CLAIMS else "") + f"; whole steps {found[name]['train']:.1f} ms")
        if len(expected) > 1:
            measured, said = saving(expected, found[name]), saving(expected, expected)
            print(f"{'':20} freezing saves {measured:.1%} of a step, its FLOPs and bytes say {said:.1%}: "
                  f"{measured / said:.2f} of it (goal >= 0.90)")
    return {name: {"ms": found[name], "expected_ms": expected} for name, (_, expected) in levels.items()}


# -- accuracy --------------------------------------------------------------------

NETWORKS = {  # model -> recipe's optimizer, epochs, methods by name
    "lenet5.onnx": ({"type": "adamw", "learning_rate": 0.002, "weight_decay": 0.01}, 20, {
        "none": (), "gradient_centralization": ("--gradient-centralization",), "fc_to_fn": ("--fc-to-fn",),
        "gradient_freeze": ("--gradient-freeze=groups=5",), "O1": ("--boost", "O1", "--set", "gradient_freeze.groups=5")}),
    "resnet_28.onnx": ({"type": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 5e-4}, 8, {
        "none": (), "less_bn": ("--less-bn",), "less_bn, fc_to_fn, gradient_centralization": LEVELS[UNFROZEN],
        "O1": ("--boost", "O1", "--set", "gradient_freeze.groups=5")})}
BATCH = 32
SEEDS = 5


def read_tensors(path):
    """(header, bytes) of a .safetensors file."""
    with open(path, "rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little"))), file.read()


def write_tensors(path, header, data):
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def samples_in(path):
    """Of the tensor `label` in a .safetensors file."""
    return read_tensors(path)[0]["label"]["shape"][0]


def with_input_of(data, model, folder):
    """The data under the name that the model gives its input."""
    files = []
    for part in ("train", "test"):
        header, content = read_tensors(os.path.join(data, f"{part}.safetensors"))
        header["input"] = header.pop("image")
        files.append(os.path.join(folder, f"{part}.safetensors"))
        write_tensors(files[-1], header, content)
    return files


def train(model, optimizer, epochs, options, files, seed):
    """(test accuracy in percent, ms a step, MiB of the arena)"""
    steps = epochs * (samples_in(files[0]) // BATCH)
    recipe = {"loss": {"type": "softmax_cross_entropy", "output": "logits", "label_smoothing": 0.1},
              "metrics": ["accuracy"], "optimizer": optimizer, "seed": seed,
              "schedule": {"learning_rate": [{"type": "cosine", "steps": steps, "final": 0.0}]}}
    path = artifact("boost", "accuracy")
    with open(path + ".json", "w") as file:
        json.dump(recipe, file)
    made = json.loads(output_of("compile", os.path.join(workloads.MODELS, model), "--recipe", path + ".json",
                                "--initialize", "pytorch", *options, "-o", path, "--json"))
    last = json.loads(output_of("train", path, "--data", files[0], "--eval", files[1], "--epochs", epochs, "--seed", seed,
                                "--no-checkpoint", "--json").splitlines()[-1])
    return 100 * last["test"]["accuracy"], last["ms_per_step"], made["arena_bytes"] / 2**20


def summary(values):
    """Mean, its standard error, the least and the greatest."""
    mean = statistics.mean(values)
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{mean:.2f} ± {error:.2f} ({min(values):.2f} - {max(values):.2f})"


def data_sets(mnist):
    """name -> folder; MNIST's images where a folder has them."""
    return {"digits": os.path.join(EXAMPLES, "digits")} | ({"MNIST": mnist} if mnist else {})


def accuracy(sets, seeds, networks):
    """Of each network on each set of data with each method; one after the other for a seed."""
    found = {}
    for model, (optimizer, epochs, methods) in networks.items():
        for name, data in sets.items():
            with tempfile.TemporaryDirectory() as folder:
                files = with_input_of(data, model, folder)
                runs = {method: [] for method in methods}
                for seed in range(seeds):
                    for method, options in methods.items():
                        runs[method].append(train(model, optimizer, epochs, options, files, seed))
            print(f"{model} on {name}, {epochs} epochs, {seeds} seeds: test accuracy in %, ms a step, arena in MiB")
            for method, each in runs.items():
                right, times, arenas = zip(*each)
                print(f"  {method:45} {summary(right)}  {min(times):6.3f}  {arenas[0]:6.1f}")
            found[f"{model} on {name}"] = runs
    return found


def save(figures, path):
    with open(path, "w") as file:
        json.dump(figures, file, indent=1)
    print(f"figures: {path}")


def bench(arguments):
    if arguments.boost:
        return save(times(), arguments.json)
    return save(accuracy(data_sets(arguments.mnist), arguments.seeds or SEEDS, NETWORKS), arguments.json)
