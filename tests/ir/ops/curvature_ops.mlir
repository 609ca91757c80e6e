// RUN: gradus-opt %s | FileCheck %s
// RUN: gradus-opt %s | gradus-opt | FileCheck %s

gradus.program @forms {
  // CHECK-LABEL: @grams(
  // CHECK-NEXT: gradus.gram %x axis 1 block 4 : tensor<2x6x5x7xf32> -> tensor<2x4x4xf32>
  // CHECK-NEXT: gradus.gram %x axis 3 groups 7 block 1 : tensor<2x6x5x7xf32> -> tensor<7x1x1xf32>
  // CHECK-NEXT: gradus.gram %x window [3, 2] strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 block 16 : tensor<2x6x5x7xf32> -> tensor<4x16x16xf32>
  gradus.graph @grams(%x: tensor<2x6x5x7xf32>) {
    %a = gradus.gram %x axis 1 groups 1 block 4 : tensor<2x6x5x7xf32> -> tensor<2x4x4xf32>
    %b = gradus.gram %x axis 3 groups 7 block 1 : tensor<2x6x5x7xf32> -> tensor<7x1x1xf32>
    %c = gradus.gram %x window [3, 2] strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 block 16 : tensor<2x6x5x7xf32> -> tensor<4x16x16xf32>
    gradus.return
  }

  // CHECK-LABEL: @narrow(
  // CHECK-NEXT: gradus.gram %x axis 1 block 3 : tensor<4x3xbf16> -> tensor<1x3x3xf32>
  gradus.graph @narrow(%x: tensor<4x3xbf16>) {
    %a = gradus.gram %x axis 1 block 3 : tensor<4x3xbf16> -> tensor<1x3x3xf32>
    gradus.return
  }

  // CHECK-LABEL: @inverses(
  // CHECK-NEXT: gradus.inverse %x : tensor<2x3x4x4xf32>
  // CHECK-NEXT: gradus.inverse %y : tensor<512x512xf64>
  gradus.graph @inverses(%x: tensor<2x3x4x4xf32>, %y: tensor<512x512xf64>) {
    %a = gradus.inverse %x : tensor<2x3x4x4xf32>
    %b = gradus.inverse %y : tensor<512x512xf64>
    gradus.return
  }
}
