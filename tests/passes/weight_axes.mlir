// RUN: gradus-opt %s --gradient-centralization | FileCheck %s

// Gates of one weight, cut apart behind a view, sum over its last axis; a table
// that is a dense weight, too, is one of rows.
// CHECK-LABEL: gradus.program @shared
// CHECK:         gradus.reduce mean %f axes [2] : tensor<1x8x4xf32> -> tensor<1x8xf32>
// CHECK:         gradus.reduce mean %g axes [1] : tensor<9x4xf32> -> tensor<9xf32>
gradus.program @shared attributes {recipe = {gradient_centralization = {}}} {
  gradus.state @gates : tensor<1x8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @table : tensor<9x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>, %id: tensor<2xi64>) -> (a: tensor<2x4xf32>, b: tensor<2x4xf32>, c: tensor<2x9xf32>) {
    %w = gradus.read @gates : tensor<1x8x4xf32>
    %flat = gradus.reshape %w : tensor<1x8x4xf32> -> tensor<8x4xf32>
    %first = gradus.slice %flat starts [0, 0] steps [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
    %second = gradus.slice %flat starts [4, 0] steps [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
    %a = gradus.matmul %x, %first transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %t = gradus.read @table : tensor<9x4xf32>
    %row = gradus.gather %t at %id axis 0 : tensor<9x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
    %b = gradus.matmul %row, %second transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %c = gradus.matmul %b, %t transposed : tensor<2x4xf32>, tensor<9x4xf32> -> tensor<2x9xf32>
    gradus.return %a, %b, %c : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x9xf32>
  }
  gradus.graph @train(%f: tensor<1x8x4xf32>, %g: tensor<9x4xf32>) -> () {
    gradus.update @gates, %f : tensor<1x8x4xf32>
    gradus.update @table, %g : tensor<9x4xf32>
    gradus.return
  }
}

// What is used both ways round, scaled first, or cut along its inputs has none.
// CHECK-LABEL: gradus.program @unclear
// CHECK-NOT:     gradus.reduce
gradus.program @unclear attributes {recipe = {gradient_centralization = {}}} {
  gradus.state @both : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @scaled : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @cut : tensor<4x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (a: tensor<2x4xf32>, b: tensor<2x4xf32>, c: tensor<2x4xf32>, d: tensor<2x4xf32>) {
    %w = gradus.read @both : tensor<4x4xf32>
    %a = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %b = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %s = gradus.read @scaled : tensor<4x4xf32>
    %larger = arith.mulf %s, %s : tensor<4x4xf32>
    %c = gradus.matmul %x, %larger : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %k = gradus.read @cut : tensor<4x8xf32>
    %half = gradus.slice %k starts [0, 0] steps [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
    %d = gradus.matmul %x, %half transposed : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    gradus.return %a, %b, %c, %d : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
  gradus.graph @train(%f: tensor<4x4xf32>, %g: tensor<4x4xf32>, %h: tensor<4x8xf32>) -> () {
    gradus.update @both, %f : tensor<4x4xf32>
    gradus.update @scaled, %g : tensor<4x4xf32>
    gradus.update @cut, %h : tensor<4x8xf32>
    gradus.return
  }
}
