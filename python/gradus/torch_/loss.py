"""A loss of torch.nn as the recipe's `loss`."""

import collections.abc
import inspect

from . import table
from .errors import NotExpressible
from .values import listed

ROWS = table.rows(table.LOSSES)


def row_of(loss):
    """Of a loss of torch.nn itself; None of other callables. Refuses what the table refuses."""
    import torch

    kind = type(loss)
    if inspect.isclass(loss):
        raise NotExpressible(f"loss is the class {loss.__name__}; give an object: {loss.__name__}()")
    if getattr(torch.nn, kind.__name__, None) is kind:
        row = ROWS.get(kind.__name__)
        if row and row.why:
            raise NotExpressible(f"{kind.__name__} has no form here: {row.why}")
        return row
    return None


def is_in_recipe(loss):
    row = row_of(loss)
    return bool(row and row.type and not needs_export(loss))


def needs_export(loss):
    """Whether arguments of a loss that the recipe has are beyond the recipe's keys."""
    if type(loss).__name__ != "BCEWithLogitsLoss":
        return False
    return loss.weight is not None or (loss.pos_weight is not None and loss.pos_weight.dim() > 1)


def loss_of(loss, output=None, soft_labels=False, label=None):
    names = {key: name for key, name in (("output", output), ("label", label)) if name}
    if soft_labels and isinstance(loss, (str, collections.abc.Mapping)):
        names["soft_labels"] = True
    if isinstance(loss, str):
        return {"type": loss, **names}
    if isinstance(loss, collections.abc.Mapping):
        return joined(loss, names)
    row = row_of(loss)
    if row is None or not is_in_recipe(loss):
        made = exported(loss)
        for key, given in (("output", output), ("soft_labels", soft_labels)):
            if given:
                raise NotExpressible(f"{key}={given!r} is given, and this loss is exported with the model: it picks outputs and takes labels "
                                     "by itself")
        return made
    made = {"type": row.type}
    for argument, key in row.keys.items():
        value = getattr(loss, argument)
        if value is not None:
            made[key] = listed(value)
    if made.get("reduction") == "none":
        raise NotExpressible(f"{row.name} has reduction='none', and training needs one number; expected 'mean' or 'sum'")
    if "class_weights" in row.keys.values():
        made["class_axis"] = 1  # PyTorch's losses know no other.
    if soft_labels:
        refuse_hard(row, made)
        made["soft_labels"] = True
    return {**made, **names}


def joined(loss, names):
    """A dict of the recipe with the names that are given beside it."""
    for key, name in names.items():
        if loss.get(key, name) != name:
            raise NotExpressible(f"{key}={name!r} is given, and the loss says {loss[key]!r}; give one of them")
    if names and loss.get("type") == "sum":
        raise NotExpressible(f"{', '.join(f'{key}={name!r}' for key, name in names.items())} is given, and the loss is a sum; say it in those "
                             "that it sums")
    return {**names, **loss}


def refuse_hard(row, made):
    if row.type != "softmax_cross_entropy":
        raise NotExpressible(f"soft_labels: {row.name} takes no probabilities of classes as labels; CrossEntropyLoss does")
    made.pop("ignore_index")


def exported(loss):
    """The loss is the output `loss` of the model's file."""
    if not callable(loss):
        raise NotExpressible(f"loss is a {type(loss).__name__}; expected a loss of torch.nn, a name such as 'mse', a dict as in the recipe, "
                             "or a callable of outputs and labels")
    if getattr(loss, "reduction", "mean") == "none":
        raise NotExpressible(f"{type(loss).__name__} has reduction='none', and training needs one number; expected 'mean' or 'sum'")
    trained = [name for name, _ in loss.named_parameters()] if hasattr(loss, "named_parameters") else []
    if trained:
        raise NotExpressible(f"the loss {type(loss).__name__} has parameters of its own ({', '.join(trained)}), which would not be trained; "
                             "make it a part of the module, and give a callable that picks its value")
    return {"type": "output", "output": "loss"}
