// Passes that find in the model what is computed as one op, or in 16 bits.

include "passes/pass_base.td"

def RecognizeAttention : GradusPass<"recognize-attention"> {
  let summary = "Replaces the matmuls and the softmax that exporters write for attention by one op";
  let description = [{
    Replaces `matmul(softmax(scale * matmul(q, k^T) + mask), v)` by
    `gradus.attention`, if the scores and the probabilities have no other uses:

    * Constant factors of q, k^T and the scores, and constant divisors of the
      scores, give the scale.
    * A summand of the scores is the mask, before it is broadcast; so is a
      selection between a score and -inf, or, if it is known to leave each query
      a key, a number of at most -1e9. Only a constant condition, possibly
      broadcast over other dimensions than the keys, is known to do so; one
      that is computed of positions is taken with -inf alone.
    * A mask that hides from each query exactly the keys after it is `causal`,
      if it is a constant or computed of constants and positions. Floats are
      rounded to their element type after each op. The pass evaluates at most
      2^25 elements in total, summed over the ops of all masks, and frees them
      after their last use: eight ops for a mask of 2048 x 2048. The layers
      share one evaluation of the same mask. A mask beyond that is not
      evaluated and remains an operand of the attention.
    * A selection of 0 if the softmax is NaN, which newer exporters write for
      queries without keys, is removed: the op gives zeros for such queries.
    * Transposes of k are undone.
    * A dropout of the probabilities becomes the op's own.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xf32>) -> (y: tensor<2x4x8x16xf32>) {
        %root = arith.constant dense<0.5> : tensor<2x4x8x16xf32>
        %0 = arith.mulf %q, %root : tensor<2x4x8x16xf32>
        %1 = gradus.matmul %0, %k : tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32> -> tensor<2x4x8x8xf32>
        %2 = gradus.broadcast %m dims [0, 1, 2, 3] : tensor<2x1x8x8xf32> -> tensor<2x4x8x8xf32>
        %3 = arith.addf %1, %2 : tensor<2x4x8x8xf32>
        %4 = gradus.softmax %3 axis 3 : tensor<2x4x8x8xf32>
        %y = gradus.matmul %4, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
        gradus.return %y : tensor<2x4x8x16xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xf32>) -> (y: tensor<2x4x8x16xf32>) {
        %0 = gradus.transpose %k perm [0, 1, 3, 2] : tensor<2x4x16x8xf32> -> tensor<2x4x8x16xf32>
        %y, %l:2 = gradus.attention %q, %0, %v mask %m {scale = 0.5 : f64}
            : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x8x8xf32>)
            -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
        gradus.return %y : tensor<2x4x8x16xf32>
      }
    }
    ```
  }];
}

def RecognizeGelu : GradusPass<"recognize-gelu"> {
  let summary = "Replaces the products that exporters write for gelu by one op";
  let description = [{
    `0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))` and
    `0.5 x (1 + erf(x / sqrt(2)))` become `gradus.gelu`, in any order of
    factors; the relative difference of constants may be 1e-4.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %root = arith.constant dense<1.41421354> : tensor<4xf32>
        %one = arith.constant dense<1.0> : tensor<4xf32>
        %half = arith.constant dense<0.5> : tensor<4xf32>
        %0 = arith.divf %x, %root : tensor<4xf32>
        %1 = math.erf %0 : tensor<4xf32>
        %2 = arith.addf %1, %one : tensor<4xf32>
        %3 = arith.mulf %x, %2 : tensor<4xf32>
        %y = arith.mulf %3, %half : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %y = gradus.gelu %x : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```
  }];
}

def MixedPrecision : GradusPass<"mixed-precision"> {
  let summary = "Computes matmuls and convolutions in 16 bits, as the recipe's precision requests";
  let description = [{
    With `precision` "bf16" or "f16" in the recipe, rewrites `@predict`:

    * Matmuls and convolutions have 16-bit operands and sum in f32. Parameters
      are rounded where they are read; their states stay f32.
    * A bias that is added to a matmul is rounded, too, and their sum once.
    * Values derived from these are stored in 16 bits, also through batch norms,
      max pooling, relu and moves of elements. Other arithmetic is in f32, of
      which only the final result is rounded, if no operand is wider.
    * So are operands of matmuls in the steps of a scan, whose sums stay in the
      step as they are. Weights are rounded outside, once.
    * All else is f32: softmax, layer norms, sums and means, attention,
      embeddings, losses.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {precision = "bf16"}} {
      gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %w = gradus.read @w : tensor<8x4xf32>
        %0 = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
        %y = gradus.relu %0 : tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {precision = "bf16"}} {
      gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %0 = arith.truncf %x : tensor<2x4xf32> to tensor<2x4xbf16>
        %w = gradus.read @w : tensor<8x4xf32>
        %1 = arith.truncf %w : tensor<8x4xf32> to tensor<8x4xbf16>
        %2 = gradus.matmul %0, %1 transposed : tensor<2x4xbf16>, tensor<8x4xbf16> -> tensor<2x8xf32>
        %3 = arith.truncf %2 : tensor<2x8xf32> to tensor<2x8xbf16>
        %4 = gradus.relu %3 : tensor<2x8xbf16>
        %y = arith.extf %4 : tensor<2x8xbf16> to tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
    }
    ```
  }];
}
