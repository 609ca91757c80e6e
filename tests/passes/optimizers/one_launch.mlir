// RUN: gradus-opt %s --training --codegen=stop-after=kernels | FileCheck %s

// Updates of one structure share a launch whatever the optimizer; what is the same
// for all elements, the schedule too, is computed once before it.

// CHECK-LABEL: gradus.program @adamw
// CHECK:         plan.launch {{.*}} items [1] {{.*}}
// CHECK:         plan.launch {{.*}} items [65536, 40000]
// CHECK-NOT:     plan.launch
// CHECK:         gradus.return
gradus.program @adamw attributes {recipe = {settable = false, optimizer = {type = "adamw"},
    schedule = {learning_rate = [{type = "cosine", steps = 100 : i64}]}}} {
  gradus.state @w : tensor<256x256xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<200x200xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<256x256xf32>, %h: tensor<200x200xf32>) -> () {
    gradus.update @w, %g : tensor<256x256xf32>
    gradus.update @v, %h : tensor<200x200xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @nadam
// CHECK:         plan.launch {{.*}} items [1] {{.*}}
// CHECK:         plan.launch {{.*}} items [65536, 40000]
// CHECK-NOT:     plan.launch
// CHECK:         gradus.return
gradus.program @nadam attributes {recipe = {settable = false, optimizer = {type = "nadam"},
    schedule = {learning_rate = [{type = "cosine", steps = 100 : i64}]}}} {
  gradus.state @w : tensor<256x256xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<200x200xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<256x256xf32>, %h: tensor<200x200xf32>) -> () {
    gradus.update @w, %g : tensor<256x256xf32>
    gradus.update @v, %h : tensor<200x200xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @lion
// CHECK:         plan.launch {{.*}} items [1] {{.*}}
// CHECK:         plan.launch {{.*}} items [65536, 40000]
// CHECK-NOT:     plan.launch
// CHECK:         gradus.return
gradus.program @lion attributes {recipe = {settable = false, optimizer = {type = "lion", betas = [0.9, 0.99]},
    schedule = {learning_rate = [{type = "cosine", steps = 100 : i64}]}}} {
  gradus.state @w : tensor<256x256xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<200x200xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<256x256xf32>, %h: tensor<200x200xf32>) -> () {
    gradus.update @w, %g : tensor<256x256xf32>
    gradus.update @v, %h : tensor<200x200xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @averaged
// CHECK:         plan.launch {{.*}} items [1] {{.*}}
// CHECK:         plan.launch {{.*}} items [65536, 40000]
// CHECK-NOT:     plan.launch
// CHECK:         gradus.return
gradus.program @averaged attributes {recipe = {settable = false, optimizer = {type = "rmsprop", centered = true}, ema = {decay = 0.99},
    schedule = {learning_rate = [{type = "cosine", steps = 100 : i64}]}}} {
  gradus.state @w : tensor<256x256xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<200x200xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<256x256xf32>, %h: tensor<200x200xf32>) -> () {
    gradus.update @w, %g : tensor<256x256xf32>
    gradus.update @v, %h : tensor<200x200xf32>
    gradus.return
  }
}
