// Loops over steps: what recurrent layers and their gradients are. They have a
// header of their own (scan_ops.h), since few sources need them.

#ifndef GRADUS_SCAN_OPS_TD
#define GRADUS_SCAN_OPS_TD

include "ir/dialect.td"
include "ir/interfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ScanOp : GradusOp<"scan", [Pure, AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<Decomposable, ["staysWhole"]>,
    DeclareOpInterfaceMethods<SummingInterface>]> {
  let summary = "Runs its body once for each step, with values that go from step to step";
  let description = [{
    The arguments of the body are the `carry` values, of each tensor in `over`
    the slice of the step along its first dimension, and the tensors in `with`,
    which are the same in each step. The body yields the next values of `carry`,
    then what each further result has as its slice of the step. Results are the
    last values of `carry`, then the stacked slices. A `reverse` scan goes from
    the last step to the first; slices stay in their places.

    Ops of the body have no effects, are the same in training, draw no random
    numbers, and are no scans.

    The gradient is a scan in the other direction over what the forward one
    stacks for it. What a tensor in `with` gets of a matmul or a broadcast is
    computed of all steps at once behind it; of other ops it is summed up in
    the scan.

    Example:

    ```mlir
    gradus.graph @decaying_sums(%x: tensor<5x4xf32>, %start: tensor<4xf32>, %decay: tensor<4xf32>) -> (sums: tensor<5x4xf32>) {
      %last, %sums = gradus.scan 5 carry(%start : tensor<4xf32>) over(%x : tensor<5x4xf32>) with(%decay : tensor<4xf32>) body {
      ^bb0(%sum: tensor<4xf32>, %now: tensor<4xf32>, %factor: tensor<4xf32>):
        %kept = arith.mulf %sum, %factor : tensor<4xf32>
        %next = arith.addf %kept, %now : tensor<4xf32>
        gradus.yield %next, %next : tensor<4xf32>, tensor<4xf32>
      } -> tensor<4xf32>, tensor<5x4xf32>
      gradus.return %sums : tensor<5x4xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$steps, UnitAttr:$reverse,
                       Variadic<AnyStaticTensor>:$carried,
                       Variadic<AnyStaticTensor>:$sequences,
                       Variadic<AnyStaticTensor>:$invariants);
  let results = (outs Variadic<AnyStaticTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $steps (`reverse` $reverse^)? (`carry` `(` $carried^ `:` type($carried) `)`)?
    (`over` `(` $sequences^ `:` type($sequences) `)`)?
    (`with` `(` $invariants^ `:` type($invariants) `)`)?
    attr-dict `body` $body `->` type($results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
    /// What the body yields: the next carried values, then slices.
    ::mlir::OperandRange getYielded() { return getBodyBlock().getTerminator()->getOperands(); }
    /// The arguments of the body.
    auto getCarriedArguments() { return getBodyBlock().getArguments().take_front(getCarried().size()); }
    auto getSlices() { return getBodyBlock().getArguments().slice(getCarried().size(), getSequences().size()); }
    auto getInvariantArguments() { return getBodyBlock().getArguments().take_back(getInvariants().size()); }
  }];
}

def YieldOp : GradusOp<"yield", [Pure, Terminator, HasParent<"ScanOp">]> {
  let summary = "Ends the body of a scan with its values";
  let description = [{
    The next values of `carry`, then the slices of the scan's further results.

    Example:

    ```mlir
    gradus.graph @powers(%one: tensor<f32>, %base: tensor<f32>) -> (powers: tensor<8xf32>) {
      %last, %powers = gradus.scan 8 carry(%one : tensor<f32>) with(%base : tensor<f32>) body {
      ^bb0(%power: tensor<f32>, %factor: tensor<f32>):
        %next = arith.mulf %power, %factor : tensor<f32>
        gradus.yield %next, %power : tensor<f32>, tensor<f32>
      } -> tensor<f32>, tensor<8xf32>
      gradus.return %powers : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif
