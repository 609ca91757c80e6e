// RUN: gradus-opt %s --cse | gradus-opt --decompose | FileCheck %s

gradus.program @p {
  // Draws of two streams are two draws, those of one stream one; outside
  // training dropout is nothing.
  // CHECK-LABEL: @draws
  // CHECK-NEXT: %[[A:.*]] = gradus.random_bits %step stream 0 seed 1 : tensor<4xi64>
  // CHECK-NEXT: %[[B:.*]] = gradus.random_bits %step stream 1 seed 1 : tensor<4xi64>
  // CHECK-NEXT: gradus.return %[[A]], %[[A]], %[[B]], %x
  gradus.graph @draws(%step: tensor<i64>, %x: tensor<4xf32>)
      -> (a: tensor<4xi64>, again: tensor<4xi64>, b: tensor<4xi64>, x: tensor<4xf32>) {
    %a = gradus.random_bits %step stream 0 seed 1 : tensor<4xi64>
    %again = gradus.random_bits %step stream 0 seed 1 : tensor<4xi64>
    %b = gradus.random_bits %step stream 1 seed 1 : tensor<4xi64>
    %y = gradus.dropout %x ratio 0.5 : tensor<4xf32>
    gradus.return %a, %again, %b, %y : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xf32>
  }
}
