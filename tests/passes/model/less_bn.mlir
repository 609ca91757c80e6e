// RUN: gradus-opt %s --less-bn | FileCheck %s
// RUN: gradus-opt %s --less-bn --less-bn | FileCheck %s

// The states go with what they belonged to.
// CHECK-LABEL: gradus.program @basic
// CHECK-SAME:    taken_out = ["bn1.weight", "bn1.bias"]
// CHECK-NOT:     gradus.state @bn1
// CHECK:         gradus.state @bn2.weight
// CHECK-NOT:     gradus.state @bn1
// CHECK:         %[[C:.*]] = gradus.convolution
// CHECK:         gradus.batch_norm %[[C]]
// CHECK:         %[[D:.*]] = gradus.convolution
// CHECK-NEXT:    gradus.relu %[[D]]
// CHECK:         gradus.batch_norm
// CHECK-NOT:     gradus.batch_norm
gradus.program @basic attributes {recipe = {less_bn = {}}} {
  gradus.state @conv0.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv1.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn1.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn1.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn1.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn1.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv2.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x4x6x6xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    %v8 = gradus.read @conv1.weight : tensor<4x4x3x3xf32>
    %v9 = gradus.convolution %v7, %v8 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v10 = gradus.read @bn1.weight : tensor<4xf32>
    %v11 = gradus.read @bn1.bias : tensor<4xf32>
    %v12 = gradus.read @bn1.mean : tensor<4xf32>
    %v13 = gradus.read @bn1.variance : tensor<4xf32>
    %v14 = gradus.batch_norm %v9, %v10, %v11 mean %v12 variance %v13 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v15 = gradus.relu %v14 : tensor<2x4x6x6xf32>
    %v16 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
    %v17 = gradus.convolution %v15, %v16 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v18 = gradus.read @bn2.weight : tensor<4xf32>
    %v19 = gradus.read @bn2.bias : tensor<4xf32>
    %v20 = gradus.read @bn2.mean : tensor<4xf32>
    %v21 = gradus.read @bn2.variance : tensor<4xf32>
    %v22 = gradus.batch_norm %v17, %v18, %v19 mean %v20 variance %v21 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v23 = arith.addf %v7, %v22 : tensor<2x4x6x6xf32>
    %v24 = gradus.relu %v23 : tensor<2x4x6x6xf32>
    gradus.return %v24 : tensor<2x4x6x6xf32>
  }
}

// Without the key nothing changes.
// CHECK-LABEL: gradus.program @not_asked
// CHECK-COUNT-3: gradus.batch_norm
gradus.program @not_asked attributes {recipe = {seed = 1 : i64}} {
  gradus.state @conv0.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv1.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn1.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn1.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn1.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn1.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv2.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x4x6x6xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    %v8 = gradus.read @conv1.weight : tensor<4x4x3x3xf32>
    %v9 = gradus.convolution %v7, %v8 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v10 = gradus.read @bn1.weight : tensor<4xf32>
    %v11 = gradus.read @bn1.bias : tensor<4xf32>
    %v12 = gradus.read @bn1.mean : tensor<4xf32>
    %v13 = gradus.read @bn1.variance : tensor<4xf32>
    %v14 = gradus.batch_norm %v9, %v10, %v11 mean %v12 variance %v13 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v15 = gradus.relu %v14 : tensor<2x4x6x6xf32>
    %v16 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
    %v17 = gradus.convolution %v15, %v16 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v18 = gradus.read @bn2.weight : tensor<4xf32>
    %v19 = gradus.read @bn2.bias : tensor<4xf32>
    %v20 = gradus.read @bn2.mean : tensor<4xf32>
    %v21 = gradus.read @bn2.variance : tensor<4xf32>
    %v22 = gradus.batch_norm %v17, %v18, %v19 mean %v20 variance %v21 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v23 = arith.addf %v7, %v22 : tensor<2x4x6x6xf32>
    %v24 = gradus.relu %v23 : tensor<2x4x6x6xf32>
    gradus.return %v24 : tensor<2x4x6x6xf32>
  }
}
