"""Compares the gradients that each op claims with finite differences, on ONNX's own cases of one node.

For each op of `gradus inspect --operators` and each input that passes gradients on by that table, the input becomes a
parameter, and `onnx_slopes` compares its gradient with differences of the loss, both in f64: what the op gives is held to the
standard by onnx_backend.py, so here what it passes on is. One case for each setting of its attributes, the smallest first.
Prints what differs, a line each, and ops of which no case shows a gradient.
"""

import sys
import warnings

import numpy
import onnx

import onnx_backend
import onnx_operators
from this_build import is_sanitized

MOST = 2 if is_sanitized() else 8  # settings of an op's attributes for each of its inputs

# Cases whose values have no slopes.
JUMPING = {"test_l2normalization_axis_0": "has a column of zeros, which the least change gives the length 1"}


def setting(model, names):
    """What tells cases of an op apart: attributes, which inputs there are, and the types of what it gives."""
    attributes = sorted(attribute.SerializeToString() for attribute in model.graph.node[-1].attribute)
    return tuple(attributes), tuple(sorted(names.values())), tuple(value.type.tensor_type.elem_type for value in model.graph.output)


def cases_of(cases, formal):
    """(model, inputs, the one that is called `formal`), the smallest first, of which each has its own setting."""
    found = {}
    for model, bound, names in sorted(cases, key=lambda case: sum(array.size for array in case[1].values())):
        for name, array in bound.items():
            if names.get(name) == formal and model.graph.name not in JUMPING and array.dtype in ("float32", "float64") and array.ndim and array.size:
                found.setdefault(setting(model, names), (model, bound, name))
    return list(found.values())


def compare(worker, model, bound, name):
    """(compared, what differs) of the gradients that come to the input from each of the outputs."""
    finite = numpy.where(numpy.isfinite(bound[name]), bound[name], 0.5).astype(bound[name].dtype)
    trained, outputs = onnx_operators.with_parameter(model, name, finite)
    onnx.save(trained, worker.path("model.onnx"))
    others = {other: array.astype(numpy.float64 if array.dtype.kind == "f" else numpy.int64) for other, array in bound.items() if other != name}
    onnx_backend.write_tensors(worker.path("in.safetensors"), others)
    narrow = [value.name for value in model.graph.output if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16]  # Steps.
    answers = [worker.ask(worker.path("model.onnx"), worker.path("in.safetensors"), name, output) for output in outputs if output not in narrow]
    return "ok" in answers, [answer for answer in answers if answer.startswith("failed")]


def main():
    warnings.simplefilter("ignore")
    worker, cases, problems = onnx_backend.Worker("onnx_slopes"), onnx_operators.own_cases(), []
    for name, text in onnx_operators.EXTRA.items():
        cases[name].append(onnx_operators.extra_case(text))
    for op, row in onnx_operators.table().items():
        for formal in filter(None, row["gradient"].split(", ")):
            compared = 0
            for model, bound, name in cases_of(cases[op], formal):
                good, wrong = compare(worker, model, bound, name)
                compared += good
                problems += [f"{op}: {formal} of {model.graph.name}: {words}" for words in wrong]
                if compared == MOST:
                    break
            if not compared:
                problems.append(f"{op}: no case of ONNX shows the gradient of {formal}")
    worker.close()
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
