"""Schedulers of torch.optim.lr_scheduler as the recipe's `schedule`.

A scheduler sets a rate, and a piece of the recipe is a factor on the optimizer's own. So what schedulers give as rates (`eta_min`,
`base_lr`) is divided by that, and must come to one factor for all groups.
"""

import collections.abc
import math

from . import table, transformers_schedule
from .errors import NotExpressible
from .values import plain

ROWS = table.rows(table.SCHEDULES)


class Schedule:
    """`keys` is the recipe's `schedule`; `base` are the settings of optimizers that its factors multiply."""

    def __init__(self):
        self.keys, self.rates, self.momentum = {}, {}, None  # rates: by the id of a group

    def set_base(self, settings, group):
        """Schedulers have changed a group's numbers as soon as they are made: puts in those that factors are of."""
        if id(group) in self.rates:
            settings["learning_rate"] = self.rates[id(group)]
        if self.momentum is None:
            return
        if "betas" in settings:
            settings["betas"] = [self.momentum, *settings["betas"][1:]]
        else:
            settings["momentum"] = self.momentum


def schedule_of(scheduler, optimizer, interval="step", steps=None):
    made = Schedule()
    if scheduler is None:
        return made
    if isinstance(scheduler, collections.abc.Mapping):
        made.keys = dict(scheduler)
        return made
    schedulers = list(scheduler) if isinstance(scheduler, (tuple, list)) else [scheduler]
    optimizers = list(optimizer) if isinstance(optimizer, (tuple, list)) else [optimizer]
    if len(schedulers) != len(optimizers):
        raise NotExpressible(f"there are {len(optimizers)} optimizers and {len(schedulers)} schedulers, and a recipe's schedule is that of "
                             "all; give one for each")
    if interval not in ("step", "epoch"):
        raise NotExpressible(f"interval is {interval!r}; expected 'step' or 'epoch', after which scheduler.step() is called")
    every = []
    for each, moved in zip(schedulers, optimizers):
        refuse_strange(each, moved)
        every.append(Reader(made, interval, steps).pieces(each))
    if any(pieces != every[0] for pieces in every):
        raise NotExpressible("the schedulers of several optimizers differ, and a recipe has one schedule for all groups")
    made.keys["learning_rate"] = every[0]
    return made


def refuse_strange(scheduler, optimizer):
    row_of(scheduler)
    if not hasattr(optimizer, "param_groups"):
        raise NotExpressible("a scheduler of PyTorch needs its optimizer of torch.optim, and not its name alone")
    if scheduler.optimizer is not optimizer:
        raise NotExpressible("the scheduler is that of another optimizer object; make it from the optimizer that is given")
    if getattr(scheduler, "last_epoch", 0) > 0:
        raise NotExpressible(f"the scheduler has been called {scheduler.last_epoch} times, and a schedule begins at the first step; "
                             "give a new one")


def row_of(scheduler):
    from torch.optim import lr_scheduler

    kind = type(scheduler)
    name = "LRScheduler" if kind.__name__ == "_LRScheduler" else kind.__name__
    row = ROWS.get(name) if getattr(lr_scheduler, name, None) is kind else None
    if row is None:
        raise NotExpressible(f"the scheduler is a {kind.__module__}.{kind.__name__}, whose rule is unknown; a LambdaLR tells any factor of "
                             "the step as a table, and a dict is the recipe's own schedule")
    if row.why:
        raise NotExpressible(f"{name} has no form here: {row.why}")
    return row


def one_factor(values, of, where):
    """The quotient that all groups share."""
    factors = [value / each if each else (1.0 if value == each else math.inf) for value, each in zip(values, of)]
    if any(not math.isclose(factor, factors[0], rel_tol=1e-9) or math.isinf(factor) for factor in factors):
        raise NotExpressible(f"{where} comes to {', '.join(f'{factor:g}' for factor in factors)} times the rates of the groups, and a "
                             "schedule's factors are the same for all groups")
    return factors[0]


class Reader:
    """Reads schedulers: a method for each kind of piece that more than a mapping of names makes."""

    def __init__(self, made, interval, steps):
        self.made, self.interval, self.steps = made, interval, steps

    def pieces(self, scheduler):
        if (known := self.of_transformers(scheduler)) is not None:
            return [self.timed(piece) for piece in known]
        if type(scheduler).__name__ != "SequentialLR":
            return [self.timed(self.piece(scheduler, self.steps))]
        self.refuse_carried(scheduler)
        ends, made = [*scheduler._milestones, None], []
        for i, each in enumerate(scheduler._schedulers):
            begin, end = (scheduler._milestones[i - 1] if i else 0), ends[i]
            length = end - begin if end is not None else self.steps and max(self.steps - begin, 1)
            piece = self.piece(each, length)
            if end is not None:
                piece = self.cut(piece, end - begin)
            made.append(self.timed(piece))
        return made

    def of_transformers(self, scheduler):
        if type(scheduler).__name__ != "LambdaLR" or (pieces := transformers_schedule.pieces_of(scheduler.lr_lambdas)) is None:
            return None
        self.factors_of(scheduler, [group["initial_lr"] for group in scheduler.optimizer.param_groups])
        return pieces

    @staticmethod
    def refuse_carried(scheduler):
        """Where one begins, SequentialLR computes its rate anew, but that of MultiplicativeLR goes on from the one before."""
        for each in scheduler._schedulers:
            row_of(each)
            if type(each).__name__ in ("SequentialLR", "MultiplicativeLR", "ChainedScheduler", "OneCycleLR", "CyclicLR"):
                raise NotExpressible(f"a {type(each).__name__} inside of SequentialLR has no form here; a LambdaLR of the whole tells its "
                                     "factors as a table")

    def cut(self, piece, length):
        """A piece that ends after `length`, whose own length stands in a period of its own."""
        if piece["type"] == "linear":
            return piece if piece["steps"] == length else {"type": "product", "steps": length, "factors": [piece]}
        return {**piece, "steps": length}

    def timed(self, piece):
        return piece if self.interval == "step" else {**piece, "interval": self.interval}

    def piece(self, scheduler, steps):
        row = row_of(scheduler)
        if row.type not in ("one_cycle", "cyclic"):
            self.factors_of(scheduler, [group["initial_lr"] for group in scheduler.optimizer.param_groups])
        special = getattr(self, row.type, None)
        made = {"type": row.type}
        if special:
            return {**made, **special(scheduler, row, steps)}
        return {**made, **{key: getattr(scheduler, argument) for argument, key in row.keys.items()}}

    def factors_of(self, scheduler, rates):
        """Keeps the rates of the groups that the factors multiply."""
        self.made.rates.update(zip(map(id, scheduler.optimizer.param_groups), map(plain, rates)))

    def multi_step(self, scheduler, row, steps):
        return {"milestones": sorted(scheduler.milestones.elements()), "rate": scheduler.gamma}

    def piecewise(self, scheduler, row, steps):
        return {"milestones": [scheduler.total_iters], "values": [scheduler.factor, 1.0]}

    def linear(self, scheduler, row, steps):
        return {"initial": scheduler.start_factor, "final": scheduler.end_factor, "steps": scheduler.total_iters}

    def cosine(self, scheduler, row, steps):
        return {"period": scheduler.T_max, **self.minimum(scheduler)}

    def cosine_restarts(self, scheduler, row, steps):
        return {"period": scheduler.T_0, "growth": scheduler.T_mult, **self.minimum(scheduler)}

    @staticmethod
    def minimum(scheduler):
        rates = [plain(rate) for rate in scheduler.base_lrs]
        return {"final": one_factor([scheduler.eta_min] * len(rates), rates, f"eta_min={scheduler.eta_min:g}")}

    def list(self, scheduler, row, steps):
        """A table of what the functions give, the last of which holds on."""
        steps = steps or transformers_schedule.length_of(scheduler.lr_lambdas[0])
        if not steps:
            raise NotExpressible(f"{row.name} has a function of the step, which becomes a table; say how long it is: schedule_steps=1000")
        columns = [[float(function(k)) for k in range(steps)] for function in scheduler.lr_lambdas]
        if any(column != columns[0] for column in columns):
            raise NotExpressible(f"the functions of {row.name} differ between groups, and a schedule's factors are the same for all groups")
        if row.name == "LambdaLR":
            return {"values": columns[0]}
        values = [1.0]
        for factor in columns[0][1:]:
            values.append(values[-1] * factor)
        return {"values": values}

    def product(self, scheduler, row, steps):
        """Each of its schedulers multiplies the rate that the one before it left."""
        factors = []
        for each in scheduler._schedulers:
            if type(each).__name__ in ("LambdaLR", "CyclicLR", "OneCycleLR", "CosineAnnealingWarmRestarts", "SequentialLR",
                                       "ChainedScheduler") or getattr(each, "eta_min", 0):
                raise NotExpressible(f"a {type(each).__name__} inside of ChainedScheduler sets the rate (or has an eta_min) and does not "
                                     "multiply it; a LambdaLR of the whole tells its factors as a table")
            factors.append(self.piece(each, steps))
        return {"factors": factors}

    def cyclic(self, scheduler, row, steps):
        if scheduler._scale_fn_custom is not None:
            raise NotExpressible("CyclicLR has a scale_fn of its own; mode triangular, triangular2 or exp_range is possible, or a LambdaLR "
                                 "of the whole")
        self.factors_of(scheduler, scheduler.max_lrs)
        rise = scheduler.total_size * scheduler.step_ratio
        wave = {"rise": rise, "fall": scheduler.total_size - rise}
        if scheduler.mode == "triangular2":
            wave["halve"] = True
        if scheduler.mode == "exp_range":
            wave["rate"] = scheduler.gamma
        low = one_factor([plain(rate) for rate in scheduler.base_lrs], [plain(rate) for rate in scheduler.max_lrs], "base_lr")
        if scheduler.cycle_momentum:
            largest = self.one_momentum(scheduler.max_momentums, "max_momentum")
            smallest = self.one_momentum(scheduler.base_momentums, "base_momentum")
            self.momentum(scheduler, largest, {"type": "cyclic", **wave, "low": 1.0, "high": smallest / largest})
        return {**wave, "low": low, "high": 1.0}

    def one_cycle(self, scheduler, row, steps):
        groups = scheduler.optimizer.param_groups
        largest = [plain(group["max_lr"]) for group in groups]
        self.factors_of(scheduler, largest)
        rise = (scheduler._schedule_phases[0]["end_step"] + 1) / scheduler.total_steps
        way = {"steps": scheduler.total_steps, "rise": rise, "shape": {"cos": "cosine"}.get(scheduler._anneal_func_type, "linear"),
               "three_phase": len(scheduler._schedule_phases) == 3}
        if scheduler.cycle_momentum:
            bottom = self.one_momentum([group["base_momentum"] for group in groups], "base_momentum")
            top = self.one_momentum([group["max_momentum"] for group in groups], "max_momentum")
            if not bottom:
                raise NotExpressible("OneCycleLR has base_momentum=0, of which there is no factor; a small one, or cycle_momentum=False")
            self.momentum(scheduler, bottom, {"type": "one_cycle", **way, "initial": top / bottom, "final": top / bottom})
        return {**way, "initial": one_factor([plain(group["initial_lr"]) for group in groups], largest, "initial_lr"),
                "final": one_factor([plain(group["min_lr"]) for group in groups], largest, "min_lr")}

    @staticmethod
    def one_momentum(values, what):
        if any(value != values[0] for value in values):
            raise NotExpressible(f"{what} differs between groups, and a schedule's factors are the same for all groups")
        return plain(values[0])

    def momentum(self, scheduler, base, piece):
        self.made.momentum = base
        self.made.keys["beta1" if scheduler.use_beta1 else "momentum"] = [self.timed(piece)]

