"""Objects of PyTorch that say how to train as a recipe: its keys and values, as a Python dict.

Each argument may also be what the recipe itself has there: a type's name, or a dict.
"""

import collections.abc
import inspect

from .configured import configured
from .errors import NotExpressible
from .loss import is_in_recipe, loss_of
from .optimizer import optimizer_of
from .schedule import schedule_of


def recipe_of(module=None, loss=None, optimizer=None, scheduler=None, clip_grad_norm=None, clip_grad_value=None, ema=None, metrics=None,
              precision=None, *, names=None, fixed=None, output=None, label=None, soft_labels=False, interval=None, schedule_steps=None,
              **keys):
    """The recipe of what is given.

    `module`: whose parameters the groups of `optimizer` are; `names` leads from their names to those in the file (Exported.names), and
    `fixed` are names in the file of parameters without gradients (Exported.fixed), which the module tells by itself.
    `loss`: one of torch.nn, a name, a dict; a callable, or a loss that the table calls exported, is the model's own output.
    `output`: the output of the model that the loss takes, where there are several. `label`: the name of the labels' input, instead of
    `label`. `soft_labels`: labels are probabilities of classes.
    `optimizer`: of torch.optim, or several that share the parameters, or what Lightning's configure_optimizers returns; `scheduler`: of torch.optim.lr_scheduler, whose step() is called
    after each update, or with `interval="epoch"` after each epoch, as one that comes with Lightning's optimizer is unless `interval` is given. `schedule_steps`: the length of a LambdaLR's table, which those of
    transformers know.
    `clip_grad_norm`, `clip_grad_value`, `ema` (a decay): numbers. `keys`: the recipe's other keys.
    """
    recipe = {}
    if loss is not None:
        recipe["loss"] = loss_of(loss, output, soft_labels, label)
    else:
        refuse_alone("loss", output=output, soft_labels=soft_labels or None, label=label)
    if fixed is None:
        fixed = fixed_of(module, names)
    told = {"interval": interval, "schedule_steps": schedule_steps}
    optimizer, scheduler, interval = configured(optimizer, scheduler, interval)
    refuse_class("optimizer", optimizer, "module.parameters()")
    refuse_class("scheduler", scheduler, "optimizer")
    refuse_parts(scheduler)
    if scheduler is None or isinstance(scheduler, collections.abc.Mapping):
        refuse_alone("scheduler of PyTorch", **told)
    if optimizer is not None:
        schedule = schedule_of(scheduler, optimizer, interval, schedule_steps)
        recipe.update(optimizer_of(optimizer, module, names, schedule))
        if schedule.keys:
            recipe["schedule"] = schedule.keys
    elif scheduler is not None:
        recipe["schedule"] = own("scheduler", scheduler)
    if fixed or recipe.get("fixed"):
        recipe["fixed"] = sorted({*recipe.get("fixed", []), *fixed})
    recipe.update(clip_of(clip_grad_norm, clip_grad_value))
    if ema is not None:
        recipe["ema"] = ema_of(ema)
    if metrics is not None:
        recipe["metrics"] = [metrics] if isinstance(metrics, str) else list(metrics)
    if precision is not None:
        recipe["precision"] = precision_of(precision)
    return joined(recipe, keys)


def refuse_alone(what, **told):
    """Refuses what is said of something that is not given."""
    for name, value in told.items():
        if value is not None:
            raise NotExpressible(f"{name}={value!r} is given without a {what}, of which it says more; a dictionary or the recipe has keys of "
                                 "its own for it")


def fixed_of(module, names):
    if module is None:
        return []
    return [names.get(name) if names is not None else name for name, parameter in module.named_parameters()
            if not parameter.requires_grad and (names is None or name in names)]


def refuse_class(what, value, arguments):
    if inspect.isclass(value):
        raise NotExpressible(f"{what} is the class {value.__name__}; give an object: {value.__name__}({arguments}, ...)")


DICT = '{"learning_rate": [{"type": "cosine", "rest": True}]}'  # a schedule


def refuse_parts(scheduler):
    """Refuses what stands inside of a recipe's schedule, or beside a scheduler, in the place of the whole."""
    if isinstance(scheduler, str):
        raise NotExpressible(f"scheduler is the text {scheduler!r}; expected a scheduler of torch.optim.lr_scheduler, or a dict, as the recipe "
                             f"has it: scheduler={DICT}")
    if isinstance(scheduler, (tuple, list)) and scheduler and isinstance(scheduler[0], collections.abc.Mapping):
        raise NotExpressible(f"scheduler is a list of pieces; say what they move: scheduler={DICT}")
    if not isinstance(scheduler, collections.abc.Mapping):
        return
    if "scheduler" in scheduler:
        raise NotExpressible("scheduler is a dict with a scheduler in it, as Lightning has it beside an optimizer; give the scheduler itself, "
                             "scheduler=..., and interval=\"epoch\" where its step() is called after each epoch")
    if "type" in scheduler:
        raise NotExpressible(f"scheduler is one piece of a schedule; say what it moves: scheduler={DICT}")


def own(what, value):
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    raise NotExpressible(f"{what} is a {type(value).__name__}; without an optimizer of torch.optim it must be a dict, as the recipe has it")


def clip_of(norm, value):
    if norm is not None and value is not None:
        raise NotExpressible("clip_grad_norm and clip_grad_value are both given, and a recipe clips once; clip_update is a second time")
    if norm is not None:
        return {"clip": {"type": "global_norm", "value": number("clip_grad_norm", norm)}}
    return {} if value is None else {"clip": {"type": "value", "value": number("clip_grad_value", value)}}


def number(what, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise NotExpressible(f"{what} is a {type(value).__name__}; expected a number") from None


def ema_of(ema):
    if isinstance(ema, (bool, collections.abc.Mapping)):
        return ema
    if type(ema).__name__ == "AveragedModel":
        raise NotExpressible("an AveragedModel keeps its decay inside a function; give the decay itself, ema=0.999, and read the averages "
                             "as the states ema/average/...")
    return {"decay": number("ema", ema)}


PRECISIONS = {"torch.float32": "f32", "torch.bfloat16": "bf16", "torch.float16": "f16",
              "32": "f32", "32-true": "f32", "bf16-mixed": "bf16", "16-mixed": "f16"}  # dtypes, and Lightning's words


def precision_of(precision):
    """The recipe's word, also for a dtype, torch.bfloat16, and for what Lightning calls it, "bf16-mixed"."""
    if str(precision) in ("bf16-true", "16-true", "64-true", "64", "torch.float64"):
        raise NotExpressible(f"precision is {str(precision)!r}, and weights and states are f32 here; bf16 and f16 are what matmuls and "
                             "convolutions multiply, as in Lightning's 'bf16-mixed' and '16-mixed'")
    return PRECISIONS.get(str(precision), str(precision))


def joined(recipe, keys):
    twice = sorted(set(recipe) & set(keys))
    if twice and twice != ["fixed"]:
        raise NotExpressible(f"the recipe's key '{twice[0]}' is given twice: by an argument and by a key")
    if twice:
        keys = {**keys, "fixed": sorted({*recipe["fixed"], *keys["fixed"]})}
    return {**recipe, **keys}


def exports_loss(loss):
    """Whether the loss is exported with the model (Exported of `loss=`), and not a key of the recipe."""
    if loss is None or isinstance(loss, (str, collections.abc.Mapping)):
        return False
    return not is_in_recipe(loss) if hasattr(loss, "forward") else callable(loss) and not inspect.isclass(loss)
