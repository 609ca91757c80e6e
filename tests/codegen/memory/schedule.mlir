// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(schedule)))' | FileCheck %s
// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(schedule,schedule)))' | FileCheck %s
// RUN: gradus-opt %s --pass-pipeline='builtin.module(gradus.program(gradus.graph(schedule{in-flight=1})))' | FileCheck %s --check-prefix=ONE

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

  // A sum that frees its terms comes right behind them, though the peak is
  // elsewhere.
  // CHECK-LABEL: gradus.graph @terms
  // CHECK:         plan.launch @peak
  // CHECK-NEXT:    plan.launch @begin
  // CHECK-NEXT:    plan.launch @terms
  // CHECK-NEXT:    plan.launch @sum
  // CHECK-NEXT:    plan.launch @other
  gradus.graph @terms(%x: tensor<64xf32>) -> (y: tensor<6400xf32>, z: tensor<64xf32>) {
    %p = plan.launch @peak(%x) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<1048576xf32>
    %b = plan.launch @begin(%p) items [1] grain 1 inplace [-1] : (tensor<1048576xf32>) -> tensor<64xf32>
    %t = plan.launch @terms(%b) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<65536xf32>
    %y = plan.launch @other(%b) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<6400xf32>
    %z = plan.launch @sum(%t) items [1] grain 1 inplace [-1] : (tensor<65536xf32>) -> tensor<64xf32>
    gradus.return %y, %z : tensor<6400xf32>, tensor<64xf32>
  }

  // A number that an update waits for is made before large tensors, so that
  // the update comes as soon as its gradient is there.
  // CHECK-LABEL: gradus.graph @waits
  // CHECK:         plan.launch @count
  // CHECK-NEXT:    plan.launch @gradient
  // CHECK-NEXT:    plan.launch @update
  // CHECK-NEXT:    plan.launch @gradient
  gradus.graph @waits(%x: tensor<64xf32>) -> (y: tensor<6400xf32>) {
    %w = gradus.read @w : tensor<64xf32>
    %gw = plan.launch @gradient(%x) items [64] grain 64 inplace [-1] : (tensor<64xf32>) -> tensor<6400xf32>
    %y = plan.launch @gradient(%x) items [64] grain 64 inplace [-1] : (tensor<64xf32>) -> tensor<6400xf32>
    %n = plan.launch @count(%x) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<1xf32>
    %new_w = plan.launch @update(%w, %gw, %n) items [64] grain 64 inplace [0] : (tensor<64xf32>, tensor<6400xf32>, tensor<1xf32>) -> tensor<64xf32>
    gradus.write @w, %new_w : tensor<64xf32>
    gradus.return %y : tensor<6400xf32>
  }

  // Sums begin as soon as they can, and the first is waited for when two others
  // have begun; what follows it frees a gradient. The rest end at the end.
  // CHECK-LABEL: gradus.graph @sums
  // CHECK:         plan.launch @gradient
  // CHECK-NEXT:    plan.start {{.*}} number 0
  // CHECK-NEXT:    plan.launch @gradient
  // CHECK-NEXT:    plan.start {{.*}} number 1
  // CHECK-NEXT:    plan.launch @gradient
  // CHECK-NEXT:    plan.start {{.*}} number 2
  // CHECK-NEXT:    plan.finish {{.*}} number 0
  // CHECK-NEXT:    plan.launch @update
  // CHECK-NEXT:    plan.launch @gradient
  // CHECK-NEXT:    plan.finish {{.*}} number 1
  // CHECK-NEXT:    plan.finish {{.*}} number 2
  // ONE-LABEL: gradus.graph @sums
  // ONE:         plan.start {{.*}} number 1
  // ONE-NEXT:    plan.finish {{.*}} number 0
  // ONE-NEXT:    plan.launch @update
  // ONE-NEXT:    plan.launch @gradient
  // ONE-NEXT:    plan.start {{.*}} number 2
  // ONE-NEXT:    plan.finish {{.*}} number 1
  // ONE-NEXT:    plan.launch @gradient
  // ONE-NEXT:    plan.finish {{.*}} number 2
  gradus.graph @sums(%x: tensor<6400xf32>) -> (b: tensor<6400xf32>, c: tensor<6400xf32>, d: tensor<6400xf32>) {
    %v = gradus.read @v : tensor<64xf32>
    %ga = plan.launch @gradient(%x) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<64xf32>
    %ta = plan.start %ga number 0 : tensor<64xf32> -> tensor<0xi8>
    %sa = plan.finish %ta, %ga number 0 : tensor<0xi8>, tensor<64xf32> -> tensor<64xf32>
    %new = plan.launch @update(%v, %sa) items [64] grain 64 inplace [0] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %gb = plan.launch @gradient(%x) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<6400xf32>
    %tb = plan.start %gb number 1 : tensor<6400xf32> -> tensor<0xi8>
    %sb = plan.finish %tb, %gb number 1 : tensor<0xi8>, tensor<6400xf32> -> tensor<6400xf32>
    %gc = plan.launch @gradient(%gb) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<6400xf32>
    %tc = plan.start %gc number 2 : tensor<6400xf32> -> tensor<0xi8>
    %sc = plan.finish %tc, %gc number 2 : tensor<0xi8>, tensor<6400xf32> -> tensor<6400xf32>
    %d = plan.launch @gradient(%x) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<6400xf32>
    gradus.write @v, %new : tensor<64xf32>
    gradus.return %sb, %sc, %d : tensor<6400xf32>, tensor<6400xf32>, tensor<6400xf32>
  }

  // The second sum stands behind what it does not need, and begins with the
  // step; they are numbered anew, each with its end.
  // CHECK-LABEL: gradus.graph @moved
  // CHECK:         plan.start %x number 0 : tensor<4xf32>
  // CHECK-NEXT:    %[[LARGE:.*]] = plan.launch @gradient
  // CHECK-NEXT:    plan.start %[[LARGE]] number 1 : tensor<6400xf32>
  // CHECK-NEXT:    plan.launch @other
  // CHECK-NEXT:    plan.finish {{.*}}, %x number 0
  // CHECK-NEXT:    plan.finish {{.*}}, %[[LARGE]] number 1
  gradus.graph @moved(%x: tensor<4xf32>) -> (a: tensor<4xf32>, b: tensor<6400xf32>, c: tensor<6400xf32>) {
    %large = plan.launch @gradient(%x) items [1] grain 1 inplace [-1] : (tensor<4xf32>) -> tensor<6400xf32>
    %c = plan.launch @other(%x) items [1] grain 1 inplace [-1] : (tensor<4xf32>) -> tensor<6400xf32>
    %second = plan.start %large number 5 : tensor<6400xf32> -> tensor<0xi8>
    %b = plan.finish %second, %large number 5 : tensor<0xi8>, tensor<6400xf32> -> tensor<6400xf32>
    %first = plan.start %x number 3 : tensor<4xf32> -> tensor<0xi8>
    %a = plan.finish %first, %x number 3 : tensor<0xi8>, tensor<4xf32> -> tensor<4xf32>
    gradus.return %a, %b, %c : tensor<4xf32>, tensor<6400xf32>, tensor<6400xf32>
  }

  // What is made of states alone comes as late as it can, with what it is made
  // of: before its reader, or before a state that it reads is renewed.
  // CHECK-LABEL: gradus.graph @late
  // CHECK:         %[[LARGE:.*]] = plan.launch @forward(%x)
  // CHECK-NEXT:    %[[SMALL:.*]] = plan.launch @forward(%[[LARGE]])
  // CHECK-NEXT:    %[[ROUNDED:.*]] = plan.launch @round
  // CHECK-NEXT:    %[[PACKED:.*]] = plan.launch @pack(%[[ROUNDED]])
  // CHECK-NEXT:    %[[Y:.*]] = plan.launch @matmul(%[[SMALL]], %[[PACKED]])
  // CHECK-NEXT:    %[[OLD:.*]] = plan.launch @pack(%[[V:[a-z0-9]+]])
  // CHECK-NEXT:    %[[NEW:.*]] = plan.launch @update(%[[V]], %[[Y]])
  // CHECK-NEXT:    plan.launch @matmul(%[[NEW]], %[[OLD]])
  gradus.graph @late(%x: tensor<64xf32>) -> (z: tensor<64xf32>) {
    %w = gradus.read @w : tensor<64xf32>
    %v = gradus.read @v : tensor<64xf32>
    %rounded = plan.launch @round(%w) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<3200xf32>
    %packed = plan.launch @pack(%rounded) items [1] grain 1 inplace [-1] : (tensor<3200xf32>) -> tensor<3200xf32>
    %old = plan.launch @pack(%v) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<3200xf32>
    %large = plan.launch @forward(%x) items [1] grain 1 inplace [-1] : (tensor<64xf32>) -> tensor<6400xf32>
    %small = plan.launch @forward(%large) items [1] grain 1 inplace [-1] : (tensor<6400xf32>) -> tensor<64xf32>
    %y = plan.launch @matmul(%small, %packed) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<3200xf32>) -> tensor<64xf32>
    %new = plan.launch @update(%v, %y) items [64] grain 64 inplace [0] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %z = plan.launch @matmul(%new, %old) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<3200xf32>) -> tensor<64xf32>
    gradus.write @v, %new : tensor<64xf32>
    gradus.return %z : tensor<64xf32>
  }
}
