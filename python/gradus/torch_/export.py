"""A PyTorch module as an ONNX file that trains as the module does, under the module's own names.

The module is left as it was: parameters, running statistics, train and eval modes, and the state of random numbers. What a file of
PyTorch's exporter cannot say, and would so train otherwise, is refused here.
"""

import contextlib
import dataclasses
import gc
import io
import logging
import re
import warnings

from .batch_norm import modes_of, refuse_running_instances, say_modes
from .eager import failure_of_forward, only_refusals, ran, refuse_cut_loss, wide_example
from .errors import NotExpressible
from .module import checked, parameters_of, unwrapped
from .reach import inputs_of_outputs
from .tree import Outputs, flat_inputs, tensors_of

OPSET = 20
TEXT_LINES = 15  # of the exporter's text
LARGEST_FILE = 2**31 - 1  # bytes that protobuf can hold
LARGE = 2**16  # bytes from which on the values of a tensor are left outside of the file
NOISY = ("torch.onnx", "torch.export", "torch._export", "onnxscript", "onnx_ir", "torch._dynamo", "torch.fx")

DOES_NOT_EXPORT = """torch.onnx.export cannot write {module} as ONNX:
{text}
What is possible: make the shapes and branches of forward() depend on shapes alone and not on values, replace .item(), .numpy() and other
libraries by torch operations, give arguments that are no tensors in the example, or export the file yourself
(docs/export_from_pytorch.md) and compile that."""


@dataclasses.dataclass
class Exported:
    """`model` is the file's bytes. `fixed` are names in the file of what gets no gradient; `names` leads from a parameter's name in the
    module, and from those of parameters tied to it, to its name in the file, for those that the file has. `freeze_batch_norm` is the
    recipe's key: the module's batch normalizations are in eval mode. `data` has the large values that are not in `model`, as bytes in
    the module's own memory or a copy, by the names of the files in which the model says they are. `needed` has the inputs that each
    output depends on."""

    model: bytes
    input_names: list
    output_names: list
    label_names: list
    fixed: list
    names: dict
    freeze_batch_norm: bool = False
    data: dict = dataclasses.field(default_factory=dict)
    needed: dict = dataclasses.field(default_factory=dict)


@only_refusals()
def exported(module, example, *, inputs=None, outputs=None, dynamic=None, loss=None, labels=None, label=None, loud=False,
             apart=False):
    """Exports `module` in training mode.

    `example`: what forward() gets: a tensor or array, a tuple of arguments, or a dict of keyword arguments.
    `inputs`: names of the inputs, instead of those of forward()'s arguments.
    `outputs`: the outputs to keep by name, or their new names where the model's have none; None keeps all tensors at the top.
    `dynamic`: True for a first axis named `batch` in all inputs and labels, or {input: {axis: name}}.
    `loss`: a callable of the module's outputs and `labels` (an example of them: a tensor or a tuple), exported as the output `loss`.
    `label`: the name of the labels' input, or names of several, instead of `label`, or `label_0`, `label_1`.
    `loud`: shows the exporter's warnings.
    `apart`: large values stay where they are, in `data`, and the file may so stand for more than the 2 GiB that one can hold.
    """
    module = checked(unwrapped(module))
    arguments = flat_inputs(module, example, inputs)
    examples_of_labels = [] if loss is None else tensors_of(labels)
    outside = Outputs(outputs, loss, len(examples_of_labels))
    names = arguments.names + label_names(arguments.names, len(examples_of_labels), label)
    tensors = arguments.tensors + examples_of_labels
    with without_collections(), as_it_was(module), in_training(module), with_flat_forward(module, arguments, outside):
        refuse_running_instances(module)
        if loss is not None:
            refuse_cut_loss(module, names, tensors, outside)
        elif wide_example(module, names, tensors):
            ran(module, names, tensors, outside)  # exporters take what eager mode refuses
        shapes = shapes_of(names, tensors, dynamic)
        try:
            program = run_exporter(module, tensors, names, shapes, loud)
        except NotExpressible as error:
            raise outside.refusal or failure_of_forward(module, names, tensors, outside) or error from None
        if outside.refusal:
            raise outside.refusal
        modes = modes_of(module)
    return finished(module, program, arguments.names, names[len(arguments.names):], outside, modes, apart)


def label_names(taken, count, label=None):
    wanted = ["label"] if count == 1 else [f"label_{i}" for i in range(count)]
    if label is not None and count:
        wanted = [label] if isinstance(label, str) else list(label)
        if len(wanted) != count:
            raise NotExpressible(f"label has {len(wanted)} names, and the example of the labels {count} tensors")
    for name in wanted:
        if name in taken:
            raise NotExpressible(f"an input of the model is called '{name}', as the labels of its loss are; rename it by `inputs`")
    return wanted


def shapes_of(names, tensors, dynamic):
    """What torch.export calls dynamic shapes, for a forward of `*tensors`; None if all sizes are fixed."""
    import torch

    if not dynamic:
        return None
    if dynamic is True:
        dynamic = {name: {0: "batch"} for name, tensor in zip(names, tensors) if tensor.dim()}
    unknown = [name for name in dynamic if name not in names]
    if unknown:
        raise NotExpressible(f"dynamic: there is no input '{unknown[0]}'; there are {', '.join(names)}")
    dims = {}
    for name, tensor in zip(names, tensors):
        for axis, size in dynamic.get(name, {}).items():
            if not -tensor.dim() <= axis < tensor.dim():
                raise NotExpressible(f"dynamic: input '{name}' has {tensor.dim()} axes, and none with the number {axis}")
            if tensor.shape[axis] == 1:
                raise NotExpressible(f"dynamic: axis {axis} of the example '{name}' has size 1, which torch.export takes for a constant; "
                                     "give an example with 2 or more")
            dims.setdefault(size, torch.export.Dim(size))
    return (tuple({axis % tensor.dim(): dims[size] for axis, size in dynamic.get(name, {}).items()}
                  for name, tensor in zip(names, tensors)),)


@contextlib.contextmanager
def without_collections():
    """The exporter makes millions of objects that live until its end: looking for cycles in them took an eighth of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextlib.contextmanager
def as_it_was(module):
    """Puts back what running the module changes: buffers, gradients and random numbers."""
    import torch

    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    owners = [(owner, name, buffer) for owner in module.modules() for name, buffer in owner._buffers.items() if buffer is not None]
    gradients = [(parameter, parameter.grad) for parameter in module.parameters()]
    drawn = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(drawn)
        for owner, name, buffer in owners:
            owner._buffers[name] = buffer
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for parameter, gradient in gradients:
            parameter.grad = gradient


@contextlib.contextmanager
def in_training(module):
    """Normalizations and dropout are exported in their training form, but those that the caller has put into eval mode alone."""
    modes = [(part, part.training) for part in module.modules()]
    if not module.training:
        module.train()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


@contextlib.contextmanager
def with_flat_forward(module, arguments, outputs):
    """The module with a forward from tensors to tensors. It stays the same object, so that parameters keep their names."""
    kind, original, own = type(module), module.forward, "forward" in vars(module)

    def forward(self, *tensors):
        count = len(arguments.names)
        positional, keywords = arguments.rebuilt(tensors[:count])
        return outputs.flat(original(*positional, **keywords), tensors[count:])

    if own:
        del module.forward
    module.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    try:
        yield
    finally:
        module.__class__ = kind
        if own:
            module.forward = original


def run_exporter(module, tensors, names, shapes, loud):
    import torch

    said = io.StringIO()
    with contextlib.ExitStack() as stack:
        if not loud:
            stack.enter_context(silenced())
            stack.enter_context(contextlib.redirect_stdout(said))
            stack.enter_context(contextlib.redirect_stderr(said))

        def export():
            return torch.onnx.export(module, tuple(tensors), dynamo=True, optimize=False, opset_version=OPSET, input_names=list(names),
                                     dynamic_shapes=shapes, verbose=loud, external_data=False)

        try:
            return twice(export)
        except ImportError as error:
            raise NotExpressible(f"torch.onnx.export needs a package that is not here: {error}; pip install onnx onnxscript") from error
        except Exception as error:  # Exporters raise all sorts.
            for inner in behind(error):
                if isinstance(inner, NotExpressible):
                    raise inner from None
            raise NotExpressible(DOES_NOT_EXPORT.format(module=type(module).__name__, text=text_of(error))) from error


def twice(export):
    """Fused attention lays its result out as its formula does not, and views of it (in T5) then fail: once more by the formula alone.
    PyTorch keeps the layouts that it has seen by an op's operands, and has to forget them between the two."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.nn.attention import SDPBackend, sdpa_kernel

    try:
        return export()
    except ImportError:
        raise
    except Exception:
        FakeTensorMode.cache_clear()
        with sdpa_kernel(SDPBackend.MATH):
            try:
                return export()
            except Exception:  # The first error is that of the module as it is.
                pass
        raise


def behind(error):
    """An error and those that have led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def text_of(error):
    """What the exporter has found, without the steps that it advises its own developers to take."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", f"{type(error).__name__}: {error}").splitlines()]
    lines = [line for line in lines if line and not line.startswith(("For more", "For C++", "If you suspect"))]
    return "\n".join(f"  {line}" for line in lines[:TEXT_LINES])


@contextlib.contextmanager
def silenced():
    loggers = [logging.getLogger(name) for name in NOISY]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels):
                logger.setLevel(level)


def finished(module, program, input_names, labels, outside, modes, apart):
    """The file with the names of outputs, the modes of normalizations, and the values that buffers had before the exporter ran."""
    import torch

    if program is None:
        raise NotExpressible("torch.onnx.export has given no program")
    graph = program.model.graph
    for value, name in zip(graph.outputs, outside.names):
        if name in graph.initializers or name in input_names + labels:
            raise NotExpressible(f"an output is called '{name}' as an input or a parameter; name the outputs by `outputs`")
        value.name = name
    in_file = {name for name, value in graph.initializers.items() if value.uses() or value.is_graph_output()}
    for name in [name for name in graph.initializers if name not in in_file]:
        del graph.initializers[name]
    freeze = say_modes(graph, modes)
    graph.metadata_props["gradus.is_whole"] = "1"  # nothing is merged or folded: the compiler need not look for it
    buffers = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
    for name in in_file & set(buffers):
        graph.initializers[name].const_value = value_of(buffers[name], name)
    data = left_outside(graph) if apart else {}
    with torch.no_grad():
        size = sum(value.const_value.nbytes for name, value in graph.initializers.items() if value.const_value is not None and name not in data)
        if size > LARGEST_FILE:
            raise NotExpressible(f"the model has {size / 2**30:.1f} GiB of parameters, and an ONNX file in memory holds 2 GiB; write it with "
                                 "torch.onnx.export(..., external_data=True) (docs/export_from_pytorch.md) and compile that file")
        model = program.model_proto.SerializeToString()
    names = parameters_of(module, in_file)
    fixed = sorted({names[name] for name, parameter in module.named_parameters() if name in names and not parameter.requires_grad})
    return Exported(model, list(input_names), list(outside.names), list(labels), fixed, names, freeze, data, inputs_of_outputs(graph))


def left_outside(graph):
    """{name: bytes} of large initializers, which are now data of files of their names. The bytes are those of the tensors
    themselves, or of a copy where a tensor is not dense."""
    import numpy
    import onnx_ir

    data = {}
    for name, value in graph.initializers.items():
        tensor = value.const_value
        if tensor is None or tensor.nbytes < LARGE:
            continue
        array = numpy.ascontiguousarray(tensor.numpy())
        if array.nbytes != tensor.nbytes:  # types of less than a byte
            continue
        data[name] = array.reshape(-1).view("uint8")
        value.const_value = onnx_ir.ExternalTensor(name, 0, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=name)
    return data


def value_of(tensor, name):
    import onnx_ir

    return onnx_ir.tensor(tensor.cpu().numpy(), name=name)
