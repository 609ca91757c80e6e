// RUN: gradus-opt %s --split-input-file --partial-reduce | FileCheck %s
// RUN: gradus-opt %s --split-input-file --partial-reduce --partial-reduce | FileCheck %s

// The largest parameter is a part, and the two others are one. All that the
// optimizer writes is each rank's own; what it remembers is never shared.
// CHECK-LABEL: gradus.program @bytes
// CHECK:       gradus.state @small {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @large {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @middle {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @"sgd/momentum/large" {{.*}}differs_along = ["data"]
// CHECK:       gradus.state @count : tensor<f32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-LABEL: gradus.graph @train(
// CHECK:         %[[RANKS:.*]] = gradus.read @distribution.ranks
// CHECK:         gradus.write @small, %s
// CHECK:         %[[SUM:.*]] = gradus.all_reduce %l
// CHECK:         %[[MEAN:.*]] = arith.divf %[[SUM]]
// CHECK:         gradus.write @large, %[[MEAN]]
// CHECK-NOT:     all_reduce
// CHECK:         gradus.write @"sgd/momentum/large", %l
// CHECK:         gradus.write @middle, %m
// CHECK-LABEL: gradus.graph @train_part_2(
// CHECK:         gradus.all_reduce %s
// CHECK:         gradus.write @small
// CHECK:         gradus.write @large, %l
// CHECK:         gradus.all_reduce %m
// CHECK:         gradus.write @middle
// CHECK:         gradus.schedule @train by @step
// CHECK-NEXT:    gradus.variant @train every 2
// CHECK-NEXT:    gradus.variant @train_part_2 every 2 at 1
gradus.program @bytes attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 2 : i64}}} {
  gradus.state @small : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @large : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @middle : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"sgd/momentum/large" : tensor<8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @count : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%s: tensor<2xf32>, %l: tensor<8xf32>, %m: tensor<4xf32>) -> () {
    %one = arith.constant dense<1.0> : tensor<f32>
    gradus.write @small, %s : tensor<2xf32>
    gradus.write @large, %l : tensor<8xf32>
    gradus.write @"sgd/momentum/large", %l : tensor<8xf32>
    gradus.write @middle, %m : tensor<4xf32>
    gradus.write @count, %one : tensor<f32>
    gradus.return
  }
}

// -----

// SINGA's threshold: what has more than 4 elements is a part by itself, and
// comes before the part that it leaves open.
// CHECK-LABEL: gradus.program @elements
// CHECK-LABEL: gradus.graph @train(
// CHECK:         gradus.write @a, %x
// CHECK:         gradus.all_reduce %y
// CHECK:         gradus.write @b
// CHECK:         gradus.write @c, %x
// CHECK-LABEL: gradus.graph @train_part_2(
// CHECK:         gradus.all_reduce %x
// CHECK:         gradus.write @a
// CHECK:         gradus.write @b, %y
// CHECK:         gradus.all_reduce %x
// CHECK:         gradus.write @c
// CHECK-NOT:   train_part_3
gradus.program @elements attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", bucket_elements = 4 : i64}}} {
  gradus.state @a : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>, %y: tensor<5xf32>) -> () {
    gradus.write @a, %x : tensor<4xf32>
    gradus.write @b, %y : tensor<5xf32>
    gradus.write @c, %x : tensor<4xf32>
    gradus.return
  }
}

// -----

// By default there are at most four parts, and no more than parameters.
// CHECK-LABEL: gradus.program @few
// CHECK:       gradus.variant @train every 2
// CHECK-NEXT:  gradus.variant @train_part_2 every 2 at 1
// CHECK-NEXT:  }
gradus.program @few attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial"}}} {
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    gradus.write @v, %x : tensor<4xf32>
    gradus.write @w, %x : tensor<4xf32>
    gradus.return
  }
}

// -----

// One process, one part and a model that trains nothing have no parts.
// CHECK-LABEL: gradus.program @alone
// CHECK-NOT:   train_part
// CHECK-NOT:   all_reduce
// CHECK-NOT:   differs_along
gradus.program @alone attributes {recipe = {distribution = {reduce = "partial", parts = 2 : i64}}} {
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    gradus.write @v, %x : tensor<4xf32>
    gradus.write @w, %x : tensor<4xf32>
    gradus.return
  }
}
gradus.program @whole attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 1 : i64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    gradus.write @w, %x : tensor<4xf32>
    gradus.return
  }
}
gradus.program @nothing attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}
gradus.program @nothing_in_parts attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 2 : i64}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}
