// RUN: gradus-opt %s --lower-to-kernels=matmuls=true --lower-to-nests --fuse --update-in-tiles | FileCheck %s
// RUN: gradus-opt %s --lower-to-kernels=matmuls=true --lower-to-nests --fuse --update-in-tiles --update-in-tiles | FileCheck %s

#columns = {dims = array<i64: 70, 128>, strides = array<i64: 1, 70>}
#rows = {dims = array<i64: 128, 80>, strides = array<i64: 80, 1>}
#result = {dims = array<i64: 70, 80>, strides = array<i64: 80, 1>}

gradus.program @p {
  gradus.state @w : tensor<70x80xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @narrow : tensor<70x80xbf16> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @small : tensor<8x32xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @rate : tensor<f32> {role = #gradus.role<hyperparameter>, init = #gradus.init<zeros>}
  gradus.state @"sgd/momentum/w" : tensor<70x80xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}

  // The launch writes the new values of the states, each in place but the copy,
  // whose old value it doesn't read; the scalar that it reads comes before it.
  // CHECK-LABEL: gradus.graph @update
  // CHECK-COUNT-2: label = "pack"}
  // CHECK:         plan.nest parallel []
  // CHECK:         plan.launch @[[K:.*]](%{{[0-9]+}}, %{{[0-9]+}}, %{{.*}}) items [3] grain 1 inplace [{{[0-9]}}, {{[0-9]}}, -1] {{.*}}label = "matmul_of_pairs+sgd"} : {{.*}} -> (tensor<70x80xf32>, tensor<70x80xf32>, tensor<70x80xbf16>)
  // CHECK-NOT:     plan.nest
  // CHECK:         gradus.return
  gradus.graph @update(%x: tensor<128x70xbf16>, %y: tensor<128x80xbf16>) -> () {
    %w = gradus.read @w : tensor<70x80xf32>
    %m = gradus.read @"sgd/momentum/w" : tensor<70x80xf32>
    %g = plan.library "matmul"(%x, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %rate = gradus.read @rate : tensor<f32>
    %half = arith.constant dense<0.5> : tensor<f32>
    %slow = arith.mulf %rate, %half : tensor<f32>
    %all = gradus.broadcast %slow dims [] : tensor<f32> -> tensor<70x80xf32>
    %sum = arith.addf %m, %g : tensor<70x80xf32>
    %move = arith.mulf %sum, %all : tensor<70x80xf32>
    %next = arith.subf %w, %move : tensor<70x80xf32>
    %copy = arith.truncf %next : tensor<70x80xf32> to tensor<70x80xbf16>
    gradus.write @"sgd/momentum/w", %sum : tensor<70x80xf32>
    gradus.write @w, %next : tensor<70x80xf32>
    gradus.write @narrow, %copy : tensor<70x80xbf16>
    gradus.return
  }

  // A sum of two gradients is added to one matmul's tiles; so is the sum of a
  // step's gradients.
  // CHECK-LABEL: gradus.graph @two
  // CHECK:         %[[G:.*]] = plan.launch {{.*}}label = "matmul_of_pairs"}
  // CHECK:         plan.launch @{{.*}}%[[G]]{{.*}}label = "matmul_of_pairs+update"}
  // CHECK-NOT:     plan.nest
  // CHECK:         gradus.return
  gradus.graph @two(%x: tensor<128x70xbf16>, %y: tensor<128x80xbf16>, %z: tensor<128x70xbf16>) -> () {
    %w = gradus.read @w : tensor<70x80xf32>
    %g = plan.library "matmul"(%x, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %h = plan.library "matmul"(%z, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %sum = arith.addf %g, %h : tensor<70x80xf32>
    %next = arith.subf %w, %sum : tensor<70x80xf32>
    gradus.write @w, %next : tensor<70x80xf32>
    gradus.return
  }

  // What else reads the gradient gets it: a norm, whoever asks for its value.
  // CHECK-LABEL: gradus.graph @norm
  // CHECK:         plan.launch {{.*}}label = "matmul_of_pairs"}
  // CHECK:         plan.nest
  // CHECK:         gradus.return
  gradus.graph @norm(%x: tensor<128x70xbf16>, %y: tensor<128x80xbf16>) -> () {
    %w = gradus.read @w : tensor<70x80xf32>
    %g = plan.library "matmul"(%x, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %squares = arith.mulf %g, %g : tensor<70x80xf32>
    %square = gradus.reduce sum %squares axes [0, 1] : tensor<70x80xf32> -> tensor<f32>
    %all = gradus.broadcast %square dims [] : tensor<f32> -> tensor<70x80xf32>
    %move = arith.mulf %g, %all : tensor<70x80xf32>
    %next = arith.subf %w, %move : tensor<70x80xf32>
    gradus.write @w, %next : tensor<70x80xf32>
    gradus.return
  }
  // CHECK-LABEL: gradus.graph @returned
  // CHECK:         plan.launch {{.*}}label = "matmul_of_pairs"}
  // CHECK:         plan.nest
  // CHECK:         gradus.return
  gradus.graph @returned(%x: tensor<128x70xbf16>, %y: tensor<128x80xbf16>) -> (g: tensor<70x80xf32>) {
    %w = gradus.read @w : tensor<70x80xf32>
    %g = plan.library "matmul"(%x, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %next = arith.subf %w, %g : tensor<70x80xf32>
    gradus.write @w, %next : tensor<70x80xf32>
    gradus.return %g : tensor<70x80xf32>
  }

  // An update that isn't elementwise waits for the whole gradient, and what is
  // no update stays for other kernels.
  // CHECK-LABEL: gradus.graph @centered
  // CHECK:         plan.launch {{.*}}label = "matmul_of_pairs"}
  // CHECK-COUNT-2: plan.nest
  // CHECK:         gradus.return
  gradus.graph @centered(%x: tensor<128x70xbf16>, %y: tensor<128x80xbf16>) -> () {
    %w = gradus.read @w : tensor<70x80xf32>
    %g = plan.library "matmul"(%x, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %mean = gradus.reduce mean %g axes [1] : tensor<70x80xf32> -> tensor<70xf32>
    %all = gradus.broadcast %mean dims [0] : tensor<70xf32> -> tensor<70x80xf32>
    %centered = arith.subf %g, %all : tensor<70x80xf32>
    %next = arith.subf %w, %centered : tensor<70x80xf32>
    gradus.write @w, %next : tensor<70x80xf32>
    gradus.return
  }
  // CHECK-LABEL: gradus.graph @activation
  // CHECK:         plan.launch {{.*}}label = "matmul_of_pairs"}
  // CHECK:         plan.nest
  // CHECK:         gradus.return
  gradus.graph @activation(%x: tensor<128x70xbf16>, %y: tensor<128x80xbf16>) -> (z: tensor<70x80xf32>) {
    %g = plan.library "matmul"(%x, %y) config {} layouts [#columns, #rows, #result] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    %z = math.exp %g : tensor<70x80xf32>
    gradus.return %z : tensor<70x80xf32>
  }

  // Of a kernel without the mark it isn't known that it writes elements once.
  // CHECK-LABEL: gradus.graph @unmarked
  // CHECK:         plan.launch @sums(
  // CHECK:         plan.nest
  // CHECK:         gradus.return
  gradus.graph @unmarked(%x: tensor<8x64xf32>, %y: tensor<64x32xf32>) -> () {
    %w = gradus.read @small : tensor<8x32xf32>
    %g = plan.launch @sums(%x, %y) items [1] grain 1 inplace [-1] {label = "matmul"} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    %next = arith.subf %w, %g : tensor<8x32xf32>
    gradus.write @small, %next : tensor<8x32xf32>
    gradus.return
  }
  plan.kernel @sums(%x: memref<8x64xf32>, %y: memref<64x32xf32>, %z: memref<8x32xf32>) attributes {inputs = 2 : i64, items = 1 : i64, split = #plan<split rows>} {
    plan.nest parallel [1, 8, 32] reduced [64] ins(%x, %y : memref<8x64xf32>, memref<64x32xf32>) outs(%z : memref<8x32xf32>)
        attributes {combine = [#gradus<reduction sum>], guards = [unit, unit],
                    map_input_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>],
                    output_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>], then_input_maps = []}
        map {
        ^bb0(%e: f32, %f: f32):
          %p = arith.mulf %e, %f : f32
          plan.yield %p : f32
        } then {
        ^bb0(%sum: f32):
          plan.yield %sum : f32
        }
    plan.end
  }

  // The sums ask for a tile's part of the states, which the update reads then.
  // CHECK:      plan.kernel @[[K]](
  // CHECK:      %[[S:.*]] = plan.scratch : memref<14x32xf32>
  // CHECK:      plan.nest parallel [3, 1, 5, 14, 32] reduced [64] ins({{.*}}) with(%{{.*}} : memref<70x80xf32>, memref<70x80xf32>, memref<70x80xbf16>) outs(%[[S]] : memref<14x32xf32>)
  // CHECK:      plan.nest parallel [3, 1, 5, 14, 32] reduced [] with({{.*}}%[[S]]
}
