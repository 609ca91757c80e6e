// RUN: gradus-opt %s --recognize-gelu --canonicalize | FileCheck %s

// As GPT-2's exporter writes it; x may be a product itself.
// CHECK-LABEL: gradus.program @tanh
// CHECK:         %[[X:.*]] = arith.mulf %x, %x
// CHECK-NEXT:    %[[Y:.*]] = gradus.gelu %[[X]] tanh
// CHECK-NEXT:    gradus.return %[[Y]]
gradus.program @tanh {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %half = arith.constant dense<5.0e-1> : tensor<4xf32>
    %k = arith.constant dense<4.471500e-02> : tensor<4xf32>
    %c = arith.constant dense<0.797884583> : tensor<4xf32>
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %in = arith.mulf %x, %x : tensor<4xf32>
    %0 = arith.mulf %in, %half : tensor<4xf32>
    %1 = arith.mulf %in, %in : tensor<4xf32>
    %2 = arith.mulf %1, %in : tensor<4xf32>
    %3 = arith.mulf %2, %k : tensor<4xf32>
    %4 = arith.addf %in, %3 : tensor<4xf32>
    %5 = arith.mulf %4, %c : tensor<4xf32>
    %6 = math.tanh %5 : tensor<4xf32>
    %7 = arith.addf %6, %one : tensor<4xf32>
    %8 = arith.mulf %0, %7 : tensor<4xf32>
    gradus.return %8 : tensor<4xf32>
  }
}

// By a power, the other way round, the half last.
// CHECK-LABEL: gradus.program @power
// CHECK:         %[[Y:.*]] = gradus.gelu %x tanh
// CHECK-NEXT:    gradus.return %[[Y]]
gradus.program @power {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %half = arith.constant dense<5.0e-1> : tensor<4xf32>
    %k = arith.constant dense<4.471500e-02> : tensor<4xf32>
    %c = arith.constant dense<0.797884583> : tensor<4xf32>
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %three = arith.constant dense<3.0> : tensor<4xf32>
    %0 = math.powf %x, %three : tensor<4xf32>
    %1 = arith.mulf %k, %0 : tensor<4xf32>
    %2 = arith.addf %1, %x : tensor<4xf32>
    %3 = arith.mulf %c, %2 : tensor<4xf32>
    %4 = math.tanh %3 : tensor<4xf32>
    %5 = arith.addf %one, %4 : tensor<4xf32>
    %6 = arith.mulf %x, %5 : tensor<4xf32>
    %7 = arith.mulf %6, %half : tensor<4xf32>
    gradus.return %7 : tensor<4xf32>
  }
}

// CHECK-LABEL: gradus.program @erf
// CHECK:         %[[Y:.*]] = gradus.gelu %x : tensor<4xf32>
// CHECK-NEXT:    gradus.return %[[Y]]
gradus.program @erf {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %half = arith.constant dense<5.0e-1> : tensor<4xf32>
    %root = arith.constant dense<1.41421354> : tensor<4xf32>
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %0 = arith.divf %x, %root : tensor<4xf32>
    %1 = math.erf %0 : tensor<4xf32>
    %2 = arith.addf %1, %one : tensor<4xf32>
    %3 = arith.mulf %x, %2 : tensor<4xf32>
    %4 = arith.mulf %3, %half : tensor<4xf32>
    gradus.return %4 : tensor<4xf32>
  }
}

// Other numbers, another power, or a sum that somebody else reads are no gelu.
// CHECK-LABEL: gradus.program @others
// CHECK-NOT:     gradus.gelu
gradus.program @others {
  gradus.graph @predict(%x: tensor<4xf32>, %z: tensor<4xf32>)
      -> (a: tensor<4xf32>, b: tensor<4xf32>, c: tensor<4xf32>, sum: tensor<4xf32>) {
    %half = arith.constant dense<5.0e-1> : tensor<4xf32>
    %c = arith.constant dense<0.8> : tensor<4xf32>
    %root = arith.constant dense<1.41421354> : tensor<4xf32>
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %0 = arith.mulf %c, %x : tensor<4xf32>
    %1 = math.erf %0 : tensor<4xf32>
    %2 = arith.addf %1, %one : tensor<4xf32>
    %3 = arith.mulf %x, %2 : tensor<4xf32>
    %a = arith.mulf %3, %half : tensor<4xf32>
    %4 = arith.divf %x, %root : tensor<4xf32>
    %5 = math.erf %4 : tensor<4xf32>
    %6 = arith.addf %5, %one : tensor<4xf32>
    %7 = arith.mulf %z, %6 : tensor<4xf32>
    %b = arith.mulf %7, %half : tensor<4xf32>
    %8 = math.erf %4 : tensor<4xf32>
    %sum = arith.addf %8, %one : tensor<4xf32>
    %9 = arith.mulf %x, %sum : tensor<4xf32>
    %d = arith.mulf %9, %half : tensor<4xf32>
    gradus.return %a, %b, %d, %sum : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
