"""Every optimizer, schedule and loss of PyTorch: what becomes of it, or why it is refused.

The code of this package works by these rows, and docs/reference/python_torch.md is made of them. A row says how names
correspond; values are always those of the object that is given, so that no default of PyTorch stands here.
"""

import dataclasses
import typing

# Arguments that say how PyTorch computes, and not what.
HOW = ("foreach", "fused", "capturable", "differentiable")


@dataclasses.dataclass(frozen=True)
class Row:
    """`type` is the recipe's; `keys` leads from an argument of PyTorch to the recipe's key, or to several for a tuple.

    With `exported` the class is computed by nodes of the model's file, and "loss" is "output". `why` says of a class
    that is refused what stands in the way, and what is possible. `note` is for readers of the table.
    """

    name: str
    type: str = ""
    keys: typing.Mapping[str, typing.Any] = dataclasses.field(default_factory=dict)
    exported: bool = False
    why: str = ""
    note: str = ""


def same(*names):
    return {name: name for name in names}


RATE = {"lr": "learning_rate", **same("weight_decay", "maximize")}
MOMENTS = {**RATE, "betas": "betas", "eps": "epsilon"}

OPTIMIZERS = (
    Row("Adadelta", "adadelta", {**RATE, "rho": "decay_rate", "eps": "epsilon"}),
    Row("Adafactor", "adafactor", {**RATE, "beta2_decay": "decay_power", "eps": ("epsilon", "minimum_scale"), "d": "clip_threshold"},
        note="`eps[0]` None is the recipe's default, which is that of f32"),
    Row("Adagrad", "adagrad", {**RATE, "lr_decay": "learning_rate_decay", "initial_accumulator_value": "initial_accumulator",
                               "eps": "epsilon"}),
    Row("Adam", "adam", {**MOMENTS, "amsgrad": "amsgrad"}, note="with `decoupled_weight_decay` it is `adamw`"),
    Row("Adamax", "adamax", MOMENTS),
    Row("AdamW", "adamw", {**MOMENTS, "amsgrad": "amsgrad"}),
    Row("ASGD", "asgd", {**RATE, "lambd": "lambda", "alpha": "power", "t0": "start"}),
    Row("LBFGS", why="it computes loss and gradient many times in a step, and the recipe's optimizers once; "
                     "AdamW or SGD take its place, and `precondition` (K-FAC) brings second-order steps"),
    Row("Muon", "muon", {"lr": "learning_rate", "weight_decay": "weight_decay", **same("momentum", "nesterov"),
                         "ns_coefficients": "coefficients", "eps": "epsilon", "ns_steps": "iterations", "adjust_lr_fn": "adjust"},
        note="of matrices; what it does not hold stays fixed, or is another optimizer's: `optimizer=[muon, adamw]`"),
    Row("NAdam", "nadam", {**MOMENTS, **same("momentum_decay", "decoupled_weight_decay")}),
    Row("Optimizer", why="it is the base of optimizers and has no rule of its own; give one of those that the table takes"),
    Row("RAdam", "radam", {**MOMENTS, "decoupled_weight_decay": "decoupled_weight_decay"}),
    Row("RMSprop", "rmsprop", {**RATE, "alpha": "decay_rate", "eps": "epsilon", **same("momentum", "centered")}),
    Row("Rprop", "rprop", {"lr": "learning_rate", "maximize": "maximize", "etas": "factors", "step_sizes": "sizes"}),
    Row("SGD", "sgd", {**RATE, **same("momentum", "dampening", "nesterov")}),
    Row("SparseAdam", why="it moves only the rows that a batch reads, and gradients of embeddings are dense here; Adam moves all rows"),
)

TABLE = "its function's values, as a table of `schedule_steps` updates"

SCHEDULES = (
    Row("ChainedScheduler", "product", note="of schedules that multiply the rate; CosineAnnealingLR with an `eta_min`, LambdaLR, "
                                            "CyclicLR, OneCycleLR and CosineAnnealingWarmRestarts set it, and are refused inside"),
    Row("ConstantLR", "piecewise", {"total_iters": "milestones", "factor": "values"}),
    Row("CosineAnnealingLR", "cosine", {"T_max": "period", "eta_min": "final"}),
    Row("CosineAnnealingWarmRestarts", "cosine_restarts", {"T_0": "period", "T_mult": "growth", "eta_min": "final"}),
    Row("CyclicLR", "cyclic", {"max_lr": "learning_rate", "base_lr": "low", "step_size_up": "rise", "step_size_down": "fall",
                               "mode": "halve", "gamma": "rate"},
        note="with its momentum, a schedule of `momentum` or `beta1`; a `scale_fn` of one's own is refused"),
    Row("ExponentialLR", "exponential", {"gamma": "rate"}),
    Row("LambdaLR", "list", {"lr_lambda": "values"}, note=TABLE + "; those that transformers makes (linear, cosine, constant, each with a "
                                                          "warmup) become pieces, and others of its with a `num_training_steps` are as long as that"),
    Row("LinearLR", "linear", {"start_factor": "initial", "end_factor": "final", "total_iters": "steps"}),
    Row("LRScheduler", why="it is the base of schedulers and has no rule of its own; a LambdaLR tells any factor of the step as a table"),
    Row("MultiplicativeLR", "list", {"lr_lambda": "values"}, note=TABLE + ", multiplied up"),
    Row("MultiStepLR", "multi_step", {"milestones": "milestones", "gamma": "rate"}),
    Row("OneCycleLR", "one_cycle", {"max_lr": "learning_rate", "total_steps": "steps", "pct_start": "rise", "anneal_strategy": "shape",
                                    "div_factor": "initial", "final_div_factor": "final", "three_phase": "three_phase"},
        note="with its momentum, a schedule of `momentum` or `beta1`"),
    Row("PolynomialLR", "polynomial", {"total_iters": "period", "power": "power"}),
    Row("ReduceLROnPlateau", why="it looks at a metric between epochs, and a recipe's schedule at the step alone; "
                                 "set the number instead: step.set(\"optimizer.learning_rate\", rate)"),
    Row("SequentialLR", "list of pieces", {"milestones": "steps"}, note="a piece for each scheduler"),
    Row("StepLR", "step", {"step_size": "period", "gamma": "rate"}),
)

OF_CLASSES = {"weight": "class_weights", "ignore_index": "ignore_index", "reduction": "reduction"}

LOSSES = (
    Row("AdaptiveLogSoftmaxWithLoss", why="it has parameters, and picks rows by the labels, so shapes hang on values; "
                                          "a Linear layer in the model and CrossEntropyLoss take its place"),
    Row("BCELoss", exported=True),
    Row("BCEWithLogitsLoss", "bce_with_logits", {"pos_weight": "pos_weight", "reduction": "reduction"},
        note="with `weight`, or a `pos_weight` of several axes, it is exported with the model"),
    Row("CosineEmbeddingLoss", exported=True, note="of a model with two outputs"),
    Row("CrossEntropyLoss", "softmax_cross_entropy", {**OF_CLASSES, "label_smoothing": "label_smoothing"},
        note="labels that are probabilities set `soft_labels`"),
    Row("CTCLoss", why="ONNX has no form of its recursion over alignments; a loss written in torch operations, with a fixed number of "
                       "frames, can be exported with the model"),
    Row("GaussianNLLLoss", why="it looks for negative variances first, and a file has no branches on values; a callable can say its formula: "
                               "lambda out, y: 0.5 * (out[1].log() + (out[0] - y) ** 2 / out[1]).mean()"),
    Row("HingeEmbeddingLoss", "hinge_embedding", same("margin", "reduction")),
    Row("HuberLoss", "huber", same("delta", "reduction")),
    Row("KLDivLoss", "kl_div", same("log_target", "reduction")),
    Row("L1Loss", "l1", same("reduction")),
    Row("LinearCrossEntropyLoss", why="it has parameters, which belong to the model; a Linear layer there and CrossEntropyLoss are the same"),
    Row("MarginRankingLoss", exported=True, note="of a model with two outputs"),
    Row("MSELoss", "mse", same("reduction")),
    Row("MultiLabelMarginLoss", why="ONNX has no form of its lists of labels that end at -1; MultiLabelSoftMarginLoss or "
                                    "BCEWithLogitsLoss take labels of 0 and 1"),
    Row("MultiLabelSoftMarginLoss", exported=True),
    Row("MultiMarginLoss", "multi_margin", {"p": "power", "margin": "margin", "weight": "class_weights", "reduction": "reduction"}),
    Row("NLLLoss", "nll", OF_CLASSES),
    Row("NLLLoss2d", "nll", OF_CLASSES, note="PyTorch's old name of NLLLoss"),
    Row("PoissonNLLLoss", exported=True),
    Row("SmoothL1Loss", "smooth_l1", same("beta", "reduction")),
    Row("SoftMarginLoss", exported=True),
    Row("TripletMarginLoss", exported=True, note="of a model with three outputs, and no labels"),
    Row("TripletMarginWithDistanceLoss", exported=True, note="of a model with three outputs, and no labels"),
)


def rows(table):
    return {row.name: row for row in table}
