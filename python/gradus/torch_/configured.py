"""What the method configure_optimizers of Lightning returns, as an optimizer, its scheduler, and after what that is called."""

import collections.abc
import warnings

from .errors import NotExpressible

KNOWN = {"scheduler", "interval", "frequency", "monitor", "strict", "name", "reduce_on_plateau"}


def configured(optimizer, scheduler, interval):
    """(optimizer, scheduler, interval) of an optimizer, of a dictionary with "optimizer" and "lr_scheduler", of a list of such, or of a
    pair of a list of optimizers and a list of schedulers, or one scheduler. What is in none of these forms comes back as it is.

    `interval` is what the caller says, or None: then the scheduler is called after each step, and after each epoch in Lightning's forms."""
    pairs = pairs_of(optimizer)
    if pairs is None:
        return optimizer, scheduler, "step" if interval is None else interval
    found = [each for _, each in pairs if each is not None]
    optimizers = [each for each, _ in pairs]
    optimizer = optimizers[0] if len(optimizers) == 1 else optimizers
    if not found:
        return optimizer, scheduler, "step" if interval is None else interval
    if scheduler is not None:
        raise NotExpressible("a scheduler is given twice: as scheduler=, and with the optimizer")
    schedulers, intervals = zip(*(called(each, interval) for each in found))
    if len(set(intervals)) > 1:
        raise NotExpressible("one scheduler is called after each step and another one after each epoch; a recipe's schedule is one of all "
                             "optimizers")
    return optimizer, schedulers[0] if len(schedulers) == 1 else list(schedulers), intervals[0]


def pairs_of(given):
    """[(optimizer, what is said of its scheduler, or None)], or None where Lightning's forms are not used."""
    if isinstance(given, collections.abc.Mapping):
        return [(given["optimizer"], given.get("lr_scheduler"))] if hasattr(given.get("optimizer"), "param_groups") else None
    if not isinstance(given, (tuple, list)) or not given:
        return None
    if len(given) == 2 and isinstance(given[0], (tuple, list)):
        optimizers, schedulers = given
        if not isinstance(schedulers, (tuple, list)):
            schedulers = [schedulers]
        if schedulers and len(schedulers) != len(optimizers):
            raise NotExpressible(f"there are {len(optimizers)} optimizers and {len(schedulers)} schedulers; give one for each")
        return list(zip(optimizers, schedulers or [None] * len(optimizers)))
    several = [pairs_of(each) for each in given]
    return None if None in several else [pair for pairs in several for pair in pairs]


def called(said, interval):
    """A scheduler and its interval: what is said of it here, or else by the caller, or else an epoch."""
    if not isinstance(said, collections.abc.Mapping):
        return said, "epoch" if interval is None else interval
    if "scheduler" not in said:
        raise NotExpressible(f"lr_scheduler: expected a dictionary with 'scheduler' and 'interval', found {', '.join(map(repr, said))}")
    unknown = sorted(map(repr, set(said) - KNOWN))
    if unknown:
        warnings.warn(f"lr_scheduler: {', '.join(unknown)} is not known and has no effect; known are {', '.join(sorted(KNOWN))}", stacklevel=5)
    if said.get("frequency", 1) != 1:
        raise NotExpressible(f"lr_scheduler has the frequency {said['frequency']}, and a recipe's schedule moves after each step or epoch; "
                             "let the scheduler itself count in longer steps")
    own = said.get("interval")
    if own is not None and interval is not None and own != interval:
        raise NotExpressible(f"interval={interval!r} is given, and the lr_scheduler beside the optimizer says {own!r}; give one of them")
    return said["scheduler"], own or interval or "epoch"
