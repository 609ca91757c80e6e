// RUN: gradus compile %s -o %t.gradus --json > %t.json
// RUN: python3 -c "import json; print(json.load(open('%t.json'))['arena_bytes'])" | FileCheck %s --check-prefix=ARENA
// RUN: gradus compile %s --stop-after nests | FileCheck %s
// RUN: gradus-opt %s --lower-to-kernels | FileCheck %s --check-prefix=PASS
// RUN: gradus-opt %s --lower-to-kernels --lower-to-kernels | FileCheck %s --check-prefix=PASS

// One head's scores over 2048 tokens are 16 MiB. Nothing holds as many, in the
// forward pass or the backward, with a mask and dropout: what there is beside
// the kernels' tiles is as long as the queries.
// ARENA:     {{^[0-9]{1,7}$}}
// CHECK-NOT: 2048x2048
// CHECK:     plan.loop
// CHECK-NOT: 2048x2048

// The pass leaves all ops but attention as they are, and its own result.
// PASS:      gradus.graph @predict
// PASS:        %[[Q:.*]] = gradus.reshape %q : tensor<1x4x2048x8xf32> -> tensor<4x2048x8xf32>
// PASS-NOT:    gradus.attention
// PASS:        %[[L:.*]]:3 = plan.launch @kernel0_attention(%[[Q]], {{.*}} label = "attention"
// PASS:        %[[Y:.*]] = gradus.reshape %[[L]]#0 : tensor<4x2048x8xf32> -> tensor<1x4x2048x8xf32>
// PASS:        gradus.return %[[Y]]
// PASS:      plan.kernel @kernel0_attention
gradus.program @long attributes {recipe = {loss = {type = "mse", output = "y"}, optimizer = {type = "sgd"}}} {
  gradus.state @q : tensor<1x4x2048x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @k : tensor<1x4x2048x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<1x4x2048x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%m: tensor<1x1x1x2048xi1>) -> (y: tensor<1x4x2048x8xf32>) {
    %q = gradus.read @q : tensor<1x4x2048x8xf32>
    %k = gradus.read @k : tensor<1x4x2048x8xf32>
    %v = gradus.read @v : tensor<1x4x2048x8xf32>
    %y, %l:2 = gradus.attention %q, %k, %v mask %m causal {scale = 0.5 : f64, dropout = 0.1 : f64}
        : (tensor<1x4x2048x8xf32>, tensor<1x4x2048x8xf32>, tensor<1x4x2048x8xf32>, tensor<1x1x1x2048xi1>) -> (tensor<1x4x2048x8xf32>, tensor<1x4x2048xf32>, tensor<1x4x2048xf32>)
    gradus.return %y : tensor<1x4x2048x8xf32>
  }
}
