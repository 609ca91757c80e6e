"""Compares gradients of small ONNX models with finite differences taken in ONNX Runtime.

Each model computes y of w * x, where w is its parameter. One step of plain gradient descent on mean((y - label)^2) moves w by
its gradient; the differences are those of the same loss, y from ONNX Runtime. So both what an op gives and what it passes on
are held to what others make of the standard. Prints what differs, a line each.
"""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx.parser
import onnxruntime
from onnx import numpy_helper

import onnx_backend

GRADUS = os.path.join(onnx_backend.BUILD, "bin", "gradus")
LABEL, STEP = 0.3, 2e-3

# The op under test with a batch in front: name -> (model, initializers besides w, or None for random ones).
MODELS = {
    "GlobalLpPool": "g (float[2,3,4] x, float[2,3,4] w) => (float[2,3,1] y) { v = Mul(w, x) y = GlobalLpPool<p = 2>(v) }",
    "GlobalLpPool_3": "g (float[2,3,4] x, float[2,3,4] w) => (float[2,3,1] y) { v = Mul(w, x) y = GlobalLpPool<p = 3>(v) }",
    "MaxUnpool": """g (float[2,2,4,6] x, float[2,2,4,6] w) => (float[2,2,4,6] y) {
        v = Mul(w, x) m, i = MaxPool<kernel_shape = [2, 3], strides = [2, 3]>(v) s = Mul(m, m)
        y = MaxUnpool<kernel_shape = [2, 3], strides = [2, 3]>(s, i) }""",
    "Einsum": "g (float[2,3,3] x, float[2,3,3] w) => (float[2,3] y) { v = Mul(w, x) y = Einsum<equation = \"bii->bi\">(v) }",
    "Einsum_product": """g (float[2,3,3] x, float[2,3,3] w) => (float[2,3] y) {
        v = Mul(w, x) y = Einsum<equation = "bij,bjj->bi">(v, v) }""",
    "Resize": """g (float[1,1,4,4] x, float[1,1,4,4] w) => (float[1,1,3,5] y) {
        v = Mul(w, x) roi = Constant<value = float[8] {0, 0, 0.1, -0.4, 1, 1, 0.9, 1.2}>()
        sizes = Constant<value = int64[4] {1, 1, 3, 5}>() e = Constant<value = float[0] {}>()
        y = Resize<coordinate_transformation_mode = "tf_crop_and_resize", mode = "linear", extrapolation_value = 0.7>(v, roi, e, sizes) }""",
    "LSTM": """g (float[3,2,4] x, float[3,2,4] w) => (float[3,1,2,2] y) <float[1,8,4] a, float[1,8,2] r, float[1,16] b> {
        v = Mul(w, x) y = LSTM<hidden_size = 2, clip = 0.4>(v, a, r, b) }""",
    "GRU": """g (float[3,2,4] x, float[3,2,4] w) => (float[3,1,2,2] y) <float[1,6,4] a, float[1,6,2] r, float[1,12] b> {
        v = Mul(w, x) y = GRU<hidden_size = 2, clip = 0.4>(v, a, r, b) }""",
    "RNN": """g (float[3,2,4] x, float[3,2,4] w) => (float[3,1,2,2] y) <float[1,2,4] a, float[1,2,2] r, float[1,4] b> {
        v = Mul(w, x) y = RNN<hidden_size = 2, clip = 0.4>(v, a, r, b) }""",
}


def build(text):
    """The model with the values of its parameter and other weights, and the shapes of x and y."""
    head, _, rest = text.partition(" y) ")
    inner = []
    if rest.startswith("<"):  # Weights besides w are declared behind the outputs.
        declared, rest = rest[1:].split("> ", 1)
        inner = ["".join(part.split()[-1]) for part in declared.split(", ")]
        head = head.replace(") =>", ", " + declared + ") =>")
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> {head} y) {rest}')
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in [*model.graph.input, *model.graph.output]}
    generator = numpy.random.default_rng(5)
    weights = {}
    for name in ["w", *inner]:
        count = int(numpy.prod(shapes[name]))
        spaced = generator.permutation(count) / count * 2 - 1 + 1 / (2 * count)  # apart, so that maxima stay
        weights[name] = spaced.reshape(shapes[name]).astype(numpy.float32)
    for number in reversed(range(len(model.graph.input))):
        if model.graph.input[number].name in weights:
            del model.graph.input[number]
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model, weights["w"], shapes["x"], shapes["y"]


def differences(model, parameter, x):
    """The gradient of the loss by central differences."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for number, tensor in enumerate(model.graph.initializer):
        if tensor.name == "w":
            del model.graph.initializer[number]
            break
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, parameter.shape))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def loss(values):
        return numpy.mean((session.run(["y"], {"x": x, "w": values.astype(numpy.float32)})[0].astype(numpy.float64) - LABEL) ** 2)

    result = numpy.zeros(parameter.shape)
    for place in numpy.ndindex(*parameter.shape):
        moved = numpy.zeros(parameter.shape)
        moved[place] = STEP
        result[place] = (loss(parameter + moved) - loss(parameter - moved)) / (2 * STEP)
    return result


def gradient(model, parameter, x, label, folder):
    """What one step takes away from the parameter."""
    def path(name):
        return os.path.join(folder, name)

    def run(*arguments):
        done = subprocess.run([GRADUS, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr.strip())

    onnx.save(model, path("model.onnx"))
    onnx_backend.write_tensors(path("data.safetensors"), {"x": x, "label": label})
    run("compile", path("model.onnx"), "-o", path("step.gradus"), "--set", "loss.type=mse", "--set", "loss.output=y",
        "--set", "optimizer.type=sgd", "--set", "optimizer.learning_rate=1", "--set", "fixed=[\"a\",\"r\",\"b\"]" if len(model.graph.initializer) > 1 else "seed=0")
    run("train", path("step.gradus"), "--data", path("data.safetensors"), "--steps", "1", "--checkpoint", path("end.safetensors"),
        "--overwrite")
    return parameter - onnx_backend.read_tensors(path("end.safetensors"))["w"]


def main():
    warnings.simplefilter("ignore")
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in MODELS.items():
            model, parameter, shape, result = build(text)
            x, label = numpy.ones(shape, numpy.float32), numpy.full(result, LABEL, numpy.float32)
            try:
                found = gradient(model, parameter, x, label, folder)
                expected = differences(model, parameter, x)
                off = numpy.abs(found - expected).max() / numpy.abs(expected).max()
                if not off < 1e-2:
                    problems.append(f"{name}: the gradient is {off:.3g} of its largest element off")
            except AssertionError as error:
                problems.append(f"{name}: {error}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
