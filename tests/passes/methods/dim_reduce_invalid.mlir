// RUN: gradus-opt %s --dim-reduce --verify-diagnostics --split-input-file

// expected-error @below {{recipe: dim_reduce.basis is missing: the file with the directions of the subspace, which `gradus basis` makes of checkpoints}}
gradus.program @none attributes {recipe = {dim_reduce = {}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.basis has nothing for w, which is trained; it is of other parameters: make one of checkpoints of this model}}
gradus.program @other attributes {recipe = {dim_reduce = {basis = "b.safetensors"}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/v" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.basis has v, which is no parameter of the model}}
gradus.program @more attributes {recipe = {dim_reduce = {basis = "b.safetensors"}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.state @"dim_reduce/basis/v" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.basis has v, which a method of the recipe takes out of the model; make a basis of checkpoints that were trained with that method}}
gradus.program @taken_out attributes {recipe = {dim_reduce = {basis = "b.safetensors"}}, taken_out = ["v"]} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.state @"dim_reduce/basis/v" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.basis has 'tensor<2x4xf32>' for w, expected 'tensor<2x3xf32>': the shape of the parameter for each of 2 directions}}
gradus.program @shape attributes {recipe = {dim_reduce = {basis = "b.safetensors"}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<2x4xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<2x4xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.components is 1, and the program has a basis of 2 directions; name its file as dim_reduce.basis to choose among them}}
gradus.program @fewer attributes {recipe = {dim_reduce = {components = 1 : i64}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<2x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<2x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.basis moves what is not trained here: v; train that, or make a basis of checkpoints that do not differ in it}}
gradus.program @frozen attributes {recipe = {dim_reduce = {basis = "b.safetensors"}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.state @"dim_reduce/basis/v" : tensor<1x1xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x1xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce needs a loss to try steps by, and @train has none}}
gradus.program @lossless attributes {recipe = {dim_reduce = {}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>) -> () {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: dim_reduce needs an update of a trained parameter, and the program has none}}
gradus.program @untrained attributes {recipe = {dim_reduce = {}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/v" : tensor<2x7xf64> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<2x7xf64>}
  gradus.graph @predict() -> (w: tensor<3xf32>) {
    %w = gradus.read @w : tensor<3xf32>
    gradus.return %w : tensor<3xf32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce needs an update of a trained parameter, and the program has none}}
gradus.program @resting attributes {recipe = {dim_reduce = {}, groups = [{match = ["w"], frozen = true}]}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

gradus.program @taken attributes {recipe = {dim_reduce = {}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  // expected-error @below {{is the model's, but training keeps slot of type 'tensor<1x1xf32>' under that name; rename it in the model}}
  gradus.state @"dim_reduce/inverse_hessian" : tensor<1xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{recipe: dim_reduce.dealt is true, which needs the number of processes that keep a part of the basis each: set distribution.ranks}}
gradus.program @any attributes {recipe = {dim_reduce = {dealt = true}, distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<0.5> : tensor<1x3xf32>}
  gradus.graph @train(%g: tensor<3xf32>, %l: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.update @w, %g : tensor<3xf32>
    gradus.return %l : tensor<f32>
  }
}
