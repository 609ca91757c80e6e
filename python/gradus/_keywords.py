"""Keywords of `compile` beyond its own, which are keys of the recipe; and what is said of those that are none."""

import inspect
import json
import os
import re

from ._core import InvalidError
from ._text import is_json, is_plain

SCHEMA = os.path.join(os.path.dirname(__file__), "recipe.schema.json")  # what `gradus recipe --schema` prints

# Names that other libraries have for a keyword of ours whose name is not alike.
SYNONYMS = {"criterion": "loss", "loss_fn": "loss", "objective": "loss", "lr_scheduler": "scheduler", "optim": "optimizer",
            "max_grad_norm": "clip_grad_norm", "gradient_clip_val": "clip_grad_norm", "accumulate_grad_batches": "accumulation",
            "gradient_accumulation_steps": "accumulation", "input_names": "inputs", "output_names": "outputs", "dynamic_axes": "dynamic",
            "dynamic_shapes": "dynamic", "dtype": "precision", "sample_input": "example", "example_inputs": "example"}
FOR_FIT = ("max_epochs", "num_epochs", "train_data", "validation_data", "callback")

# Options of the command line as the words of its errors have them: the keyword, and how the keyword has its value.
OPTIONS = {"basis": ("basis", "text"), "dim": ("dims", "pair"), "epilogues": ("epilogues", "text"), "gradient-outputs": ("gradient_outputs", "flag"),
           "initialize": ("initialize", "text"), "kernel-cache": ("kernel_cache", "text"), "libraries": ("libraries", "text"),
           "memory-limit": ("memory_limit", "text"), "node-outputs": ("node_outputs", "flag"), "plugin": ("plugins", "text"),
           "recipe": ("recipe", "text"), "set": ("set", "pair"), "stop-after": ("stage", "text"), "target": ("targets", "text"),
           "tuning": ("tuning", "text"), "weights": ("weights", "text"), "weights-map": ("weights_map", "pair")}


def in_python(words):
    """The compiler's words with keywords where they have options of the command line: 'dims={"batch": 32}' of
    '--dim batch=32'. Options without a keyword, and those of commands other than `gradus compile`, stay as they are."""
    return re.sub(r"(gradus [a-z]+ )?--([a-z][a-z-]*[a-z])(?: ([^\s:;,]+))?", _keyword, words)


def _keyword(found):
    command, option, value = found.groups()
    if option not in OPTIONS or command not in (None, "gradus compile "):
        return found[0]
    name, form = OPTIONS[option]
    behind = f" {value}" if value else ""
    if form == "flag":
        return f"{name}=True{behind}"
    if not value:
        return f"{name}="
    key, equals, rest = value.partition("=")
    if form == "pair":
        return f"{name}={{{json.dumps(key)}: {rest if is_json(rest) else json.dumps(rest)}}}" if equals else f"{name}={value}"
    return f"{name}={json.dumps(value)}"


def near(name, known):
    """"; did you mean 'x'?" of the known name that is most alike, or nothing."""
    import difflib

    found = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def recipe_keys():
    """The recipe's keys at its top."""
    with open(SCHEMA, encoding="utf-8") as file:
        return tuple(json.load(file)["properties"])


def check(keys, compiles, plugins):
    """Refuses the first of `keys` that is no keyword of `compiles` or of recipe_of, and no key of the recipe, if it is known
    what was meant, or its value is beyond a recipe. What the compiler's own suggestions answer is left to it, and with
    `plugins` there may be other keys."""
    from .torch_.recipe import recipe_of

    known = [name for function in (compiles, recipe_of) for name, each in inspect.signature(function).parameters.items()
             if each.kind is not each.VAR_KEYWORD]
    others = {name: value for name, value in keys.items() if name not in known}
    recipe = recipe_keys() if others else ()
    for name, value in others.items():
        if name in recipe:
            continue
        hint = "" if plugins else meant(name, [*known, *recipe])
        if hint or not is_plain(value):
            raise InvalidError(f"compile has no keyword {name!r}, and the recipe no such key" + hint)


def meant(name, known):
    """What a keyword was meant to be, in words; empty: that is not known."""
    from ._step import Step

    if name in SYNONYMS:
        return f"; did you mean {SYNONYMS[name]!r}?"
    if name == "batch_size":
        return '; a batch is as large as the first axis of `example`, or, of a model with a symbolic axis, as dims={"batch": 32} says'
    if name in FOR_FIT or name in inspect.signature(Step.fit).parameters:
        return "; it is said when the step trains: step.fit(data, epochs=..., ...)"
    return near(name, known)
