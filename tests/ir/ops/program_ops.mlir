// RUN: gradus-opt %s | FileCheck %s
// RUN: gradus-opt %s | gradus-opt | FileCheck %s
// RUN: gradus-opt %s --mlir-print-debuginfo | gradus-opt | FileCheck %s
// RUN: gradus-opt %s --mlir-print-op-generic | gradus-opt | FileCheck %s

// CHECK: gradus.program @lenet attributes {recipe = {accumulation = 1 : i64}} {
gradus.program @lenet attributes {recipe = {accumulation = 1 : i64}} {
  // CHECK-NEXT: gradus.state @conv1.weight : tensor<2x3xf32> {init = #gradus.init<kaiming_uniform>, role = #gradus.role<parameter>}
  gradus.state @conv1.weight : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  // A name with a slash is quoted.
  // CHECK-NEXT: gradus.state @"adam/m/conv1.weight" : tensor<2x3xf32>
  gradus.state @"adam/m/conv1.weight" : tensor<2x3xf32> {role = #gradus.role<slot>, init = #gradus.init<constant, 2.5 : f64>}
  // CHECK-NEXT: gradus.state @bias : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
  gradus.state @bias : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0]> : tensor<2xf32>}

  // Inputs and outputs keep their names, those of values that are no names too.
  // CHECK-NEXT: gradus.graph @train(%image: tensor<2x3xf32>, %input.1: tensor<2x3xf32>, %[[FIVE:.*]] as "5": tensor<f32>, %[[SLASH:.*]] as "a/b c": tensor<f32>) -> (loss: tensor<f32>, out.1: tensor<f32>, "a/b": tensor<2x3xf32>) attributes {note = "kept"} {
  gradus.graph @train(%image: tensor<2x3xf32>, %1 as "input.1": tensor<2x3xf32>, %2 as "5": tensor<f32>, %x as "a/b c": tensor<f32>)
      -> (loss: tensor<f32>, out.1: tensor<f32>, "a/b": tensor<2x3xf32>) attributes {note = "kept"} {
    // A value that is read is called like its state.
    // CHECK-NEXT: %conv1.weight = gradus.read @conv1.weight : tensor<2x3xf32>
    %w = gradus.read @conv1.weight : tensor<2x3xf32>
    // CHECK-NEXT: gradus.write @"adam/m/conv1.weight", %image : tensor<2x3xf32>
    gradus.write @"adam/m/conv1.weight", %image : tensor<2x3xf32>
    // CHECK-NEXT: gradus.update @conv1.weight, %input.1 {group = "0", learning_rate_factor = 1.000000e+01 : f64} : tensor<2x3xf32>
    gradus.update @conv1.weight, %1 {group = "0", learning_rate_factor = 10.0 : f64} : tensor<2x3xf32>
    // CHECK-NEXT: gradus.return %[[FIVE]], %[[SLASH]], %conv1.weight : tensor<f32>, tensor<f32>, tensor<2x3xf32>
    gradus.return %2, %x, %w : tensor<f32>, tensor<f32>, tensor<2x3xf32>
  }

  // A graph may have neither inputs nor outputs.
  // CHECK: gradus.graph @train_refresh() {
  // CHECK-NEXT: gradus.return
  gradus.graph @train_refresh() {
    gradus.return
  }

  // CHECK: gradus.state @accepted : tensor<i64>
  gradus.state @accepted : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @guarded(%finite: tensor<i1>) {
    // CHECK: gradus.guard %finite always [@accepted, @bias]
    gradus.guard %finite always [@accepted, @bias]
    // CHECK-NEXT: gradus.guard %finite{{$}}
    gradus.guard %finite
    gradus.return
  }

  // CHECK: gradus.schedule @train_refresh by @accepted {
  // CHECK-NEXT: gradus.variant @train_refresh every 4 at 3
  gradus.schedule @train_refresh by @accepted {
    gradus.variant @train_refresh every 4 at 3
  }

  // CHECK: gradus.schedule @train {
  // CHECK-NEXT: gradus.variant @train
  // CHECK-NEXT: gradus.variant @train_refresh every 100
  gradus.schedule @train {
    gradus.variant @train
    gradus.variant @train_refresh every 100
  }
}

// An update behind a write moves what is written.
// CHECK-LABEL: gradus.program @moved
// CHECK:         gradus.write @w, %x : tensor<2xf32>
// CHECK-NEXT:    gradus.update @w, %g : tensor<2xf32>
gradus.program @moved {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<2xf32>, %g: tensor<2xf32>) {
    gradus.write @w, %x : tensor<2xf32>
    gradus.update @w, %g : tensor<2xf32>
    gradus.return
  }
}
