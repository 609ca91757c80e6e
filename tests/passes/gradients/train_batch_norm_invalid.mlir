// RUN: gradus-opt %s --train-batch-norm --split-input-file --verify-diagnostics

gradus.program @one_value {
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<1x4x1x1xf32>, %scale: tensor<4xf32>) -> (y: tensor<1x4x1x1xf32>) {
    %mean = gradus.read @mean : tensor<4xf32>
    // expected-error @below {{normalizes one value a channel, which has no variance: train with larger batches, or set the recipe's `freeze_batch_norm`}}
    %y = gradus.batch_norm %x, %scale, %scale mean %mean variance %mean epsilon 1.0e-5 momentum 0.9 : tensor<1x4x1x1xf32>, tensor<4xf32>
    gradus.return %y : tensor<1x4x1x1xf32>
  }
}

// -----

gradus.program @no_state {
  gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    // expected-error @below {{has a momentum, but its mean and variance are no states that could be kept}}
    %y = gradus.batch_norm %x, %scale, %scale mean %scale variance %scale epsilon 1.0e-5 momentum 0.9 : tensor<8x4xf32>, tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// -----

// expected-error @below {{recipe: batch_norm_variance: unknown value "torch"; did you mean "pytorch"?}}
gradus.program @unknown attributes {recipe = {batch_norm_variance = "torch"}} {
  gradus.graph @train() {
    gradus.return
  }
}
