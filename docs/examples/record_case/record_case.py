#!/usr/bin/env python3
"""Records how PyTorch trains a model, for `gradus check`: does it train the same?

    record_case.py MODEL.py CASE       (a MODEL.py: example_model.py)
    gradus check CASE

Writes the folder CASE: the model by both of PyTorch's exporters, the data, and
the losses, gradients and final parameters in float32. The tolerances say how far
float32 runs with the weights moved by a few ulp end up from float64. Needs torch,
onnx and onnxscript. The format: tests/data/models/README.md.
"""

import copy
import importlib.util
import json
import os
import struct
import sys

import onnx
import torch

SHAKEN_RUNS = 3
STEPS = 10


# -- Training ---------------------------------------------------------------------


def loss_of(logits, labels, loss):
    if loss["type"] == "mse":
        return torch.nn.functional.mse_loss(logits, labels.to(logits.dtype))
    axis = loss.get("class_axis", 1)
    return torch.nn.functional.cross_entropy(logits.movedim(axis, 1), labels, ignore_index=loss.get("ignore_index", -100),
                                             label_smoothing=loss.get("label_smoothing", 0.0))


def optimizer_of(model, settings):
    options = {key: tuple(value) if key == "betas" else value for key, value in settings.items() if key != "type"}
    return {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[settings["type"]](model.parameters(), **options)


def train(model, batches, loss, settings, dtype=torch.float32, shake=False):
    """The losses, the first gradients and logits, the state after STEPS steps."""
    model = copy.deepcopy(model).to(dtype).train()
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
        optimizer.zero_grad()
        value.backward()
        if step == 0:
            first = {name: parameter.grad.detach().clone() for name, parameter in model.named_parameters()}
            first_logits = logits.detach().clone()
        if step < STEPS:
            optimizer.step()
    return losses, first, first_logits, final


def norm(tensor):
    return tensor.double().norm().item()


# -- Files ------------------------------------------------------------------------


def write_safetensors(path, tensors):
    names = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.bool: "BOOL"}
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


def export(model, inputs, path, **how):
    torch.onnx.export(copy.deepcopy(model).train(), tuple(inputs.values()), path, input_names=list(inputs),
                      output_names=["logits"], opset_version=20, **how)
    graph = onnx.load(path, load_external_data=False).graph
    initializers = {tensor.name for tensor in graph.initializer}
    pointers = {}
    for name, tensor in model.state_dict().items():
        pointers.setdefault(tensor.data_ptr(), []).append(name)
    aliases = {name: [other, "renamed"] for name, parameter in model.named_parameters() if name not in initializers
               for other in pointers[parameter.data_ptr()] if other in initializers}
    norms = [node for node in graph.node if node.op_type == "BatchNormalization"]
    form = ("training" if len(norms[0].output) > 1 else "inference") if norms else None
    return {"file": os.path.basename(path), "batch_norm_form": form, "parameter_aliases": aliases, "other_float_initializers": []}


# -- The case ---------------------------------------------------------------------


def describe_parameters(model, first, exact, shaken):
    return [{"name": name, "shape": list(parameter.shape), "init_l2": norm(parameter), "grad0_l2": norm(first[name]),
             "grad0_l2_fp64": norm(exact[name]), "grad0_first8": first[name].flatten()[:8].tolist(),
             "grad0_maxabs": first[name].abs().max().item(),
             "grad0_max_abs_dev_fp64": max((run[1][name].double() - exact[name]).abs().max().item() for run in shaken)}
            for name, parameter in model.named_parameters()]


def describe_run(name, settings, model, runs, exact, batch_count):
    """`runs[0]` is the recorded one; all of them and `exact` say what float32 can give."""
    losses, _, _, final = runs[0]
    spread, rtol = 0.0, []
    for step, value in enumerate(exact[0]):
        spread = max([spread] + [abs(run[0][step] - value) / max(abs(value), 1e-30) for run in runs])
        rtol.append(max(2e-5, 10 * spread))
    parameters = [key for key, _ in model.named_parameters()]
    drift = {key: max((run[3][key].double() - exact[3][key]).norm().item() for run in runs) / max(norm(exact[3][key]), 1e-30)
             for key in parameters}
    return {"id": name, "optimizer": settings, "steps": STEPS, "batch_order": [step % batch_count for step in range(STEPS)],
            "losses": losses[:STEPS], "loss_after_on_batch0": losses[STEPS], "losses_fp64": exact[0][:STEPS], "loss_rtol": rtol,
            "final_param_l2": {key: norm(final[key]) for key in parameters}, "final_param_l2_rtol": 2e-5,
            "final_param_l2_drift_without_rtol": {key: value for key, value in drift.items() if value > 1e-5}}


def record(model, batches, loss, optimizers, folder):
    """`batches` is a list of ({input name: tensor}, labels), `optimizers` {run: PyTorch's options and "type"}."""
    os.makedirs(folder, exist_ok=True)
    inputs, labels = batches[0]
    expected, described, parameters = {}, [], []
    for name, settings in optimizers.items():
        exact = train(model, batches, loss, settings, torch.float64)
        runs = [train(model, batches, loss, settings, shake=number > 0) for number in range(1 + SHAKEN_RUNS)]
        described.append(describe_run(name, settings, model, runs, exact, len(batches)))
        parameters = parameters or describe_parameters(model, runs[0][1], exact[1], runs)
        expected["logits0"] = runs[0][2]
        expected.update({f"grad0.{key}": value for key, value in runs[0][1].items() if value.numel() <= 4096})
        small = sorted(dict(model.named_parameters()), key=lambda key: runs[0][3][key].numel())[:6]
        expected.update({f"{name}.final.{key}": runs[0][3][key] for key in small})
        expected.update({f"{name}.torch.{key}": value for key, value in runs[0][3].items() if ".running_" in key})
    files = [export(model, inputs, os.path.join(folder, "model.onnx"), dynamo=False, do_constant_folding=False,
                    training=torch.onnx.TrainingMode.TRAINING),
             export(model, inputs, os.path.join(folder, "model_dynamo.onnx"), dynamo=True, optimize=False, external_data=False)]
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
            "loss": {"reduction": "mean", **loss}, "files": files,
            "grad0_global_l2": sum(each["grad0_l2"] ** 2 for each in parameters) ** 0.5, "parameters": parameters,
            "batch_norm": [{"name": key.removesuffix(".running_mean")} for key in model.state_dict() if key.endswith(".running_mean")],
            "runs": described, "reference": f"PyTorch {torch.__version__}"}
    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump(case, file, indent=1)


def main(path, folder):
    spec = importlib.util.spec_from_file_location("recorded_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    record(module.model(), module.batches(), module.LOSS, module.OPTIMIZERS, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
