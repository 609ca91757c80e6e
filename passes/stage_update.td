// Passes that turn updates into arithmetic and writes.

include "passes/pass_base.td"

def ExpandOptimizer : GradusPass<"expand-optimizer"> {
  let summary = "Turns every update into the optimizer's arithmetic and writes";
  let description = [{
    Replaces each op of the interface `ParameterUpdate` in `@train` by the
    update rule of the recipe's `optimizer` and a `gradus.write` of the new
    parameter. What the optimizer remembers becomes states named
    `<optimizer>/<slot>/<parameter>`. The state `@step` counts the steps; the
    learning rate is computed from it in the graph, in f64.

    The optimizers stand in `passes/optimizers/`, one file each, whose head has
    the formula; docs/optimizers.md lists them. The recipe's `groups` change
    settings of the parameters that a pattern of `match` names; a later group
    wins. Coupled weight decay is in the gradient already (`weight-decay`).

    A program without updates stays as it is.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %w = gradus.read @w : tensor<4xf32>
        %rate = arith.constant dense<0.1> : tensor<4xf32>
        %move = arith.mulf %rate, %g : tensor<4xf32>
        %new = arith.subf %w, %move : tensor<4xf32>
        gradus.write @w, %new : tensor<4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %next = arith.addi %step, %one : tensor<i64>
        gradus.write @step, %next : tensor<i64>
        gradus.return
      }
    }
    ```
  }];
}

def AdasumWeights : GradusPass<"adasum-weights"> {
  let summary = "Combines what the updates of ranks change by AdaSum";
  let description = [{
    With `reduce` `adasum` of `weights` in the recipe's `distribution`, each rank
    updates the parameters by its own gradients, or by the mean of its group. Each
    parameter moves by the AdaSum of what these updates would change. Slots that
    follow from a rank's gradients become the mean over ranks.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<4xf32>) -> () {
        gradus.write @w, %new : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {of = "weights"}}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<4xf32>) -> () {
        %old = gradus.read @w : tensor<4xf32>
        %change = arith.subf %old, %new : tensor<4xf32>
        %all = gradus.all_reduce %change {groups = #gradus.groups<within 1 mean across adasum epsilon 0.0 : f64>, of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
        %moved = arith.subf %old, %all : tensor<4xf32>
        gradus.write @w, %moved : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}

def LocalSteps : GradusPass<"local-steps"> {
  let summary = "Lets ranks train on their own, and meet after some updates";
  let description = [{
    With `reduce` `local` in the recipe's `distribution`, gradients are each
    rank's own, and what a step writes is, too. After `every` updates all ranks go
    on from the mean over them of what was written. With a `learning_rate` of
    `outer` that is not 1, or a `momentum`, parameters go on from where plain
    descent comes to whose gradient is the way from the last meeting to the mean.

    `@train_meet` is the step with the meeting, and `@train_begin`, the first
    step, keeps the parameters that all start from. With `every` 1 each step
    meets, and there are no variants.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local", every = 1 : i64, outer = {learning_rate = 1.0, momentum = 0.0}}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<4xf32>) -> () {
        gradus.write @w, %new : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local", every = 1 : i64, outer = {learning_rate = 1.0, momentum = 0.0}}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>, differs_along = ["data"]}
      gradus.state @distribution.ranks : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @train(%new: tensor<4xf32>) -> () attributes {gradus.meets} {
        %ranks = gradus.read @distribution.ranks : tensor<i64>
        %sum = gradus.all_reduce %new : tensor<4xf32> -> tensor<4xf32>
        %count = arith.sitofp %ranks : tensor<i64> to tensor<f32>
        %counts = gradus.broadcast %count dims [] : tensor<f32> -> tensor<4xf32>
        %mean = arith.divf %sum, %counts : tensor<4xf32>
        gradus.write @w, %mean : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}

def PartialReduce : GradusPass<"partial-reduce"> {
  let summary = "Shares one part of the ranks' own parameters in each update";
  let description = [{
    With `reduce` `partial` in the recipe's `distribution`, gradients are each
    rank's own, and what the optimizer writes is, too. Parameters are divided into
    `parts`, of about equal bytes, or by SINGA's rule where `bucket_elements` is
    set. In each update one of them, by turns, goes on from its mean over ranks.

    `@train` shares the first part, and `@train_part_2` and so on the others. A
    schedule picks the one whose turn it is by the number of the update.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 2 : i64}}} {
      gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4xf32>, %y: tensor<4xf32>) -> () {
        gradus.write @v, %x : tensor<4xf32>
        gradus.write @w, %y : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 2 : i64}}} {
      gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>, differs_along = ["data"]}
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>, differs_along = ["data"]}
      gradus.state @distribution.ranks : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4xf32>, %y: tensor<4xf32>) -> () {
        %ranks = gradus.read @distribution.ranks : tensor<i64>
        %sum = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
        %count = arith.sitofp %ranks : tensor<i64> to tensor<f32>
        %counts = gradus.broadcast %count dims [] : tensor<f32> -> tensor<4xf32>
        %mean = arith.divf %sum, %counts : tensor<4xf32>
        gradus.write @v, %mean : tensor<4xf32>
        gradus.write @w, %y : tensor<4xf32>
        gradus.return
      }
      gradus.graph @train_part_2(%x: tensor<4xf32>, %y: tensor<4xf32>) -> () {
        %ranks = gradus.read @distribution.ranks : tensor<i64>
        gradus.write @v, %x : tensor<4xf32>
        %sum = gradus.all_reduce %y : tensor<4xf32> -> tensor<4xf32>
        %count = arith.sitofp %ranks : tensor<i64> to tensor<f32>
        %counts = gradus.broadcast %count dims [] : tensor<f32> -> tensor<4xf32>
        %mean = arith.divf %sum, %counts : tensor<4xf32>
        gradus.write @w, %mean : tensor<4xf32>
        gradus.return
      }
      gradus.schedule @train by @step {
        gradus.variant @train every 2 at 0
        gradus.variant @train_part_2 every 2 at 1
      }
    }
    ```
  }];
}

def Lookahead : GradusPass<"lookahead"> {
  let summary = "Lets slow copies of the parameters follow them, and go on from these";
  let description = [{
    With `lookahead = {steps, rate}` in the recipe, each parameter that is
    trained has a state `lookahead/slow/<parameter>`, which begins as the
    parameter. After every `steps` updates the copy moves by `rate` of the way
    to the parameter, and the parameter takes the copy's value. The optimizer's
    own states stay as they are. Zhang et al., arXiv:1907.08610.

    A parameter that gradient freezing keeps constant in a step meets its copy
    like the others.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {settable = false, lookahead = {steps = 2 : i64, rate = 0.5}}} {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>) -> () {
        gradus.write @w, %new : tensor<f32>
        gradus.return
      }
    }
    ```

    After, but for the constants' places and the clock in f64:

    ```mlir
    gradus.program @p attributes {recipe = {settable = false, lookahead = {steps = 2 : i64, rate = 0.5}}} {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"lookahead/slow/w" : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>) -> () {
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %two = arith.constant dense<2> : tensor<i64>
        %zero = arith.constant dense<0> : tensor<i64>
        %number = arith.addi %step, %one : tensor<i64>
        %first = arith.cmpi eq, %number, %one : tensor<i64>
        %rest = arith.remsi %number, %two : tensor<i64>
        %meets = arith.cmpi eq, %rest, %zero : tensor<i64>
        %w = gradus.read @w : tensor<f32>
        %kept = gradus.read @"lookahead/slow/w" : tensor<f32>
        %slow = arith.select %first, %w, %kept : tensor<i1>, tensor<f32>
        %rate = arith.constant dense<0.5> : tensor<f32>
        %difference = arith.subf %new, %slow : tensor<f32>
        %way = arith.mulf %rate, %difference : tensor<f32>
        %both = arith.addf %slow, %way : tensor<f32>
        %follows = arith.select %meets, %both, %slow : tensor<i1>, tensor<f32>
        gradus.write @"lookahead/slow/w", %follows : tensor<f32>
        %goes_on = arith.select %meets, %both, %new : tensor<i1>, tensor<f32>
        gradus.write @w, %goes_on : tensor<f32>
        gradus.write @step, %number : tensor<i64>
        gradus.return
      }
    }
    ```
  }];
}

def AverageWeights : GradusPass<"average-weights"> {
  let summary = "Keeps a moving average of the parameters, and a graph that evaluates it";
  let description = [{
    With `ema = {decay}` in the recipe, each trained parameter gets a state
    `ema/average/<parameter>`: `decay * average + (1 - decay) * parameter` after
    each update, and the parameter itself after the first. The graph
    `@evaluate_ema` is `@evaluate` with these instead of the parameters, or with
    the parameters before the first update. With `warmup = true` the decay of
    the n-th update is `min(decay, (1 + n) / (10 + n))`, so that an average
    quickly forgets the first parameters.

    An average is updated in every step, even if gradient freezing keeps its
    parameter constant.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {ema = {decay = 0.75}}} {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>) -> () {
        gradus.write @w, %new : tensor<f32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {ema = {decay = 0.75}}} {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"ema/average/w" : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>) -> () {
        gradus.write @w, %new : tensor<f32>
        %step = gradus.read @step : tensor<i64>
        %none = arith.constant dense<0> : tensor<i64>
        %first = arith.cmpi eq, %step, %none : tensor<i64>
        %old = gradus.read @"ema/average/w" : tensor<f32>
        %part = arith.constant dense<0.25> : tensor<f32>
        %difference = arith.subf %new, %old : tensor<f32>
        %change = arith.mulf %part, %difference : tensor<f32>
        %moved = arith.addf %old, %change : tensor<f32>
        %average = arith.select %first, %new, %moved : tensor<i1>, tensor<f32>
        gradus.write @"ema/average/w", %average : tensor<f32>
        gradus.return
      }
    }
    ```
  }];
}

def ExpandGuards : GradusPass<"expand-guards"> {
  let summary = "Lowers guards to selections between new and old values";
  let description = [{
    Each `gradus.guard` becomes a selection for every write of its graph, except
    to the states that it lists: of the written value if the condition holds,
    else of the state's value at entry. Several guards that list the same states
    become one, with the conjunction of their conditions.

    Before:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>, %finite: tensor<i1>) -> () {
        gradus.guard %finite
        gradus.write @w, %new : tensor<f32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>, %finite: tensor<i1>) -> () {
        %w = gradus.read @w : tensor<f32>
        %kept = arith.select %finite, %new, %w : tensor<i1>, tensor<f32>
        gradus.write @w, %kept : tensor<f32>
        gradus.return
      }
    }
    ```
  }];
}

def StoreRoundedWeights : GradusPass<"store-rounded-weights"> {
  let summary = "Stores the 16-bit copies of weights that a step computes with";
  let description = [{
    If `@train` rounds a weight to 16 bits, the copy becomes a state,
    `bf16/copy/<weight>` or `f16/copy/<weight>`, which is written whenever the
    weight is: by the optimizer's own kernel. All graphs read copies instead of
    rounding weights, also of moved ones (transposed, reshaped, sliced).

    `@round_weights` computes all copies from the weights. The runtime calls it
    before the next step after weights were set from outside: at the start, from
    a checkpoint, by the API. So checkpoints contain no copies.

    Before:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4x4xbf16>, %new: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
        %w = gradus.read @w : tensor<4x4xf32>
        %round = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
        %y = gradus.matmul %x, %round : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
        gradus.write @w, %new : tensor<4x4xf32>
        gradus.return %y : tensor<4x4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"bf16/copy/w" : tensor<4x4xbf16> {copy, role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4x4xbf16>, %new: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
        %round = gradus.read @"bf16/copy/w" : tensor<4x4xbf16>
        %y = gradus.matmul %x, %round : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
        %next = arith.truncf %new : tensor<4x4xf32> to tensor<4x4xbf16>
        gradus.write @w, %new : tensor<4x4xf32>
        gradus.write @"bf16/copy/w", %next : tensor<4x4xbf16>
        gradus.return %y : tensor<4x4xf32>
      }
      gradus.graph @round_weights() -> () {
        %w = gradus.read @w : tensor<4x4xf32>
        %round = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
        gradus.write @"bf16/copy/w", %round : tensor<4x4xbf16>
        gradus.return
      }
    }
    ```
  }];
}

def ShardUpdate : GradusPass<"shard-update"> {
  let summary = "Makes each rank keep and update a part of what optimizers remember";
  let description = [{
    With `zero` 1 in the recipe's `distribution` (ZeRO-1), each of the N ranks that
    `ranks` says updates an N-th of each parameter. The sum of a gradient becomes its
    first half, which leaves each rank with a part; the arithmetic of the update, whose
    ops are elementwise, is done on parts; and the second half of the sum gives all
    ranks the new parameter. Optimizer slots become states of a part: what the
    attribute `part_of` says is the whole.

    The pass looks at finished arithmetic and knows no optimizer. A sum of all
    elements of a tensor becomes the sum over ranks of those of parts. An update with
    other ops stays whole, as does a tensor of at most 64 bytes; a remark says so.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64, zero = 1 : i64}}} {
      gradus.state @w : tensor<4x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"sgd/momentum/w" : tensor<4x16xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4x16xf32>) -> () {
        %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4x16xf32> -> tensor<4x16xf32>
        %momentum = gradus.read @"sgd/momentum/w" : tensor<4x16xf32>
        %next = arith.addf %momentum, %sum : tensor<4x16xf32>
        gradus.write @"sgd/momentum/w", %next : tensor<4x16xf32>
        %w = gradus.read @w : tensor<4x16xf32>
        %moved = arith.subf %w, %next : tensor<4x16xf32>
        gradus.write @w, %moved : tensor<4x16xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64, zero = 1 : i64}}} {
      gradus.state @w : tensor<4x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"sgd/momentum/w" : tensor<32xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"], part_of = tensor<4x16xf32>}
      gradus.graph @train(%g: tensor<4x16xf32>) -> () {
        %sum = gradus.all_reduce %g {of = ["w"], parts = #gradus.parts<scatter ranks 2 unit 16>} : tensor<4x16xf32> -> tensor<4x16xf32>
        %own = gradus.part %sum ranks 2 : tensor<4x16xf32> -> tensor<32xf32>
        %momentum = gradus.read @"sgd/momentum/w" : tensor<32xf32>
        %next = arith.addf %momentum, %own : tensor<32xf32>
        gradus.write @"sgd/momentum/w", %next : tensor<32xf32>
        %w = gradus.read @w : tensor<4x16xf32>
        %wpart = gradus.part %w ranks 2 : tensor<4x16xf32> -> tensor<32xf32>
        %moved = arith.subf %wpart, %next : tensor<32xf32>
        %alone = gradus.whole %moved ranks 2 : tensor<32xf32> -> tensor<4x16xf32>
        %new = gradus.all_reduce %alone {of = ["w"], parts = #gradus.parts<gather ranks 2 unit 16>} : tensor<4x16xf32> -> tensor<4x16xf32>
        gradus.write @w, %new : tensor<4x16xf32>
        gradus.return
      }
    }
    ```
  }];
}
