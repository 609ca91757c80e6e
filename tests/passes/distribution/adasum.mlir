// RUN: gradus-opt %s --adasum --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s

// CHECK:     remark: {{.*}}one process has no gradients of others to merge; adasum changes nothing
// CHECK:     remark: {{.*}}is not built yet: the ranks share the mean of gradients
// CHECK-NOT: remark:
gradus.program @asked attributes {recipe = {boost = {level = "O2", boost = {adasum = true}}}} {
}
gradus.program @several attributes {recipe = {distribution = {mode = "data_parallel"}, boost = {level = "O2", boost = {adasum = true}}}} {
}
gradus.program @not_asked attributes {recipe = {boost = "O0"}} {
}
gradus.program @off attributes {recipe = {boost = {level = "O1", boost = {adasum = false}}}} {
}
