// RUN: gradus-opt %s --select=narrow=false | FileCheck %s

// For a target without instructions for bf16 the library writes none: what it
// gives is rounded by our own code.
// CHECK-LABEL: gradus.program @wide
// CHECK:         %[[Y:.*]] = plan.library "matmul"{{.*}} -> tensor<512x512xf32>
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[Y]]
// CHECK-NEXT:    gradus.return %[[ROUNDED]]
gradus.program @wide {
  gradus.graph @predict(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (y: tensor<512x512xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
    %1 = arith.truncf %0 : tensor<512x512xf32> to tensor<512x512xbf16>
    gradus.return %1 : tensor<512x512xbf16>
  }
}
