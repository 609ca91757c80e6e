"""The schedules that get_scheduler of transformers makes, as pieces of the recipe.

They are functions of the step inside of a LambdaLR, with the numbers of steps as arguments that are already given. Kinds that are not
among these pieces become a table, as long as those numbers say.
"""

import functools


def pieces_of(functions):
    """The pieces that follow one another, if all groups have one and the same of these functions; else None."""
    first = functions[0]
    make = MADE.get(name_of(first))
    if make is None or any(name_of(each) != name_of(first) or given(each) != given(first) for each in functions):
        return None
    return make(**given(first))


def length_of(function):
    """After how many steps a function of transformers does not change any more, or the run ends; None of other functions."""
    if name_of(function):
        return given(function).get("num_training_steps")
    return None


def name_of(function):
    inner = getattr(function, "func", function)
    return inner.__name__ if getattr(inner, "__module__", "") == "transformers.optimization" else None


def given(function):
    return dict(function.keywords) if isinstance(function, functools.partial) else {}


def constant():
    return [{"type": "constant"}]


def constant_with_warmup(num_warmup_steps):
    return [*warmup(num_warmup_steps), {"type": "constant"}]


def linear(num_warmup_steps, num_training_steps):
    return [*warmup(num_warmup_steps), {"type": "linear", "initial": 1.0, "final": 0.0, "steps": max(num_training_steps - num_warmup_steps, 1)}]


def cosine(num_warmup_steps, num_training_steps, num_cycles=0.5, min_lr_rate=0.0):
    if num_cycles != 0.5:
        return None
    length = max(num_training_steps - num_warmup_steps, 1)
    return [*warmup(num_warmup_steps), {"type": "cosine", "final": min_lr_rate, "steps": length}]


def warmup(steps):
    return [{"type": "linear", "initial": 0.0, "final": 1.0, "steps": steps}] if steps else []


MADE = {"_get_constant_lambda": constant, "_get_constant_schedule_with_warmup_lr_lambda": constant_with_warmup,
        "_get_linear_schedule_with_warmup_lr_lambda": linear, "_get_cosine_schedule_with_warmup_lr_lambda": cosine}
