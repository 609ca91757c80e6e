// RUN: gradus-opt %s --load-pass-plugin=%build/tests/lib/bad_passes.so --added-passes=stage=methods | FileCheck %s
// RUN: gradus-opt %s --load-pass-plugin=%build/tests/lib/bad_passes.so --added-passes=stage=methods --added-passes=stage=methods | FileCheck %s
// RUN: gradus-opt %s --load-pass-plugin=%build/tests/lib/bad_passes.so --added-passes=stage=model | FileCheck %s --check-prefix=EARLIER
// RUN: gradus-opt %s --load-pass-plugin=%build/tests/lib/bad_passes.so --training=stop-after=methods | FileCheck %s --check-prefix=PLUGIN

// A pass of the stage runs, and once: a program remembers.
// CHECK:         gradus.program @line attributes {added_passes = ["methods"]
// CHECK-NOT:     arith.addf
// CHECK:         gradus.update
// CHECK:         gradus.program @doubled
// EARLIER-NOT:   added_passes
// EARLIER:       arith.addf

// A pass on graphs runs on each of them: the gradient of a plug-in.
// PLUGIN:        gradus.program @doubled attributes {added_passes = ["gradients", "methods"]
// PLUGIN:        gradus.graph @train
// PLUGIN:        %[[ONCE:.*]] = arith.addf %[[G:.*]], %[[G]] : tensor<4xf32>
// PLUGIN:        %[[TWICE:.*]] = arith.addf %[[ONCE]], %[[ONCE]] : tensor<4xf32>
// PLUGIN:        gradus.update @slope, %[[TWICE]]
gradus.program @line attributes {recipe = {
    optimizer = {type = "sgd"}, passes = ["methods:canonicalize"]}} {
  gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    %unused = arith.addf %g, %g : tensor<4xf32>
    gradus.update @slope, %g : tensor<4xf32>
    gradus.return
  }
}

gradus.program @doubled attributes {recipe = {
    loss = {type = "mse"}, optimizer = {type = "sgd"},
    passes = ["gradients:double-gradients", "methods:gradus.graph(double-gradients)"]}} {
  gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %slope = gradus.read @slope : tensor<4xf32>
    %y = arith.mulf %x, %slope : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}
