#!/usr/bin/env python3
"""Records how PyTorch trains a model, for `gradus check`: does it train the same?

    record_case.py MODEL.py CASE       (a MODEL.py: example_model.py)
    gradus check CASE

Writes the folder CASE: the model by both of PyTorch's exporters, the data, and
the losses, gradients and final parameters in float32. The tolerances say how far
float32 runs with the weights moved by a few ulp end up from float64. Needs torch,
onnx and onnxscript. The format: tests/data/models/README.md.
"""

import collections.abc
import copy
import functools
import importlib.util
import json
import math
import os
import struct
import sys

import onnx
import onnx.reference
import torch

SHAKEN_RUNS = 6
STEPS = 10
NOISE = 1e-3  # a tensor that float32 takes further from float64 than this, relatively, is not compared

# The files of a case, and how PyTorch exports each. What keeps a gradient back has its mark in the second alone, and `no_grad` nowhere.
EXPORTS = {
    "model.onnx": {"dynamo": False, "do_constant_folding": False, "training": torch.onnx.TrainingMode.TRAINING},
    "model_dynamo.onnx": {"dynamo": True, "optimize": False, "external_data": False},
    "model_default.onnx": {"dynamo": True, "external_data": False},
}


# -- Training ---------------------------------------------------------------------


OF_ALL = ("type", "reduction")
OF_CLASSES = ("class_axis", "class_weights")

# The recipe's losses, and which of its keys each is recorded with.
LOSSES = {"softmax_cross_entropy": (*OF_CLASSES, "ignore_index", "label_smoothing", "soft_labels"),
          "nll": (*OF_CLASSES, "ignore_index"), "multi_margin": (*OF_CLASSES, "margin", "power"), "bce_with_logits": ("pos_weight",),
          "mse": (), "l1": (), "smooth_l1": ("beta",), "huber": ("delta",), "kl_div": ("log_target",), "hinge": ("margin",),
          "hinge_embedding": ("margin",)}

# The recipe's optimizers: PyTorch's class, and its options that the recipe calls something else.
RULES = {"sgd": ("SGD", {}), "adam": ("Adam", {}), "adamw": ("AdamW", {}), "adamax": ("Adamax", {}), "nadam": ("NAdam", {}),
         "radam": ("RAdam", {}), "rmsprop": ("RMSprop", {"alpha": "decay_rate"}),
         "adagrad": ("Adagrad", {"lr_decay": "learning_rate_decay", "initial_accumulator_value": "initial_accumulator"}),
         "adadelta": ("Adadelta", {"rho": "decay_rate"}),
         "adafactor": ("Adafactor", {"eps": ("epsilon", "minimum_scale"), "beta2_decay": "decay_power", "d": "clip_threshold"}),
         "asgd": ("ASGD", {"lambd": "lambda", "alpha": "power", "t0": "start"}),
         "rprop": ("Rprop", {"etas": "factors", "step_sizes": "sizes"})}
# Adafactor's own default hangs on the precision that it runs in.
FIXED = {"adafactor": {"eps": (2.0**-23, 1e-3)}}


def of_classes(name, logits, labels, loss, keys):
    """Losses of labels that are classes; PyTorch wants those of the output along axis 1."""
    functional, axis, weights = torch.nn.functional, loss.get("class_axis", 1), loss.get("class_weights")
    logits, keys["weight"] = logits.movedim(axis, 1), None if weights is None else torch.tensor(weights, dtype=logits.dtype)
    if name == "multi_margin":
        flat = logits.movedim(1, -1).reshape(-1, logits.shape[1])
        return functional.multi_margin_loss(flat, labels.flatten(), p=loss.get("power", 1), margin=loss.get("margin", 1.0), **keys)
    if loss.get("soft_labels"):
        labels = labels.to(logits.dtype).movedim(axis, 1)
    keys["ignore_index"] = loss.get("ignore_index", -100)
    if name == "nll":
        return functional.nll_loss(logits, labels, **keys)
    return functional.cross_entropy(logits, labels, label_smoothing=loss.get("label_smoothing", 0.0), **keys)


def of_numbers(name, output, labels, loss, keys):
    functional, margin = torch.nn.functional, loss.get("margin", 1.0)
    if name == "hinge":  # PyTorch has none.
        each = (margin - labels * output).clamp(min=0)
        return each.sum() if loss.get("reduction") == "sum" else each.mean()
    if name == "hinge_embedding":
        return functional.hinge_embedding_loss(output, labels, margin=margin, **keys)
    if name == "bce_with_logits":
        weights = loss.get("pos_weight")
        keys["pos_weight"] = None if weights is None else torch.tensor(weights, dtype=output.dtype)
        return functional.binary_cross_entropy_with_logits(output, labels, **keys)
    keys.update({key: loss[key] for key in LOSSES[name] if key in loss})
    return getattr(functional, name if name == "kl_div" else name + "_loss")(output, labels, **keys)


def loss_of(output, labels, loss):
    name, keys = loss["type"], {"reduction": loss.get("reduction", "mean")}
    if "class_axis" in LOSSES[name]:
        return of_classes(name, output, labels, loss, keys)
    return of_numbers(name, output, labels.to(output.dtype), loss, keys)


def options_of(settings):
    """PyTorch's options."""
    options = {**FIXED.get(settings["type"], {}), **settings}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in options.items() if key != "type"}


def optimizer_of(model, settings):
    return getattr(torch.optim, RULES[settings["type"]][0])(model.parameters(), **options_of(settings))


def in_recipe(settings):
    """The same by the recipe's names."""
    names, result = RULES[settings["type"]][1], {"type": settings["type"]}
    for key, value in options_of(settings).items():
        name = names.get(key, key)
        result.update(zip(name, value) if isinstance(name, tuple) else {name: value}.items())
    return result


def in_precision(run):
    """Runs with its `dtype` as the default of tensors that the model makes itself."""
    def wrapped(*arguments, dtype=torch.float32, **options):
        torch.set_default_dtype(dtype)
        try:
            return run(*arguments, dtype=dtype, **options)
        finally:
            torch.set_default_dtype(torch.float32)
    return wrapped


def first_tensor(output):
    """The first tensor of a tuple, a dictionary or an output of transformers; None if there is none."""
    if torch.is_tensor(output):
        return output
    parts = output.values() if isinstance(output, collections.abc.Mapping) else output if isinstance(output, (tuple, list)) else ()
    return next((found for found in map(first_tensor, parts) if found is not None), None)


def with_one_output(model):
    """The model, giving its first tensor only; its parameters keep their names."""
    kind = type(model)

    @functools.wraps(kind.forward)
    def forward(self, *arguments, **options):
        return first_tensor(kind.forward(self, *arguments, **options))

    model.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return model


def copy_of(model):
    """A copy; what hooks such as torch.nn.utils.weight_norm have computed is no leaf, which deepcopy refuses."""
    for module in model.modules():
        for name, value in vars(module).items():
            if torch.is_tensor(value) and not value.is_leaf:
                setattr(module, name, value.detach())
    return copy.deepcopy(model)


@in_precision
def train(model, batches, loss, settings, dtype, shake=False):
    """The losses, the first gradients and logits, the state after STEPS steps."""
    model = copy_of(model).to(dtype).train()
    with torch.no_grad():
        for parameter in model.parameters():
            if shake:
                parameter *= 1 + torch.randint(-2, 3, parameter.shape) * 2.0**-23
    optimizer, losses, first = optimizer_of(model, settings), [], {}
    for step in range(STEPS + 1):
        if step == STEPS:
            final = {name: value.detach().clone() for name, value in model.state_dict().items()}
        inputs, labels = batches[step % len(batches) if step < STEPS else 0]
        logits = model(*(value.to(dtype) if value.is_floating_point() else value for value in inputs.values()))
        value = loss_of(logits, labels, loss)
        losses.append(value.item())
        if not math.isfinite(losses[-1]):
            sys.exit(f"the loss of step {step} is {losses[-1]} in {str(dtype).removeprefix('torch.')}: nothing can be compared with it; "
                     "a smaller learning rate or other data may help")
        optimizer.zero_grad()
        value.backward()
        if step == 0:
            first = {name: parameter.grad.detach().clone() for name, parameter in model.named_parameters()
                     if parameter.grad is not None}
            first_logits = logits.detach().clone()
            spoiled = [name for name, gradient in first.items() if not gradient.isfinite().all()]
            if spoiled:
                sys.exit(f"the first gradient of {', '.join(spoiled)} is not finite: nothing can be compared with it")
        if step < STEPS:
            optimizer.step()
    return losses, first, first_logits, final


def norm(tensor):
    return tensor.double().norm().item()


class Cuts(torch.overrides.TorchFunctionMode):
    """Where a forward pass keeps gradients back: {what does: the modules that do}."""

    def __init__(self, model):
        super().__init__()
        self.found, self.inside, self.model = {}, [], model

    def __enter__(self):
        self.hooks = []
        for name, module in self.model.named_modules():
            self.hooks.append(module.register_forward_pre_hook(lambda *_, name=name: self.inside.append(name)))
            self.hooks.append(module.register_forward_hook(lambda *_: self.inside.pop() and None))
        return super().__enter__()

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()
        return super().__exit__(*error)

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        what = self.cut(function, arguments, options)
        if what:
            self.found.setdefault(what, []).append(self.inside[-1] or "the model itself")
        return function(*arguments, **options)

    @staticmethod
    def cut(function, arguments, options):
        values = [value for value in [*arguments, *options.values()] if torch.is_tensor(value)]
        if not any(value.requires_grad for value in values):
            return None
        if function in (torch.Tensor.detach, torch.Tensor.data.__get__):
            return "detach"
        if function is torch.nn.functional.embedding and is_padded(*arguments, **options):
            return "padding_idx"
        return None if torch.is_grad_enabled() else "no_grad"


def is_padded(ids, weight, padding_idx=None, *_, **__):
    """Whether the row of padding is looked up, which gets no gradient."""
    return padding_idx is not None and bool((ids == padding_idx % len(weight)).any())


def cuts_of(model, inputs):
    model = copy_of(model).train()
    with Cuts(model) as cuts:
        model(*inputs.values())
    return {what: list(dict.fromkeys(places)) for what, places in cuts.found.items()}


def untold(cuts, how):
    """What keeps gradients of the model back and not those of a file, in words; "" for nothing."""
    told = set()
    if how["dynamo"]:
        told = {"padding_idx"} if how.get("optimize", True) else {"detach", "padding_idx"}
    return " and ".join(f"the {what} in {', '.join(places)}" for what, places in cuts.items() if what not in told)


# -- Files ------------------------------------------------------------------------


def write_safetensors(path, tensors):
    names = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
             torch.uint8: "U8", torch.bool: "BOOL"}
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.contiguous().numpy().tobytes())


def same(tensor, parameter):
    if tuple(tensor.dims) != tuple(parameter.shape):
        return False
    return (onnx.numpy_helper.to_array(tensor) == parameter.detach().numpy()).all()


def place_of(parameter, names, initializers):
    """[initializer, relation] of a parameter with these names, or None: optimizing exporters rename and transpose."""
    for name in names:
        if name in initializers:
            return [name, "same" if name == names[0] else "renamed"]
    for other, tensor in initializers.items():
        if same(tensor, parameter):
            return [other, "renamed"]
        if parameter.dim() == 2 and same(tensor, parameter.T):
            return [other, "transposed"]
    return None


def places(model, names, initializers):
    """{parameter: [initializer, relation]}; says why not where the file has lost one of them."""
    tied = {}
    for name, tensor in model.state_dict().items():
        tied.setdefault(tensor.data_ptr(), []).append(name)
    parameters = dict(model.named_parameters())
    found = {name: place_of(parameters[name], [name] + tied[parameters[name].data_ptr()], initializers) for name in names}
    lost = [name for name, place in found.items() if not place]
    taken = [place[0] for place in found.values() if place]
    merged = sorted({place for place in taken if taken.count(place) > 1})
    if lost or merged:
        return None, f"holds no {', '.join(lost)}" if lost else f"merges parameters into {', '.join(merged)}"
    return found, ""


MARKS = ("pkg.torch.export.", "pkg.onnxscript.optimizer.folded_from")
CALL, CUTTING = "pkg.torch.onnx.fx_node", ("aten.detach.", "aten.embedding.")


def is_mark(entry):
    return entry.key.startswith(MARKS) or (entry.key == CALL and any(call in entry.value for call in CUTTING))


def forget_sources(graph):
    """Each node says where in whose sources it came from, at length; what tells parameters from buffers and constants stays, and what
    keeps gradients back."""
    for part in [graph, *graph.node, *graph.value_info, *graph.input, *graph.output]:
        marks = [(entry.key, entry.value) for entry in part.metadata_props if is_mark(entry)]
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
        for key, value in marks:
            part.metadata_props.add(key=key, value=value)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                forget_sources(attribute.g)


def tidy(model, path):
    """Tracing in training mode has moved the running statistics."""
    whole = onnx.load(path)
    buffers = dict(model.named_buffers())
    for tensor in whole.graph.initializer:
        if tensor.name in buffers:
            tensor.CopyFrom(onnx.numpy_helper.from_array(buffers[tensor.name].numpy(), tensor.name))
    forget_sources(whole.graph)
    onnx.save(whole, path)


def follows(model, inputs, path, found):
    """Why the file's output does not move with its parameters: exporters that compute ahead may have used up their values. None if it does."""
    model, file = copy_of(model).eval(), onnx.load(path)
    initializers = {tensor.name: tensor for tensor in file.graph.initializer}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(1.1 * parameter + 0.01)
            if name in found:
                place, relation = found[name]
                value = (parameter.T if relation == "transposed" else parameter).contiguous()
                initializers[place].CopyFrom(onnx.numpy_helper.from_array(value.numpy(), place))
        expected = model(*inputs.values())
    feeds = {name: value.numpy() for name, value in inputs.items()}
    try:
        output = torch.from_numpy(onnx.reference.ReferenceEvaluator(file).run(None, feeds)[0])
    except Exception as error:  # it lacks some forms of ops, such as groups of ConvTranspose
        return f"cannot be checked: onnx's evaluator fails: {reason_of(error)}"
    close = torch.allclose(output, expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item())
    return None if close else "has values computed ahead from parameters"


def reason_of(error):
    """The first line of the innermost error, which is seldom the one that exporters raise."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:240]


def export(model, names, inputs, path, how, cuts):
    """What case.json says of the file; None where the exporter fails or has lost a parameter in it."""
    how = {"opset_version": 20, **how}
    try:
        torch.onnx.export(copy_of(model).train(), tuple(inputs.values()), path, input_names=list(inputs),
                          output_names=["logits"], **how)
    except Exception as error:  # exporters raise all sorts
        print(f"{os.path.basename(path)}: left out, its exporter fails: {reason_of(error)}")
        return None
    tidy(model, path)
    graph = onnx.load(path).graph
    initializers = {tensor.name: tensor for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    found, why = places(model, names, initializers)
    if not why and how["dynamo"] and how.get("optimize", True):
        why = follows(model, inputs, path, found)
    if why:
        print(f"{os.path.basename(path)}: left out, it {why}")
        os.remove(path)
        return None
    if passed := untold(cuts, how):
        print(f"{os.path.basename(path)}: says nothing of {passed}: gradients pass there, so those of `gradus check` may differ")
    norms = [node for node in graph.node if node.op_type == "BatchNormalization"]
    return {"file": os.path.basename(path), "exporter": "torch.export" if how["dynamo"] else "TorchScript",
            "opset": how["opset_version"], "parameter_aliases": {name: place for name, place in found.items() if place[1] != "same"},
            "batch_norm_form": ("training" if len(norms[0].output) > 1 else "inference") if norms else None,
            "trainable_initializers": [place[0] for place in found.values()]}


# -- The case ---------------------------------------------------------------------


def describe_parameters(model, first, exact, shaken):
    return [{"name": name, "shape": list(parameter.shape), "init_l2": norm(parameter), "grad0_l2": norm(first[name]),
             "grad0_l2_fp64": norm(exact[name]), "grad0_first8": first[name].flatten()[:8].tolist(),
             "grad0_maxabs": first[name].abs().max().item(),
             "grad0_max_abs_dev_fp64": max((run[1][name].double() - exact[name]).abs().max().item() for run in shaken)}
            for name, parameter in model.named_parameters() if name in first]


def scale_of(name, state):
    """What a tensor's rounding is relative to: a running mean's, to how far the averaged values spread too."""
    variance = state.get(name.removesuffix("mean") + "var") if name.endswith("running_mean") else None
    return norm(state[name]) + (norm(variance.abs().sqrt()) if variance is not None else 0)


def drifts(names, runs, exact):
    """How far float32 takes each tensor of the final state from float64, relatively."""
    return {name: max(norm(run[3][name].double() - exact[3][name]) for run in runs) / max(scale_of(name, exact[3]), 1e-30)
            for name in names}


def describe_run(name, settings, runs, exact, batch_count):
    """`runs[0]` is the recorded one; all of them and `exact` say what float32 can give."""
    losses, first, _, final = runs[0]
    spread, rtol = 0.0, []
    for step, value in enumerate(exact[0]):
        spread = max([spread] + [abs(run[0][step] - value) / max(abs(value), 1e-30) for run in runs])
        rtol.append(max(2e-5, 10 * spread))
    drift = drifts(list(first) + [key for key in final if ".running_" in key], runs, exact)
    noise = {key: value for key, value in drift.items() if value > NOISE}
    rest = max([value for key, value in drift.items() if key not in noise], default=0.0)
    return {"id": name, "optimizer": in_recipe(settings), "steps": STEPS, "batch_order": [step % batch_count for step in range(STEPS)],
            "losses": losses[:STEPS], "loss_after_on_batch0": losses[STEPS], "losses_fp64": exact[0][:STEPS], "loss_rtol": rtol,
            "final_param_l2": {key: norm(final[key]) for key in first}, "final_param_l2_rtol": max(2e-5, 5 * rest),
            "final_param_l2_drift_without_rtol": noise}


def check_names(loss, optimizers):
    if loss.get("type") not in LOSSES:
        sys.exit(f"LOSS has the type {loss.get('type')!r}, expected one of {', '.join(LOSSES)}")
    known = (*OF_ALL, *LOSSES[loss["type"]])
    for key in loss:
        if key not in known:
            sys.exit(f"LOSS has the key {key!r}, expected one of {', '.join(known)}")
    for name, settings in optimizers.items():
        if settings.get("type") not in RULES:
            sys.exit(f"OPTIMIZERS[{name!r}] has the type {settings.get('type')!r}, expected one of {', '.join(RULES)}")


def checked(model, inputs):
    """The model, if it gives the same numbers twice; of several tensors, the first."""
    with torch.no_grad():
        outputs = [copy_of(model).train()(*inputs.values()) for _ in range(2)]
    first, again = map(first_tensor, outputs)
    if first is None:
        sys.exit(f"the model gives a {type(outputs[0]).__name__} without a tensor, expected one; wrap it in a module that picks one")
    if not first.isfinite().all():
        sys.exit("the model gives numbers that are not finite for the first batch: nothing can be compared with them")
    if not torch.equal(first, again):
        sys.exit("two runs of the model differ: it draws random numbers; set its dropout to 0")
    if first is outputs[0]:
        return model
    print(f"the model gives a {type(outputs[0]).__name__}; the loss is of its first tensor, of shape {list(first.shape)}")
    return with_one_output(model)


def record(model, batches, loss, optimizers, folder, exports=EXPORTS):
    """`batches` is a list of ({input name: tensor}, labels), `optimizers` {run: PyTorch's options and "type"}."""
    os.makedirs(folder, exist_ok=True)
    inputs, labels = batches[0]
    expected, described, parameters = {}, [], []
    check_names(loss, optimizers)
    model = checked(model, inputs)
    for name, settings in optimizers.items():
        exact = train(model, batches, loss, settings, dtype=torch.float64)
        runs = [train(model, batches, loss, settings, shake=number > 0) for number in range(1 + SHAKEN_RUNS)]
        described.append(describe_run(name, settings, runs, exact, len(batches)))
        parameters = parameters or describe_parameters(model, runs[0][1], exact[1], runs)
        expected["logits0"] = runs[0][2]
        expected.update({f"grad0.{key}": value for key, value in runs[0][1].items() if value.numel() <= 4096})
        small = sorted(runs[0][1], key=lambda key: runs[0][3][key].numel())[:6]
        expected.update({f"{name}.final.{key}": runs[0][3][key] for key in small})
        expected.update({f"{name}.torch.{key}": value for key, value in runs[0][3].items() if ".running_" in key})
    names, cuts = [each["name"] for each in parameters], cuts_of(model, inputs)
    files = [export(model, names, inputs, os.path.join(folder, file), how, cuts) for file, how in exports.items()]
    if not any(files):
        sys.exit("no exporter has made a file that can be compared")
    data = {f"input.{key}.{number}": value for number, (each, _) in enumerate(batches) for key, value in each.items()}
    data.update({f"labels.{number}": each for number, (_, each) in enumerate(batches)})
    write_safetensors(os.path.join(folder, "data.safetensors"), data)
    write_safetensors(os.path.join(folder, "expected.safetensors"), expected)

    def port(tensor):
        return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}

    case = {"format": 1, "name": os.path.basename(os.path.normpath(folder)),
            "parameters_total": sum(parameter.numel() for parameter in model.parameters()),
            "inputs": [{"name": key, **port(value)} for key, value in inputs.items()],
            "output": {"name": "logits", **port(expected["logits0"])}, "labels": port(labels), "batches": len(batches),
            "loss": {"reduction": "mean", **({"class_axis": 1} if "class_axis" in LOSSES[loss["type"]] else {}), **loss}, "files": [file for file in files if file],
            "grad0_global_l2": sum(each["grad0_l2"] ** 2 for each in parameters) ** 0.5, "parameters": parameters,
            "batch_norm": [{"name": key.removesuffix(".running_mean")} for key in model.state_dict() if key.endswith(".running_mean")],
            "runs": described, "reference": f"PyTorch {torch.__version__}"}
    with open(os.path.join(folder, "case.json"), "w") as file:
        file.write("{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in case.items()) + "\n}\n")


def main(path, folder):
    spec = importlib.util.spec_from_file_location("recorded_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [name for name in ("model", "batches", "LOSS", "OPTIMIZERS") if not hasattr(module, name)]
    if missing:
        sys.exit(f"{path} lacks {', '.join(missing)}; see example_model.py")
    record(module.model(), module.batches(), module.LOSS, module.OPTIMIZERS, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
