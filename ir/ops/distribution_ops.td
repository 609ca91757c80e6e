// Collectives: what the ranks of a run compute together.

#ifndef GRADUS_DISTRIBUTION_OPS_TD
#define GRADUS_DISTRIBUTION_OPS_TD

include "ir/communicator.td"
include "ir/ops/tensor_ops.td"

def AllReduceOp : GradusOp<"all_reduce", [
    MemoryEffects<[MemWrite<Communicator>]>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<CollectiveInterface>]> {
  let summary = "The sum of each operand over the ranks";
  let description = [{
    `results[i] = operands[i] of rank 0 + operands[i] of rank 1 + ...`, the same
    bits on every rank. The sum is one fixed tree, ((0 + 1) + (2 + 3)) + ...,
    however operands are joined to messages. Operands that travel together are
    one op, a bucket. The gradient of each operand is the sum of the gradients
    of its result over the ranks. In a program of one rank, such as the
    reference evaluator runs, results are the operands. It runs where all ranks
    run it, so one that nothing uses is removed.

    `of` names for each operand the parameter whose gradient it is, "" for what
    is none: reports show it, and buckets may be cut by it.

    Example:

    ```mlir
    gradus.graph @sums(%a: tensor<4xf32>, %b: tensor<f32>) -> (x: tensor<4xf32>, y: tensor<f32>) {
      %x, %y = gradus.all_reduce %a, %b : tensor<4xf32>, tensor<f32> -> tensor<4xf32>, tensor<f32>
      gradus.return %x, %y : tensor<4xf32>, tensor<f32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticTensor>:$operands,
                       DefaultValuedStrAttr<StrAttr, "data">:$axis,
                       OptionalAttr<StrArrayAttr>:$of);
  let results = (outs Variadic<AnyStaticTensor>:$results);
  let assemblyFormat = "$operands (`along` $axis^)? attr-dict `:` type($operands) `->` type($results)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The parameter whose gradient an operand is; "" for what is none.
    ::llvm::StringRef getParameter(unsigned operand);
    /// Names it for each operand; removes the attribute where all are "".
    void setParameters(::llvm::ArrayRef<::llvm::StringRef> names);
  }];
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operands), [{
    build($_builder, $_state, ::mlir::TypeRange(operands), operands,
          $_builder.getStringAttr("data"), /*of=*/nullptr);
  }]>];
}

#endif // GRADUS_DISTRIBUTION_OPS_TD
