// RUN: gradus-opt %s --split-input-file --sparse-reduce --verify-diagnostics

// expected-error @below {{distribution.momentum_correction is true, which adds up the momentum of sgd, but w is moved by adam}}
gradus.program @p attributes {recipe = {optimizer = {type = "sgd", momentum = 0.9}, groups = [{match = ["w"], optimizer = {type = "adam"}}], distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, momentum_correction = true}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<64xf32>) -> () {
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{distribution.warmup excludes other variants of the step: accumulation, gradient_freeze}}
gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, warmup = 3 : i64}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"step/variant" : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<64xf32>) -> () {
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
  gradus.graph @train_accumulate(%g: tensor<64xf32>) -> () {
    gradus.return
  }
  gradus.schedule @train by @"step/variant" {
    gradus.variant @train every 2
    gradus.variant @train_accumulate every 2 at 1
  }
}

// -----

// expected-error @below {{distribution.reduce is a sparse sum, whose indices have 32 bits, but w has 2147483648 elements}}
gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64}}} {
  gradus.state @w : tensor<2147483648xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<2147483648xf32>) -> () {
    gradus.update @w, %g : tensor<2147483648xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{distribution.momentum_correction is true, which needs a momentum without dampening, but the optimizer of w has the momentum 0.000000e+00 and the dampening 0.000000e+00}}
gradus.program @p attributes {recipe = {optimizer = {type = "sgd", momentum = 0.9}, groups = [{match = ["w"], optimizer = {type = "sgd", momentum = 0.0}}], distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, momentum_correction = true}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<64xf32>) -> () {
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{distribution.momentum_correction is true, which needs a momentum without dampening, but the optimizer of w has the momentum 5.000000e-01 and the dampening 2.500000e-01}}
gradus.program @p attributes {recipe = {optimizer = {type = "sgd", momentum = 0.9}, groups = [{match = ["w"], optimizer = {type = "sgd", momentum = 0.5, dampening = 0.25}}], distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, momentum_correction = true}}} {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<64xf32>) -> () {
    gradus.update @w, %g : tensor<64xf32>
    gradus.return
  }
}
