// RUN: gradus-opt %s --dim-reduce | FileCheck %s
// RUN: gradus-opt %s --dim-reduce --dim-reduce | FileCheck %s

// Two trials compute the loss at other weights; the mask, which depends on no
// weight, is drawn once. The weights of the accepted one are written, and the
// optimizer moves them by what is left of the gradient.
// CHECK-LABEL: gradus.program @rows
// CHECK-DAG:     gradus.state @"dim_reduce/inverse_hessian" : tensor<2x2xf32> {role = #gradus.role<slot>, value = dense<{{\[\[}}1.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00]]> : tensor<2x2xf32>}
// CHECK-DAG:     gradus.state @"dim_reduce/gradient" : tensor<2xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"dim_reduce/step" : tensor<2xf32>
// CHECK-DAG:     gradus.state @"dim_reduce/accepted" : tensor<i64> {init = #gradus.init<zeros>, role = #gradus.role<counter>}
// CHECK:         gradus.graph @train(
// CHECK:           gradus.random_bits
// CHECK:           %[[LOSS:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<3xf32> -> tensor<f32>
// CHECK-NOT:       gradus.random_bits
// CHECK:           %[[W:.*]] = gradus.read @w
// CHECK:           %[[P:.*]] = gradus.read @"dim_reduce/basis/w" : tensor<2x3xf32>
// CHECK:           %[[SPREAD:.*]] = gradus.broadcast %g dims [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK:           %[[PRODUCTS:.*]] = arith.mulf %[[P]], %[[SPREAD]]
// CHECK:           %[[INSIDE:.*]] = gradus.reduce sum %[[PRODUCTS]] axes [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK:           %[[FIRST:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<3xf32> -> tensor<f32>
// CHECK:           %[[FALLS:.*]] = arith.cmpf ogt, %{{.*}}, %[[FIRST]]
// CHECK:           %[[SECOND:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<3xf32> -> tensor<f32>
// CHECK:           %[[FALLS2:.*]] = arith.cmpf ogt, %{{.*}}, %[[SECOND]]
// CHECK:           %[[ANY:.*]] = arith.ori %[[FALLS]], %[[FALLS2]]
// CHECK:           %[[THERE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[W]]
// CHECK:           gradus.write @w, %[[THERE]]
// CHECK:           %[[PART:.*]] = gradus.broadcast %[[INSIDE]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK:           %[[BACK:.*]] = arith.mulf %[[P]], %[[PART]]
// CHECK:           %[[OF:.*]] = gradus.reduce sum %[[BACK]] axes [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK:           %[[REST:.*]] = arith.subf %g, %[[OF]]
// CHECK:           gradus.write @"dim_reduce/inverse_hessian"
// CHECK:           gradus.write @"dim_reduce/gradient"
// CHECK:           gradus.write @"dim_reduce/step"
// CHECK:           gradus.write @"dim_reduce/accepted"
// CHECK:           gradus.update @w, %[[REST]] : tensor<3xf32>
gradus.program @rows attributes {recipe = {settable = false, dim_reduce = {}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<2x3xf32> {fixed, role = #gradus.role<slot>, value = dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]> : tensor<2x3xf32>}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %step = gradus.read @step : tensor<i64>
    %bits = gradus.random_bits %step stream 0 seed 1 : tensor<3xi64>
    %mask = arith.sitofp %bits : tensor<3xi64> to tensor<3xf32>
    %part = arith.mulf %w, %mask : tensor<3xf32>
    %loss = gradus.reduce sum %part axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %loss : tensor<f32>
  }
}

// Each of two ranks has two of three directions, the second of them a row of
// zeros. What each makes of P g is put together, and what they make of P^T is
// summed, of both vectors at once.
// CHECK-LABEL: gradus.program @dealt
// CHECK:         gradus.state @"dim_reduce/basis/w" : tensor<2x3xf32> {differs_along = ["data"], fixed, part_of = tensor<3x3xf32>, role = #gradus.role<slot>, value = {{.*}} : tensor<3x3xf32>}
// CHECK:         gradus.state @"dim_reduce/gradient" : tensor<3xf32>
// CHECK:         gradus.graph @train(
// CHECK:           %[[P:.*]] = gradus.read @"dim_reduce/basis/w" : tensor<2x3xf32>
// CHECK:           %[[OWN:.*]] = gradus.reduce sum %{{.*}} axes [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK:           %[[RANK:.*]] = gradus.read @distribution.rank : tensor<i64>
// CHECK:           %[[ROWS:.*]] = gradus.reshape %{{.*}} : tensor<2x2xf32> -> tensor<4xf32>
// CHECK:           %[[THREE:.*]] = gradus.slice %[[ROWS]]
// CHECK:           %[[INSIDE:.*]] = gradus.all_reduce %[[THREE]] : tensor<3xf32> -> tensor<3xf32>
// CHECK:           gradus.concatenate
// CHECK:           gradus.gather
// CHECK:           %[[STEP:.*]] = gradus.reshape %{{.*}} : tensor<1x2xf32> -> tensor<2xf32>
// CHECK:           gradus.concatenate %[[INSIDE]], %{{.*}}
// CHECK:           gradus.gather
// CHECK:           %[[BACK:.*]] = gradus.reshape %{{.*}} : tensor<1x2xf32> -> tensor<2xf32>
// CHECK:           gradus.broadcast %[[STEP]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK:           %[[WAY:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK:           gradus.broadcast %[[BACK]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK:           %[[OF:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK:           %[[SUMS:.*]]:2 = gradus.all_reduce %[[WAY]], %[[OF]]
// CHECK:           %[[REST:.*]] = arith.subf %g, %[[SUMS]]#1
// CHECK:           gradus.update @w, %[[REST]] : tensor<3xf32>
gradus.program @dealt attributes {recipe = {settable = false, dim_reduce = {dealt = true}, distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<3x3xf32> {fixed, role = #gradus.role<slot>, value = dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %loss = gradus.reduce sum %w axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %loss : tensor<f32>
  }
}

// In one process the basis is whole.
// CHECK-LABEL: gradus.program @alone
// CHECK-NOT:     part_of
// CHECK-NOT:     gradus.all_reduce
// CHECK:         gradus.return
gradus.program @alone attributes {recipe = {settable = false, dim_reduce = {dealt = true}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<[[1.0, 0.0, 0.0]]> : tensor<1x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %loss = gradus.reduce sum %w axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %loss : tensor<f32>
  }
}

// A parameter that is not trained may have a part of the basis that is zero.
// CHECK-LABEL: gradus.program @still
// CHECK-NOT:     gradus.write @other
// CHECK:         gradus.return
gradus.program @still attributes {recipe = {settable = false, dim_reduce = {}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @other : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1xf32> {fixed, role = #gradus.role<slot>, value = dense<1.0> : tensor<1xf32>}
  gradus.state @"dim_reduce/basis/other" : tensor<1x2xf32> {fixed, role = #gradus.role<slot>, value = dense<0.0> : tensor<1x2xf32>}
  gradus.graph @train(%g: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    %loss = arith.mulf %w, %w : tensor<f32>
    gradus.update @w, %g : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// Without the key nothing changes.
// CHECK-LABEL: gradus.program @off
// CHECK-NOT:     dim_reduce/accepted
gradus.program @off {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<f32>
    gradus.return %g : tensor<f32>
  }
}
