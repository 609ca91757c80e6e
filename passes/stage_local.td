// Passes on one machine's gradients.

include "passes/pass_base.td"

def TraceFactors : GradusPass<"trace-factors"> {
  let summary = "Measures the curvature of layers, where the recipe preconditions gradients";
  let description = [{
    With `precondition` in the recipe, finds the two sides of each layer in its
    weight's gradient, which behind autodiff is a product of them, and adds
    their second moments: of what goes into the layer, and of the gradient of
    what comes out of it, in units of a sample's (`gradus.gram`,
    `gradus.factors`). No layer is found by its name. Uses of one weight are
    rows of one layer; parts of a weight are one layer where they see the same
    inputs or add up, else layers of their own. What is no sum of such products
    keeps its gradient, which a remark says: a convolution whose groups have one
    output, a table that is the last layer's weight, too, a weight that the model
    computes with before it is used.

    With `bias` "joined" the bias of a dense layer or a convolution joins its
    weight, as that of an input that is always 1: the inputs' blocks get a row
    and a column for it, and `gradus.factors` names it in `gradus.joined`.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {precondition = {type = "thor"}}} {
      gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<8x3xf32>, %t: tensor<8x2xf32>) -> () {
        %w = gradus.read @w : tensor<2x3xf32>
        %y = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
        %dy = arith.subf %y, %t : tensor<8x2xf32>
        %dw = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
        gradus.update @w, %dw : tensor<2x3xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {precondition = {type = "thor"}}} {
      gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<8x3xf32>, %t: tensor<8x2xf32>) -> () {
        %w = gradus.read @w : tensor<2x3xf32>
        %y = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
        %dy = arith.subf %y, %t : tensor<8x2xf32>
        %dw = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
        gradus.update @w, %dw : tensor<2x3xf32>
        %a = gradus.gram %x axis 1 block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
        %mean = gradus.gram %dy axis 1 block 2 : tensor<8x2xf32> -> tensor<1x2x2xf32>
        %square = arith.constant dense<64.0> : tensor<1x2x2xf32>
        %g = arith.mulf %mean, %square : tensor<1x2x2xf32>
        gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
        gradus.return
      }
    }
    ```
  }];
}

def RefreshVariants : GradusPass<"refresh-variants"> {
  let summary = "Makes most steps use the curvature that an earlier one has measured";
  let description = [{
    With `precondition` in the recipe, `@train` gets a variant `@train_refresh`
    that measures curvature and inverts it, and keeps none of that itself: it
    uses the inverses of the last refresh. `refresh` says which updates refresh;
    the first one does. Where factors are a mean over time and are to be
    measured more often, `@train_measure` measures and does not invert.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {precondition = {type = "thor", refresh = {every = 4 : i64}}}} {
      gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
        gradus.update @w, %dw : tensor<2x3xf32>
        gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {precondition = {type = "thor", refresh = {every = 4 : i64}}}} {
      gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"step/variant" : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
        gradus.update @w, %dw : tensor<2x3xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %update = arith.addi %step, %one : tensor<i64>
        %none = arith.constant dense<0> : tensor<i64>
        %every = arith.constant dense<4> : tensor<i64>
        %rest = arith.remsi %update, %every : tensor<i64>
        %now = arith.cmpi eq, %rest, %none : tensor<i64>
        %next = arith.select %now, %one, %none : tensor<i1>, tensor<i64>
        gradus.write @"step/variant", %next : tensor<i64>
        gradus.return
      }
      gradus.graph @train_refresh(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () attributes {gradus.trains = "updates"} {
        gradus.update @w, %dw : tensor<2x3xf32>
        gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %update = arith.addi %step, %one : tensor<i64>
        %none = arith.constant dense<0> : tensor<i64>
        %every = arith.constant dense<4> : tensor<i64>
        %rest = arith.remsi %update, %every : tensor<i64>
        %now = arith.cmpi eq, %rest, %none : tensor<i64>
        %next = arith.select %now, %one, %none : tensor<i1>, tensor<i64>
        gradus.write @"step/variant", %next : tensor<i64>
        gradus.return
      }
      gradus.schedule @train by @"step/variant" {
        gradus.variant @train every 2
        gradus.variant @train_refresh every 2 at 1
      }
    }
    ```
  }];
}

def GradientFreeze : GradusPass<"gradient-freeze"> {
  let summary = "Trains only the last layers in a part of the steps";
  let description = [{
    With `gradient_freeze` in the recipe, `@train` gets variants `@train_cut1`,
    `@train_cut2`, ..., one for each of its `groups` but the first: each trains
    the parameters from a later layer on. It is `@train` without the other
    updates, so the backward pass of earlier layers is not needed. All variants
    share the optimizer's states; those of frozen parameters do not change.

    Each step writes the number of the next variant to the state
    `step/variant`, from a table: with `type` 0
    `p (groups - 1) / (1 - p)` steps that train everything and then each variant
    in turn; with `type` 1 a frozen step whenever they are fewer than 1 - p of
    all, drawn by `seed`, where cuts near the beginning are more frequent.
    `strategy` gives the table directly.

    `from`, `until` and `last_layers` specify by hand what is frozen, instead of
    groups: there is a variant for each phase of training, and the state is
    computed by comparing the step's number. An update has the number of earlier
    steps for which its parameter was frozen (`gradus.rested`), which its
    optimizer does not count. With `accumulation` all of these numbers count
    updates.

    Method: GradientFreeze of MindSpore's Boost; docs/methods/gradient_freeze.md.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}}} {
      gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>) -> () {
        gradus.update @v, %g : tensor<4x4xf32>
        gradus.update @w, %h : tensor<4x4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}}} {
      gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"step/variant" : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>) -> () {
        gradus.update @v, %g : tensor<4x4xf32>
        gradus.update @w, %h : tensor<4x4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %length = arith.constant dense<2> : tensor<i64>
        %0 = arith.addi %step, %one : tensor<i64>
        %1 = arith.remsi %0, %length : tensor<i64>
        %table = arith.constant dense<[0, 1]> : tensor<2xi64>
        %next = gradus.gather %table at %1 axis 0 : tensor<2xi64>, tensor<i64> -> tensor<i64>
        gradus.write @"step/variant", %next : tensor<i64>
        gradus.return
      }
      gradus.graph @train_cut1(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>) -> () attributes {gradus.trains = "updates"} {
        gradus.update @w, %h : tensor<4x4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %length = arith.constant dense<2> : tensor<i64>
        %0 = arith.addi %step, %one : tensor<i64>
        %1 = arith.remsi %0, %length : tensor<i64>
        %table = arith.constant dense<[0, 1]> : tensor<2xi64>
        %next = gradus.gather %table at %1 axis 0 : tensor<2xi64>, tensor<i64> -> tensor<i64>
        gradus.write @"step/variant", %next : tensor<i64>
        gradus.return
      }
      gradus.schedule @train by @"step/variant" {
        gradus.variant @train every 2
        gradus.variant @train_cut1 every 2 at 1
      }
    }
    ```
  }];
}

def LossScale : GradusPass<"loss-scale"> {
  let summary = "Divides the gradients by the loss scale and guards the step against overflow";
  let description = [{
    If the recipe has a `loss_scale`, autodiff has multiplied every gradient by
    it; this pass divides them by it. `static` scales are constant; a `dynamic`
    one is the state `@loss_scale`: after a step whose gradients are not finite
    it is divided by `factor` (but not below `minimum`), after `growth_interval`
    steps without such it is multiplied by `factor`.

    A `gradus.guard` keeps a step whose gradients are not finite from changing
    any other state; `@skipped_steps` counts them. `on_nonfinite = "skip"` adds
    only the guard.

    With `type = "group"` the gradients of each group of parameters have a scale
    of their own, the states `@"loss_scale/0"`, `@"loss_scale/1"`, ...: behind a
    step it is multiplied by `reduction` if an overflow began in the group, which
    means that a gradient of it, or what it passed on at a border to a lower
    group (see `loss-scale-borders`), is not finite, though all that it was given
    at borders is. Otherwise it is multiplied by `growth`. `minimum` and
    `maximum` bound it. Each group has a guard: where an overflow began in none,
    all gradients are finite.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {loss_scale = {type = "static", initial = 8.0}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {loss_scale = {type = "static", initial = 8.0}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @skipped_steps : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %zero = arith.constant dense<0.0> : tensor<4xf32>
        %zeros = arith.mulf %g, %zero : tensor<4xf32>
        %total = gradus.reduce sum %zeros axes [0] : tensor<4xf32> -> tensor<f32>
        %none = arith.constant dense<0.0> : tensor<f32>
        %finite = arith.cmpf oeq, %total, %none : tensor<f32>
        %eighth = arith.constant dense<0.125> : tensor<4xf32>
        %gradient = arith.mulf %g, %eighth : tensor<4xf32>
        %skipped = gradus.read @skipped_steps : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %more = arith.addi %skipped, %one : tensor<i64>
        %count = arith.select %finite, %skipped, %more : tensor<i1>, tensor<i64>
        gradus.write @skipped_steps, %count : tensor<i64>
        gradus.guard %finite always [@step, @skipped_steps]
        gradus.update @w, %gradient : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}

def GradientAccumulation : GradusPass<"gradient-accumulation"> {
  let summary = "Sums the gradients of several batches before an update";
  let description = [{
    With `accumulation = k` in the recipe, `@train` updates with the mean of the
    gradients of k batches. That equals the gradient of one batch k times as
    large if the loss is a mean and nothing else depends on the batch (batch
    normalization does). The graph gets a variant `@train_accumulate` that only
    adds to the states `accumulation/gradient/<parameter>`, and a schedule that
    runs the full one every k-th step. `@step` counts batches; learning rates
    and bias corrections count updates.

    Each variant of gradient freezing gets one too, such as
    `@train_accumulate_cut1`, in the existing schedule: for the last batch of an
    update the number of variants that update is added to the state
    `step/variant`, which says what runs.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {accumulation = 2 : i64}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After (what `@train_accumulate` computes alike left out):

    ```mlir
    gradus.program @p attributes {recipe = {accumulation = 2 : i64}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"accumulation/gradient/w" : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"]}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %old = gradus.read @"accumulation/gradient/w" : tensor<4xf32>
        %step = gradus.read @step : tensor<i64>
        %two = arith.constant dense<2> : tensor<i64>
        %none = arith.constant dense<0> : tensor<i64>
        %place = arith.remsi %step, %two : tensor<i64>
        %begins = arith.cmpi eq, %place, %none : tensor<i64>
        %everywhere = gradus.broadcast %begins dims [] : tensor<i1> -> tensor<4xi1>
        %zero = arith.constant dense<0.0> : tensor<4xf32>
        %so_far = arith.select %everywhere, %zero, %old : tensor<4xi1>, tensor<4xf32>
        %count = arith.constant dense<2.0> : tensor<4xf32>
        %share = arith.divf %g, %count : tensor<4xf32>
        %sum = arith.addf %so_far, %share : tensor<4xf32>
        gradus.update @w, %sum : tensor<4xf32>
        gradus.return
      }
      gradus.graph @train_accumulate(%g: tensor<4xf32>) -> () attributes {gradus.trains = "accumulates"} {
        %sum = gradus.read @"accumulation/gradient/w" : tensor<4xf32>
        gradus.write @"accumulation/gradient/w", %sum : tensor<4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %next = arith.addi %step, %one : tensor<i64>
        gradus.write @step, %next : tensor<i64>
        gradus.return
      }
      gradus.schedule @train by @step {
        gradus.variant @train_accumulate
        gradus.variant @train every 2 at 1
      }
    }
    ```
  }];
}
