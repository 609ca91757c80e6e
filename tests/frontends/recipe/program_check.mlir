// RUN: gradus-opt %s --verify-diagnostics --split-input-file

// The recipe of a program is checked wherever the program is verified.
// expected-error @below {{recipe: clip.vlue: unknown key of norm; did you mean "value"?}}
gradus.program @unknown_key attributes {recipe = {clip = {type = "norm", vlue = 1.0}}} {
}

// -----

// expected-error @below {{recipe: gradient_freeze.p: expected less than 1, found 1.0}}
gradus.program @outside_of_its_range attributes {recipe = {gradient_freeze = {p = 1.0}}} {
}

// -----

// A key that it does not say has its default, and a unit switches a method off.
gradus.program @short attributes {recipe = {clip = {type = "norm"}, less_bn}} {
}

// -----

// A program has the keys that thor is short for: no pass would see them.
// expected-error @below {{recipe: optimizer.type: "thor" is short for other keys, which a program's recipe has itself: `gradus recipe FILE` writes them out}}
gradus.program @thor attributes {recipe = {optimizer = {type = "thor"}}} {
}

// -----

// So it is in its short form.
// expected-error @below {{recipe: optimizer.type: "thor" is short for other keys, which a program's recipe has itself: `gradus recipe FILE` writes them out}}
gradus.program @thor_alone attributes {recipe = {optimizer = "thor"}} {
}
