"""Runs ONNX's own backend cases: models of single ops and small nets, with inputs
and the outputs that they must give.

    onnx_backend.py [--write] [--page] [--only PART] [--verbose] [--device emulated] [--each-op]

A case that the importer refuses because we lack something is "not claimed", with
what it says as the reason; a case that it accepts must pass. --write puts the
table into docs/reference/onnx_backend.md. The `onnx` package is needed: `dev`
puts one into $GRADUS_DEPS/onnx-tests. --device emulated runs them on the
emulated GPU; --each-op leaves it at one case of each op.

ONNX's cases give everything as inputs, also what exported models hold as
constants: target shapes, axes, sizes, the k of TopK. We compile for static
shapes, so such an input (CONSTANTS) becomes a constant of the model.
"""

import argparse
import collections
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
PAGE = os.path.join(ROOT, "docs", "reference", "onnx_backend.md")
DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "light")

# Inputs by position whose values must be known when the model is compiled.
CONSTANTS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "CastLike": [1], "Col2Im": [1, 2], "Compress": [1], "ConstantOfShape": [0],
    "CumSum": [1], "CumProd": [1], "DFT": [1, 2], "Dropout": [1, 2], "Expand": [1], "HammingWindow": [0],
    "HannWindow": [0], "Loop": [0], "MaxUnpool": [2], "MelWeightMatrix": [0, 1, 2, 3, 4], "NonZero": [0], "NonMaxSuppression": [2, 3, 4],
    "OneHot": [1, 2], "Pad": [1, 2, 3], "Range": [0, 1, 2], "Reshape": [1], "Resize": [1, 2, 3], "Slice": [1, 2, 3, 4],
    "Split": [1], "SplitToSequence": [1], "SequenceAt": [1], "SequenceErase": [1], "SequenceInsert": [2], "Squeeze": [1],
    "STFT": [1, 3], "Tile": [1], "TopK": [1], "Trilu": [1], "Unsqueeze": [1], "Upsample": [1], "If": [0],
    "TensorScatter": [2],
}
REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
              "ReduceSum", "ReduceSumSquare")
CONSTANTS.update({op: [1] for op in REDUCTIONS})

# Cases whose outputs hang on a generator of random numbers that is not ours.
RANDOM = re.compile(r"^test_(bernoulli|training_dropout(?!.*zero_ratio)|multinomial|random)")

# Ops whose reference rounds after each of several steps, and how much of a narrow number that may make: some of the
# distances between neighbours.
STEPWISE = {"Attention", "CausalConvWithState"}
ROUNDED = {"bfloat16": 2**-6, "float16": 2**-9}
# Ops whose zeros are terms that cancel.
SPECTRA = {"DFT", "STFT"}

DTYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int8": "I8", "uint8": "U8",
          "int16": "I16", "uint16": "U16", "uint32": "U32", "uint64": "U64", "int32": "I32", "int64": "I64", "bool": "BOOL"}


class Refused(Exception):
    """What we do not claim, in words."""


# -- Tensor files -----------------------------------------------------------------


def write_tensors(path, tensors):
    header, offset = {}, 0
    for name, array in tensors.items():
        if array.dtype.name not in DTYPES:
            raise Refused(f"elements of {array.dtype.name} are not supported")
        header[name] = {"dtype": DTYPES[array.dtype.name], "shape": array.shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(numpy.ascontiguousarray(array).tobytes())


def read_tensors(path):
    with open(path, "rb") as file:
        content = file.read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    types = {code: name for name, code in DTYPES.items()}
    tensors = {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            dtype = types[entry["dtype"]]
            if dtype == "bfloat16":
                import ml_dtypes
                dtype = ml_dtypes.bfloat16
            tensors[name] = numpy.frombuffer(content[start + first:start + end], dtype).reshape(entry["shape"])
    return tensors


# -- Cases ------------------------------------------------------------------------


class Case:
    """A model and its data sets, from memory or from the package's folders."""

    def __init__(self, kind, case):
        self.kind, self.name, self.rtol, self.atol, self._case = kind, case.name, case.rtol, case.atol, case

    def model(self):
        if self._case.model is not None:
            return onnx.ModelProto.FromString(self._case.model.SerializeToString())
        return onnx.load(os.path.join(self._case.model_dir, "model.onnx"))

    def data_sets(self, model):
        """(inputs, outputs), each a list of arrays in the model's order."""
        if self._case.data_sets is not None:
            return [[[as_array(value) for value in ports] for ports in data] for data in self._case.data_sets]
        folder, sets = self._case.model_dir, []
        for name in sorted(os.listdir(folder)):
            if name.startswith("test_data_set"):
                ports = [self.ports(os.path.join(folder, name), "input", model.graph.input),
                         self.ports(os.path.join(folder, name), "output", model.graph.output)]
                sets.append(ports)
        return sets

    @staticmethod
    def ports(folder, kind, values):
        arrays = []
        for number, value in enumerate(values):
            path = os.path.join(folder, f"{kind}_{number}.pb")
            if not os.path.exists(path):
                break
            if not value.type.HasField("tensor_type"):
                raise Refused("sequences, maps and optionals as inputs or outputs are not supported")
            tensor = onnx.TensorProto()
            with open(path, "rb") as file:
                tensor.ParseFromString(file.read())
            arrays.append(numpy_helper.to_array(tensor))
        return arrays

    def ops(self, model):
        return sorted({node.op_type for node in model.graph.node if node.op_type != "Constant"})


class Light:
    """A net of the package's `light` folder: big, its weights made by the graph itself, its input a ramp."""

    kind, rtol, atol = "light", 1e-3, 1e-7

    def __init__(self, path):
        self.path, self.name = path, "test_" + os.path.basename(path).removesuffix(".onnx")

    def model(self):
        return onnx.load(self.path)

    def data_sets(self, model):
        weights = {tensor.name for tensor in model.graph.initializer}
        inputs = [self.ramp(value) for value in model.graph.input if value.name not in weights]
        output = onnx.load_tensor(self.path.removesuffix(".onnx") + "_output_0.pb")
        return [(inputs, [numpy_helper.to_array(output)])]

    @staticmethod
    def ramp(value):
        shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in value.type.tensor_type.shape.dim]
        count = int(numpy.prod(shape))
        return (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)

    ops = Case.ops


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def is_tensor(value):
    return isinstance(value, (numpy.ndarray, numpy.generic))


def make_constant(model, name, array):
    """An input that must be known becomes a Constant node."""
    for number, value in enumerate(model.graph.input):
        if value.name == name:
            del model.graph.input[number]
            break
    model.graph.node.insert(0, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(numpy.asarray(array), name)))


def bind(model, inputs):
    """Inputs get the shapes of the data; those that must be known, its values."""
    known = {node.input[position] for node in model.graph.node for position in CONSTANTS.get(node.op_type, ())
             if position < len(node.input)}
    names = {tensor.name for tensor in model.graph.initializer}
    bound = {}
    for value, array in zip([each for each in model.graph.input if each.name not in names or len(inputs) == len(model.graph.input)], inputs):
        if not is_tensor(array):
            raise Refused("sequences, maps and optionals as inputs or outputs are not supported")
        bound[value.name] = numpy.asarray(array)
    for name, array in bound.items():
        if name in known:
            make_constant(model, name, array)
    for value in model.graph.input:
        if value.name in bound:
            del value.type.tensor_type.shape.dim[:]
            value.type.tensor_type.shape.SetInParent()
            for extent in bound[value.name].shape:
                value.type.tensor_type.shape.dim.add().dim_value = extent
    return {name: array for name, array in bound.items() if name not in known}


# -- Running ----------------------------------------------------------------------


class Worker:
    """The compiler and the runtime in a process of their own, started again where a case kills it."""

    def __init__(self, program="onnx_worker", *arguments):
        self.folder = tempfile.mkdtemp(prefix="gradus_onnx_")
        self.command, self.process = [os.path.join(BUILD, "tests", "bin", program), *arguments], None

    def path(self, name):
        return os.path.join(self.folder, name)

    def ask(self, *words):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True, env={"GRADUS_EMULATED_LIBRARY": os.path.join(BUILD, "lib", "libgradus_emulated.so"), **os.environ})
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            code, self.process = self.process.wait(), None
            return f"failed the compiler or the runtime crashed ({code})"
        return answer

    def run(self, model, inputs):
        write_tensors(self.path("in.safetensors"), inputs)
        onnx.save(model, self.path("model.onnx"))
        answer = self.ask(*map(self.path, ("model.onnx", "in.safetensors", "out.safetensors")))
        if answer.startswith("refused "):
            words = answer[len("refused "):].removeprefix(self.path("model.onnx") + ": ")
            raise Refused(words) if "support" in words else AssertionError(words)
        if answer != "ok":
            raise AssertionError(answer)
        return read_tensors(self.path("out.safetensors"))

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
        subprocess.run(["rm", "-rf", self.folder], check=True)


def compare(case, ops, found, name, expected):
    expected = numpy.asarray(expected)
    if expected.dtype != found.dtype or expected.shape != found.shape:
        raise AssertionError(f"output {name} is {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}")
    if expected.dtype.kind in "biu":
        numpy.testing.assert_array_equal(found, expected)
    else:
        rtol = max(case.rtol, ROUNDED.get(expected.dtype.name, 0)) if STEPWISE & ops else case.rtol
        # A spectrum's zeros are terms of f32 that cancel: ONNX's hold up to 2e-7, ours something else. One rounding of
        # the largest element is allowed.
        noise = 2**-24 * numpy.abs(expected).max() if SPECTRA & ops else 0
        numpy.testing.assert_allclose(found.astype(numpy.float64), expected.astype(numpy.float64), rtol=rtol, atol=max(case.atol, noise))


def run_case(case, worker):
    """Raises Refused or AssertionError unless the case passes."""
    if RANDOM.match(case.name):
        raise Refused("its outputs hang on another generator of random numbers")
    model = case.model()
    ops = set(case.ops(model))
    for inputs, outputs in case.data_sets(model):
        bound = case.model()
        data = bind(bound, inputs)
        found = worker.run(bound, data)
        for value, expected in zip(model.graph.output, outputs):
            if not is_tensor(expected):
                raise Refused("sequences, maps and optionals as inputs or outputs are not supported")
            compare(case, ops, found[value.name], value.name, expected)


Result = collections.namedtuple("Result", "kind name ops outcome words")


def all_cases(only=""):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [Case(kind, case) for kind in KINDS for case in load_model_tests(kind=kind)]
        cases += [Light(path) for path in sorted(glob.glob(os.path.join(DATA, "light", "*.onnx")))]
    return [case for case in cases if not re.search(r"_expanded(_ver\d+)?$", case.name) and only in case.name]


def run_all(only="", report=lambda result: None, device="cpu", each_op=False, every=1):
    worker, results, seen = Worker("onnx_worker", device), [], set()
    for case in all_cases(only)[::every]:
        ops = []
        if each_op and case.kind != "node":
            continue
        try:
            ops = case.ops(case.model())
            if each_op and seen.issuperset(ops):
                continue
            run_case(case, worker)
            outcome, words = "passed", ""
            seen.update(ops)
        except Refused as refusal:
            outcome, words = "not claimed", str(refusal)
        except Exception as error:  # of ours or of the package: a case that does not pass
            outcome, words = "failed", " ".join(f"{type(error).__name__}: {error}".split())
        results.append(Result(case.kind, case.name, ops, outcome, words))
        report(results[-1])
    worker.close()
    return results


# -- The page ---------------------------------------------------------------------

HEAD = """# ONNX's own tests

Made by `tests/onnx_backend.py --write` from the cases of the `onnx` package {version}. *Passed*: compiled for this machine
and run, with the outputs that ONNX demands. *Not claimed*: the importer refuses the model, in the words below. A case that it
accepts and that does not pass is a failed test.

Doubles of cases with functions expanded (`..._expanded`) are left out. ONNX's cases give everything as inputs; those that
determine shapes (target shapes, axes, the k of `TopK`) are bound as constants, as exporters write them.

"""


def shortened(words):
    """A reason without the names that only its case has."""
    words = re.sub(r"node \"[^\"]*\" \((\w+)\): ", r"\1: ", words)
    words = re.sub(r"; nodes? \"[^;]*?(?=  |$)", "", words)
    words = re.sub(r"uses what is not supported:\s+", "lacks ", re.sub(r" \(opset \d+\)", "", words))
    return words.replace("|", "\\|")[:200]


def totals(results):
    lines = ["| kind | cases | passed | not claimed | failed |", "|---|---:|---:|---:|---:|"]
    for kind in KINDS:
        of_kind = collections.Counter(result.outcome for result in results if result.kind == kind)
        lines.append(f"| {kind} | {sum(of_kind.values())} | {of_kind['passed']} | {of_kind['not claimed']} | {of_kind['failed']} |")
    return "\n".join(lines)


def reasons(results):
    """Why cases are not claimed or fail, most frequent first."""
    counts = collections.Counter((result.outcome, shortened(result.words)) for result in results if result.outcome != "passed")
    lines = ["| cases | | why |", "|---:|---|---|"]
    lines += [f"| {count} | {outcome} | {words} |" for (outcome, words), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join(lines)


def missing_ops(results):
    """Ops that we lack, by the number of cases that stand or fall with them."""
    counts = collections.Counter()
    for result in results:
        if result.outcome == "not claimed":
            counts.update({"`" + op + "`" for op in re.findall(r"  ([\w.:]+) \(opset \d+\);", result.words)})
    return ", ".join(f"{op} {count}" for op, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def operators(results):
    """The node cases by the op that they are about."""
    table = collections.defaultdict(collections.Counter)
    for result in results:
        if result.kind == "node":
            table[" ".join(result.ops) or "Constant"][result.outcome] += 1
    lines = ["| op | passed | not claimed | failed |", "|---|---:|---:|---:|"]
    lines += [f"| {op} | {counts['passed']} | {counts['not claimed']} | {counts['failed']} |" for op, counts in sorted(table.items())]
    return "\n".join(lines)


def page(results):
    return (HEAD.format(version=onnx.__version__) + totals(results) + "\n\n## Ops that are missing\n\nWith the number of cases that use them.\n\n" +
            missing_ops(results) + "\n\n## Reasons\n\n" + reasons(results) +
            "\n\n## Node cases by op\n\n" + operators(results) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--page", action="store_true", help="print the page instead of the count")
    parser.add_argument("--only", default="", metavar="PART", help="cases whose name has this in it")
    parser.add_argument("--verbose", action="store_true", help="a line per case")
    parser.add_argument("--each-op", action="store_true", help="node cases until each op has passed one")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth case alone")
    parser.add_argument("--device", default="cpu", help="where to run: cpu, cuda, emulated (cpu)")
    arguments = parser.parse_args()

    def report(result):
        if result.outcome == "failed" or arguments.verbose:
            print(f"{result.outcome} {result.kind}/{result.name}: {result.words[:600]}", file=sys.stderr, flush=True)

    results = run_all(arguments.only, report, arguments.device, arguments.each_op, arguments.every)
    if arguments.write:
        with open(PAGE, "w") as file:
            file.write(page(results))
    counts = collections.Counter(result.outcome for result in results)
    print(page(results) if arguments.page else f"{counts['passed']} passed, {counts['failed']} failed, {counts['not claimed']} not claimed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
