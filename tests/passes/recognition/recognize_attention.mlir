// RUN: gradus-opt %s --recognize-attention --canonicalize | FileCheck %s
// RUN: gradus-opt %s --recognize-attention --canonicalize --recognize-attention | FileCheck %s

// As PyTorch's TorchScript-based exporter writes it: both sides of the product
// are scaled, k is transposed together with its heads, a causal mask is added.
// CHECK-LABEL: gradus.program @torchscript
// CHECK:         %[[K:.*]] = gradus.transpose %k perm [0, 2, 1, 3]
// CHECK:         gradus.attention %q, %[[K]], %v causal {scale = 2.500000e-01 : f64}
// CHECK-NOT:     gradus.softmax
gradus.program @torchscript {
  gradus.graph @predict(%q: tensor<2x4x3x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x4x3x8xf32>) -> (y: tensor<2x4x3x8xf32>) {
    %half = arith.constant dense<0.5> : tensor<2x4x3x8xf32>
    %other = arith.constant dense<0.5> : tensor<2x4x8x3xf32>
    %mask = arith.constant dense<[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
    %0 = gradus.transpose %k perm [0, 2, 3, 1] : tensor<2x3x4x8xf32> -> tensor<2x4x8x3xf32>
    %1 = arith.mulf %q, %half : tensor<2x4x3x8xf32>
    %2 = arith.mulf %0, %other : tensor<2x4x8x3xf32>
    %3 = gradus.matmul %1, %2 : tensor<2x4x3x8xf32>, tensor<2x4x8x3xf32> -> tensor<2x4x3x3xf32>
    %4 = gradus.broadcast %mask dims [2, 3] : tensor<3x3xf32> -> tensor<2x4x3x3xf32>
    %5 = arith.addf %3, %4 : tensor<2x4x3x3xf32>
    %6 = gradus.softmax %5 axis 3 : tensor<2x4x3x3xf32>
    %y = gradus.matmul %6, %v : tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x8xf32>
    gradus.return %y : tensor<2x4x3x8xf32>
  }
}

// As torch.export's writes it: a transpose between two reshapes, a mask chosen
// from the input, and zeros where the softmax is NaN.
// CHECK-LABEL: gradus.program @dynamo
// CHECK:         gradus.attention %q, %k, %v mask %m {scale = 1.000000e+00 : f64}
// CHECK-NOT:     math.isnan
gradus.program @dynamo {
  gradus.graph @predict(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x3x8xf32>, %v: tensor<2x4x3x8xf32>, %m: tensor<2x1x3x3xf32>) -> (y: tensor<2x4x3x8xf32>) {
    %zero = arith.constant dense<0.0> : tensor<2x4x3x3xf32>
    %0 = gradus.reshape %k : tensor<2x4x3x8xf32> -> tensor<8x3x8xf32>
    %1 = gradus.transpose %0 perm [0, 2, 1] : tensor<8x3x8xf32> -> tensor<8x8x3xf32>
    %2 = gradus.reshape %1 : tensor<8x8x3xf32> -> tensor<2x4x8x3xf32>
    %3 = gradus.matmul %q, %2 : tensor<2x4x3x8xf32>, tensor<2x4x8x3xf32> -> tensor<2x4x3x3xf32>
    %4 = gradus.broadcast %m dims [0, 1, 2, 3] : tensor<2x1x3x3xf32> -> tensor<2x4x3x3xf32>
    %5 = arith.addf %3, %4 : tensor<2x4x3x3xf32>
    %6 = gradus.softmax %5 axis 3 : tensor<2x4x3x3xf32>
    %7 = math.isnan %6 : tensor<2x4x3x3xf32>
    %8 = arith.select %7, %zero, %6 : tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>
    %y = gradus.matmul %8, %v : tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x8xf32>
    gradus.return %y : tensor<2x4x3x8xf32>
  }
}

// Scores divided by a number, and a choice between them and -inf; one head.
// CHECK-LABEL: gradus.program @choice
// CHECK:         %[[M:.*]] = gradus.reshape %m : tensor<2x3x5xi1> -> tensor<2x1x3x5xi1>
// CHECK:         gradus.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[M]] {scale = 2.500000e-01 : f64}
// CHECK:         gradus.reshape %{{.*}} -> tensor<2x3x6xf32>
gradus.program @choice {
  gradus.graph @predict(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %m: tensor<2x3x5xi1>) -> (y: tensor<2x3x6xf32>) {
    %four = arith.constant dense<4.0> : tensor<2x3x5xf32>
    %none = arith.constant dense<0xFF800000> : tensor<2x3x5xf32>
    %0 = gradus.matmul %q, %k transposed : tensor<2x3x8xf32>, tensor<2x5x8xf32> -> tensor<2x3x5xf32>
    %1 = arith.divf %0, %four : tensor<2x3x5xf32>
    %2 = arith.select %m, %1, %none : tensor<2x3x5xi1>, tensor<2x3x5xf32>
    %3 = gradus.softmax %2 axis 2 : tensor<2x3x5xf32>
    %y = gradus.matmul %3, %v : tensor<2x3x5xf32>, tensor<2x5x6xf32> -> tensor<2x3x6xf32>
    gradus.return %y : tensor<2x3x6xf32>
  }
}

// A mask that hides other keys than those behind a query stays a mask.
// CHECK-LABEL: gradus.program @window
// CHECK:         gradus.attention %q, %q, %q mask %{{.*}} {scale
gradus.program @window {
  gradus.graph @predict(%q: tensor<1x1x2x8xf32>) -> (y: tensor<1x1x2x8xf32>) {
    %mask = arith.constant dense<[[[[0.0, -1.0e+38], [-1.0e+38, 0.0]]]]> : tensor<1x1x2x2xf32>
    %0 = gradus.matmul %q, %q transposed : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x2xf32>
    %1 = arith.addf %0, %mask : tensor<1x1x2x2xf32>
    %2 = gradus.softmax %1 axis 3 : tensor<1x1x2x2xf32>
    %y = gradus.matmul %2, %q : tensor<1x1x2x2xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x8xf32>
    gradus.return %y : tensor<1x1x2x8xf32>
  }
}

// A mask that the model computes of positions, as an import leaves it that has no
// room for more constants: two layers have one each.
// CHECK-LABEL: gradus.program @computed
// CHECK-NOT:     gradus.iota
// CHECK:         gradus.attention %q, %q, %q causal {scale
// CHECK:         gradus.attention %[[Y:.*]], %[[Y]], %[[Y]] causal {scale
gradus.program @computed {
  gradus.graph @predict(%q: tensor<1x1x3x8xf32>) -> (y: tensor<1x1x3x8xf32>) {
    %zero = arith.constant dense<0.0> : tensor<3x3xf32>
    %one = arith.constant dense<1.0> : tensor<3x3xf32>
    %none = arith.constant dense<0xFF800000> : tensor<3x3xf32>
    %0 = gradus.iota axis 0 : tensor<3x3xi64>
    %1 = gradus.iota axis 1 : tensor<3x3xi64>
    %2 = arith.cmpi sle, %1, %0 : tensor<3x3xi64>
    %3 = arith.select %2, %one, %zero : tensor<3x3xi1>, tensor<3x3xf32>
    %4 = arith.cmpf oeq, %3, %zero : tensor<3x3xf32>
    %5 = arith.select %4, %none, %zero : tensor<3x3xi1>, tensor<3x3xf32>
    %6 = gradus.broadcast %5 dims [2, 3] : tensor<3x3xf32> -> tensor<1x1x3x3xf32>
    %7 = gradus.matmul %q, %q transposed : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
    %8 = arith.addf %7, %6 : tensor<1x1x3x3xf32>
    %9 = gradus.softmax %8 axis 3 : tensor<1x1x3x3xf32>
    %y = gradus.matmul %9, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
    %10 = gradus.iota axis 0 : tensor<3x3xi64>
    %11 = gradus.iota axis 1 : tensor<3x3xi64>
    %12 = arith.cmpi sle, %11, %10 : tensor<3x3xi64>
    %13 = arith.select %12, %one, %zero : tensor<3x3xi1>, tensor<3x3xf32>
    %14 = arith.cmpf oeq, %13, %zero : tensor<3x3xf32>
    %15 = arith.select %14, %none, %zero : tensor<3x3xi1>, tensor<3x3xf32>
    %16 = gradus.broadcast %15 dims [2, 3] : tensor<3x3xf32> -> tensor<1x1x3x3xf32>
    %17 = gradus.matmul %y, %y transposed : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
    %18 = arith.addf %17, %16 : tensor<1x1x3x3xf32>
    %19 = gradus.softmax %18 axis 3 : tensor<1x1x3x3xf32>
    %z = gradus.matmul %19, %y : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
    gradus.return %z : tensor<1x1x3x8xf32>
  }
}

// Masks that hide others, or depend on an input, stay masks; the second differs
// from the first in one comparison alone.
// CHECK-LABEL: gradus.program @computed_otherwise
// CHECK:         gradus.attention %q, %q, %q causal {scale
// CHECK:         gradus.attention %[[Y:.*]], %[[Y]], %[[Y]] mask %{{.*}} {scale
// CHECK:         gradus.attention %[[Z:.*]], %[[Z]], %[[Z]] mask %{{.*}} {scale
gradus.program @computed_otherwise {
  gradus.graph @predict(%q: tensor<1x1x3x8xf32>, %first: tensor<3x3xi64>) -> (y: tensor<1x1x3x8xf32>) {
    %none = arith.constant dense<0xFF800000> : tensor<1x1x3x3xf32>
    %0 = gradus.iota axis 0 : tensor<3x3xi64>
    %1 = gradus.iota axis 1 : tensor<3x3xi64>
    %2 = arith.cmpi sle, %1, %0 : tensor<3x3xi64>
    %3 = gradus.broadcast %2 dims [2, 3] : tensor<3x3xi1> -> tensor<1x1x3x3xi1>
    %4 = gradus.matmul %q, %q transposed : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
    %5 = arith.select %3, %4, %none : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
    %6 = gradus.softmax %5 axis 3 : tensor<1x1x3x3xf32>
    %y = gradus.matmul %6, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
    %7 = arith.cmpi slt, %1, %0 : tensor<3x3xi64>
    %8 = gradus.broadcast %7 dims [2, 3] : tensor<3x3xi1> -> tensor<1x1x3x3xi1>
    %9 = gradus.matmul %y, %y transposed : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
    %10 = arith.select %8, %9, %none : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
    %11 = gradus.softmax %10 axis 3 : tensor<1x1x3x3xf32>
    %z = gradus.matmul %11, %y : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
    %12 = arith.cmpi sle, %first, %0 : tensor<3x3xi64>
    %13 = gradus.broadcast %12 dims [2, 3] : tensor<3x3xi1> -> tensor<1x1x3x3xi1>
    %14 = gradus.matmul %z, %z transposed : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
    %15 = arith.select %13, %14, %none : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
    %16 = gradus.softmax %15 axis 3 : tensor<1x1x3x3xf32>
    %w = gradus.matmul %16, %z : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
    gradus.return %w : tensor<1x1x3x8xf32>
  }
}

// A mask that says what is hidden, as `masked_fill` has it.
// CHECK-LABEL: gradus.program @filled
// CHECK:         gradus.attention %q, %q, %q causal {scale
gradus.program @filled {
  gradus.graph @predict(%q: tensor<2x1x3x8xf32>) -> (y: tensor<2x1x3x8xf32>) {
    %none = arith.constant dense<0xFF800000> : tensor<2x1x3x3xf32>
    %m = arith.constant dense<[[false, true, true], [false, false, true], [false, false, false]]> : tensor<3x3xi1>
    %m4 = gradus.broadcast %m dims [2, 3] : tensor<3x3xi1> -> tensor<2x1x3x3xi1>
    %0 = gradus.matmul %q, %q transposed : tensor<2x1x3x8xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x3xf32>
    %1 = arith.select %m4, %none, %0 : tensor<2x1x3x3xi1>, tensor<2x1x3x3xf32>
    %2 = gradus.softmax %1 axis 3 : tensor<2x1x3x3xf32>
    %y = gradus.matmul %2, %q : tensor<2x1x3x3xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x8xf32>
    gradus.return %y : tensor<2x1x3x8xf32>
  }
}

// One of the input's is turned round.
// CHECK-LABEL: gradus.program @filled_by_input
// CHECK:         %[[SHOWN:.*]] = arith.xori
// CHECK:         gradus.attention %q, %q, %q mask %[[SHOWN]] {scale
gradus.program @filled_by_input {
  gradus.graph @predict(%q: tensor<2x1x3x8xf32>, %m: tensor<3x3xi1>) -> (y: tensor<2x1x3x8xf32>) {
    %none = arith.constant dense<0xFF800000> : tensor<2x1x3x3xf32>
    %m4 = gradus.broadcast %m dims [2, 3] : tensor<3x3xi1> -> tensor<2x1x3x3xi1>
    %0 = gradus.matmul %q, %q transposed : tensor<2x1x3x8xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x3xf32>
    %1 = arith.select %m4, %none, %0 : tensor<2x1x3x3xi1>, tensor<2x1x3x3xf32>
    %2 = gradus.softmax %1 axis 3 : tensor<2x1x3x3xf32>
    %y = gradus.matmul %2, %q : tensor<2x1x3x3xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x8xf32>
    gradus.return %y : tensor<2x1x3x8xf32>
  }
}

// A large negative number stands for none as well, where each query sees a key:
// the probabilities of those that it hides are 0.
// CHECK-LABEL: gradus.program @filled_with_a_number
// CHECK:         gradus.attention %q, %q, %q causal {scale
gradus.program @filled_with_a_number {
  gradus.graph @predict(%q: tensor<2x1x3x8xf32>) -> (y: tensor<2x1x3x8xf32>) {
    %none = arith.constant dense<-1.0e+09> : tensor<2x1x3x3xf32>
    %m = arith.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
    %m4 = gradus.broadcast %m dims [2, 3] : tensor<3x3xi1> -> tensor<2x1x3x3xi1>
    %0 = gradus.matmul %q, %q transposed : tensor<2x1x3x8xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x3xf32>
    %1 = arith.select %m4, %0, %none : tensor<2x1x3x3xi1>, tensor<2x1x3x3xf32>
    %2 = gradus.softmax %1 axis 3 : tensor<2x1x3x3xf32>
    %y = gradus.matmul %2, %q : tensor<2x1x3x3xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x8xf32>
    gradus.return %y : tensor<2x1x3x8xf32>
  }
}

// A query that sees none has the mean of all values by that number, and zeros by
// the op.
// CHECK-LABEL: gradus.program @alone
// CHECK-NOT:     gradus.attention
gradus.program @alone {
  gradus.graph @predict(%q: tensor<2x1x3x8xf32>) -> (y: tensor<2x1x3x8xf32>) {
    %none = arith.constant dense<-1.0e+09> : tensor<2x1x3x3xf32>
    %m = arith.constant dense<[[true, false, false], [false, false, false], [true, true, true]]> : tensor<3x3xi1>
    %m4 = gradus.broadcast %m dims [2, 3] : tensor<3x3xi1> -> tensor<2x1x3x3xi1>
    %0 = gradus.matmul %q, %q transposed : tensor<2x1x3x8xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x3xf32>
    %1 = arith.select %m4, %0, %none : tensor<2x1x3x3xi1>, tensor<2x1x3x3xf32>
    %2 = gradus.softmax %1 axis 3 : tensor<2x1x3x3xf32>
    %y = gradus.matmul %2, %q : tensor<2x1x3x3xf32>, tensor<2x1x3x8xf32> -> tensor<2x1x3x8xf32>
    gradus.return %y : tensor<2x1x3x8xf32>
  }
}

// What drops probabilities becomes a part of it.
// CHECK-LABEL: gradus.program @dropping
// CHECK:         gradus.attention %q, %q, %q {dropout = 1.000000e-01 : f64, scale = 1.000000e+00 : f64}
// CHECK-NOT:     gradus.dropout
gradus.program @dropping {
  gradus.graph @predict(%q: tensor<1x1x2x8xf32>) -> (y: tensor<1x1x2x8xf32>) {
    %0 = gradus.matmul %q, %q transposed : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x2xf32>
    %1 = gradus.softmax %0 axis 3 : tensor<1x1x2x2xf32>
    %2 = gradus.dropout %1 ratio 0.1 : tensor<1x1x2x2xf32>
    %y = gradus.matmul %2, %q : tensor<1x1x2x2xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x8xf32>
    gradus.return %y : tensor<1x1x2x8xf32>
  }
}

// Who asks for the probabilities gets them.
// CHECK-LABEL: gradus.program @asked
// CHECK-NOT:     gradus.attention
gradus.program @asked {
  gradus.graph @predict(%q: tensor<1x1x2x8xf32>) -> (y: tensor<1x1x2x8xf32>, p: tensor<1x1x2x2xf32>) {
    %0 = gradus.matmul %q, %q transposed : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x2xf32>
    %1 = gradus.softmax %0 axis 3 : tensor<1x1x2x2xf32>
    %y = gradus.matmul %1, %q : tensor<1x1x2x2xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x8xf32>
    gradus.return %y, %1 : tensor<1x1x2x8xf32>, tensor<1x1x2x2xf32>
  }
}

// Neither do probabilities over queries, or their logarithms, make attention.
// CHECK-LABEL: gradus.program @other
// CHECK-NOT:     gradus.attention
gradus.program @other {
  gradus.graph @predict(%q: tensor<1x1x2x8xf32>) -> (y: tensor<1x1x2x8xf32>, z: tensor<1x1x2x8xf32>) {
    %0 = gradus.matmul %q, %q transposed : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x2xf32>
    %1 = gradus.softmax %0 axis 2 : tensor<1x1x2x2xf32>
    %y = gradus.matmul %1, %q : tensor<1x1x2x2xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x8xf32>
    %2 = gradus.matmul %y, %q transposed : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x2xf32>
    %3 = gradus.softmax log %2 axis 3 : tensor<1x1x2x2xf32>
    %z = gradus.matmul %3, %q : tensor<1x1x2x2xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x8xf32>
    gradus.return %y, %z : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>
  }
}

// Positions above 256 are rounded in bf16, where this mask leaves queries some
// keys after them: it is not causal.
// CHECK-LABEL: gradus.program @rounded
// CHECK-NOT:     causal
// CHECK:         gradus.attention
// CHECK-NOT:     causal
gradus.program @rounded {
  gradus.graph @predict(%q: tensor<1x1x300x16xf32>) -> (y: tensor<1x1x300x16xf32>) {
    %i0 = gradus.iota axis 0 : tensor<300x300xi64>
    %j0 = gradus.iota axis 1 : tensor<300x300xi64>
    %i = arith.sitofp %i0 : tensor<300x300xi64> to tensor<300x300xbf16>
    %j = arith.sitofp %j0 : tensor<300x300xi64> to tensor<300x300xbf16>
    %m = arith.cmpf ole, %j, %i : tensor<300x300xbf16>
    %mb = gradus.broadcast %m dims [2, 3] : tensor<300x300xi1> -> tensor<1x1x300x300xi1>
    %low = arith.constant dense<0xFF800000> : tensor<1x1x300x300xf32>
    %s = gradus.matmul %q, %q transposed : tensor<1x1x300x16xf32>, tensor<1x1x300x16xf32> -> tensor<1x1x300x300xf32>
    %s1 = arith.select %mb, %s, %low : tensor<1x1x300x300xi1>, tensor<1x1x300x300xf32>
    %p = gradus.softmax %s1 axis 3 : tensor<1x1x300x300xf32>
    %y = gradus.matmul %p, %q : tensor<1x1x300x300xf32>, tensor<1x1x300x16xf32> -> tensor<1x1x300x16xf32>
    gradus.return %y : tensor<1x1x300x16xf32>
  }
}
