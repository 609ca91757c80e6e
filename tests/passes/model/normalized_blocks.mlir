// RUN: gradus-opt %s --less-bn --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s

// Of a bottleneck and its projection the last one stays, whichever comes first; a
// convolution may have a bias. The stem stays.
// CHECK: Remark="stem kept: no block
// CHECK: Remark="bn1 taken out: a later one of its residual branch stays
// CHECK: Remark="bn2 taken out: a later one
// CHECK: Remark="bn3 kept: it is the last one before the join
// CHECK: Remark="bnp taken out: the other branch of its join has one
// CHECK: Remark="3 of 5 batch normalizations taken out
gradus.program @bottleneck attributes {recipe = {less_bn = {}}} {
  gradus.state @conv0.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv1.weight : tensor<2x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @conv1.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn1.weight : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn1.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn1.mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn1.variance : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv2.weight : tensor<2x2x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn2.weight : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn2.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn2.mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn2.variance : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @conv3.weight : tensor<8x2x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn3.weight : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn3.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn3.mean : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn3.variance : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @convp.weight : tensor<8x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bnp.weight : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bnp.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bnp.mean : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bnp.variance : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x8x6x6xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    %v8 = gradus.read @conv1.weight : tensor<2x4x1x1xf32>
    %v9 = gradus.convolution %v7, %v8 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<2x4x1x1xf32> -> tensor<2x2x6x6xf32>
    %v10 = gradus.read @conv1.bias : tensor<2xf32>
    %v11 = gradus.broadcast %v10 dims [1] : tensor<2xf32> -> tensor<2x2x6x6xf32>
    %v12 = arith.addf %v11, %v9 : tensor<2x2x6x6xf32>
    %v13 = gradus.read @bn1.weight : tensor<2xf32>
    %v14 = gradus.read @bn1.bias : tensor<2xf32>
    %v15 = gradus.read @bn1.mean : tensor<2xf32>
    %v16 = gradus.read @bn1.variance : tensor<2xf32>
    %v17 = gradus.batch_norm %v12, %v13, %v14 mean %v15 variance %v16 epsilon 1.0e-5 momentum 0.9 : tensor<2x2x6x6xf32>, tensor<2xf32>
    %v18 = gradus.relu %v17 : tensor<2x2x6x6xf32>
    %v19 = gradus.read @conv2.weight : tensor<2x2x3x3xf32>
    %v20 = gradus.convolution %v18, %v19 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x2x6x6xf32>, tensor<2x2x3x3xf32> -> tensor<2x2x6x6xf32>
    %v21 = gradus.read @bn2.weight : tensor<2xf32>
    %v22 = gradus.read @bn2.bias : tensor<2xf32>
    %v23 = gradus.read @bn2.mean : tensor<2xf32>
    %v24 = gradus.read @bn2.variance : tensor<2xf32>
    %v25 = gradus.batch_norm %v20, %v21, %v22 mean %v23 variance %v24 epsilon 1.0e-5 momentum 0.9 : tensor<2x2x6x6xf32>, tensor<2xf32>
    %v26 = gradus.relu %v25 : tensor<2x2x6x6xf32>
    %v27 = gradus.read @conv3.weight : tensor<8x2x1x1xf32>
    %v28 = gradus.convolution %v26, %v27 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x2x6x6xf32>, tensor<8x2x1x1xf32> -> tensor<2x8x6x6xf32>
    %v29 = gradus.read @bn3.weight : tensor<8xf32>
    %v30 = gradus.read @bn3.bias : tensor<8xf32>
    %v31 = gradus.read @bn3.mean : tensor<8xf32>
    %v32 = gradus.read @bn3.variance : tensor<8xf32>
    %v33 = gradus.batch_norm %v28, %v29, %v30 mean %v31 variance %v32 epsilon 1.0e-5 momentum 0.9 : tensor<2x8x6x6xf32>, tensor<8xf32>
    %v34 = gradus.read @convp.weight : tensor<8x4x1x1xf32>
    %v35 = gradus.convolution %v7, %v34 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<8x4x1x1xf32> -> tensor<2x8x6x6xf32>
    %v36 = gradus.read @bnp.weight : tensor<8xf32>
    %v37 = gradus.read @bnp.bias : tensor<8xf32>
    %v38 = gradus.read @bnp.mean : tensor<8xf32>
    %v39 = gradus.read @bnp.variance : tensor<8xf32>
    %v40 = gradus.batch_norm %v35, %v36, %v37 mean %v38 variance %v39 epsilon 1.0e-5 momentum 0.9 : tensor<2x8x6x6xf32>, tensor<8xf32>
    %v41 = arith.addf %v40, %v33 : tensor<2x8x6x6xf32>
    %v42 = gradus.relu %v41 : tensor<2x8x6x6xf32>
    gradus.return %v42 : tensor<2x8x6x6xf32>
  }
}

// A basic block around the identity.
// CHECK: Remark="bn1 taken out: a later one
// CHECK: Remark="bn2 kept: it is the last one
// CHECK: Remark="1 of 3 batch normalizations taken out
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

// A pool in the main branch is none that the pattern knows.
// CHECK: Remark="bn1 kept: no block
// CHECK: Remark="bn2 kept: no block
// CHECK: Remark="bnp kept: no block
// CHECK: Remark="0 of 4 batch normalizations taken out
gradus.program @pooled_projection attributes {recipe = {less_bn = {}}} {
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
  gradus.state @convp.weight : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bnp.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bnp.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bnp.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bnp.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x4x3x3xf32>) {
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
    %v16 = gradus.average_pool %v15 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32> -> tensor<2x4x3x3xf32>
    %v17 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
    %v18 = gradus.convolution %v16, %v17 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x3x3xf32>
    %v19 = gradus.read @bn2.weight : tensor<4xf32>
    %v20 = gradus.read @bn2.bias : tensor<4xf32>
    %v21 = gradus.read @bn2.mean : tensor<4xf32>
    %v22 = gradus.read @bn2.variance : tensor<4xf32>
    %v23 = gradus.batch_norm %v18, %v19, %v20 mean %v21 variance %v22 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v24 = gradus.average_pool %v7 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32> -> tensor<2x4x3x3xf32>
    %v25 = gradus.read @convp.weight : tensor<4x4x1x1xf32>
    %v26 = gradus.convolution %v24, %v25 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x3x3xf32>
    %v27 = gradus.read @bnp.weight : tensor<4xf32>
    %v28 = gradus.read @bnp.bias : tensor<4xf32>
    %v29 = gradus.read @bnp.mean : tensor<4xf32>
    %v30 = gradus.read @bnp.variance : tensor<4xf32>
    %v31 = gradus.batch_norm %v26, %v27, %v28 mean %v29 variance %v30 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v32 = arith.addf %v23, %v31 : tensor<2x4x3x3xf32>
    gradus.return %v32 : tensor<2x4x3x3xf32>
  }
}

// A block may begin behind a pool.
// CHECK: Remark="bn1 taken out: a later one
// CHECK: Remark="bn2 kept: it is the last
// CHECK: Remark="bnp taken out: the other
// CHECK: Remark="2 of 4 batch normalizations taken out
gradus.program @pool_before_projection attributes {recipe = {less_bn = {}}} {
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
  gradus.state @convp.weight : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bnp.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bnp.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bnp.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bnp.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x4x3x3xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    %v8 = gradus.average_pool %v7 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32> -> tensor<2x4x3x3xf32>
    %v9 = gradus.read @conv1.weight : tensor<4x4x3x3xf32>
    %v10 = gradus.convolution %v8, %v9 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x3x3xf32>
    %v11 = gradus.read @bn1.weight : tensor<4xf32>
    %v12 = gradus.read @bn1.bias : tensor<4xf32>
    %v13 = gradus.read @bn1.mean : tensor<4xf32>
    %v14 = gradus.read @bn1.variance : tensor<4xf32>
    %v15 = gradus.batch_norm %v10, %v11, %v12 mean %v13 variance %v14 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v16 = gradus.relu %v15 : tensor<2x4x3x3xf32>
    %v17 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
    %v18 = gradus.convolution %v16, %v17 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x3x3xf32>
    %v19 = gradus.read @bn2.weight : tensor<4xf32>
    %v20 = gradus.read @bn2.bias : tensor<4xf32>
    %v21 = gradus.read @bn2.mean : tensor<4xf32>
    %v22 = gradus.read @bn2.variance : tensor<4xf32>
    %v23 = gradus.batch_norm %v18, %v19, %v20 mean %v21 variance %v22 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v24 = gradus.read @convp.weight : tensor<4x4x1x1xf32>
    %v25 = gradus.convolution %v8, %v24 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x3x3xf32>
    %v26 = gradus.read @bnp.weight : tensor<4xf32>
    %v27 = gradus.read @bnp.bias : tensor<4xf32>
    %v28 = gradus.read @bnp.mean : tensor<4xf32>
    %v29 = gradus.read @bnp.variance : tensor<4xf32>
    %v30 = gradus.batch_norm %v25, %v26, %v27 mean %v28 variance %v29 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v31 = arith.addf %v23, %v30 : tensor<2x4x3x3xf32>
    gradus.return %v31 : tensor<2x4x3x3xf32>
  }
}

// What normalizes the model's input stays.
// CHECK: Remark="bn1 kept: it is the first of the model's input
// CHECK: Remark="bn2 kept: it is the last
// CHECK: Remark="0 of 2 batch normalizations taken out
gradus.program @block_of_the_input attributes {recipe = {less_bn = {}}} {
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
    %v0 = gradus.read @conv1.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @bn1.weight : tensor<4xf32>
    %v3 = gradus.read @bn1.bias : tensor<4xf32>
    %v4 = gradus.read @bn1.mean : tensor<4xf32>
    %v5 = gradus.read @bn1.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    %v8 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
    %v9 = gradus.convolution %v7, %v8 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v10 = gradus.read @bn2.weight : tensor<4xf32>
    %v11 = gradus.read @bn2.bias : tensor<4xf32>
    %v12 = gradus.read @bn2.mean : tensor<4xf32>
    %v13 = gradus.read @bn2.variance : tensor<4xf32>
    %v14 = gradus.batch_norm %v9, %v10, %v11 mean %v12 variance %v13 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v15 = arith.addf %v14, %x : tensor<2x4x6x6xf32>
    gradus.return %v15 : tensor<2x4x6x6xf32>
  }
}

// So does one whose result is an output, too.
// CHECK: Remark="bn1 kept: its result is used elsewhere, too
// CHECK: Remark="bn2 kept: it is the last
// CHECK: Remark="0 of 3 batch normalizations taken out
gradus.program @used_twice attributes {recipe = {less_bn = {}}} {
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
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x4x6x6xf32>, y1: tensor<2x4x6x6xf32>) {
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
    %v23 = arith.addf %v22, %v7 : tensor<2x4x6x6xf32>
    gradus.return %v23, %v14 : tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>
  }
}

// And one that the recipe names.
// CHECK: Remark="bn1 kept: `keep` names it
// CHECK: Remark="bn2 taken out: a later one
// CHECK: Remark="bn3 kept: it is the last
// CHECK: Remark="1 of 4 batch normalizations taken out
gradus.program @kept attributes {recipe = {less_bn = {keep = ["bn1"]}}} {
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
  gradus.state @conv3.weight : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bn3.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bn3.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bn3.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @bn3.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
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
    %v23 = gradus.relu %v22 : tensor<2x4x6x6xf32>
    %v24 = gradus.read @conv3.weight : tensor<4x4x1x1xf32>
    %v25 = gradus.convolution %v23, %v24 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x6x6xf32>
    %v26 = gradus.read @bn3.weight : tensor<4xf32>
    %v27 = gradus.read @bn3.bias : tensor<4xf32>
    %v28 = gradus.read @bn3.mean : tensor<4xf32>
    %v29 = gradus.read @bn3.variance : tensor<4xf32>
    %v30 = gradus.batch_norm %v25, %v26, %v27 mean %v28 variance %v29 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v31 = arith.addf %v30, %v7 : tensor<2x4x6x6xf32>
    gradus.return %v31 : tensor<2x4x6x6xf32>
  }
}

// Inverted residuals lose the expansion's where it has no activation before it,
// with a join or without; projections stay, and the head's goes.
// CHECK: Remark="stem kept: no block
// CHECK: Remark="a.depthwise kept: 
// CHECK: Remark="a.projection kept: 
// CHECK: Remark="b.expansion taken out: the depthwise convolution of its block has one
// CHECK: Remark="b.depthwise kept: it is behind the depthwise
// CHECK: Remark="b.projection kept: 
// CHECK: Remark="c.expansion taken out: the depthwise convolution of its block has one
// CHECK: Remark="c.depthwise kept: it is behind the depthwise
// CHECK: Remark="c.projection kept: 
// CHECK: Remark="d.expansion taken out: the depthwise convolution of its block has one
// CHECK: Remark="d.depthwise kept: it is behind the depthwise
// CHECK: Remark="d.projection kept: 
// CHECK: Remark="head taken out: the head takes means
// CHECK: Remark="4 of 13 batch normalizations taken out
gradus.program @inverted attributes {recipe = {less_bn = {}}} {
  gradus.state @conv0.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a1.weight : tensor<4x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @a.depthwise.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a.depthwise.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @a.depthwise.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @a.depthwise.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a2.weight : tensor<2x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @a.projection.weight : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a.projection.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @a.projection.mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @a.projection.variance : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b1.weight : tensor<4x2x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b.expansion.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b.expansion.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b.expansion.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @b.expansion.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b2.weight : tensor<4x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b.depthwise.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b.depthwise.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b.depthwise.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @b.depthwise.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b3.weight : tensor<2x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b.projection.weight : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b.projection.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b.projection.mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @b.projection.variance : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c1.weight : tensor<4x2x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @c.expansion.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c.expansion.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c.expansion.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @c.expansion.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c2.weight : tensor<4x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @c.depthwise.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c.depthwise.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c.depthwise.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @c.depthwise.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c3.weight : tensor<2x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @c.projection.weight : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c.projection.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c.projection.mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @c.projection.variance : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @d1.weight : tensor<4x2x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @d.expansion.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @d.expansion.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d.expansion.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @d.expansion.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @d2.weight : tensor<4x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @d.depthwise.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @d.depthwise.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d.depthwise.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @d.depthwise.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @d3.weight : tensor<2x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @d.projection.weight : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @d.projection.bias : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @d.projection.mean : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @d.projection.variance : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @last.weight : tensor<8x2x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @head.weight : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @head.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.mean : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @head.variance : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @fc.weight : tensor<3x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x3xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.clip %v6 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v8 = gradus.read @a1.weight : tensor<4x1x3x3xf32>
    %v9 = gradus.convolution %v7, %v8 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 4 : tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<2x4x6x6xf32>
    %v10 = gradus.read @a.depthwise.weight : tensor<4xf32>
    %v11 = gradus.read @a.depthwise.bias : tensor<4xf32>
    %v12 = gradus.read @a.depthwise.mean : tensor<4xf32>
    %v13 = gradus.read @a.depthwise.variance : tensor<4xf32>
    %v14 = gradus.batch_norm %v9, %v10, %v11 mean %v12 variance %v13 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v15 = gradus.clip %v14 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v16 = gradus.read @a2.weight : tensor<2x4x1x1xf32>
    %v17 = gradus.convolution %v15, %v16 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<2x4x1x1xf32> -> tensor<2x2x6x6xf32>
    %v18 = gradus.read @a.projection.weight : tensor<2xf32>
    %v19 = gradus.read @a.projection.bias : tensor<2xf32>
    %v20 = gradus.read @a.projection.mean : tensor<2xf32>
    %v21 = gradus.read @a.projection.variance : tensor<2xf32>
    %v22 = gradus.batch_norm %v17, %v18, %v19 mean %v20 variance %v21 epsilon 1.0e-5 momentum 0.9 : tensor<2x2x6x6xf32>, tensor<2xf32>
    %v23 = gradus.read @b1.weight : tensor<4x2x1x1xf32>
    %v24 = gradus.convolution %v22, %v23 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x2x6x6xf32>, tensor<4x2x1x1xf32> -> tensor<2x4x6x6xf32>
    %v25 = gradus.read @b.expansion.weight : tensor<4xf32>
    %v26 = gradus.read @b.expansion.bias : tensor<4xf32>
    %v27 = gradus.read @b.expansion.mean : tensor<4xf32>
    %v28 = gradus.read @b.expansion.variance : tensor<4xf32>
    %v29 = gradus.batch_norm %v24, %v25, %v26 mean %v27 variance %v28 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v30 = gradus.clip %v29 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v31 = gradus.read @b2.weight : tensor<4x1x3x3xf32>
    %v32 = gradus.convolution %v30, %v31 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 4 : tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<2x4x6x6xf32>
    %v33 = gradus.read @b.depthwise.weight : tensor<4xf32>
    %v34 = gradus.read @b.depthwise.bias : tensor<4xf32>
    %v35 = gradus.read @b.depthwise.mean : tensor<4xf32>
    %v36 = gradus.read @b.depthwise.variance : tensor<4xf32>
    %v37 = gradus.batch_norm %v32, %v33, %v34 mean %v35 variance %v36 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v38 = gradus.clip %v37 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v39 = gradus.read @b3.weight : tensor<2x4x1x1xf32>
    %v40 = gradus.convolution %v38, %v39 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<2x4x1x1xf32> -> tensor<2x2x6x6xf32>
    %v41 = gradus.read @b.projection.weight : tensor<2xf32>
    %v42 = gradus.read @b.projection.bias : tensor<2xf32>
    %v43 = gradus.read @b.projection.mean : tensor<2xf32>
    %v44 = gradus.read @b.projection.variance : tensor<2xf32>
    %v45 = gradus.batch_norm %v40, %v41, %v42 mean %v43 variance %v44 epsilon 1.0e-5 momentum 0.9 : tensor<2x2x6x6xf32>, tensor<2xf32>
    %v46 = gradus.read @c1.weight : tensor<4x2x1x1xf32>
    %v47 = gradus.convolution %v45, %v46 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x2x6x6xf32>, tensor<4x2x1x1xf32> -> tensor<2x4x6x6xf32>
    %v48 = gradus.read @c.expansion.weight : tensor<4xf32>
    %v49 = gradus.read @c.expansion.bias : tensor<4xf32>
    %v50 = gradus.read @c.expansion.mean : tensor<4xf32>
    %v51 = gradus.read @c.expansion.variance : tensor<4xf32>
    %v52 = gradus.batch_norm %v47, %v48, %v49 mean %v50 variance %v51 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v53 = gradus.clip %v52 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v54 = gradus.read @c2.weight : tensor<4x1x3x3xf32>
    %v55 = gradus.convolution %v53, %v54 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 4 : tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<2x4x6x6xf32>
    %v56 = gradus.read @c.depthwise.weight : tensor<4xf32>
    %v57 = gradus.read @c.depthwise.bias : tensor<4xf32>
    %v58 = gradus.read @c.depthwise.mean : tensor<4xf32>
    %v59 = gradus.read @c.depthwise.variance : tensor<4xf32>
    %v60 = gradus.batch_norm %v55, %v56, %v57 mean %v58 variance %v59 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v61 = gradus.clip %v60 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v62 = gradus.read @c3.weight : tensor<2x4x1x1xf32>
    %v63 = gradus.convolution %v61, %v62 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<2x4x1x1xf32> -> tensor<2x2x6x6xf32>
    %v64 = gradus.read @c.projection.weight : tensor<2xf32>
    %v65 = gradus.read @c.projection.bias : tensor<2xf32>
    %v66 = gradus.read @c.projection.mean : tensor<2xf32>
    %v67 = gradus.read @c.projection.variance : tensor<2xf32>
    %v68 = gradus.batch_norm %v63, %v64, %v65 mean %v66 variance %v67 epsilon 1.0e-5 momentum 0.9 : tensor<2x2x6x6xf32>, tensor<2xf32>
    %v69 = arith.addf %v45, %v68 : tensor<2x2x6x6xf32>
    %v70 = gradus.read @d1.weight : tensor<4x2x1x1xf32>
    %v71 = gradus.convolution %v69, %v70 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x2x6x6xf32>, tensor<4x2x1x1xf32> -> tensor<2x4x6x6xf32>
    %v72 = gradus.read @d.expansion.weight : tensor<4xf32>
    %v73 = gradus.read @d.expansion.bias : tensor<4xf32>
    %v74 = gradus.read @d.expansion.mean : tensor<4xf32>
    %v75 = gradus.read @d.expansion.variance : tensor<4xf32>
    %v76 = gradus.batch_norm %v71, %v72, %v73 mean %v74 variance %v75 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v77 = gradus.clip %v76 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v78 = gradus.read @d2.weight : tensor<4x1x3x3xf32>
    %v79 = gradus.convolution %v77, %v78 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 4 : tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<2x4x6x6xf32>
    %v80 = gradus.read @d.depthwise.weight : tensor<4xf32>
    %v81 = gradus.read @d.depthwise.bias : tensor<4xf32>
    %v82 = gradus.read @d.depthwise.mean : tensor<4xf32>
    %v83 = gradus.read @d.depthwise.variance : tensor<4xf32>
    %v84 = gradus.batch_norm %v79, %v80, %v81 mean %v82 variance %v83 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v85 = gradus.clip %v84 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %v86 = gradus.read @d3.weight : tensor<2x4x1x1xf32>
    %v87 = gradus.convolution %v85, %v86 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<2x4x1x1xf32> -> tensor<2x2x6x6xf32>
    %v88 = gradus.read @d.projection.weight : tensor<2xf32>
    %v89 = gradus.read @d.projection.bias : tensor<2xf32>
    %v90 = gradus.read @d.projection.mean : tensor<2xf32>
    %v91 = gradus.read @d.projection.variance : tensor<2xf32>
    %v92 = gradus.batch_norm %v87, %v88, %v89 mean %v90 variance %v91 epsilon 1.0e-5 momentum 0.9 : tensor<2x2x6x6xf32>, tensor<2xf32>
    %v93 = arith.addf %v92, %v69 : tensor<2x2x6x6xf32>
    %v94 = gradus.read @last.weight : tensor<8x2x1x1xf32>
    %v95 = gradus.convolution %v93, %v94 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x2x6x6xf32>, tensor<8x2x1x1xf32> -> tensor<2x8x6x6xf32>
    %v96 = gradus.read @head.weight : tensor<8xf32>
    %v97 = gradus.read @head.bias : tensor<8xf32>
    %v98 = gradus.read @head.mean : tensor<8xf32>
    %v99 = gradus.read @head.variance : tensor<8xf32>
    %v100 = gradus.batch_norm %v95, %v96, %v97 mean %v98 variance %v99 epsilon 1.0e-5 momentum 0.9 : tensor<2x8x6x6xf32>, tensor<8xf32>
    %v101 = gradus.clip %v100 from 0.0 to 6.0 : tensor<2x8x6x6xf32>
    %v102 = gradus.reduce mean %v101 axes [2, 3] : tensor<2x8x6x6xf32> -> tensor<2x8xf32>
    %v103 = gradus.read @fc.weight : tensor<3x8xf32>
    %v104 = gradus.matmul %v102, %v103 transposed : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<2x3xf32>
    gradus.return %v104 : tensor<2x3xf32>
  }
}

// Dense layers: behind a pool the second goes, behind a concatenation the first,
// and that of the transition.
// CHECK: Remark="a.norm1 kept: it is the first one behind the pool
// CHECK: Remark="a.norm2 taken out: the first one of its dense layer
// CHECK: Remark="b.norm1 taken out: the second one of its dense layer stays
// CHECK: Remark="b.norm2 kept: it is the second one
// CHECK: Remark="transition taken out: it is that of a transition
// CHECK: Remark="c.norm1 kept: it is the first
// CHECK: Remark="c.norm2 taken out: the first one
// CHECK: Remark="4 of 8 batch normalizations taken out
gradus.program @dense attributes {recipe = {less_bn = {}}} {
  gradus.state @conv0.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a.norm1.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a.norm1.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @a.norm1.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @a.norm1.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a1.weight : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @a.norm2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a.norm2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @a.norm2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @a.norm2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @a2.weight : tensor<2x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b.norm1.weight : tensor<6xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b.norm1.bias : tensor<6xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b.norm1.mean : tensor<6xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @b.norm1.variance : tensor<6xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b1.weight : tensor<4x6x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b.norm2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b.norm2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b.norm2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @b.norm2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @b2.weight : tensor<2x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @transition.weight : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @transition.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @transition.mean : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @transition.variance : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @ct.weight : tensor<4x8x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @c.norm1.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c.norm1.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c.norm1.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @c.norm1.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c1.weight : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @c.norm2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c.norm2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @c.norm2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @c.norm2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @c2.weight : tensor<2x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y0: tensor<2x6x1x1xf32>) {
    %v0 = gradus.read @conv0.weight : tensor<4x4x3x3xf32>
    %v1 = gradus.convolution %x, %v0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %v2 = gradus.read @stem.weight : tensor<4xf32>
    %v3 = gradus.read @stem.bias : tensor<4xf32>
    %v4 = gradus.read @stem.mean : tensor<4xf32>
    %v5 = gradus.read @stem.variance : tensor<4xf32>
    %v6 = gradus.batch_norm %v1, %v2, %v3 mean %v4 variance %v5 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %v7 = gradus.relu %v6 : tensor<2x4x6x6xf32>
    %v8 = gradus.average_pool %v7 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32> -> tensor<2x4x3x3xf32>
    %v9 = gradus.read @a.norm1.weight : tensor<4xf32>
    %v10 = gradus.read @a.norm1.bias : tensor<4xf32>
    %v11 = gradus.read @a.norm1.mean : tensor<4xf32>
    %v12 = gradus.read @a.norm1.variance : tensor<4xf32>
    %v13 = gradus.batch_norm %v8, %v9, %v10 mean %v11 variance %v12 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v14 = gradus.relu %v13 : tensor<2x4x3x3xf32>
    %v15 = gradus.read @a1.weight : tensor<4x4x1x1xf32>
    %v16 = gradus.convolution %v14, %v15 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x3x3xf32>
    %v17 = gradus.read @a.norm2.weight : tensor<4xf32>
    %v18 = gradus.read @a.norm2.bias : tensor<4xf32>
    %v19 = gradus.read @a.norm2.mean : tensor<4xf32>
    %v20 = gradus.read @a.norm2.variance : tensor<4xf32>
    %v21 = gradus.batch_norm %v16, %v17, %v18 mean %v19 variance %v20 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v22 = gradus.relu %v21 : tensor<2x4x3x3xf32>
    %v23 = gradus.read @a2.weight : tensor<2x4x3x3xf32>
    %v24 = gradus.convolution %v22, %v23 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32> -> tensor<2x2x3x3xf32>
    %v25 = gradus.concatenate %v8, %v24 axis 1 : tensor<2x4x3x3xf32>, tensor<2x2x3x3xf32> -> tensor<2x6x3x3xf32>
    %v26 = gradus.read @b.norm1.weight : tensor<6xf32>
    %v27 = gradus.read @b.norm1.bias : tensor<6xf32>
    %v28 = gradus.read @b.norm1.mean : tensor<6xf32>
    %v29 = gradus.read @b.norm1.variance : tensor<6xf32>
    %v30 = gradus.batch_norm %v25, %v26, %v27 mean %v28 variance %v29 epsilon 1.0e-5 momentum 0.9 : tensor<2x6x3x3xf32>, tensor<6xf32>
    %v31 = gradus.relu %v30 : tensor<2x6x3x3xf32>
    %v32 = gradus.read @b1.weight : tensor<4x6x1x1xf32>
    %v33 = gradus.convolution %v31, %v32 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x6x3x3xf32>, tensor<4x6x1x1xf32> -> tensor<2x4x3x3xf32>
    %v34 = gradus.read @b.norm2.weight : tensor<4xf32>
    %v35 = gradus.read @b.norm2.bias : tensor<4xf32>
    %v36 = gradus.read @b.norm2.mean : tensor<4xf32>
    %v37 = gradus.read @b.norm2.variance : tensor<4xf32>
    %v38 = gradus.batch_norm %v33, %v34, %v35 mean %v36 variance %v37 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x3x3xf32>, tensor<4xf32>
    %v39 = gradus.relu %v38 : tensor<2x4x3x3xf32>
    %v40 = gradus.read @b2.weight : tensor<2x4x3x3xf32>
    %v41 = gradus.convolution %v39, %v40 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32> -> tensor<2x2x3x3xf32>
    %v42 = gradus.concatenate %v41, %v24, %v8 axis 1 : tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>, tensor<2x4x3x3xf32> -> tensor<2x8x3x3xf32>
    %v43 = gradus.read @transition.weight : tensor<8xf32>
    %v44 = gradus.read @transition.bias : tensor<8xf32>
    %v45 = gradus.read @transition.mean : tensor<8xf32>
    %v46 = gradus.read @transition.variance : tensor<8xf32>
    %v47 = gradus.batch_norm %v42, %v43, %v44 mean %v45 variance %v46 epsilon 1.0e-5 momentum 0.9 : tensor<2x8x3x3xf32>, tensor<8xf32>
    %v48 = gradus.relu %v47 : tensor<2x8x3x3xf32>
    %v49 = gradus.read @ct.weight : tensor<4x8x1x1xf32>
    %v50 = gradus.convolution %v48, %v49 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x8x3x3xf32>, tensor<4x8x1x1xf32> -> tensor<2x4x3x3xf32>
    %v51 = gradus.average_pool %v50 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x3x3xf32> -> tensor<2x4x1x1xf32>
    %v52 = gradus.read @c.norm1.weight : tensor<4xf32>
    %v53 = gradus.read @c.norm1.bias : tensor<4xf32>
    %v54 = gradus.read @c.norm1.mean : tensor<4xf32>
    %v55 = gradus.read @c.norm1.variance : tensor<4xf32>
    %v56 = gradus.batch_norm %v51, %v52, %v53 mean %v54 variance %v55 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x1x1xf32>, tensor<4xf32>
    %v57 = gradus.relu %v56 : tensor<2x4x1x1xf32>
    %v58 = gradus.read @c1.weight : tensor<4x4x1x1xf32>
    %v59 = gradus.convolution %v57, %v58 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x1x1xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x1x1xf32>
    %v60 = gradus.read @c.norm2.weight : tensor<4xf32>
    %v61 = gradus.read @c.norm2.bias : tensor<4xf32>
    %v62 = gradus.read @c.norm2.mean : tensor<4xf32>
    %v63 = gradus.read @c.norm2.variance : tensor<4xf32>
    %v64 = gradus.batch_norm %v59, %v60, %v61 mean %v62 variance %v63 epsilon 1.0e-5 momentum 0.9 : tensor<2x4x1x1xf32>, tensor<4xf32>
    %v65 = gradus.relu %v64 : tensor<2x4x1x1xf32>
    %v66 = gradus.read @c2.weight : tensor<2x4x3x3xf32>
    %v67 = gradus.convolution %v65, %v66 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x1x1xf32>, tensor<2x4x3x3xf32> -> tensor<2x2x1x1xf32>
    %v68 = gradus.concatenate %v51, %v67 axis 1 : tensor<2x4x1x1xf32>, tensor<2x2x1x1xf32> -> tensor<2x6x1x1xf32>
    gradus.return %v68 : tensor<2x6x1x1xf32>
  }
}

// A network without blocks says so.
// CHECK: Remark="bn1 kept: no block
// CHECK: Remark="0 of 3 batch normalizations taken out
gradus.program @plain attributes {recipe = {less_bn = {}}} {
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
    %v23 = gradus.relu %v22 : tensor<2x4x6x6xf32>
    gradus.return %v23 : tensor<2x4x6x6xf32>
  }
}


// Means that come back to their image are no head's: what they gate keeps its
// norm, for whose sake the expansion's goes.
// CHECK: Remark="stem kept: no block
// CHECK: Remark="exp taken out: the depthwise convolution of its block has one
// CHECK: Remark="dw kept: it is behind the depthwise
// CHECK: Remark="proj kept: no block
// CHECK: Remark="1 of 4 batch normalizations taken out
gradus.program @squeezed attributes {recipe = {less_bn = {}}} {
  gradus.state @w0 : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @stem.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @stem.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @stem.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @stem.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @w1 : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @exp.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @exp.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @exp.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @exp.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @w2 : tensor<4x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @dw.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @dw.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @dw.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @dw.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @fc : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @w3 : tensor<4x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @proj.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @proj.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @proj.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @proj.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<2x4x6x6xf32>) -> (y: tensor<2x4x6x6xf32>) {
    %w0 = gradus.read @w0 : tensor<4x4x3x3xf32>
    %c0 = gradus.convolution %x, %w0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<2x4x6x6xf32>
    %stemw = gradus.read @stem.weight : tensor<4xf32>
    %stemb = gradus.read @stem.bias : tensor<4xf32>
    %stemm = gradus.read @stem.mean : tensor<4xf32>
    %stemv = gradus.read @stem.variance : tensor<4xf32>
    %n0 = gradus.batch_norm %c0, %stemw, %stemb mean %stemm variance %stemv epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %w1 = gradus.read @w1 : tensor<4x4x1x1xf32>
    %c1 = gradus.convolution %n0, %w1 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x6x6xf32>
    %expw = gradus.read @exp.weight : tensor<4xf32>
    %expb = gradus.read @exp.bias : tensor<4xf32>
    %expm = gradus.read @exp.mean : tensor<4xf32>
    %expv = gradus.read @exp.variance : tensor<4xf32>
    %n1 = gradus.batch_norm %c1, %expw, %expb mean %expm variance %expv epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %r1 = gradus.clip %n1 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %w2 = gradus.read @w2 : tensor<4x1x3x3xf32>
    %c2 = gradus.convolution %r1, %w2 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 4 : tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<2x4x6x6xf32>
    %dww = gradus.read @dw.weight : tensor<4xf32>
    %dwb = gradus.read @dw.bias : tensor<4xf32>
    %dwm = gradus.read @dw.mean : tensor<4xf32>
    %dwv = gradus.read @dw.variance : tensor<4xf32>
    %n2 = gradus.batch_norm %c2, %dww, %dwb mean %dwm variance %dwv epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %r2 = gradus.clip %n2 from 0.0 to 6.0 : tensor<2x4x6x6xf32>
    %m = gradus.reduce mean %r2 axes [2, 3] : tensor<2x4x6x6xf32> -> tensor<2x4xf32>
    %fc = gradus.read @fc : tensor<4x4xf32>
    %h = gradus.matmul %m, %fc transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %s = gradus.sigmoid %h : tensor<2x4xf32>
    %sb = gradus.broadcast %s dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x6x6xf32>
    %e = arith.mulf %r2, %sb : tensor<2x4x6x6xf32>
    %w3 = gradus.read @w3 : tensor<4x4x1x1xf32>
    %c3 = gradus.convolution %e, %w3 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32> -> tensor<2x4x6x6xf32>
    %projw = gradus.read @proj.weight : tensor<4xf32>
    %projb = gradus.read @proj.bias : tensor<4xf32>
    %projm = gradus.read @proj.mean : tensor<4xf32>
    %projv = gradus.read @proj.variance : tensor<4xf32>
    %n3 = gradus.batch_norm %c3, %projw, %projb mean %projm variance %projv epsilon 1.0e-5 momentum 0.9 : tensor<2x4x6x6xf32>, tensor<4xf32>
    %y = arith.addf %n0, %n3 : tensor<2x4x6x6xf32>
    gradus.return %y : tensor<2x4x6x6xf32>
  }
}

// Sums of parameters that double at each step are looked at once.
// CHECK: Remark="0 of 0 batch normalizations taken out
gradus.program @doubled attributes {recipe = {less_bn = {}}} {
  gradus.state @w : tensor<1x4x6x6xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<1x4x6x6xf32>) -> (y: tensor<1x4x6x6xf32>) {
    %v0 = gradus.read @w : tensor<1x4x6x6xf32>
    %v1 = arith.addf %v0, %v0 : tensor<1x4x6x6xf32>
    %v2 = arith.addf %v1, %v1 : tensor<1x4x6x6xf32>
    %v3 = arith.addf %v2, %v2 : tensor<1x4x6x6xf32>
    %v4 = arith.addf %v3, %v3 : tensor<1x4x6x6xf32>
    %v5 = arith.addf %v4, %v4 : tensor<1x4x6x6xf32>
    %v6 = arith.addf %v5, %v5 : tensor<1x4x6x6xf32>
    %v7 = arith.addf %v6, %v6 : tensor<1x4x6x6xf32>
    %v8 = arith.addf %v7, %v7 : tensor<1x4x6x6xf32>
    %v9 = arith.addf %v8, %v8 : tensor<1x4x6x6xf32>
    %v10 = arith.addf %v9, %v9 : tensor<1x4x6x6xf32>
    %v11 = arith.addf %v10, %v10 : tensor<1x4x6x6xf32>
    %v12 = arith.addf %v11, %v11 : tensor<1x4x6x6xf32>
    %v13 = arith.addf %v12, %v12 : tensor<1x4x6x6xf32>
    %v14 = arith.addf %v13, %v13 : tensor<1x4x6x6xf32>
    %v15 = arith.addf %v14, %v14 : tensor<1x4x6x6xf32>
    %v16 = arith.addf %v15, %v15 : tensor<1x4x6x6xf32>
    %v17 = arith.addf %v16, %v16 : tensor<1x4x6x6xf32>
    %v18 = arith.addf %v17, %v17 : tensor<1x4x6x6xf32>
    %v19 = arith.addf %v18, %v18 : tensor<1x4x6x6xf32>
    %v20 = arith.addf %v19, %v19 : tensor<1x4x6x6xf32>
    %v21 = arith.addf %v20, %v20 : tensor<1x4x6x6xf32>
    %v22 = arith.addf %v21, %v21 : tensor<1x4x6x6xf32>
    %v23 = arith.addf %v22, %v22 : tensor<1x4x6x6xf32>
    %v24 = arith.addf %v23, %v23 : tensor<1x4x6x6xf32>
    %v25 = arith.addf %v24, %v24 : tensor<1x4x6x6xf32>
    %v26 = arith.addf %v25, %v25 : tensor<1x4x6x6xf32>
    %v27 = arith.addf %v26, %v26 : tensor<1x4x6x6xf32>
    %v28 = arith.addf %v27, %v27 : tensor<1x4x6x6xf32>
    %v29 = arith.addf %v28, %v28 : tensor<1x4x6x6xf32>
    %v30 = arith.addf %v29, %v29 : tensor<1x4x6x6xf32>
    %v31 = arith.addf %v30, %v30 : tensor<1x4x6x6xf32>
    %v32 = arith.addf %v31, %v31 : tensor<1x4x6x6xf32>
    %v33 = arith.addf %v32, %v32 : tensor<1x4x6x6xf32>
    %v34 = arith.addf %v33, %v33 : tensor<1x4x6x6xf32>
    %v35 = arith.addf %v34, %v34 : tensor<1x4x6x6xf32>
    %v36 = arith.addf %v35, %v35 : tensor<1x4x6x6xf32>
    %v37 = arith.addf %v36, %v36 : tensor<1x4x6x6xf32>
    %v38 = arith.addf %v37, %v37 : tensor<1x4x6x6xf32>
    %v39 = arith.addf %v38, %v38 : tensor<1x4x6x6xf32>
    %v40 = arith.addf %v39, %v39 : tensor<1x4x6x6xf32>
    %v41 = arith.addf %v40, %v40 : tensor<1x4x6x6xf32>
    %v42 = arith.addf %v41, %v41 : tensor<1x4x6x6xf32>
    %v43 = arith.addf %v42, %v42 : tensor<1x4x6x6xf32>
    %v44 = arith.addf %v43, %v43 : tensor<1x4x6x6xf32>
    %v45 = arith.addf %v44, %v44 : tensor<1x4x6x6xf32>
    %v46 = arith.addf %v45, %v45 : tensor<1x4x6x6xf32>
    %v47 = arith.addf %v46, %v46 : tensor<1x4x6x6xf32>
    %v48 = arith.addf %v47, %v47 : tensor<1x4x6x6xf32>
    %v49 = arith.addf %v48, %v48 : tensor<1x4x6x6xf32>
    %v50 = arith.addf %v49, %v49 : tensor<1x4x6x6xf32>
    %v51 = arith.addf %v50, %v50 : tensor<1x4x6x6xf32>
    %v52 = arith.addf %v51, %v51 : tensor<1x4x6x6xf32>
    %v53 = arith.addf %v52, %v52 : tensor<1x4x6x6xf32>
    %v54 = arith.addf %v53, %v53 : tensor<1x4x6x6xf32>
    %v55 = arith.addf %v54, %v54 : tensor<1x4x6x6xf32>
    %v56 = arith.addf %v55, %v55 : tensor<1x4x6x6xf32>
    %v57 = arith.addf %v56, %v56 : tensor<1x4x6x6xf32>
    %v58 = arith.addf %v57, %v57 : tensor<1x4x6x6xf32>
    %v59 = arith.addf %v58, %v58 : tensor<1x4x6x6xf32>
    %v60 = arith.addf %v59, %v59 : tensor<1x4x6x6xf32>
    %y = arith.addf %x, %v60 : tensor<1x4x6x6xf32>
    gradus.return %y : tensor<1x4x6x6xf32>
  }
}
