// RUN: gradus-opt %s --refresh-variants | FileCheck %s
// RUN: gradus-opt %s --refresh-variants --refresh-variants | FileCheck %s
// RUN: gradus-opt %s --refresh-variants --gradient-freeze | FileCheck %s --check-prefix=FROZEN

// The step that measures is a variant; the first update is one of them.
// CHECK-LABEL: gradus.program @every
// CHECK:         gradus.state @"step/variant" : tensor<i64> {init = #gradus.init<constant, 1.000000e+00 : f64>, role = #gradus.role<counter>}
// CHECK:         gradus.graph @train(
// CHECK-NOT:       gradus.factors
// CHECK:           %[[REST:.*]] = arith.remsi %{{.*}}, %{{.*}} : tensor<i64>
// CHECK:           %[[NOW:.*]] = arith.cmpi eq, %[[REST]]
// CHECK:           %[[NEXT:.*]] = arith.select %[[NOW]]
// CHECK:           gradus.write @"step/variant", %[[NEXT]]
// CHECK:         gradus.graph @train_refresh(
// CHECK-SAME:      attributes {gradus.trains = "updates"}
// CHECK:           gradus.factors @w
// CHECK-NOT:       measured_only
// CHECK:           gradus.write @"step/variant"
// CHECK:         gradus.schedule @train by @"step/variant" {
// CHECK-NEXT:      gradus.variant @train every 2
// CHECK-NEXT:      gradus.variant @train_refresh every 2 at 1
gradus.program @every attributes {recipe = {precondition = {type = "thor", refresh = {every = 4 : i64}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// Each update refreshes: there is one form of the step.
// CHECK-LABEL: gradus.program @always
// CHECK:         gradus.factors @w
// CHECK-NOT:     gradus.schedule
// CHECK:         gradus.return
gradus.program @always attributes {recipe = {precondition = {type = "thor", refresh = {every = 1 : i64}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// The one form of the step may deal its inverses to ranks, too.
// CHECK-LABEL: gradus.program @always_dealt
// CHECK:         gradus.graph @train(
// CHECK-SAME:      attributes {gradus.dealt}
// CHECK:         gradus.factors @w
// CHECK-NOT:     gradus.schedule
// CHECK:         gradus.return
gradus.program @always_dealt attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}, precondition = {type = "thor", refresh = {every = 1 : i64, dealt = true}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// A mean over time may be measured more often than it is inverted.
// CHECK-LABEL: gradus.program @often
// CHECK:         gradus.graph @train_measure(
// CHECK:           gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense", measured_only}
// CHECK:         gradus.graph @train_refresh(
// CHECK:         gradus.schedule @train by @"step/variant" {
// CHECK-NEXT:      gradus.variant @train every 3
// CHECK-NEXT:      gradus.variant @train_refresh every 3 at 1
// CHECK-NEXT:      gradus.variant @train_measure every 3 at 2
gradus.program @often attributes {recipe = {precondition = {type = "kfac", refresh = {every = 20 : i64, measure_every = 5 : i64}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// A list says the updates.
// CHECK-LABEL: gradus.program @at
// CHECK:         gradus.graph @train(
// CHECK:           %[[TABLE:.*]] = arith.constant dense<[0, 20, 60]> : tensor<3xi64>
// CHECK:           %[[HERE:.*]] = arith.cmpi eq, %{{.*}}, %[[TABLE]] : tensor<3xi64>
// CHECK:           %[[FOUND:.*]] = arith.select %[[HERE]]
// CHECK:           %[[NEXT:.*]] = gradus.reduce sum %[[FOUND]] axes [0] : tensor<3xi64> -> tensor<i64>
// CHECK-NOT:       arith.cmpi
// CHECK:           gradus.write @"step/variant", %[[NEXT]]
gradus.program @at attributes {recipe = {precondition = {type = "thor", refresh = {at = [0 : i64, 20 : i64, 60 : i64]}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// A refresh that is spread: after the first update each part of the layers has
// one of its own. The larger layer is a part, the two smaller ones are another.
// CHECK-LABEL: gradus.program @spread
// CHECK:         gradus.graph @train(
// CHECK-NOT:       gradus.factors
// CHECK:         gradus.graph @train_refresh_2(
// CHECK-NOT:       gradus.factors @large
// CHECK:           gradus.factors @small
// CHECK:           gradus.factors @other
// CHECK:         gradus.graph @train_refresh_1(
// CHECK-NOT:       gradus.factors @small
// CHECK:           gradus.factors @large
// CHECK-NOT:       gradus.factors @other
// CHECK:         gradus.graph @train_refresh(
// CHECK-COUNT-3:   gradus.factors
// CHECK:         gradus.schedule @train by @"step/variant" {
// CHECK-NEXT:      gradus.variant @train every 4
// CHECK-NEXT:      gradus.variant @train_refresh every 4 at 1
// CHECK-NEXT:      gradus.variant @train_refresh_1 every 4 at 2
// CHECK-NEXT:      gradus.variant @train_refresh_2 every 4 at 3
gradus.program @spread attributes {recipe = {precondition = {type = "thor", refresh = {every = 10 : i64, spread = 2 : i64}}}} {
  gradus.state @small : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @large : tensor<8x9xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @other : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %b: tensor<1x9x9xf32>, %h: tensor<1x8x8xf32>) -> () {
    gradus.factors @small inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.factors @large inputs %b outputs %h {axes = array<i64: 1>, kind = "dense"} : tensor<1x9x9xf32>, tensor<1x8x8xf32>
    gradus.factors @other inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// Freezing cuts the step that measures nothing, so a refresh trains everything.
// What rests for good is measured nowhere.
// FROZEN-LABEL: gradus.program @cut
// FROZEN:         gradus.graph @train_cut1(
// FROZEN-NOT:       gradus.update @w
// FROZEN-NOT:       gradus.factors
// FROZEN:         gradus.graph @train_refresh(
// FROZEN:           gradus.update @w
// FROZEN:         gradus.schedule @train by @"step/variant" {
// FROZEN-NEXT:      gradus.variant @train every 3
// FROZEN-NEXT:      gradus.variant @train_refresh every 3 at 1
// FROZEN-NEXT:      gradus.variant @train_cut1 every 3 at 2
gradus.program @cut attributes {recipe = {optimizer = {type = "sgd"}, gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}, precondition = {type = "thor", refresh = {every = 4 : i64}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> (y: tensor<2x3xf32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %v = gradus.read @v : tensor<2x3xf32>
    %0 = arith.addf %dw, %w : tensor<2x3xf32>
    %y = arith.addf %0, %v : tensor<2x3xf32>
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.update @v, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return %y : tensor<2x3xf32>
  }
}

// FROZEN-LABEL: gradus.program @rests
// FROZEN-NOT:     gradus.update @w
// FROZEN-NOT:     gradus.factors @w
// FROZEN:         gradus.graph @train_refresh(
// FROZEN-NOT:     gradus.update @w
// FROZEN-NOT:     gradus.factors @w
// FROZEN:         gradus.factors @v
gradus.program @rests attributes {recipe = {optimizer = {type = "sgd"}, gradient_freeze = {last_layers = 1 : i64}, precondition = {type = "thor", refresh = {every = 4 : i64}}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> (y: tensor<2x3xf32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %v = gradus.read @v : tensor<2x3xf32>
    %0 = arith.addf %dw, %w : tensor<2x3xf32>
    %y = arith.addf %0, %v : tensor<2x3xf32>
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.update @v, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.factors @v inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return %y : tensor<2x3xf32>
  }
}
