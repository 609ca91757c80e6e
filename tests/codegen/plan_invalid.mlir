// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{has 1 then inputs and 0 maps of them}}
    %y = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
        attributes {map_input_maps = [], then_input_maps = [], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{expected 1 dimensions and 1 results}}
    %y = plan.nest parallel [4] reduced [] with(%x : tensor<4xf32>)
        attributes {map_input_maps = [], then_input_maps = [affine_map<(d, e) -> (d)>], output_maps = [affine_map<(d) -> (d)>], guards = [unit], combine = []}
        map {} then {
        ^bb0(%a: f32):
          plan.yield %a : f32
        } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @p {
  // expected-error @below {{has 1 arguments, of which 2 cannot be inputs}}
  plan.kernel @k(%x: memref<4xf32>) attributes {inputs = 2 : i64, split = #plan<split serial>, items = 1 : i64} {
    plan.end
  }
}
