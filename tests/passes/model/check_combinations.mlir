// RUN: gradus-opt %s --check-combinations --verify-diagnostics --split-input-file

// expected-error @below {{recipe: less_bn excludes freeze_batch_norm: a model whose normalizations are taken out is trained from the start}}
gradus.program @frozen attributes {recipe = {less_bn = {}, freeze_batch_norm = true}} {
}

// -----

// What is off excludes nothing.
gradus.program @off attributes {recipe = {less_bn = {}, freeze_batch_norm = false}} {
}
