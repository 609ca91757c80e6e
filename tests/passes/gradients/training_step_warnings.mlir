// RUN: gradus-opt %s --training-step --split-input-file --verify-diagnostics -o /dev/null

// expected-warning @below {{recipe: metrics has top5, which is always 1 where there are no more than five classes}}
gradus.program @five_classes attributes {recipe = {loss = {type = "softmax_cross_entropy", output = "y", class_axis = -1}, metrics = ["top5"]}} {
  gradus.graph @predict(%x: tensor<4x5xf32>) -> (y: tensor<4x5xf32>) {
    gradus.return %x : tensor<4x5xf32>
  }
}

// -----

gradus.program @six_classes attributes {recipe = {loss = {type = "softmax_cross_entropy", output = "y", class_axis = -1}, metrics = ["top5"]}} {
  gradus.graph @predict(%x: tensor<4x6xf32>) -> (y: tensor<4x6xf32>) {
    gradus.return %x : tensor<4x6xf32>
  }
}
