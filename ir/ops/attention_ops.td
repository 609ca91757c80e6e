// Attention as one op, so that no pass and no kernel needs the probabilities of
// all queries and keys at once.

#ifndef GRADUS_ATTENTION_OPS_TD
#define GRADUS_ATTENTION_OPS_TD

include "ir/ops/random_ops.td"

def MaskTensor : AnyTypeOf<[FloatTensor, StaticTensorOf<RankedTensorOf<[I1]>>]>;

def AttentionOp : TensorOp<"attention", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Decomposable, ["staysWhole"]>]> {
  let summary = "softmax(scale Q K^T + mask) V, head by head";
  let description = [{
    Queries are `[N, H, Tq, D]`, keys `[N, H, Tk, D]`, values `[N, H, Tk, E]`.

    `score = scale * query key^T`; a float mask is added to the scores, a mask of
    truth values leaves those where it is true; with `causal` key j is seen by
    the queries i >= j alone. Each dimension of the mask is that of the scores
    `[N, H, Tq, Tk]` or 1, which repeats. Then

    `logsumexp = log sum_j exp(score)`, `result = sum_j exp(score - logsumexp) value`.

    `remainder` is what rounding took off the logsumexp: of scores near -1e9,
    where a float mask hides every key of a query, the logarithm of their number
    is as much as f32 rounds off. The probabilities are
    `exp(score - logsumexp - remainder)`, those of the softmax at any size of the
    scores; of a query whose scores have no digits left beside its mask they are
    all alike.

    A query that sees no key (all of its scores are -inf) has the result 0, the
    logsumexp 0 and no part in any gradient; the softmax alone would make NaN of
    it.

    `logsumexp` and `remainder` are what the gradient needs to compute the
    probabilities again instead of keeping them (Dao,
    https://arxiv.org/abs/2307.08691). The gradient of a float mask, such as a
    learned bias of positions, takes all probabilities at once; if nobody needs
    it, nobody computes it.

    `dropout` is the part of the probabilities that training drops. With `step`,
    which `train-dropout` gives it, the probability at place i of
    `[N, H, Tq, Tk]` counts 0 where `gradus.random_bits` of step, stream and seed
    is less than `dropout 2^32`, and `1 / (1 - dropout)` times itself elsewhere:
    what `gradus.dropout` makes of all of them. With `first` places are counted
    from that number on, as in `gradus.random_bits`. The logsumexp is as it was.

    Example:

    ```mlir
    gradus.graph @attend(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                         %bias: tensor<2x1x1x8xf32>) -> (y: tensor<2x4x8x16xf32>, z: tensor<2x4x8x16xf32>) {
      %y, %l:2 = gradus.attention %q, %k, %v causal {scale = 0.25 : f64}
          : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
          -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      %z, %m:2 = gradus.attention %q, %k, %v mask %bias {scale = 0.25 : f64}
          : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x1x8xf32>)
          -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      gradus.return %y, %z : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$query, FloatTensor:$key, FloatTensor:$value,
                       Optional<MaskTensor>:$mask, Optional<CounterTensor>:$step,
                       Optional<CounterTensor>:$first,
                       UnitAttr:$causal, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$seed);
  let results = (outs FloatTensor:$result, FloatTensor:$logsumexp, FloatTensor:$remainder);
  let assemblyFormat = "$query `,` $key `,` $value (`mask` $mask^)? (`step` $step^)? (`from` $first^)? (`causal` $causal^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
      "::mlir::Value":$value, "::mlir::Value":$mask, "bool":$causal,
      "double":$scale, CArg<"::mlir::FloatAttr", "{}">:$dropout)>];
}

def AttentionBackwardOp : GradusOp<"attention_backward", [Pure,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<Decomposable, ["staysWhole"]>]> {
  let summary = "The gradients of attention's queries, keys and values";
  let description = [{
    With the probabilities `P = exp(score - logsumexp - remainder)` of
    `gradus.attention`, computed again, the gradient g of its result and
    `delta = sum_e g result` (one for each query):

    `dvalue = P^T g`, `dscore = P (g value^T - delta)`,
    `dquery = scale dscore key`, `dkey = scale dscore^T query`.

    With dropout each probability has a factor Z, 0 or `1 / (1 - dropout)`, drawn
    again: `dvalue = (Z P)^T g`, `dscore = P (Z g value^T - delta)`.

    Example:

    ```mlir
    gradus.graph @slopes(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                         %l: tensor<2x4x8xf32>, %r: tensor<2x4x8xf32>,
                         %g: tensor<2x4x8x16xf32>, %delta: tensor<2x4x8xf32>)
        -> (dq: tensor<2x4x8x16xf32>, dk: tensor<2x4x8x16xf32>, dv: tensor<2x4x8x16xf32>) {
      %dq, %dk, %dv = gradus.attention_backward %q, %k, %v, %l, %r, %g, %delta causal {scale = 0.25 : f64}
          : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>,
             tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>)
          -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
      gradus.return %dq, %dk, %dv : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    }
    ```
  }];
  let arguments = (ins FloatTensor:$query, FloatTensor:$key, FloatTensor:$value,
                       FloatTensor:$logsumexp, FloatTensor:$remainder,
                       FloatTensor:$gradient, FloatTensor:$delta,
                       Optional<MaskTensor>:$mask, Optional<CounterTensor>:$step,
                       Optional<CounterTensor>:$first,
                       UnitAttr:$causal, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$seed);
  let results = (outs FloatTensor:$query_gradient, FloatTensor:$key_gradient, FloatTensor:$value_gradient);
  let assemblyFormat = "$query `,` $key `,` $value `,` $logsumexp `,` $remainder `,` $gradient `,` $delta (`mask` $mask^)? (`step` $step^)? (`from` $first^)? (`causal` $causal^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
