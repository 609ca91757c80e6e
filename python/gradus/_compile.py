"""From a model to a step: what users say becomes a model, a recipe and options."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping

from . import _cache, _core
from ._core import Error, FailedError, InvalidError
from ._errors import CompileError, CompileWarning, Diagnostic, NotExpressible
from ._files import existing, regular_file
from ._keywords import check, in_python
from ._text import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._step import Step


def compile(model, example=None, *, loss=None, optimizer=None, scheduler=None, metrics=None, precision=None, clip_grad_norm=None,
            ema=None, recipe=None, set=None, label=None, labels=None, inputs=None, outputs=None, dynamic=None, dims=None, weights=None,
            targets=None, libraries=None, memory_limit=None, plugins=None, initialize=None, kernel_cache=None, node_outputs=False,
            gradient_outputs=False, program=True, basis=None, epilogues=None, tuning=None, weights_map=None, threads=0, device="cpu",
            deterministic=None, cache=True, **keys) -> Step:
    """Compiles a model into a training step.

    model       a path (.onnx, .mlir, .gradus), the bytes of such a file, or a torch.nn.Module
    example     what the module's forward takes: a tensor, a tuple, or a dictionary of keyword arguments. Its first axis is the
                batch size, for which the step is compiled; dynamic=True with dims={"batch": 64} makes it another one
    loss        of torch.nn, a name ("softmax_cross_entropy"), a dictionary as in the recipe, or a callable of the module's
                outputs and labels (give an example of the labels: `labels`). `label` names the labels' input, instead of "label"
    optimizer   of torch.optim with its groups, a name ("adamw"), a dictionary as in the recipe, or what a LightningModule's
                configure_optimizers() returns, with its scheduler
    scheduler   of torch.optim.lr_scheduler, or a dictionary
    output      the output of the model that the loss takes, where there are several. `soft_labels`: labels are probabilities
    interval    "epoch": the scheduler's step() is called after each epoch; "step". `schedule_steps`: the length of the table of
                a scheduler that does not know it
    metrics, precision, clip_grad_norm, ema and further keywords are keys of the recipe (docs/reference/recipe.md)
    recipe      a dictionary, JSON text, or a path; the arguments above are set over it
    set         {"optimizer.learning_rate": 0.1}: single keys, set last
    inputs, outputs, dynamic   names and symbolic axes of a module that is exported
    dims        {"batch": 32}: sizes of symbolic dimensions
    weights     .safetensors (path or bytes) over the model's values
    weights_map  {"encoder.*": "backbone.*", "head.*": None}: names of `weights` as the model has them; or a file of JSON
    basis       bytes (or a path) of the file of directions that the recipe's dim_reduce.basis names
    targets     ["cpu:x86-64-v3", "cuda"]; None: this machine's CPU, or what `device` is of
    epilogues, tuning   of GPUs: "bias"; files that `gradus tune` has written
    device, threads, deterministic   as `load` takes them
    cache       whether the artifact is looked for, and kept, in the cache of compiled ones

    Returns a Step. Raises CompileError with the compiler's words, and NotExpressible for a module, loss or optimizer that
    has no counterpart.
    """
    _has_compiler()
    check(keys, compile, plugins)
    asked = {"loss": loss, "optimizer": optimizer, "scheduler": scheduler, "metrics": metrics, "precision": precision,
             "clip_grad_norm": clip_grad_norm, "ema": ema, "label": label, **keys}
    made, data, title = None, {}, type(model).__name__ if _is_module(model) else None
    if title:
        export = {"labels": labels, "label": label, "inputs": inputs, "outputs": outputs, "dynamic": dynamic}
        model, asked, made = _of_module(model, example, export, asked)
        data = made.data
    elif isinstance(model, type):
        raise InvalidError(f"model is the class {model.__name__}; give an object: {model.__name__}(...)")
    else:
        _refuse_export(model, example=example, labels=labels, inputs=inputs, outputs=outputs, dynamic=dynamic)
    if deterministic is not None and not _is_artifact(model):
        asked["deterministic"] = bool(deterministic)
    if targets is None and device != "cpu":
        targets = [device.partition(":")[0]]
    options = {
        "model": _source(model, "model"), "data_files": list(data.items()), "recipe": (None, _recipe(recipe, asked)),
        "weights": None if weights is None else _source(weights, "weights"),
        "overrides": _assignments(set, "set"), "dims": _assignments(dims, "dims"), "targets": _texts(targets, "targets"),
        "plugins": _texts(plugins, "plugins"), "libraries": libraries, "memory_limit": _limit(memory_limit),
        "threads": threads,
        "basis": None if basis is None else _source(basis, "basis"),
        "extra": _extra(initialize=_texts(initialize, "initialize"), kernel_cache=_texts(kernel_cache, "kernel_cache"),
                        epilogues=_texts(epilogues, "epilogues"), tuning=_texts(tuning, "tuning"), weights_map=_rules(weights_map)),
        "flags": (0 if program else _core.NO_PROGRAM) | (_core.NODE_OUTPUTS if node_outputs else 0)
        | (_core.GRADIENT_OUTPUTS if gradient_outputs else 0)}
    step = _loaded(options, cache, threads=threads, device=device, deterministic=bool(deterministic))
    if made is not None:
        step.names, step.title = made.names, title
        step.loss_inputs = _loss_inputs(step, made)
    return step


def _loaded(options, cache, **loading):
    """The step of an artifact that was found in the cache or compiled."""
    from ._step import load

    name = _cache.key(options) if cache else None
    found = _cache.find(name) if name else None
    if found is not None:
        path, diagnostics = found
        diagnostics = [Diagnostic(*said) for said in diagnostics]
        try:
            step = load(path, **loading)
        except (Error, OSError):  # damaged, or removed by another process
            found = None
    if found is None:
        step, diagnostics = _made(options, name, loading)
    for said in diagnostics:
        if said.severity == "warning":
            warnings.warn(str(said), CompileWarning, stacklevel=3)
    step.diagnostics = diagnostics
    return step


def _made(options, name, loading):
    """A step that is compiled, and what the compiler said. The compiler writes a file, that of the cache or one without a name, so
    that memory has the weights once."""
    from ._step import load

    with _cache.written(name) as path:
        try:
            diagnostics = _run({**options, "artifact": path})[2]
        except FailedError:
            if name is None or _cache.has_room(options):
                raise
            return _made(options, None, loading)
        # What was written anew while it was compiled, or is trained by another thread, is not kept under what it was before.
        is_live = options.get("data_files") or any(options[given] and options[given][0] for given in ("model", "weights"))
        same = name and (not is_live or _cache.key(options) == name)
        try:
            step = load(path, **loading)
        except Error as error:
            if name and not os.path.exists(path):  # another process has made room for its own
                return _made(options, None, loading)
            if name and not same and options.get("data_files"):
                raise FailedError("the module's parameters changed while it was compiled: nothing may train it meanwhile") from None
            error.args = (str(error).removeprefix(f"{path}: "),)  # a path that the user does not know
            raise
        if same:
            _cache.keep(name, path, diagnostics)
    return step, diagnostics


def _run(options):
    """Compiles: the artifact's bytes, the IR, and what the compiler said."""
    status, words, artifact, ir, diagnostics = _core.compile({name: value for name, value in options.items() if value})
    diagnostics = [Diagnostic(severity, pass_name, in_python(place), in_python(text)) for severity, pass_name, place, text in diagnostics]
    if status == 1:
        raise CompileError(in_python(words), diagnostics)
    if status:
        raise FailedError(in_python(words))
    return artifact, ir, diagnostics


def inspect_ir(model, stage, **options) -> str:
    """The program after a stage of the compiler, as text. `model` is a path, bytes, or both as a pair."""
    _has_compiler()
    source = model if isinstance(model, tuple) else _source(model, "model")
    return _run({"model": source, "stop_after": stage, **options})[1]


def _refuse_export(model, **given):
    """Refuses what says how a module is exported, where there is none."""
    for name, value in given.items():
        if value is not None:
            raise InvalidError(f"{name}= belongs to a torch.nn.Module, and model is {_what(model)}, which knows its inputs, outputs and labels")


def _is_artifact(model):
    """Whether the recipe is settled, so that `deterministic` is said where the step is loaded alone."""
    return isinstance(model, (str, os.PathLike)) and os.fspath(model).endswith(".gradus")


def _has_compiler():
    """The package gradus_runtime has all of gradus but its compiler, which a variable of the environment may name."""
    package = __name__.partition(".")[0]
    if package == "gradus_runtime" and not os.environ.get("GRADUS_COMPILER_LIBRARY"):
        raise FailedError("gradus_runtime loads, runs and saves steps, and has no compiler: install the package gradus, and `import gradus`")


def _what(model):
    return "a file" if isinstance(model, (str, os.PathLike)) else f"an object of {type(model).__name__}"


def _is_module(model):
    return any(f"{kind.__module__}.{kind.__qualname__}" == "torch.nn.modules.module.Module" for kind in type(model).__mro__)


def _of_module(module, example, export, asked):
    """A module's ONNX bytes, the recipe's arguments with what the export has found, and the export."""
    from .torch_.export import exported
    from .torch_.recipe import exports_loss

    if example is None:
        raise InvalidError("a module needs an example of what its forward takes: example=(x,)")
    exports = asked["loss"] is not None and exports_loss(asked["loss"])
    if exports and export["labels"] is None:
        raise NotExpressible("this loss is exported with the module: give an example of the labels, labels=y")
    if not exports:
        export["labels"] = None
    made = exported(module, example, loss=asked["loss"] if exports else None, apart=True, **export)
    if not exports:
        _is_one_output(made.output_names, asked)
    if made.freeze_batch_norm:
        asked = {"freeze_batch_norm": True, **asked}
    fixed = sorted({*_list(asked.get("fixed")), *made.fixed})
    return made.model, {**asked, "module": module, "names": made.names, "fixed": fixed}, made


def _list(names):
    return [names] if isinstance(names, str) else names or []


def _is_one_output(names, asked):
    """A loss of the recipe takes one output, and where there are several, it is said which."""
    loss = asked["loss"]
    if loss is None or asked.get("output") or len(names) == 1:
        return
    said = loss if isinstance(loss, Mapping) else {"type": loss} if isinstance(loss, str) else {}
    if said.get("output") or said.get("type") in ("output", "sum"):
        return
    raise NotExpressible(f"the module has {len(names)} outputs: {', '.join(names)}. Say which of them the loss takes, output={names[0]!r}, or "
                         f"keep that one alone, outputs={names[0]!r}")


def _loss_inputs(step, made):
    """The inputs that the loss of a module alone takes."""
    from ._predict import loss_inputs

    return loss_inputs(step, made.needed) if len(made.needed) > 1 else ()


def _recipe(recipe, asked):
    """The recipe as the bytes of a JSON text: the given one with the arguments over it; None if there is neither."""
    from .torch_.recipe import recipe_of

    asked = {name: value for name, value in asked.items() if value is not None}
    made = recipe_of(**asked) if asked else {}
    if recipe is None and not made:
        return None
    if isinstance(recipe, Mapping) or recipe is None:
        given = dict(recipe or {})
    elif isinstance(recipe, str) and recipe.lstrip().startswith("{"):
        given = _json(recipe, "recipe")
    elif isinstance(recipe, (str, os.PathLike)):
        with regular_file(existing(recipe), "r", encoding="utf-8") as file:
            text = file.read()
        if not made:
            return text.encode()
        given = _json(text, os.fspath(recipe))
    else:
        raise InvalidError(f"recipe: expected a dictionary, JSON text or a path; found {type(recipe).__name__}")
    if "module" in asked and _list(given.get("fixed")):  # what the module itself fixes is no wish against the recipe's
        made["fixed"] = sorted({*_list(given["fixed"]), *_list(made.get("fixed"))})
    return json_text({**given, **made}, "recipe").encode()


def _json(text, where):
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidError(f"{where}: is no JSON: {error}") from None


def _source(given, what):
    """(path, None) or (None, bytes)."""
    if isinstance(given, (str, os.PathLike)):
        return existing(os.fspath(given)), None
    if isinstance(given, (bytes, bytearray, memoryview)):
        return None, bytes(given)
    raise InvalidError(f"{what}: expected a path or bytes" + (", or a torch.nn.Module" if what == "model" else "")
                       + f"; found {type(given).__name__}")


def _assignments(given, what):
    """["key=value"] of a dictionary."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidError(f"{what}: expected a dictionary, found {type(given).__name__}")
    return [f"{key}={value if isinstance(value, str) else json_text(value, f'{what}: {key}')}" for key, value in given.items()]


def _texts(given, what):
    if given is None:
        return None
    given = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    return [os.fspath(text) for text in given]


def _extra(**options):
    """["weights-map=a=b"]: options of the command line that have no field in the C API, each with its texts."""
    return [f"{name.replace('_', '-')}={text}" for name, texts in options.items() for text in texts or ()]


def _rules(given):
    """Rules FROM=TO of a dictionary, where None leaves a name out; or the path of a file of them."""
    if isinstance(given, Mapping):
        return [f"{name}={'' if to is None else to}" for name, to in given.items()]
    return _texts(given, "weights_map")


def _limit(given):
    return f"{given}" if isinstance(given, int) else given
