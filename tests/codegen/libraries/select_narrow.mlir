// REQUIRES: bf16
// RUN: gradus-opt %s --select --propagate-layouts | FileCheck %s
// RUN: gradus-opt %s --select=narrow=false --propagate-layouts | FileCheck %s --check-prefix=NEVER

// NEVER-NOT: plan.library
// Rounded operands are the library's too, and a rounding that nobody else reads is part of its call.
// CHECK-LABEL: gradus.program @narrow
// CHECK:         plan.library "matmul"{{.*}} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
// CHECK-NOT:     arith.truncf
// CHECK:         gradus.return
gradus.program @narrow {
  gradus.graph @predict(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>) -> (y: tensor<512x512xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xf32>
    %1 = arith.truncf %0 : tensor<512x512xf32> to tensor<512x512xbf16>
    gradus.return %1 : tensor<512x512xbf16>
  }
}
