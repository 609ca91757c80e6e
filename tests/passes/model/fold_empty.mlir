// RUN: gradus-opt %s --fold-empty --split-input-file | FileCheck %s
// RUN: gradus-opt %s --fold-empty --fold-empty --split-input-file | FileCheck %s

// What makes no elements goes, and the state keeps its name.
// CHECK-LABEL: gradus.program @sums
// CHECK:         gradus.state @none
// CHECK-NOT:     gradus.read
// CHECK-DAG:     %[[SUM:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG:     %[[MEAN:.*]] = arith.constant dense<0x{{[7F]}}FC00000> : tensor<4xf32>
// CHECK-DAG:     %[[MOST:.*]] = arith.constant dense<0xFF800000> : tensor<4xf32>
// CHECK-DAG:     %[[PRODUCT:.*]] = arith.constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK:         gradus.return %[[SUM]], %[[MEAN]], %[[MOST]], %[[PRODUCT]]
gradus.program @sums {
  gradus.state @none : tensor<0x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict() -> (sum: tensor<4xf32>, mean: tensor<4xf32>, most: tensor<4xf32>, product: tensor<2x4xf32>) {
    %none = gradus.read @none : tensor<0x4xf32>
    %positive = gradus.relu %none : tensor<0x4xf32>
    %sum = gradus.reduce sum %positive axes [0] : tensor<0x4xf32> -> tensor<4xf32>
    %mean = gradus.reduce mean %positive axes [0] : tensor<0x4xf32> -> tensor<4xf32>
    %most = gradus.reduce max %positive axes [0] : tensor<0x4xf32> -> tensor<4xf32>
    %left = gradus.reshape %none : tensor<0x4xf32> -> tensor<2x0xf32>
    %product = gradus.matmul %left, %none : tensor<2x0xf32>, tensor<0x4xf32> -> tensor<2x4xf32>
    gradus.return %sum, %mean, %most, %product : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>
  }
}

// -----

// Integers have a smallest number.
// CHECK-LABEL: gradus.program @integers
// CHECK:         arith.constant dense<-2147483648> : tensor<4xi32>
gradus.program @integers {
  gradus.graph @predict(%x: tensor<4x3xi32>) -> (y: tensor<4xi32>) {
    %none = gradus.slice %x starts [0, 0] steps [1, 1] : tensor<4x3xi32> -> tensor<4x0xi32>
    %y = gradus.reduce max %none axes [1] : tensor<4x0xi32> -> tensor<4xi32>
    gradus.return %y : tensor<4xi32>
  }
}

// -----

// A window over the padding of nothing, and a frame around it.
// CHECK-LABEL: gradus.program @frames
// CHECK-DAG:     %[[CONVOLVED:.*]] = arith.constant dense<0.000000e+00> : tensor<2x5x4x4xf32>
// CHECK-DAG:     %[[FRAME:.*]] = arith.constant dense<3.000000e+00> : tensor<2x2xf32>
// CHECK:         gradus.return %[[CONVOLVED]], %[[FRAME]]
gradus.program @frames {
  gradus.graph @predict(%image: tensor<2x0x4x4xf32>, %kernel: tensor<5x0x3x3xf32>, %x: tensor<0x2xf32>) -> (y: tensor<2x5x4x4xf32>, frame: tensor<2x2xf32>) {
    %y = gradus.convolution %image, %kernel strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x0x4x4xf32>, tensor<5x0x3x3xf32> -> tensor<2x5x4x4xf32>
    %frame = gradus.pad %x low [1, 0] high [1, 0] interior [0, 0] {value = 3.0 : f64} : tensor<0x2xf32> -> tensor<2x2xf32>
    gradus.return %y, %frame : tensor<2x5x4x4xf32>, tensor<2x2xf32>
  }
}

// -----

// What is beside nothing stays.
// CHECK-LABEL: gradus.program @beside
// CHECK:         %[[NONE:.*]] = arith.constant dense<> : tensor<0x4xf32>
// CHECK:         gradus.concatenate %{{.*}}, %[[NONE]]
// CHECK:         gradus.return
gradus.program @beside {
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %none = gradus.slice %x starts [0, 0] steps [1, 1] : tensor<2x4xf32> -> tensor<0x4xf32>
    %y = gradus.concatenate %x, %none axis 0 : tensor<2x4xf32>, tensor<0x4xf32> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}

// -----

// A scan over nothing is computed, whatever way its constants are written, and
// what it would stack of nothing is a constant.
// CHECK-LABEL: gradus.program @scans
// CHECK-DAG:     arith.constant dense<[8.000000e+00, 1.600000e+01, 2.400000e+01, 3.200000e+01]> : tensor<4xf32>
// CHECK-DAG:     arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG:     gradus.scan 3 carry(%x
gradus.program @scans {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>, z: tensor<4xf32>, sum: tensor<f32>) {
    %none = arith.constant dense<> : tensor<3x0xf32>
    %numbers = arith.constant dense_resource<numbers> : tensor<4xf32>
    %y = gradus.scan 3 carry(%numbers : tensor<4xf32>) over(%none : tensor<3x0xf32>) body {
    ^bb0(%a: tensor<4xf32>, %b: tensor<0xf32>):
      %twice = arith.addf %a, %a : tensor<4xf32>
      gradus.yield %twice : tensor<4xf32>
    } -> tensor<4xf32>
    %z, %stacked = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      %part = gradus.slice %a starts [0] steps [1] : tensor<4xf32> -> tensor<0xf32>
      %twice = arith.addf %a, %a : tensor<4xf32>
      gradus.yield %twice, %part : tensor<4xf32>, tensor<0xf32>
    } -> tensor<4xf32>, tensor<3x0xf32>
    %sum = gradus.reduce sum %stacked axes [0, 1] : tensor<3x0xf32> -> tensor<f32>
    gradus.return %y, %z, %sum : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
}

{-#
  dialect_resources: {builtin: {numbers: "0x040000000000803F000000400000404000008040"}}
#-}
