"""Optimizers of torch.optim and their parameter groups as the recipe's `optimizer`, `groups` and `fixed`."""

import collections.abc

from . import table
from .errors import NotExpressible
from .values import plain

ROWS = table.rows(table.OPTIMIZERS)

# What a group has beside the optimizer's arguments: what schedulers and named parameters leave there.
BESIDE = {"params", "param_names", "initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr", *table.HOW}
GROUP_KEYS = {"learning_rate", "weight_decay"}  # A group of the recipe has these without an optimizer of its own.


def optimizer_of(optimizer, module=None, names=None, schedule=None):
    """`schedule` has the numbers that its factors multiply, where those are not the groups' own."""
    if isinstance(optimizer, str):
        return {"optimizer": {"type": optimizer}}
    if isinstance(optimizer, collections.abc.Mapping):
        return {"optimizer": dict(optimizer)}
    optimizers = list(optimizer) if isinstance(optimizer, (tuple, list)) else [optimizer]
    groups = [(settings_of(each, group, schedule), group["params"]) for each in map(checked, optimizers) for group in each.param_groups]
    first = groups[0][0]
    recipe = {"optimizer": first}
    if module is None:
        if any(settings != first for settings, _ in groups):
            raise NotExpressible("the optimizer has several groups, whose parameters have names in the module alone; give the module, too")
        return recipe
    placed = Names(module, names)
    in_groups = [(settings, placed.of(parameters)) for settings, parameters in groups]
    own = [own_settings(first, settings, matching) for settings, matching in in_groups if settings != first and matching]
    if own:
        recipe["groups"] = own
    moved = {name for _, matching in in_groups for name in matching}
    if left := sorted(set(placed.all()) - moved):
        recipe["fixed"] = left
    return recipe


def checked(optimizer):
    import torch

    kind = type(optimizer)
    row = ROWS.get(kind.__name__) if getattr(torch.optim, kind.__name__, None) is kind else None
    if row is None:
        taken = ", ".join(row.name for row in table.OPTIMIZERS if row.type)
        raise NotExpressible(f"the optimizer is a {kind.__module__}.{kind.__name__}, whose rule is unknown; known are those of torch.optim: "
                             f"{taken}. The recipe has more by name (docs/optimizers.md): optimizer={{\"type\": \"lion\", ...}}")
    if row.why:
        raise NotExpressible(f"{kind.__name__} has no form here: {row.why}")
    if any(slots.get("step", 1) > 0 for slots in optimizer.state.values()):  # Some have slots before their first step.
        raise NotExpressible(f"the {kind.__name__} has made steps, and a recipe begins without its moments; give a new one, and load the "
                             "moments into the step (load_state_dict)")
    return optimizer


def settings_of(optimizer, group, schedule):
    """The recipe's keys of one group, in the order of the table's row."""
    row = ROWS[type(optimizer).__name__]
    made = {"type": row.type}
    unknown = sorted(set(group) - set(row.keys) - BESIDE - {"decoupled_weight_decay"})
    if unknown:
        raise NotExpressible(f"a group of the {row.name} has '{unknown[0]}', which PyTorch's {row.name} does not know")
    for argument, key in row.keys.items():
        put(made, key, group[argument])
    if row.name == "Adam" and group.get("decoupled_weight_decay"):
        made["type"] = "adamw"
    if row.type == "muon":
        made["others_match"] = []  # Its groups say what it moves.
        made["adjust"] = made.get("adjust", "original")
    if schedule is not None:
        schedule.set_base(made, group)
    return made


def put(made, key, value):
    if isinstance(key, tuple):
        for part, each in zip(key, value):
            put(made, part, each)
    elif value is not None:
        made[key] = plain(value)


def own_settings(first, settings, matching):
    """One of the recipe's `groups`: what differs, or an optimizer of its own."""
    differs = {key: value for key, value in settings.items() if first.get(key) != value}
    if set(differs) <= GROUP_KEYS and set(settings) == set(first):
        return {"match": matching, **differs}
    return {"match": matching, "optimizer": settings}


class Names:
    """The names in the model's file of the parameters of a module."""

    def __init__(self, module, names):
        self.place = {}
        for name, parameter in module.named_parameters(remove_duplicate=False):
            there = name if names is None else names.get(name)
            self.place.setdefault(id(parameter), there)
        self.trained = {id(parameter) for parameter in module.parameters() if parameter.requires_grad}

    def all(self):
        return [name for key, name in self.place.items() if name is not None and key in self.trained]

    def of(self, parameters):
        """Without those that get no gradient, or that the model does not use, which the file leaves out."""
        for parameter in parameters:
            if id(parameter) not in self.place:
                raise NotExpressible(f"the optimizer holds a parameter of the shape {list(parameter.shape)} that is none of the module's; "
                                     "make the optimizer from module.parameters() of this module")
        return [self.place[id(parameter)] for parameter in parameters if self.place[id(parameter)] is not None and id(parameter) in self.trained]
