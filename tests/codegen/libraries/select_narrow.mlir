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

// The gradient of a relu keeps a number or makes it zero: it is rounded before, by the call.
// CHECK-LABEL: gradus.program @masked
// CHECK:         %[[P:.*]] = plan.library "matmul"{{.*}} -> tensor<512x512xbf16>
// CHECK-NOT:     arith.truncf
// CHECK:         %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<512x512xbf16>
// CHECK-NEXT:    %[[S:.*]] = arith.select %m, %[[P]], %[[Z]] : tensor<512x512xi1>, tensor<512x512xbf16>
// CHECK-NEXT:    gradus.return %[[S]]
gradus.program @masked {
  gradus.graph @predict(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>, %m: tensor<512x512xi1>) -> (y: tensor<512x512xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xf32>
    %z = arith.constant dense<0.0> : tensor<512x512xf32>
    %1 = arith.select %m, %0, %z : tensor<512x512xi1>, tensor<512x512xf32>
    %2 = arith.truncf %1 : tensor<512x512xf32> to tensor<512x512xbf16>
    gradus.return %2 : tensor<512x512xbf16>
  }
}

// Other numbers than zero round to others, and a negative zero keeps its sign.
// CHECK-LABEL: gradus.program @filled
// CHECK:         plan.library "matmul"{{.*}} -> tensor<512x512xf32>
// CHECK:         arith.select {{.*}} : tensor<512x512xi1>, tensor<512x512xf32>
// CHECK:         arith.truncf
// CHECK:         gradus.return
gradus.program @filled {
  gradus.graph @predict(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>, %m: tensor<512x512xi1>) -> (y: tensor<512x512xbf16>) {
    %0 = gradus.matmul %x, %w : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xf32>
    %z = arith.constant dense<-0.0> : tensor<512x512xf32>
    %1 = arith.select %m, %0, %z : tensor<512x512xi1>, tensor<512x512xf32>
    %2 = arith.truncf %1 : tensor<512x512xf32> to tensor<512x512xbf16>
    gradus.return %2 : tensor<512x512xbf16>
  }
}
