// Collectives: what the ranks of a run compute together.

#ifndef GRADUS_DISTRIBUTION_OPS_TD
#define GRADUS_DISTRIBUTION_OPS_TD

include "ir/communicator.td"
include "ir/traits.td"
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
    run it, so one that nothing uses is removed, and so are operands whose results
    nothing uses, unless all operands are one vector.

    With `groups` ranks work on two levels: those of a group make a sum or a mean,
    and the groups combine these by AdaSum, or each keeps its own. AdaSum of two
    vectors is `(1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b`: the sum where
    they are orthogonal, the mean where they are equal. Where the number of groups
    is no power of two, the first ones make pairs, so many that it is one then;
    the results are combined in pairs of neighbours, up to one. Operands are f32,
    or all f64; it has no gradient.

    Across `gather` nothing is combined: the first axis of an operand counts ranks,
    of which each has its own part there, and the result has those of all. Parts are
    whole lines of 64 bytes, of any type.

    With `parts` it is half of an all-reduce: `scatter` gives each rank the sums in
    its own part of a result, and `gather` gives all ranks, of each operand, the
    parts that they have. What else an operand of `gather` or a result of `scatter`
    has is undefined (`gradus.part`, `gradus.whole`). It has no gradient.

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
                       OptionalAttr<StrArrayAttr>:$of,
                       OptionalAttr<GroupsAttr>:$groups,
                       OptionalAttr<PartsAttr>:$parts);
  let results = (outs Variadic<AnyStaticTensor>:$results);
  let assemblyFormat = "$operands (`along` $axis^)? attr-dict `:` type($operands) `->` type($results)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The parameter whose gradient an operand is; "" for what is none.
    ::llvm::StringRef getParameter(unsigned operand);
    /// Whether all ranks have the same results.
    bool isSharedByAll() {
      return (!getGroups() || getGroups()->getAcross() != AcrossGroups::nothing) &&
             (!getParts() || getParts()->getHalf() != HalfOfReduce::scatter);
    }
    /// Whether it sums whole operands over all ranks.
    bool isWhole() { return !getGroups() && !getParts(); }
    /// Whether ranks get the parts of all, rather than a sum.
    bool gathers() {
      return getGroups() && getGroups()->getAcross() == AcrossGroups::gather;
    }
    /// Names it for each operand; removes the attribute where all are "".
    void setParameters(::llvm::ArrayRef<::llvm::StringRef> names);
  }];
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operands), [{
    build($_builder, $_state, ::mlir::TypeRange(operands), operands,
          $_builder.getStringAttr("data"), /*of=*/nullptr, /*groups=*/nullptr,
          /*parts=*/nullptr);
  }]>];
}

class PartOfRanks<string mnemonic> : GradusOp<mnemonic, [Pure, NamesMemory, ReturnsExactNumbers,
    DeclareOpInterfaceMethods<Evaluable>]> {
  let arguments = (ins AnyStaticTensor:$input, I64Attr:$ranks);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$input `ranks` $ranks attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def PartOp : PartOfRanks<"part"> {
  let summary = "A rank's own part of a tensor";
  let description = [{
    The elements of a tensor, in row-major order, fall into as many equal parts as
    there are `ranks`: rank r has those from `r P` on, where P is the size of the
    result. Parts are whole multiples of 64 bytes; what lies behind the end of the
    tensor is undefined. The result is in the memory of the tensor.

    Example:

    ```mlir
    gradus.graph @own(%w: tensor<10x84xf32>) -> (part: tensor<432xf32>) {
      %part = gradus.part %w ranks 2 : tensor<10x84xf32> -> tensor<432xf32>
      gradus.return %part : tensor<432xf32>
    }
    ```
  }];
}

def WholeOp : PartOfRanks<"whole"> {
  let summary = "A tensor that has a rank's own part alone";
  let description = [{
    The reverse of `gradus.part`: the rank's own part of the result is the operand,
    and the others are undefined. A `gradus.all_reduce` of the half `gather` makes
    it whole. The operand is made in the memory of the result.

    Example:

    ```mlir
    gradus.graph @gathered(%own: tensor<432xf32>) -> (w: tensor<10x84xf32>) {
      %alone = gradus.whole %own ranks 2 : tensor<432xf32> -> tensor<10x84xf32>
      %w = gradus.all_reduce %alone {parts = #gradus.parts<gather ranks 2 unit 16>} : tensor<10x84xf32> -> tensor<10x84xf32>
      gradus.return %w : tensor<10x84xf32>
    }
    ```
  }];
}

def SelectLargestOp : GradusOp<"select_largest", [Pure, ReturnsExactNumbers,
    DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "The elements that are largest by their absolute value, and their indices";
  let description = [{
    The K elements of the input with the largest absolute values, where `indices`
    and `values` have K, in the order of their indices. Of equal ones those with the
    lowest indices are taken, so the result is exact on any device; a NaN is larger
    than any number. With `threshold` elements with a smaller absolute value are left
    out. Entries that are left over have as index the number of elements, at which
    `scatter_add` adds nothing, and the value 0.

    It has no gradient: what is selected is sent, after autodiff. CPUs alone have
    code for it.

    Example:

    ```mlir
    gradus.graph @largest(%x: tensor<1000xf32>, %t: tensor<f32>) -> (i: tensor<10xi32>, y: tensor<10xf32>, j: tensor<50xi32>, z: tensor<50xf32>) {
      %i, %y = gradus.select_largest %x : tensor<1000xf32> -> tensor<10xi32>, tensor<10xf32>
      %j, %z = gradus.select_largest %x from %t : tensor<1000xf32> from tensor<f32> -> tensor<50xi32>, tensor<50xf32>
      gradus.return %i, %y, %j, %z : tensor<10xi32>, tensor<10xf32>, tensor<50xi32>, tensor<50xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$input, Optional<FloatTensor>:$threshold);
  let results = (outs PositionTensor:$indices, FloatTensor:$values);
  let assemblyFormat = "$input (`from` $threshold^)? attr-dict `:` type($input) (`from` type($threshold)^)? `->` type($indices) `,` type($values)";
  let hasVerifier = 1;
}

#endif // GRADUS_DISTRIBUTION_OPS_TD
