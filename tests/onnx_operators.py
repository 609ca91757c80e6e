"""Holds docs/reference/onnx_operators.md to what the compiler does.

For each op of `gradus inspect --operators` and each of its inputs of floats, a model in which that input is a parameter is
differentiated: the parameter has a gradient where the table says so, and only there. The models are ONNX's own cases of one
node, and those of EXTRA. The same cases with integers in place of floats, where ONNX has them, are taken unless the table
says that integers are refused. The opsets are compared with those of the `onnx` package. Prints what is wrong, a line each.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx.parser
from onnx import numpy_helper

import onnx_backend

GRADUS = os.path.join(onnx_backend.BUILD, "bin", "gradus")
OLDEST = 6  # What was before is of no exporter's use.

# Inputs that ONNX's cases have no floats for, or that a case of one node cannot show. The inputs have the op's own names.
EXTRA = {
    "Conv": "g (float[1,2,4] X, float[3,2,2] W, float[3] B) => (float[1,3,3] y) { y = Conv(X, W, B) }",
    "ConvTranspose": "g (float[1,2,4] X, float[2,3,2] W, float[3] B) => (float[1,3,5] y) { y = ConvTranspose(X, W, B) }",
    "GRU": """g (float[2,1,3] X, float[1,6,3] W, float[1,6,2] R, float[1,12] B, float[1,1,2] initial_h) => (float[2,1,1,2] y) {
        y = GRU<hidden_size = 2>(X, W, R, B, , initial_h) }""",
    "RNN": """g (float[2,1,3] X, float[1,2,3] W, float[1,2,2] R, float[1,4] B, float[1,1,2] initial_h) => (float[2,1,1,2] y) {
        y = RNN<hidden_size = 2>(X, W, R, B, , initial_h) }""",
    "Clip": """g (float[4] input, float[1] min, float[1] max) => (float[4] y) {
        twice = Add(max, max) high = Add(twice, twice) low = Add(min, min)
        a = Squeeze(low) b = Squeeze(high) y = Clip(input, a, b) }""",
    "GlobalLpPool": "g (float[1,2,3] X) => (float[1,2,1] y) { y = GlobalLpPool(X) }",
    "Trilu": "g (float[2,2] input) => (float[2,2] y) { y = Trilu(input) }",
    "SequenceConstruct": """g (float[2] inputs) => (float[2] y) {
        s = SequenceConstruct(inputs) p = Constant<value = int64 {0}>() y = SequenceAt(s, p) }""",
    "SequenceAt": """g (float[2] input_sequence) => (float[2] y) {
        s = SequenceConstruct(input_sequence) p = Constant<value = int64 {0}>() y = SequenceAt(s, p) }""",
    "SequenceErase": """g (float[2] x, float[2] input_sequence) => (float[2] y) {
        s = SequenceConstruct(x, input_sequence) p = Constant<value = int64 {0}>() t = SequenceErase(s, p) y = SequenceAt(t, p) }""",
    "SequenceInsert": """g (float[2] input_sequence, float[2] tensor) => (float[4] y) {
        s = SequenceConstruct(input_sequence) t = SequenceInsert(s, tensor) y = ConcatFromSequence<axis = 0>(t) }""",
    "ConcatFromSequence": """g (float[2] input_sequence) => (float[4] y) {
        s = SequenceConstruct(input_sequence, input_sequence) y = ConcatFromSequence<axis = 0>(s) }""",
    "SplitToSequence": """g (float[4] input) => (float[1] y) {
        s = SplitToSequence(input) p = Constant<value = int64 {0}>() y = SequenceAt(s, p) }""",
    "Loop": """g (float[2] v_initial) => (float[2] y) {
        n = Constant<value = int64 {2}>() c = Constant<value = bool {1}>()
        y = Loop<body = b (int64 i, bool d, float[2] v) => (bool e, float[2] w) { e = Identity(d) w = Mul(v, v) }>(n, c, v_initial) }""",
    "MaxUnpool": """g (float[1,1,2] X) => (float[1,1,4] y) {
        i = Constant<value = int64[1,1,2] {1, 2}>() y = MaxUnpool<kernel_shape = [2], strides = [2]>(X, i) }""",
    "Det": "g (float[2,3,3] X) => (float[2] y) { y = Det(X) }",
    "MaxRoiPool": """g (float[2,2,5,6] X) => (float[3,2,2,3] y) {
        r = Constant<value = float[3,5] {0, 0, 1, 3, 4, 1, 2, 2, 9, 9, 1, -3, -3, -2, 8}>() y = MaxRoiPool<pooled_shape = [2, 3]>(X, r) }""",
    "SimplifiedLayerNormalization": """g (float[2,3] X, float[3] scale) => (float[2,3] y) {
        y = SimplifiedLayerNormalization(X, scale) }""",
}

# Running statistics: parameters of no model, as long as both are in the file.
NEVER_TRAINED = {("BatchNormalization", "input_mean"), ("BatchNormalization", "input_var")}

INTEGERS = (onnx.TensorProto.INT64, onnx.TensorProto.UINT8)
# What refuses integers in a form that ONNX has no case of.
UNSHOWN = {"Upsample": "mode linear"}


def table():
    text = subprocess.run([GRADUS, "inspect", "--operators", "--json"], check=True, capture_output=True, text=True).stdout
    return {op["op"]: op for op in map(json.loads, text.splitlines())}


def oldest_opsets():
    first = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            first[schema.name] = min(first.get(schema.name, schema.since_version), schema.since_version)
    return first


def has_gradient(model, output, folder):
    """Whether the model's parameter, its only initializer of rank one or more, is trained."""
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    command = [GRADUS, "compile", path, "--stop-after", "gradients", "--set", "loss.type=mse", "--set", f"loss.output={output}"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0 and "does not depend" not in done.stderr


def with_parameter(model, name, array):
    """The model with that input as its parameter, and the outputs that a loss may be of."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for number, value in enumerate(model.graph.input):
        if value.name == name:
            del model.graph.input[number]
            break
    model.graph.initializer.append(numpy_helper.from_array(array, name))
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)
    return model, [value.name for value in model.graph.output if value.type.tensor_type.elem_type in kinds]


def trained(model, name, array, folder):
    """Whether the input gets a gradient from one of the outputs."""
    model, outputs = with_parameter(model, name, array)
    return any(has_gradient(model, output, folder) for output in outputs)


def own_cases():
    """op -> [(model, {input: array}, {input: the op's name for it})] of ONNX's cases of one node."""
    found = collections.defaultdict(list)
    for case in onnx_backend.all_cases():
        model = case.model()
        if case.kind != "node" or len(model.graph.node) != 1 or len(found[model.graph.node[0].op_type]) >= 40:
            continue
        try:
            bound = onnx_backend.bind(model, case.data_sets(case.model())[0][0])
        except onnx_backend.Refused:
            continue
        node = model.graph.node[-1]
        formal = onnx.defs.get_schema(node.op_type, onnx.defs.onnx_opset_version(), node.domain).inputs
        names = {name: formal[min(place, len(formal) - 1)].name for place, name in enumerate(node.input) if name}
        found[node.op_type].append((model, bound, names))
    return found


def extra_case(text):
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 22]> {text}')
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    arrays = {name: numpy.linspace(0.1, 0.9, int(numpy.prod(shape)), dtype=numpy.float32).reshape(shape) for name, shape in shapes.items()}
    return model, arrays, {name: name for name in shapes}


def gradients(op, cases, folder):
    """The op's inputs that get a gradient in some case."""
    passed = set()
    tried = collections.Counter()
    for model, bound, names in cases:
        for name, array in bound.items():
            formal = names.get(name)
            if formal is None or formal in passed or array.dtype.kind != "f" or array.ndim == 0 or (op, formal) in NEVER_TRAINED:
                continue
            tried[formal] += 1
            if tried[formal] <= 12 and trained(model, name, array, folder):
                passed.add(formal)
    return passed


def with_integers(model, bound, number):
    """The case with integers of that type in place of its floats; None where the op has none."""
    model, bound, turned = onnx.ModelProto.FromString(model.SerializeToString()), dict(bound), set()
    node, numpy_type = model.graph.node[-1], onnx.helper.tensor_dtype_to_np_dtype(number)
    schema = onnx.defs.get_schema(node.op_type, onnx.defs.onnx_opset_version(), node.domain)
    wanted = f"tensor({numpy_type})"
    free = {each.type_param_str for each in schema.type_constraints if {wanted, "tensor(float)"} <= set(each.allowed_type_strs)}
    constants = {other.output[0]: other.attribute[0].t for other in model.graph.node if other.op_type == "Constant"}
    for names, formal in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for place, name in enumerate(names):
            if name and formal[min(place, len(formal) - 1)].type_str in free:
                turned.add(name)
    floats = [name for name in turned & set(bound) if bound[name].dtype.kind == "f"]
    for name in floats:
        bound[name] = numpy.nan_to_num(bound[name] * 3).astype(numpy_type)
    for name in turned & set(constants):
        constants[name].CopyFrom(numpy_helper.from_array(numpy.nan_to_num(numpy_helper.to_array(constants[name])).astype(numpy_type)))
    for value in [*model.graph.input, *model.graph.output]:
        if value.name in turned:
            value.type.tensor_type.elem_type = number
    return (model, bound) if floats else None


def refusals_of_integers(cases, worker):
    """(tried, refused) of cases with integers."""
    tried = refused = 0
    for number in INTEGERS:
        turned = [with_integers(model, bound, number) for model, bound, _ in sorted(cases, key=lambda case: sum(a.size for a in case[1].values()))]
        for model, bound in list(filter(None, turned))[:8]:
            tried += 1
            try:
                worker.run(model, bound)
            except (onnx_backend.Refused, AssertionError) as error:
                refused += bool(re.search("integers|floats", str(error)))
    return tried, refused


def main():
    warnings.simplefilter("ignore")
    ops, first, cases, problems = table(), oldest_opsets(), own_cases(), []
    for name, text in EXTRA.items():
        cases[name].append(extra_case(text))
    worker = onnx_backend.Worker()
    with tempfile.TemporaryDirectory() as folder:
        for name, op in ops.items():
            since, newest = first.get(name, 1), onnx.defs.onnx_opset_version()
            if not since <= op["since"] <= max(since, OLDEST) or op["newest"] < newest:
                problems.append(f"{name}: the table says opsets {op['since']}-{op['newest']}, ONNX {since}-{newest}")
            claimed = set(filter(None, op["gradient"].split(", ")))
            found = gradients(name, cases[name], folder)
            for missing in sorted(claimed - found):
                problems.append(f"{name}: the table says that {missing} passes gradients on; no case shows it")
            for unsaid in sorted(found - claimed):
                problems.append(f"{name}: {unsaid} passes gradients on, which the table does not say")
            tried, refused = refusals_of_integers(cases[name], worker) if name in first else (0, 0)
            if refused and "integers" not in op["refused"]:
                problems.append(f"{name}: refuses integers, which the table does not say")
            if tried and not refused and "integers" in op["refused"] and name not in UNSHOWN:
                problems.append(f"{name}: the table says that integers are refused; no case shows it")
    worker.close()
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
