// Passes on whole ops: library calls and their layouts.

#ifndef GRADUS_CODEGEN_STAGE_SELECT_TD
#define GRADUS_CODEGEN_STAGE_SELECT_TD

include "mlir/Pass/PassBase.td"

def Select : Pass<"select", "::gradus::ProgramOp"> {
  let summary = "Gives large products and convolutions to the vendor's library";
  let description = [{
    Matrix products and convolutions of `f32` and `bf16` become `plan.library` calls where
    the library (oneDNN on CPU) is faster than our own code: from 50 MFLOP on,
    with 32 channels or more. On cards (`provider=cuda`: cuBLASLt and cuDNN)
    those of `f16` do too, from 4 MFLOP on, and attention where the recipe
    computes in 16 bits, with a mask or without, unless it is learned. A bias and
    an activation that nobody else reads before become the call's epilogue. On
    cards a product of matrices may also give what
    a gelu (tanh) behind it is of, for the gradient, take gelu's gradient in, and
    give the sum of an operand along what is multiplied: beside the gradient of
    weights that of their bias. Convolutions run in the layouts that the library
    asks for, with `reorder` calls around them.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (y: tensor<512x512xf32>) {
        %0 = gradus.matmul %x, %w : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
        gradus.return %0 : tensor<512x512xf32>
      }
    }
    ```

    After (layouts left out):

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (y: tensor<512x512xf32>) {
        %0 = plan.library "matmul"(%x, %w) config {} layouts [] {flops = 268435456 : i64, label = "matmul"} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
        gradus.return %0 : tensor<512x512xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"library", "library", "std::string", /*default=*/"\"auto\"",
           "Which products: auto (by size), never, always">,
    Option<"narrow", "narrow", "bool", /*default=*/"true",
           "Products of bf16 too: the target has instructions for them">,
    Option<"provider", "provider", "std::string", /*default=*/"\"onednn\"",
           "Whose library: onednn, or cuda's">,
    Option<"epilogues", "epilogues", "std::string", /*default=*/"\"all\"",
           "What goes with products: all that the library takes, bias alone, or none">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def PropagateLayouts : Pass<"propagate-layouts", "::gradus::ProgramOp"> {
  let summary = "Lets the work between library calls run on blocked channels";
  let description = [{
    The library's convolutions have activations as `[N, C/16, H, W, 16]`, on
    cards as `[N, 1, H, W, C]`.
    Elementwise ops between them run in that shape, broadcasts along channels
    are made in it, and reductions that leave nothing behind the channels read
    it. A reorder that undoes another goes, and so does what nobody reads.
    Weights are reordered by the library, as their layouts differ from call to
    call.

    Before (configurations left out):

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<2x2x5x5x16xf32>, %c: tensor<32xf32>) -> (y: tensor<2x2x5x5x16xf32>, s: tensor<32xf32>) {
        %0 = plan.library "reorder"(%x) config {} layouts [{blocks}, {plain} ] {label = "reorder"} : (tensor<2x2x5x5x16xf32>) -> tensor<2x32x5x5xf32>
        %1 = gradus.relu %0 : tensor<2x32x5x5xf32>
        %2 = gradus.broadcast %c dims [1] : tensor<32xf32> -> tensor<2x32x5x5xf32>
        %3 = arith.mulf %1, %2 : tensor<2x32x5x5xf32>
        %4 = gradus.reduce sum %3 axes [0, 2, 3] : tensor<2x32x5x5xf32> -> tensor<32xf32>
        %5 = plan.library "reorder"(%3) config {} layouts [{plain}, {blocks} ] {label = "reorder"} : (tensor<2x32x5x5xf32>) -> tensor<2x2x5x5x16xf32>
        gradus.return %5, %4 : tensor<2x2x5x5x16xf32>, tensor<32xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<2x2x5x5x16xf32>, %c: tensor<32xf32>) -> (y: tensor<2x2x5x5x16xf32>, s: tensor<32xf32>) {
        %0 = gradus.relu %x : tensor<2x2x5x5x16xf32>
        %1 = gradus.reshape %c : tensor<32xf32> -> tensor<2x16xf32>
        %2 = gradus.broadcast %1 dims [1, 4] : tensor<2x16xf32> -> tensor<2x2x5x5x16xf32>
        %3 = arith.mulf %0, %2 : tensor<2x2x5x5x16xf32>
        %4 = gradus.reduce sum %3 axes [0, 2, 3] : tensor<2x2x5x5x16xf32> -> tensor<2x16xf32>
        %5 = gradus.reshape %4 : tensor<2x16xf32> -> tensor<32xf32>
        gradus.return %3, %5 : tensor<2x2x5x5x16xf32>, tensor<32xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"provider", "provider", "std::string", /*default=*/"\"onednn\"",
           "Whose library: onednn, or cuda's, which reorders nothing: reorders become transposes">,
  ];
  let dependentDialects = ["::gradus::plan::PlanDialect"];
}

def MergeRows : Pass<"merge-rows", "::gradus::ProgramOp"> {
  let summary = "Keeps the rows of matrices in one dimension between products";
  let description = [{
    A value that is a view `[N, T, ...]` of a matrix `[N T, ...]` is worked on as
    the matrix: elementwise ops, broadcasts and reductions of rows or of all of
    them. Rows are the items of kernels, and where they are in one dimension a
    layer norm or a softmax with its loss is one kernel on a card.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> (y: tensor<6x8xf32>, s: tensor<2x3xf32>) {
        %0 = gradus.reshape %x : tensor<6x8xf32> -> tensor<2x3x8xf32>
        %1 = gradus.broadcast %b dims [2] : tensor<8xf32> -> tensor<2x3x8xf32>
        %2 = arith.addf %0, %1 : tensor<2x3x8xf32>
        %3 = gradus.reduce sum %2 axes [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
        %4 = gradus.reshape %2 : tensor<2x3x8xf32> -> tensor<6x8xf32>
        gradus.return %4, %3 : tensor<6x8xf32>, tensor<2x3xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> (y: tensor<6x8xf32>, s: tensor<2x3xf32>) {
        %0 = gradus.broadcast %b dims [1] : tensor<8xf32> -> tensor<6x8xf32>
        %1 = arith.addf %x, %0 : tensor<6x8xf32>
        %2 = gradus.reduce sum %1 axes [1] : tensor<6x8xf32> -> tensor<6xf32>
        %3 = gradus.reshape %2 : tensor<6xf32> -> tensor<2x3xf32>
        gradus.return %1, %3 : tensor<6x8xf32>, tensor<2x3xf32>
      }
    }
    ```
  }];
}

#endif
