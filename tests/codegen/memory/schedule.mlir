// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(schedule)))' | FileCheck %s
// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(schedule,schedule)))' | FileCheck %s

gradus.program @p {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}

  gradus.state @v : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}

  // Whoever reads the old weight runs before the command that renews it.
  // CHECK-LABEL: gradus.graph @renew
  // CHECK:         plan.launch @forward
  // CHECK-NEXT:    plan.launch @update
  // CHECK-NEXT:    gradus.write @w
  gradus.graph @renew(%x: tensor<64xf32>) -> (y: tensor<64xf32>) {
    %w = gradus.read @w : tensor<64xf32>
    %new = plan.launch @update(%w, %x) items [64] grain 64 inplace [0] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    gradus.write @w, %new : tensor<64xf32>
    %y = plan.launch @forward(%x, %w) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    gradus.return %y : tensor<64xf32>
  }

  // Two branches, each wide inside: one is finished before the other starts.
  // CHECK-LABEL: gradus.graph @branches
  // CHECK:         plan.launch @widen
  // CHECK-NEXT:    plan.launch @narrow
  // CHECK-NEXT:    plan.launch @widen
  // CHECK-NEXT:    plan.launch @narrow
  gradus.graph @branches(%x: tensor<64xf32>) -> (y: tensor<64xf32>) {
    %a = plan.launch @widen(%x) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<6400xf32>
    %b = plan.launch @widen(%x) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<6400xf32>
    %c = plan.launch @narrow(%a) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<64xf32>
    %d = plan.launch @narrow(%b) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<64xf32>
    %y = plan.launch @add(%c, %d) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    gradus.return %y : tensor<64xf32>
  }

  // A gradient is taken as soon as it is there.
  // CHECK-LABEL: gradus.graph @train
  // CHECK:         plan.launch @gradient
  // CHECK-NEXT:    plan.launch @update
  // CHECK-NEXT:    plan.launch @gradient
  // CHECK-NEXT:    plan.launch @update
  gradus.graph @train(%x: tensor<64xf32>) {
    %w = gradus.read @w : tensor<64xf32>
    %v = gradus.read @v : tensor<64xf32>
    %gw = plan.launch @gradient(%x) items [64] grain 64 inplace [-1] : (tensor<64xf32>) -> tensor<64xf32>
    %gv = plan.launch @gradient(%x) items [64] grain 64 inplace [-1] : (tensor<64xf32>) -> tensor<64xf32>
    %new_w = plan.launch @update(%w, %gw) items [64] grain 64 inplace [0] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %new_v = plan.launch @update(%v, %gv) items [64] grain 64 inplace [0] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    gradus.write @w, %new_w : tensor<64xf32>
    gradus.write @v, %new_v : tensor<64xf32>
    gradus.return
  }
}
