// RUN: gradus-opt %s --set clip.value=2 --set accumulation=1 --set precision=f16 | FileCheck %s
// RUN: not gradus-opt %s --set clip.vlue=2 --ema=decy=1 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: gradus-opt %s --set boost=O2 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not gradus-opt none.mlir --set seed=1 2>&1 | FileCheck %s --check-prefix=NONE

// What the program says stays, what follows is added, and a default is left out.
// CHECK: recipe = {clip = {type = "value", value = 2.000000e+00 : f64}, loss_scale = {{{.*}}type = "dynamic"}, precision = "f16", seed = 3 : i64}

// WRONG: program_settings.mlir:[[# @LINE + 6]]:1: error: --set clip.vlue=2: clip.vlue: unknown key of value; did you mean "value"?
// WRONG-NEXT: --ema=decy=1: ema.decy: unknown key; did you mean "decay"?

// REMARK: warning: recipe: boost's adasum changes nothing: there is one process, which has nothing to merge

// NONE: gradus-opt: cannot open input file 'none.mlir': No such file or directory
gradus.program @p attributes {recipe = {clip = {type = "value"}, seed = 3}} {
}
