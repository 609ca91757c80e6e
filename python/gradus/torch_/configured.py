"""What the method configure_optimizers of Lightning returns, as an optimizer, its scheduler, and after what that is called."""

import collections.abc

from .errors import NotExpressible

KNOWN = {"scheduler", "interval", "frequency", "monitor", "strict", "name", "reduce_on_plateau"}


def configured(optimizer, scheduler, interval):
    """(optimizer, scheduler, interval) of an optimizer, of a dictionary with "optimizer" and "lr_scheduler", of a list of such, or of a
    pair of lists. What is in none of these forms comes back as it is."""
    pairs = pairs_of(optimizer)
    if pairs is None:
        return optimizer, scheduler, interval
    found = [each for _, each in pairs if each is not None]
    optimizers = [each for each, _ in pairs]
    optimizer = optimizers[0] if len(optimizers) == 1 else optimizers
    if not found:
        return optimizer, scheduler, interval
    if scheduler is not None:
        raise NotExpressible("a scheduler is given twice: as scheduler=, and with the optimizer")
    schedulers, intervals = zip(*map(called, found))
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
    if len(given) == 2 and all(isinstance(each, (tuple, list)) for each in given):
        optimizers, schedulers = given
        if schedulers and len(schedulers) != len(optimizers):
            raise NotExpressible(f"there are {len(optimizers)} optimizers and {len(schedulers)} schedulers; give one for each")
        return list(zip(optimizers, schedulers or [None] * len(optimizers)))
    several = [pairs_of(each) for each in given]
    return None if None in several else [pair for pairs in several for pair in pairs]


def called(said):
    """A scheduler and its interval, which is an epoch where nothing else is said."""
    if not isinstance(said, collections.abc.Mapping):
        return said, "epoch"
    unknown = sorted(set(said) - KNOWN)
    if unknown or "scheduler" not in said:
        raise NotExpressible(f"lr_scheduler: expected a dictionary with 'scheduler' and 'interval', found {', '.join(map(repr, said))}")
    if said.get("frequency", 1) != 1:
        raise NotExpressible(f"lr_scheduler has the frequency {said['frequency']}, and a recipe's schedule moves after each step or epoch; "
                             "let the scheduler itself count in longer steps")
    return said["scheduler"], said.get("interval", "epoch")
