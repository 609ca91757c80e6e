// RUN: gradus-opt %s --check-combinations --added-passes=stage=methods --load-pass-plugin=%build/tests/lib/bad_passes.so --verify-diagnostics --split-input-file

// expected-error @below {{recipe: passes has "canonicalize": expected STAGE:PASS, such as methods:canonicalize}}
gradus.program @no_stage attributes {recipe = {passes = ["canonicalize"]}} {
}

// -----

// expected-error @below {{recipe: passes has "metods:canonicalize": unknown stage "metods"; did you mean "methods"?; there are model, recognition, gradients, local, distribution, methods, update, optimize}}
gradus.program @other_stage attributes {recipe = {passes = ["metods:canonicalize"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:duble-gradients{x=1}": unknown pass "duble-gradients"; did you mean "double-gradients"?; the plug-ins have double-gradients, fails-silently}}
// expected-error @below {{recipe: passes has "methods:les-bn": unknown pass "les-bn"; did you mean "less-bn"?}}
// expected-error @below {{recipe: passes has "methods:LESS-BN": unknown pass "LESS-BN"; did you mean "less-bn"?}}
gradus.program @other_pass attributes {recipe = {passes = ["methods:duble-gradients{x=1}", "methods:les-bn", "methods:LESS-BN"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:canonicalize{depth=2}": no such option depth}}
gradus.program @other_option attributes {recipe = {passes = ["methods:canonicalize{depth=2}"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:canonicalize{max-iterations=ten}": an option has a value that it does not take}}
gradus.program @other_value attributes {recipe = {passes = ["methods:canonicalize{max-iterations=ten}"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:canonicalize{": expected PASS, PASS{OPTIONS} or OP(PASSES), found canonicalize{}}
// expected-error @below {{recipe: passes has "methods:gradus.graph(cse,canonicalize{)": expected PASS, PASS{OPTIONS} or OP(PASSES), found canonicalize{}}
// expected-error @below {{recipe: passes has "methods:gradus.graph(canonicalize{depth=2})": no such option depth}}
// expected-error @below {{recipe: passes has "methods:cse,,cse": unknown pass ""}}
gradus.program @open attributes {recipe = {passes = ["methods:canonicalize{", "methods:gradus.graph(cse,canonicalize{)", "methods:gradus.graph(canonicalize{depth=2})", "methods:cse,,cse"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:on-module": it runs on builtin.module, expected gradus.program, gradus.graph or any op}}
gradus.program @module attributes {recipe = {passes = ["methods:on-module"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:fails-silently,double-gradients": its passes run on gradus.program and gradus.graph; add them one by one}}
gradus.program @two_places attributes {recipe = {passes = ["methods:fails-silently,double-gradients"]}} {
}

// -----

// expected-error @below {{recipe: passes has "methods:fails-silently": the pass failed}}
gradus.program @failing attributes {recipe = {passes = ["methods:fails-silently"]}} {
}

// -----

// Nested in other ops, passes would find nothing to do.
// expected-error @below {{recipe: passes has "methods:gradus.program(canonicalize)": its passes are nested in gradus.program; expected them as they are, or in gradus.graph}}
// expected-error @below {{recipe: passes has "methods:canonicalize,builtin.module(cse)": its passes are nested in builtin.module; expected them as they are, or in gradus.graph}}
// expected-error @below {{recipe: passes has "methods:added-passes{stage=methods}": added-passes runs after each stage of its own accord}}
gradus.program @nested attributes {recipe = {passes = ["methods:gradus.program(canonicalize)", "methods:canonicalize,builtin.module(cse)", "methods:added-passes{stage=methods}"]}} {
}

// -----

// Here MLIR's own verifier comes first; pass_plugin.test has it without.
// expected-error @below {{recipe: passes has "methods:leaves-invalid": the pass failed}}
gradus.program @invalid attributes {recipe = {passes = ["methods:leaves-invalid"]}} {
  gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    // expected-error @below {{}}
    %slope = gradus.read @slope : tensor<4xf32>
    %y = arith.mulf %x, %slope : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}
