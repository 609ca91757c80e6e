// RUN: not gradus compile %s -o %t.gradus 2>&1 | FileCheck %s

// A recipe that a program brings along is read as any other.
// CHECK: own_recipe_invalid.mlir: the recipe of its program: precision_x: unknown key; did you mean "precision"?
// CHECK: the recipe of its program: inputs: expected an object, found "x"
gradus.program @p attributes {recipe = {inputs = "x", precision_x = "bf16"}} {
  gradus.graph @predict(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
}
