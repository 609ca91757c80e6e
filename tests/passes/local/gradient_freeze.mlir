// RUN: gradus-opt %s --gradient-freeze | FileCheck %s
// RUN: gradus-opt %s --gradient-freeze --gradient-freeze | FileCheck %s
// RUN: gradus-opt %s --training | FileCheck %s --check-prefix=COMPILED

// One variant a cut; a table says which comes next. Layers count in the order
// in which they are computed with: v is used before w.
// CHECK-LABEL: gradus.program @two
// CHECK:         gradus.state @step
// CHECK:         gradus.state @"step/variant" : tensor<i64> {init = #gradus.init<constant, 1.000000e+00 : f64>, role = #gradus.role<counter>}
// CHECK:         gradus.graph @train(
// CHECK:         gradus.update @w
// CHECK:         gradus.update @v
// CHECK:         %[[COUNT:.*]] = gradus.read @step
// CHECK:         %[[NEXT:.*]] = arith.remsi
// CHECK:         %[[TABLE:.*]] = arith.constant dense<[1, 0, 0]> : tensor<3xi64>
// CHECK:         %[[CUT:.*]] = gradus.gather %[[TABLE]] at %[[NEXT]]
// CHECK:         gradus.write @"step/variant", %[[CUT]]
// CHECK:         gradus.graph @train_cut1(
// CHECK:         gradus.update @w
// CHECK-NOT:     gradus.update
// CHECK:         gradus.schedule @train by @"step/variant" {
// CHECK-NEXT:      gradus.variant @train every 2
// CHECK-NEXT:      gradus.variant @train_cut1 every 2 at 1

// The step without v has neither its decay nor its momentum nor its part in the
// norm that clips, and no backward pass of it.
// COMPILED-LABEL: gradus.program @two
// COMPILED:         gradus.graph @train_cut1(
// COMPILED-NOT:     sgd/momentum/v
// COMPILED-NOT:     gradus.write @v
// COMPILED:         gradus.write @w
gradus.program @two attributes {recipe = {gradient_freeze = {groups = 2 : i64, strategy = [1 : i64, 0 : i64, 0 : i64]},
    clip = {type = "global_norm", value = 1.0}, loss = {type = "mse"},
    optimizer = {type = "sgd", learning_rate = 0.1, momentum = 0.9, weight_decay = 0.1}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %v = gradus.read @v : tensor<4x4xf32>
    %0 = gradus.matmul %x, %v : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %y = gradus.matmul %0, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
  gradus.graph @train(%x: tensor<2x4xf32>, %g: tensor<2x4xf32>) -> () {
    %w = gradus.read @w : tensor<4x4xf32>
    %v = gradus.read @v : tensor<4x4xf32>
    %0 = gradus.matmul %x, %v : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %dw = gradus.matmul %0 transposed, %g : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
    %d0 = gradus.matmul %g, %w transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %dv = gradus.matmul %x transposed, %d0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
    gradus.update @w, %dw : tensor<4x4xf32>
    gradus.update @v, %dv : tensor<4x4xf32>
    gradus.return
  }
}

// By hand: one phase after the other, by comparing the number of the next step.
// What began late has its rests taken off the updates that it counts.
// CHECK-LABEL: gradus.program @phases
// CHECK:         gradus.state @"step/variant"
// CHECK:         gradus.graph @train(
// CHECK-NOT:     gradus.update @v
// CHECK:         gradus.update @w, %{{.*}} : tensor<4x4xf32>
// CHECK:         %[[BEGUN:.*]] = arith.cmpi sge
// CHECK:         %[[ONE:.*]] = arith.select %[[BEGUN]]
// CHECK:         %[[LATER:.*]] = arith.cmpi sge
// CHECK:         %[[CUT:.*]] = arith.select %[[LATER]], %{{.*}}, %[[ONE]]
// CHECK:         gradus.write @"step/variant", %[[CUT]]
// CHECK:         gradus.graph @train_cut2(
// CHECK:         gradus.update @v, %{{.*}} {gradus.rested = 10 : i64} : tensor<4x4xf32>
// CHECK-NOT:     gradus.update
// CHECK:         gradus.graph @train_cut1(
// CHECK:         gradus.update @w, %{{.*}} : tensor<4x4xf32>
// CHECK:         gradus.update @v, %{{.*}} {gradus.rested = 10 : i64} : tensor<4x4xf32>
// CHECK:         gradus.schedule @train by @"step/variant" {
// CHECK-NEXT:      gradus.variant @train every 3
// CHECK-NEXT:      gradus.variant @train_cut1 every 3 at 1
// CHECK-NEXT:      gradus.variant @train_cut2 every 3 at 2
gradus.program @phases attributes {recipe = {optimizer = {type = "sgd"}, gradient_freeze = {until = {v = 10 : i64}, from = {"w*" = 20 : i64}}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %v = gradus.read @v : tensor<4x4xf32>
    %w = gradus.read @w : tensor<4x4xf32>
    %y = arith.addf %v, %w : tensor<4x4xf32>
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.update @v, %g : tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// The last layer for good: one step, and no schedule. w is computed with last.
// CHECK-LABEL: gradus.program @last
// CHECK-NOT:     gradus.state @"step/variant"
// CHECK:         gradus.update @w
// CHECK-NOT:     gradus.update @v
// CHECK-NOT:     gradus.schedule
// CHECK:         gradus.return
gradus.program @last attributes {recipe = {optimizer = {type = "sgd"}, gradient_freeze = {last_layers = 1 : i64}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %v = gradus.read @v : tensor<4x4xf32>
    %0 = arith.addf %x, %v : tensor<4x4xf32>
    %y = arith.addf %0, %w : tensor<4x4xf32>
    gradus.update @w, %x : tensor<4x4xf32>
    gradus.update @v, %x : tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// With accumulation the cut is that of an update: the number of the next batch
// is divided.
// CHECK-LABEL: gradus.program @accumulated
// CHECK:         gradus.graph @train(
// CHECK:         %[[UPDATE:.*]] = arith.divsi
// CHECK:         %[[AT:.*]] = arith.remsi %[[UPDATE]]
// CHECK:         %[[CUT:.*]] = gradus.gather %{{.*}} at %[[AT]]
// CHECK:         gradus.write @"step/variant", %[[CUT]]
gradus.program @accumulated attributes {recipe = {optimizer = {type = "sgd"}, accumulation = 3 : i64, gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}}} {
  gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @v, %g : tensor<4x4xf32>
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// A long table has a byte for each step.
// CHECK-LABEL: gradus.program @long
// CHECK:         %[[TABLE:.*]] = arith.constant dense<{{.*}}> : tensor<300xi8>
// CHECK:         %[[ENTRY:.*]] = gradus.gather %[[TABLE]]
// CHECK:         arith.extsi %[[ENTRY]] : tensor<i8> to tensor<i64>
gradus.program @long attributes {recipe = {optimizer = {type = "sgd"}, gradient_freeze = {groups = 2 : i64, total_steps = 300 : i64}}} {
  gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @v, %g : tensor<4x4xf32>
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// A single group trains everything in each step, so nothing is chosen.
// CHECK-LABEL: gradus.program @one
// CHECK-NOT:     @"step/variant"
// CHECK-NOT:     gradus.schedule
// CHECK:         gradus.return
gradus.program @one attributes {recipe = {optimizer = {type = "sgd"}, gradient_freeze = {groups = 1 : i64}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}
