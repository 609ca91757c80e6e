// RUN: gradus-opt %s --train-dropout | FileCheck %s
// RUN: gradus-opt %s --train-dropout --train-dropout | FileCheck %s

// In @train only; each dropout draws from a stream of its own.
// CHECK-LABEL: gradus.program @net
// CHECK:         gradus.state @step : tensor<i64>
// CHECK:         gradus.graph @predict
// CHECK-NEXT:      gradus.dropout %x ratio
// CHECK:         gradus.graph @train
// CHECK-NEXT:      %[[STEP:.*]] = gradus.read @step
// CHECK-NEXT:      %[[BITS:.*]] = gradus.random_bits %[[STEP]] stream 0 seed 7 : tensor<8x4xi64>
// CHECK-NEXT:      %[[LIMIT:.*]] = arith.constant dense<1073741824>
// CHECK-NEXT:      %[[DROPPED:.*]] = arith.cmpi slt, %[[BITS]], %[[LIMIT]]
// CHECK-NEXT:      %[[FACTOR:.*]] = arith.constant dense<1.33333337>
// CHECK-NEXT:      %[[LARGER:.*]] = arith.mulf %x, %[[FACTOR]]
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-NEXT:      %[[Y:.*]] = arith.select %[[DROPPED]], %[[ZERO]], %[[LARGER]]
// CHECK:           gradus.random_bits %{{.*}} stream 1 seed 7
gradus.program @net attributes {recipe = {seed = 7}} {
  gradus.graph @predict(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %y = gradus.dropout %x ratio 0.25 : tensor<8x4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
  gradus.graph @train(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
    %0 = gradus.dropout %x ratio 0.25 : tensor<8x4xf32>
    %y = gradus.dropout %0 ratio 0.25 : tensor<8x4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// The recipe's ratio is that of all.
// CHECK-LABEL: gradus.program @none
// CHECK:         gradus.graph @train
// CHECK-NEXT:      gradus.dropout %x ratio
// CHECK-NEXT:      gradus.return
gradus.program @none attributes {recipe = {dropout = 0.0}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %y = gradus.dropout %x ratio 0.25 : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// A Bernoulli mask of the model, a dropout of ones that is compared with them, keeps its
// chance, which the model divides by.
// CHECK-LABEL: gradus.program @mask
// CHECK:           arith.constant dense<858993459>
// CHECK:           arith.constant dense<2147483648>
gradus.program @mask attributes {recipe = {dropout = 0.5}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %stay = gradus.dropout %one ratio 0.2 : tensor<4xf32>
    %grown = arith.cmpf ogt, %stay, %one : tensor<4xf32>
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %path = arith.select %grown, %x, %zero : tensor<4xi1>, tensor<4xf32>
    %y = gradus.dropout %path ratio 0.25 : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// What is no mask takes the recipe's ratio: neither of the numbers is 1.
// CHECK-LABEL: gradus.program @no_masks
// CHECK-NOT:       arith.constant dense<858993459>
// CHECK:           arith.constant dense<2147483648>
// CHECK-NOT:       arith.constant dense<858993459>
// CHECK:           arith.constant dense<2147483648>
// CHECK-NOT:       arith.constant dense<858993459>
gradus.program @no_masks attributes {recipe = {dropout = 0.5}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xi1>, z: tensor<4xi1>) {
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %two = arith.constant dense<2.0> : tensor<4xf32>
    %twos = gradus.dropout %two ratio 0.2 : tensor<4xf32>
    %y = arith.cmpf ogt, %twos, %two : tensor<4xf32>
    %ones = gradus.dropout %one ratio 0.2 : tensor<4xf32>
    %z = arith.cmpf ogt, %ones, %x : tensor<4xf32>
    gradus.return %y, %z : tensor<4xi1>, tensor<4xi1>
  }
}

// Attention draws by itself, from a stream of its own.
// CHECK-LABEL: gradus.program @attending
// CHECK:         gradus.graph @train
// CHECK:           gradus.random_bits %{{.*}} stream 0 seed 7
// CHECK:           %[[STEP:.*]] = gradus.read @step
// CHECK-NEXT:      gradus.attention %{{.*}}, %q, %q step %[[STEP]] {dropout = 2.500000e-01 : f64, scale = 5.000000e-01 : f64, seed = 7 : i64, stream = 1 : i64}
// CHECK:         gradus.graph @evaluate
// CHECK-NEXT:      gradus.attention %q, %q, %q {dropout
gradus.program @attending attributes {recipe = {seed = 7}} {
  gradus.graph @train(%q: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x3x4xf32>) {
    %0 = gradus.dropout %q ratio 0.25 : tensor<1x2x3x4xf32>
    %y, %l:2 = gradus.attention %0, %q, %q {scale = 0.5 : f64, dropout = 0.25 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xf32>
  }
  gradus.graph @evaluate(%q: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x3x4xf32>) {
    %y, %l:2 = gradus.attention %q, %q, %q {scale = 0.5 : f64, dropout = 0.25 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xf32>
  }
}
