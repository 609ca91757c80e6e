// RUN: gradus-opt %s --canonicalize | FileCheck %s
// RUN: gradus-opt %s --canonicalize | gradus-opt | FileCheck %s

gradus.program @folds {
  // What takes or adds nothing is nothing; reversing is something.
  // CHECK-LABEL: @nothing(%x: tensor<2x6xf32>)
  // CHECK-NEXT: %[[R:.*]] = gradus.slice %x starts [1, 0] steps [-1, 1] : tensor<2x6xf32> -> tensor<2x6xf32>
  // CHECK-NEXT: gradus.return %x, %x, %x, %[[R]]
  gradus.graph @nothing(%x: tensor<2x6xf32>) -> (a: tensor<2x6xf32>, b: tensor<2x6xf32>, c: tensor<2x6xf32>, d: tensor<2x6xf32>) {
    %0 = gradus.slice %x starts [0, 0] steps [1, 1] : tensor<2x6xf32> -> tensor<2x6xf32>
    %1 = gradus.pad %x low [0, 0] high [0, 0] interior [0, 0] : tensor<2x6xf32> -> tensor<2x6xf32>
    %2 = gradus.concatenate %x axis 1 : tensor<2x6xf32> -> tensor<2x6xf32>
    %3 = gradus.slice %x starts [1, 0] steps [-1, 1] : tensor<2x6xf32> -> tensor<2x6xf32>
    gradus.return %0, %1, %2, %3 : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>
  }
}
