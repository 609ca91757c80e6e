// RUN: gradus-opt %s --gradient-accumulation | FileCheck %s
// RUN: gradus-opt %s --gradient-accumulation --gradient-accumulation | FileCheck %s

// The whole step adds the last share and updates; its variant only adds.
// CHECK-LABEL: gradus.program @two
// CHECK:         gradus.state @"accumulation/gradient/w" : tensor<4xf32> {differs_along = ["data"], init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         gradus.graph @train(
// CHECK:           %[[OLD:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
// CHECK:           %[[SHARE:.*]] = arith.divf %g, %{{.*}}
// CHECK:           %[[SUM:.*]] = arith.addf %[[OLD]], %[[SHARE]]
// CHECK:           gradus.update @w, %[[SUM]]
// CHECK:         gradus.graph @train_accumulate(
// CHECK-NOT:       gradus.update
// CHECK:           gradus.write @"accumulation/gradient/w"
// CHECK:           gradus.write @step
// CHECK:         gradus.schedule @train by @step {
// CHECK-NEXT:      gradus.variant @train_accumulate
// CHECK-NEXT:      gradus.variant @train every 2 at 1
gradus.program @two attributes {recipe = {accumulation = 2 : i64}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Where steps may be skipped, those count that were not.
// CHECK-LABEL: gradus.program @guarded
// CHECK:         gradus.schedule @train by @accepted_steps
gradus.program @guarded attributes {recipe = {accumulation = 2 : i64, on_nonfinite = "skip"}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Each cut of gradient freezing adds up what it trains, and updates at the last
// batch, which the state that says the cut counts apart: it has the number of
// cuts added.
// CHECK-LABEL: gradus.program @cut
// CHECK:         gradus.graph @train(
// CHECK:           gradus.update @v
// CHECK:           %[[BATCH:.*]] = arith.remsi
// CHECK:           %[[LAST:.*]] = arith.cmpi eq, %[[BATCH]]
// CHECK:           %[[MORE:.*]] = arith.select %[[LAST]]
// CHECK:           %[[NEXT:.*]] = arith.addi %n, %[[MORE]]
// CHECK:           gradus.write @"step/variant", %[[NEXT]]
// CHECK:         gradus.graph @train_cut1(
// CHECK:           gradus.update @w
// CHECK:         gradus.graph @train_accumulate_cut1(
// CHECK-NOT:       gradus.update
// CHECK:           gradus.write @"accumulation/gradient/w"
// CHECK-NOT:       gradus.write @"accumulation/gradient/v"
// CHECK:         gradus.schedule @train by @"step/variant" {
// CHECK-NEXT:      gradus.variant @train_accumulate every 4
// CHECK-NEXT:      gradus.variant @train_accumulate_cut1 every 4 at 1
// CHECK-NEXT:      gradus.variant @train every 4 at 2
// CHECK-NEXT:      gradus.variant @train_cut1 every 4 at 3
gradus.program @cut attributes {recipe = {accumulation = 2 : i64}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"step/variant" : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %n: tensor<i64>) -> () {
    gradus.update @v, %g : tensor<4xf32>
    gradus.update @w, %g : tensor<4xf32>
    gradus.write @"step/variant", %n : tensor<i64>
    gradus.return
  }
  gradus.graph @train_cut1(%g: tensor<4xf32>, %n: tensor<i64>) -> () attributes {gradus.trains = "updates"} {
    gradus.update @w, %g : tensor<4xf32>
    gradus.write @"step/variant", %n : tensor<i64>
    gradus.return
  }
  gradus.schedule @train by @"step/variant" {
    gradus.variant @train every 2
    gradus.variant @train_cut1 every 2 at 1
  }
}
