// Matmuls, normalizations and attention of programs written in C++; see
// program_builder.h.

#include "frontends/builder/program_builder.h"

#include "ir/build.h"
#include "messages/message.h"

#include <cmath>

namespace gradus {

using namespace mlir;

//===-- matmuls -----------------------------------------------------------===//

/// Returns the product of all dimensions but the last.
static int64_t rowsOf(const Shape &shape) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  return rows;
}

/// Returns `shape` with another last dimension.
static Shape withLast(Shape shape, int64_t last) {
  shape.back() = last;
  return shape;
}

Tensor ProgramBuilder::matmul(Tensor a, Tensor b, bool transposeB) {
  if (lacks({a, b}))
    return {};
  Shape left = a.shape(), right = b.shape();
  bool isFlat = right.size() == 2 && left.size() > 2;
  bool fit = right.size() >= 2 && left.size() >= right.size() &&
             left.back() == right[right.size() - (transposeB ? 1 : 2)];
  if (fit && !isFlat)
    fit = std::equal(left.begin(), left.end() - 2, right.begin(),
                     right.end() - 2);
  if (fails(!fit, message("matmul: shapes [", joined(left), "] and [",
                          joined(right), "] do not multiply",
                          transposeB ? ", the second transposed" : "")))
    return {};
  Location location = numbered("matmul");
  Value flat = isFlat ? gradus::reshape(builder_, location, a.value(),
                                        {rowsOf(left), left.back()})
                      : a.value();
  Value product = gradus::matmul(builder_, location, flat, b.value(),
                                 /*transposeA=*/false, transposeB);
  Shape shape = withLast(left, right[right.size() - (transposeB ? 2 : 1)]);
  return Tensor(isFlat ? gradus::reshape(builder_, location, product, shape)
                       : product);
}

Tensor ProgramBuilder::dense(const std::string &layer, Tensor x,
                             int64_t features, bool bias) {
  if (lacks({x}) ||
      fails(x.shape().size() < 2,
            message(layer, ": its input has shape [", joined(x.shape()),
                    "], expected rank 2 or more")))
    return {};
  Shape shape = x.shape();
  Tensor weight = parameter(layer + ".weight", {features, shape.back()});
  if (lacks({weight}))
    return {};
  Value flat = gradus::reshape(builder_, named(layer), x.value(),
                               {rowsOf(shape), shape.back()});
  Tensor y(gradus::matmul(builder_, named(layer), flat, weight.value(),
                          /*transposeA=*/false, /*transposeB=*/true));
  if (bias)
    y = plusBias(layer, y);
  return lacks({y}) ? Tensor()
                    : Tensor(gradus::reshape(builder_, named(layer), y.value(),
                                             withLast(shape, features)));
}

//===-- normalization -----------------------------------------------------===//

Tensor ProgramBuilder::buffer(const std::string &name, const Shape &shape,
                              double number) {
  InitAttr init = InitAttr::get(builder_.getContext(), Initializer::constant,
                                builder_.getF64FloatAttr(number));
  return declare(name, shape, init, {}, Role::buffer);
}

Tensor ProgramBuilder::batchNorm(const std::string &layer, Tensor x,
                                 double epsilon, double momentum) {
  if (lacks({x}) ||
      fails(x.shape().size() < 2,
            message(layer, ": its input has shape [", joined(x.shape()),
                    "], expected rank 2 or more")))
    return {};
  Shape channels = {x.shape()[1]};
  Tensor scale =
      parameter(layer + ".weight", channels, Initializer::constant, 1.0);
  Tensor bias = parameter(layer + ".bias", channels, Initializer::zeros);
  Tensor mean = buffer(layer + ".running_mean", channels, 0);
  Tensor variance = buffer(layer + ".running_var", channels, 1);
  if (lacks({scale, bias, mean, variance}))
    return {};
  return Tensor(BatchNormOp::create(
      builder_, named(layer), x.value(), scale.value(), bias.value(),
      mean.value(), variance.value(), builder_.getF64FloatAttr(epsilon),
      builder_.getF64FloatAttr(momentum)));
}

Tensor ProgramBuilder::layerNorm(const std::string &layer, Tensor x,
                                 double epsilon) {
  if (lacks({x}) ||
      fails(x.shape().empty(), message(layer, ": its input is a scalar")))
    return {};
  Shape row = {x.shape().back()};
  Tensor scale = parameter(layer + ".weight", row, Initializer::constant, 1.0);
  Tensor bias = parameter(layer + ".bias", row, Initializer::zeros);
  if (lacks({scale, bias}))
    return {};
  return Tensor(LayerNormOp::create(builder_, named(layer), x.value().getType(),
                                    /*rms=*/false, x.value(), scale.value(),
                                    bias.value(), APFloat(epsilon)));
}

//===-- functions ---------------------------------------------------------===//

Tensor ProgramBuilder::gelu(Tensor x, bool byTanh) {
  if (lacks({x}))
    return {};
  return Tensor(GeluOp::create(builder_, numbered("gelu"), x.value().getType(),
                               x.value(), byTanh));
}

Tensor ProgramBuilder::softmax(Tensor x) {
  if (lacks({x}) || fails(x.shape().empty(), "softmax: its input is a scalar"))
    return {};
  return Tensor(SoftmaxOp::create(builder_, numbered("softmax"), /*log=*/false,
                                  x.value(), int64_t(x.shape().size()) - 1));
}

Tensor ProgramBuilder::scale(Tensor x, double factor) {
  if (lacks({x}))
    return {};
  return Tensor(arith::MulFOp::create(builder_, numbered("scale"), x.value(),
                                      splatLike(builder_, x.value(), factor)));
}

Tensor ProgramBuilder::globalAveragePool(Tensor x) {
  if (lacks({x}) ||
      fails(x.shape().size() < 3,
            message("global_average_pool: its input has shape [",
                    joined(x.shape()), "], expected rank 3 or more")))
    return {};
  SmallVector<int64_t> axes;
  for (size_t d = 2; d < x.shape().size(); ++d)
    axes.push_back(d);
  return Tensor(
      mean(builder_, numbered("global_average_pool"), x.value(), axes));
}

Tensor ProgramBuilder::transpose(Tensor x, const Shape &permutation) {
  Shape sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  if (lacks({x}) || fails(ArrayRef<int64_t>(sorted) !=
                              ArrayRef<int64_t>(allAxes(x.shape().size())),
                          message("transpose: [", joined(permutation),
                                  "] does not permute the axes of [",
                                  joined(x.shape()), "]")))
    return {};
  return Tensor(gradus::transpose(builder_, numbered("transpose"), x.value(),
                                  permutation));
}

Tensor ProgramBuilder::slice(Tensor x, int64_t axis, int64_t start,
                             int64_t size) {
  if (lacks({x}))
    return {};
  Shape shape = x.shape();
  bool fits = axis >= 0 && axis < int64_t(shape.size()) && start >= 0 &&
              size > 0 && start + size <= shape[axis];
  if (fails(!fits, message("slice: [", joined(shape), "] has no places ", start,
                           " to ", start + size - 1, " along axis ", axis)))
    return {};
  Shape starts(shape.size(), 0), steps(shape.size(), 1);
  starts[axis] = start;
  shape[axis] = size;
  return Tensor(SliceOp::create(builder_, numbered("slice"),
                                tensorType(x.value()).clone(shape), x.value(),
                                starts, steps));
}

Tensor ProgramBuilder::lookUp(Tensor table, Tensor ids) {
  if (lacksRank(table, 2, "look_up") || lacksIntegers(ids, "look_up"))
    return {};
  Shape shape = ids.shape();
  shape.push_back(table.shape()[1]);
  return Tensor(GatherOp::create(
      builder_, numbered("look_up"), tensorType(table.value()).clone(shape),
      table.value(), ids.value(), /*axis=*/0, /*batch_dims=*/0));
}

//===-- attention ---------------------------------------------------------===//

/// [N, length, count * width] -> [N, count, length, width]
Tensor ProgramBuilder::heads(Tensor x, int64_t count) {
  if (lacksRank(x, 3, "attention") ||
      fails(count < 1 || x.shape()[2] % count,
            message("attention: ", x.shape()[2],
                    " features do not divide into ", count, " heads")))
    return {};
  Shape shape = x.shape();
  return transpose(reshape(x, {shape[0], shape[1], count, shape[2] / count}),
                   {0, 2, 1, 3});
}

/// Returns a mask of the visible keys, [N, 1, 1, keys]; null if all are
/// visible.
Value ProgramBuilder::shown(Tensor key, const AttentionOptions &options) {
  Value mask = options.mask.value();
  Shape keys = {key.shape()[0], key.shape()[2]};
  if (!mask || lacksIntegers(options.mask, "attention") ||
      fails(options.mask.shape() != keys,
            message("attention: its mask has shape [",
                    joined(options.mask.shape()), "], expected [", keys[0],
                    ", ", keys[1], "]")))
    return {};
  Location location = numbered("attention_mask");
  Value shown =
      arith::CmpIOp::create(builder_, location, arith::CmpIPredicate::ne, mask,
                            splatLike(builder_, mask, 0));
  return gradus::reshape(builder_, location, shown, {keys[0], 1, 1, keys[1]});
}

Tensor ProgramBuilder::attention(Tensor query, Tensor key, Tensor value,
                                 int64_t count,
                                 const AttentionOptions &options) {
  Tensor q = heads(query, count), k = heads(key, count),
         v = heads(value, count);
  if (lacks({q, k, v}))
    return {};
  Shape shape = q.shape(), given = query.shape();
  if (fails(k.shape()[0] != shape[0] || k.shape()[3] != shape[3] ||
                v.shape()[0] != shape[0] || v.shape()[2] != k.shape()[2],
            message("attention: queries of shape [", joined(given),
                    "] do not fit keys of shape [", joined(key.shape()),
                    "] and values of shape [", joined(value.shape()), "]")))
    return {};
  Value mask = shown(k, options);
  auto op = AttentionOp::create(builder_, numbered("attention"), q.value(),
                                k.value(), v.value(), mask, options.causal,
                                1 / std::sqrt(double(shape[3])));
  return reshape(transpose(Tensor(op.getResult()), {0, 2, 1, 3}),
                 {given[0], given[1], value.shape().back()});
}

} // namespace gradus
