// RUN: gradus-opt %s --select=winograd=true --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s --select --propagate-layouts | FileCheck %s --check-prefix=WITHOUT
// RUN: gradus-opt %s "--select=winograd=true library=never" | FileCheck %s --check-prefix=WITHOUT
// RUN: gradus-opt %s "--select=winograd=true tiles=true" | FileCheck %s --check-prefix=TILES
// RUN: gradus-opt %s --select=winograd=true --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gradus-opt %s "--select=winograd=true tiles=true" --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Only where the target has vectors of 16 lanes.
// WITHOUT-NOT: plan.winograd

// REMARK: [Passed] Selected {{.*}}convolution, forward, by Winograd's algorithm on tiles of 4 (tiles of 4x4 take {{.*}} of the library's time; tiles of 2x2 take {{.*}} of the library's time)
// REMARK: [Passed] Selected {{.*}}convolution, input_gradient, by Winograd's algorithm on tiles of 4 (
// REMARK: [Passed] Selected {{.*}}convolution, forward, by Winograd's algorithm on tiles of 2 (tiles of 4x4 take 0.76 of the library's time: too much of its tiles is empty; tiles of 2x2 take 0.76 of the library's time)
// WHY: [Missed] NotSelected {{.*}}the library multiplies tiles of bf16, which is faster
gradus.program @p {
  // Two layers and what is between them run on blocked channels; weights are
  // read as they are, and an epilogue is part of the op.
  // CHECK-LABEL: gradus.graph @layers
  // CHECK:         %[[X:.*]] = plan.library "reorder"(%x)
  // CHECK-NEXT:    %[[Y:.*]] = plan.winograd forward %[[X]], %v bias %b pads [1, 1] {activation = "relu"} : tensor<8x4x28x28x16xf32>, tensor<128x64x3x3xf32>, tensor<128xf32> -> tensor<8x8x28x28x16xf32>
  // CHECK-NEXT:    %[[N:.*]] = math.absf %[[Y]] : tensor<8x8x28x28x16xf32>
  // CHECK-NEXT:    %[[Z:.*]] = plan.winograd forward %[[N]], %w pads [1, 0] : tensor<8x8x28x28x16xf32>, tensor<64x128x3x3xf32> -> tensor<8x4x28x26x16xf32>
  // CHECK-NEXT:    plan.library "reorder"(%[[Z]])
  // CHECK-NEXT:    gradus.return
  gradus.graph @layers(%x: tensor<8x64x28x28xf32>, %v: tensor<128x64x3x3xf32>, %b: tensor<128xf32>, %w: tensor<64x128x3x3xf32>) -> (z: tensor<8x64x28x26xf32>) {
    %0 = gradus.convolution %x, %v strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<128x64x3x3xf32> -> tensor<8x128x28x28xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<128xf32> -> tensor<8x128x28x28xf32>
    %2 = arith.addf %0, %1 : tensor<8x128x28x28xf32>
    %3 = gradus.relu %2 : tensor<8x128x28x28xf32>
    %4 = math.absf %3 : tensor<8x128x28x28xf32>
    %5 = gradus.convolution %4, %w strides [1, 1] pads [1, 0] to [1, 0] dilations [1, 1] : tensor<8x128x28x28xf32>, tensor<64x128x3x3xf32> -> tensor<8x64x28x26xf32>
    gradus.return %5 : tensor<8x64x28x26xf32>
  }

  // CHECK-LABEL: gradus.graph @gradient
  // CHECK:         plan.winograd input_gradient %{{.*}}, %w pads [1, 1] : tensor<8x8x28x28x16xf32>, tensor<128x64x3x3xf32> -> tensor<8x4x28x28x16xf32>
  gradus.graph @gradient(%dy: tensor<8x128x28x28xf32>, %w: tensor<128x64x3x3xf32>) -> (dx: tensor<8x64x28x28xf32>) {
    %0 = gradus.convolution_backward_data %dy, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x128x28x28xf32>, tensor<128x64x3x3xf32> -> tensor<8x64x28x28xf32>
    gradus.return %0 : tensor<8x64x28x28xf32>
  }

  // Tensors of 16 bits stay 16 bits: the bias, too. The library is faster where
  // it multiplies tiles of them.
  // CHECK-LABEL: gradus.graph @narrow
  // CHECK:         %[[X:.*]] = plan.library "reorder"(%x)
  // CHECK-NEXT:    %[[Y:.*]] = plan.winograd forward %[[X]], %w bias %b pads [1, 1] {activation = "relu"} : tensor<8x4x28x28x16xbf16>, tensor<64x64x3x3xbf16>, tensor<64xbf16> -> tensor<8x4x28x28x16xbf16>
  // CHECK:         plan.winograd input_gradient %[[Y]], %w pads [1, 1] : tensor<8x4x28x28x16xbf16>, tensor<64x64x3x3xbf16> -> tensor<8x4x28x28x16xbf16>
  // CHECK:         plan.winograd weight_gradient %[[X]], %[[Y]] pads [1, 1] : tensor<8x4x28x28x16xbf16>, tensor<8x4x28x28x16xbf16> -> tensor<64x64x3x3xf32>
  // TILES-LABEL: gradus.graph @narrow
  // TILES-NOT:     plan.winograd
  // TILES:         gradus.return
  gradus.graph @narrow(%x: tensor<8x64x28x28xbf16>, %w: tensor<64x64x3x3xbf16>, %b: tensor<64xbf16>) -> (dx: tensor<8x64x28x28xbf16>, dw: tensor<64x64x3x3xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xbf16>, tensor<64x64x3x3xbf16> -> tensor<8x64x28x28xf32>
    %1 = arith.extf %b : tensor<64xbf16> to tensor<64xf32>
    %2 = gradus.broadcast %1 dims [1] : tensor<64xf32> -> tensor<8x64x28x28xf32>
    %3 = arith.addf %0, %2 : tensor<8x64x28x28xf32>
    %4 = arith.truncf %3 : tensor<8x64x28x28xf32> to tensor<8x64x28x28xbf16>
    %5 = gradus.relu %4 : tensor<8x64x28x28xbf16>
    %6 = gradus.convolution_backward_data %5, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xbf16>, tensor<64x64x3x3xbf16> -> tensor<8x64x28x28xbf16>
    %7 = gradus.convolution_backward_weights %x, %5 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x64x28x28xbf16>, tensor<8x64x28x28xbf16> -> tensor<64x64x3x3xf32>
    gradus.return %6, %7 : tensor<8x64x28x28xbf16>, tensor<64x64x3x3xf32>
  }

  // Images of 6x6 fill tiles of 2.
  // CHECK-LABEL: gradus.graph @small
  // CHECK:         plan.winograd forward %{{.*}}, %w pads [1, 1] {tile = 2 : i64} : tensor<32x16x6x6x16xf32>, tensor<256x256x3x3xf32> -> tensor<32x16x6x6x16xf32>
  // CHECK:         plan.winograd weight_gradient %{{.*}}, %{{.*}} pads [1, 1] {tile = 2 : i64} : tensor<32x16x6x6x16xf32>, tensor<32x16x6x6x16xf32> -> tensor<256x256x3x3xf32>
  gradus.graph @small(%x: tensor<32x256x6x6xf32>, %w: tensor<256x256x3x3xf32>) -> (y: tensor<32x256x6x6xf32>, dw: tensor<256x256x3x3xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<32x256x6x6xf32>, tensor<256x256x3x3xf32> -> tensor<32x256x6x6xf32>
    %1 = gradus.convolution_backward_weights %x, %0 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<32x256x6x6xf32>, tensor<32x256x6x6xf32> -> tensor<256x256x3x3xf32>
    gradus.return %0, %1 : tensor<32x256x6x6xf32>, tensor<256x256x3x3xf32>
  }

  // What is too narrow for the library.
  // CHECK-LABEL: gradus.graph @narrow_layer
  // CHECK:         plan.winograd forward %{{.*}}, %w pads [1, 1] {activation = "relu"} : tensor<32x1x32x32x16xf32>
  // CHECK:         plan.winograd weight_gradient {{.*}} {tile = 2 : i64}
  // WITHOUT-LABEL: gradus.graph @narrow_layer
  // WITHOUT:         gradus.convolution
  gradus.graph @narrow_layer(%x: tensor<32x16x32x32xf32>, %w: tensor<16x16x3x3xf32>) -> (y: tensor<32x16x32x32xf32>, dw: tensor<16x16x3x3xf32>) {
    %0 = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<32x16x32x32xf32>, tensor<16x16x3x3xf32> -> tensor<32x16x32x32xf32>
    %1 = gradus.relu %0 : tensor<32x16x32x32xf32>
    %2 = gradus.convolution_backward_weights %x, %1 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<32x16x32x32xf32>, tensor<32x16x32x32xf32> -> tensor<16x16x3x3xf32>
    gradus.return %1, %2 : tensor<32x16x32x32xf32>, tensor<16x16x3x3xf32>
  }

  // The library has other windows, strides, dilations and groups, and tiles that
  // would be mostly empty.
  // CHECK-LABEL: gradus.graph @others
  // CHECK-NOT:     plan.winograd
  // CHECK:         gradus.return
  gradus.graph @others(%x: tensor<8x64x28x28xf32>, %v: tensor<64x64x5x5xf32>, %w: tensor<64x64x3x3xf32>, %g: tensor<64x32x3x3xf32>,
                       %s: tensor<64x256x2x2xf32>, %t: tensor<256x256x3x3xf32>)
      -> (a: tensor<8x64x28x28xf32>, b: tensor<8x64x14x14xf32>, c: tensor<8x64x28x28xf32>, d: tensor<8x64x28x28xf32>, e: tensor<64x256x2x2xf32>) {
    %0 = gradus.convolution %x, %v strides [1, 1] pads [2, 2] to [2, 2] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<64x64x5x5xf32> -> tensor<8x64x28x28xf32>
    %1 = gradus.convolution %x, %w strides [2, 2] pads [1, 1] to [0, 0] dilations [1, 1] : tensor<8x64x28x28xf32>, tensor<64x64x3x3xf32> -> tensor<8x64x14x14xf32>
    %2 = gradus.convolution %x, %w strides [1, 1] pads [2, 2] to [2, 2] dilations [2, 2] : tensor<8x64x28x28xf32>, tensor<64x64x3x3xf32> -> tensor<8x64x28x28xf32>
    %3 = gradus.convolution %x, %g strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 2 : tensor<8x64x28x28xf32>, tensor<64x32x3x3xf32> -> tensor<8x64x28x28xf32>
    %4 = gradus.convolution %s, %t strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<64x256x2x2xf32>, tensor<256x256x3x3xf32> -> tensor<64x256x2x2xf32>
    gradus.return %0, %1, %2, %3, %4 : tensor<8x64x28x28xf32>, tensor<8x64x14x14xf32>, tensor<8x64x28x28xf32>, tensor<8x64x28x28xf32>, tensor<64x256x2x2xf32>
  }
}
