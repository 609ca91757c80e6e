// ONNX ops with a sliding window: convolution and pooling.

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/max_places.h"
#include "frontends/onnx/operators/operators.h"

#include "ir/build.h"
#include "ir/window.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

//===-- the window --------------------------------------------------------===//

/// The window of a node, with explicit paddings.
struct Sliding {
  SmallVector<int64_t> size, strides, padsBegin, padsEnd, dilations;

  Window window() const {
    return {size, strides, padsBegin, padsEnd, dilations};
  }
};

absl::Status checkWindow(const Node &node, const Sliding &sliding,
                         ArrayRef<int64_t> pads, size_t rank) {
  auto check = [&](const char *what, ArrayRef<int64_t> values, size_t count,
                   int64_t least) {
    bool fits =
        values.size() == count && llvm::all_of(values, [&](int64_t value) {
          return value >= least && value <= INT32_MAX;
        });
    return fits ? absl::OkStatus()
                : node.error(what, " is [", joined(values), "], expected ",
                             count, " numbers of at least ", least);
  };
  GRADUS_RETURN_IF_ERROR(check("kernel_shape", sliding.size, rank, 1));
  GRADUS_RETURN_IF_ERROR(check("strides", sliding.strides, rank, 1));
  GRADUS_RETURN_IF_ERROR(check("dilations", sliding.dilations, rank, 1));
  return check("pads", pads, 2 * rank, 0);
}

/// auto_pad SAME_*: pads so that there are ceil(size / stride) windows; an odd
/// element goes to one end.
void padToSame(Sliding &sliding, ArrayRef<int64_t> spatial, bool oddAtEnd) {
  for (size_t d = 0; d < spatial.size(); ++d) {
    int64_t stride = sliding.strides[d],
            count = (spatial[d] + stride - 1) / stride;
    int64_t total = std::max<int64_t>(
        0, (count - 1) * stride + sliding.window().reach(d) - spatial[d]);
    sliding.padsBegin[d] = oddAtEnd ? total / 2 : total - total / 2;
    sliding.padsEnd[d] = total - sliding.padsBegin[d];
  }
}

/// Checks the paddings. Some exporters write pads of 0 beside auto_pad, which
/// contradict nothing.
absl::Status judgeWindow(const Node &node) {
  std::string mode = node.text("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"},
                          mode))
    return node.error("auto_pad is \"", mode,
                      "\", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  SmallVector<int64_t> pads = node.integers("pads");
  if (mode == "NOTSET" ||
      llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return absl::OkStatus();
  return node.error("has pads [", joined(pads), "] beside auto_pad \"", mode,
                    "\": ONNX allows one of both; remove the one that the "
                    "model does not mean");
}

absl::StatusOr<Sliding> readWindow(const Node &node, ArrayRef<int64_t> size,
                                   ArrayRef<int64_t> spatial) {
  size_t rank = spatial.size();
  SmallVector<int64_t> ones(rank, 1), none(2 * rank, 0);
  SmallVector<int64_t> pads = node.integers("pads", none);
  Sliding sliding = {SmallVector<int64_t>(size),
                     node.integers("strides", ones),
                     {},
                     {},
                     node.integers("dilations", ones)};
  GRADUS_RETURN_IF_ERROR(checkWindow(node, sliding, pads, rank));
  sliding.padsBegin.assign(pads.begin(), pads.begin() + rank);
  sliding.padsEnd.assign(pads.begin() + rank, pads.end());
  std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
    padToSame(sliding, spatial, mode == "SAME_UPPER");
  return sliding;
}

/// ceil_mode: pads the end until a last, partial window fits, as long as it
/// starts inside of the input or the padding before it.
void padForPartialWindows(Sliding &sliding, ArrayRef<int64_t> spatial) {
  for (size_t d = 0; d < spatial.size(); ++d) {
    int64_t stride = sliding.strides[d];
    int64_t room = spatial[d] + sliding.padsBegin[d] + sliding.padsEnd[d] -
                   sliding.window().reach(d);
    bool isPartial = room >= 0 && room % stride != 0;
    int64_t start = (room / stride + 1) * stride; // of the partial window
    if (isPartial && start < spatial[d] + sliding.padsBegin[d])
      sliding.padsEnd[d] += start - room;
  }
}

/// [N, channels, windows...]
absl::StatusOr<SmallVector<int64_t>> resultShape(const Node &node,
                                                 const Sliding &sliding,
                                                 ArrayRef<int64_t> input,
                                                 int64_t channels) {
  SmallVector<int64_t> shape = {input[0], channels};
  for (size_t d = 0; d + 2 < input.size(); ++d) {
    shape.push_back(sliding.window().outputSize(d, input[d + 2]));
    if (shape.back() < 1)
      return node.error("its window of ", sliding.window().reach(d),
                        " elements does not fit into ", input[d + 2],
                        " elements with pads ", sliding.padsBegin[d], " and ",
                        sliding.padsEnd[d]);
  }
  return shape;
}

absl::Status checkImage(const Node &node, Value input) {
  int64_t rank = tensorType(input).getRank();
  if (rank < 3 || rank > 5)
    return node.error("its input \"", node.input(0).str(), "\" has rank ", rank,
                      ", expected [N, C] and 1 to 3 spatial axes");
  return absl::OkStatus();
}

//===-- convolution -------------------------------------------------------===//

absl::Status checkKernelShape(const Node &node, ArrayRef<int64_t> weight) {
  SmallVector<int64_t> kernel =
      node.integers("kernel_shape", weight.drop_front(2));
  if (ArrayRef<int64_t>(kernel) != weight.drop_front(2))
    return node.error("kernel_shape is [", joined(kernel),
                      "], but its weight has shape [", joined(weight), "]");
  return absl::OkStatus();
}

absl::Status checkWeight(const Node &node, ArrayRef<int64_t> input,
                         ArrayRef<int64_t> weight, int64_t groups) {
  if (weight.size() != input.size())
    return node.error("its weight has rank ", weight.size(), ", its input ",
                      input.size());
  if (groups < 1 || weight[0] % groups || input[1] != weight[1] * groups)
    return node.error("a weight of shape [", joined(weight), "] in ", groups,
                      " groups does not fit an input of ", input[1],
                      " channels");
  return checkKernelShape(node, weight);
}

/// Whether there is a real bias. PyTorch's exporter gives 3-d convolutions
/// without a bias one of zeros, with an invalid shape [C, 2].
bool hasBias(const Importer &importer, const Node &node) {
  const Constant *known = importer.constant(node, 2);
  bool isZero = known && known->tensor.isFloat &&
                llvm::all_of(known->tensor.floats,
                             [](double value) { return value == 0; });
  return !node.input(2).empty() && !isZero;
}

absl::StatusOr<Value> plusChannelBias(Importer &importer, const Node &node,
                                      Value image) {
  if (!hasBias(importer, node))
    return image;
  GRADUS_ASSIGN_OR_RETURN(Value bias, importer.value(node, 2, 1));
  ArrayRef<int64_t> shape = tensorType(image).getShape();
  if (tensorType(bias).getDimSize(0) != shape[1])
    return node.error("its bias has ", tensorType(bias).getDimSize(0),
                      " elements, expected ", shape[1]);
  Location location = importer.location(node);
  bias = broadcast(importer.builder, location, bias, shape, {1});
  return arith::AddFOp::create(importer.builder, location, image, bias)
      .getResult();
}

/// Defines the convolution of a node and adds its bias.
template <typename Op>
absl::Status defineConvolution(Importer &importer, const Node &node,
                               const Sliding &sliding, ArrayRef<int64_t> result,
                               int64_t groups) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value weight, importer.value(node, 1));
  Value image = Op::create(
      importer.builder, importer.location(node),
      RankedTensorType::get(result, tensorType(input).getElementType()), input,
      weight, sliding.strides, sliding.padsBegin, sliding.padsEnd,
      sliding.dilations, groups);
  GRADUS_ASSIGN_OR_RETURN(Value biased, plusChannelBias(importer, node, image));
  return importer.define(node, 0, biased);
}

absl::Status conv(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value weight, importer.value(node, 1));
  GRADUS_RETURN_IF_ERROR(checkImage(node, input));
  ArrayRef<int64_t> shape = tensorType(input).getShape(),
                    kernel = tensorType(weight).getShape();
  int64_t groups = node.integer("group", 1);
  GRADUS_RETURN_IF_ERROR(checkWeight(node, shape, kernel, groups));
  GRADUS_ASSIGN_OR_RETURN(
      Sliding sliding,
      readWindow(node, kernel.drop_front(2), shape.drop_front(2)));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> result,
                          resultShape(node, sliding, shape, kernel[0]));
  return defineConvolution<ConvolutionOp>(importer, node, sliding, result,
                                          groups);
}

//===-- transposed convolution --------------------------------------------===//

/// Computes paddings that give a transposed convolution the wanted size, half
/// at each end; an odd element goes to the end only for SAME_UPPER.
absl::Status padToShape(const Node &node, Sliding &sliding,
                        ArrayRef<int64_t> input, ArrayRef<int64_t> wanted,
                        ArrayRef<int64_t> extra) {
  bool oddAtEnd = node.text("auto_pad", "NOTSET") == "SAME_UPPER";
  for (size_t d = 0; d < input.size(); ++d) {
    int64_t full = sliding.strides[d] * (input[d] - 1) + extra[d] +
                   sliding.window().reach(d);
    int64_t total = full - wanted[d];
    if (total < 0)
      return node.error("output_shape [", joined(wanted),
                        "] is larger than the ", full, " elements that axis ",
                        d + 2, " has without padding, which is not supported");
    sliding.padsBegin[d] = oddAtEnd ? total / 2 : total - total / 2;
    sliding.padsEnd[d] = total - sliding.padsBegin[d];
  }
  return absl::OkStatus();
}

/// The sizes that output_shape or auto_pad ask for; empty if `pads` decide.
SmallVector<int64_t> wantedShape(const Node &node, const Sliding &sliding,
                                 ArrayRef<int64_t> input) {
  SmallVector<int64_t> wanted = node.integers("output_shape");
  if (wanted.size() > input.size()) // Some exporters list N and C, too.
    wanted.erase(wanted.begin(), wanted.end() - input.size());
  if (!wanted.empty() || !node.text("auto_pad", "NOTSET").starts_with("SAME"))
    return wanted;
  for (size_t d = 0; d < input.size(); ++d)
    wanted.push_back(input[d] * sliding.strides[d]);
  return wanted;
}

/// The sizes of the result. Output padding larger than the stride allows is
/// subtracted from the padding at the end.
absl::StatusOr<SmallVector<int64_t>> transposedSizes(const Node &node,
                                                     Sliding &sliding,
                                                     ArrayRef<int64_t> input,
                                                     ArrayRef<int64_t> extra) {
  SmallVector<int64_t> sizes;
  for (size_t d = 0; d < input.size(); ++d) {
    int64_t stride = sliding.strides[d];
    sizes.push_back(stride * (input[d] - 1) + extra[d] +
                    sliding.window().reach(d) - sliding.padsBegin[d] -
                    sliding.padsEnd[d]);
    if (extra[d] >= stride)
      sliding.padsEnd[d] -= extra[d];
    if (extra[d] < 0 || sliding.padsEnd[d] < 0)
      return node.error("output_padding is [", joined(extra),
                        "] with strides [", joined(sliding.strides),
                        "], which is not supported");
    if (sizes.back() < 1)
      return node.error("its result would have ", sizes.back(),
                        " elements along axis ", d + 2);
  }
  return sizes;
}

absl::Status checkTransposedWeight(const Node &node, ArrayRef<int64_t> input,
                                   ArrayRef<int64_t> weight, int64_t groups) {
  if (weight.size() != input.size() || groups < 1 || weight[0] != input[1] ||
      input[1] % groups)
    return node.error("a weight of shape [", joined(weight), "] in ", groups,
                      " groups does not fit an input of shape [", joined(input),
                      "]");
  return checkKernelShape(node, weight);
}

/// Builds a transposed convolution as the gradient of a convolution's input.
absl::Status convTranspose(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value weight, importer.value(node, 1));
  GRADUS_RETURN_IF_ERROR(checkImage(node, input));
  ArrayRef<int64_t> shape = tensorType(input).getShape(),
                    kernel = tensorType(weight).getShape();
  auto spatial = shape.drop_front(2);
  int64_t groups = node.integer("group", 1);
  GRADUS_RETURN_IF_ERROR(checkTransposedWeight(node, shape, kernel, groups));
  GRADUS_ASSIGN_OR_RETURN(Sliding sliding,
                          readWindow(node, kernel.drop_front(2), spatial));
  for (size_t d = 0; d < spatial.size(); ++d)
    if (!isWithin(SmallVector<int64_t>{spatial[d], sliding.strides[d]},
                  kMostElements))
      return node.error("would make more than ", kMostElements, " of ",
                        spatial[d], " elements along axis ", d + 2);
  SmallVector<int64_t> none(spatial.size(), 0);
  SmallVector<int64_t> extra = node.integers("output_padding", none);
  SmallVector<int64_t> wanted = wantedShape(node, sliding, spatial);
  auto isTooLarge = [](int64_t size) {
    return size < INT32_MIN || size > INT32_MAX;
  };
  if (llvm::any_of(extra, isTooLarge) || llvm::any_of(wanted, isTooLarge))
    return node.error("output_padding is [", joined(extra),
                      "] and output_shape [", joined(wanted), "]");
  if (extra.size() != spatial.size() ||
      (!wanted.empty() && wanted.size() != spatial.size()))
    return node.error("output_padding and output_shape need ", spatial.size(),
                      " numbers");
  if (!wanted.empty())
    GRADUS_RETURN_IF_ERROR(padToShape(node, sliding, spatial, wanted, extra));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> sizes,
                          transposedSizes(node, sliding, spatial, extra));
  SmallVector<int64_t> result = {shape[0], kernel[1] * groups};
  result.append(sizes);
  return defineConvolution<ConvolutionBackwardDataOp>(importer, node, sliding,
                                                      result, groups);
}

//===-- pooling -----------------------------------------------------------===//

/// The window, padding and shape of max and average pooling.
struct Pool {
  Value input;
  Sliding sliding;
  RankedTensorType result;
  SmallVector<int64_t> padsEnd; // without the padding of ceil_mode
};

absl::StatusOr<Pool> readPool(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_RETURN_IF_ERROR(checkImage(node, input));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  GRADUS_ASSIGN_OR_RETURN(
      Sliding sliding,
      readWindow(node, node.integers("kernel_shape"), shape.drop_front(2)));
  SmallVector<int64_t> padsEnd = sliding.padsEnd;
  if (node.integer("ceil_mode", 0))
    padForPartialWindows(sliding, shape.drop_front(2));
  for (size_t d = 0; d + 2 < shape.size(); ++d)
    if (sliding.padsBegin[d] >= sliding.window().reach(d))
      return node.error("pads [", joined(sliding.padsBegin),
                        "] hold whole windows of [", joined(sliding.size), "]");
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> result,
                          resultShape(node, sliding, shape, shape[1]));
  return Pool{input, sliding,
              RankedTensorType::get(result, tensorType(input).getElementType()),
              padsEnd};
}

absl::Status maxPool(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Pool pool, readPool(importer, node));
  Building b(importer, node);
  Type element = pool.result.getElementType(), real = b.builder.getF32Type();
  if (!isa<FloatType>(element)) { // of 8 bits, which an f32 holds
    pool.input = castTo(b, pool.input, real, b.isUnsigned());
    pool.result = pool.result.clone(real);
  }
  bool columnMajor = node.integer("storage_order", 0); // of output 1 alone
  Type indices = pool.result.clone(importer.builder.getI32Type());
  const Sliding &s = pool.sliding;
  auto op = MaxPoolOp::create(importer.builder, importer.location(node),
                              pool.result, indices, pool.input, s.size,
                              s.strides, s.padsBegin, s.padsEnd, s.dilations);
  if (!node.output(1).empty()) {
    Value places =
        placesOfMaxima(b, op.getIndices(), s.window(),
                       tensorType(pool.input).getShape(), columnMajor);
    GRADUS_RETURN_IF_ERROR(importer.define(node, 1, places));
  }
  return importer.define(
      node, 0, castTo(b, op.getResult(), element, false, b.isUnsigned()));
}

/// Pads with zeros explicitly and clears the window's paddings.
Value padded(const Building &b, Value image, Sliding &sliding) {
  SmallVector<int64_t> low = {0, 0}, high = {0, 0}, none(2, 0);
  SmallVector<int64_t> shape(tensorType(image).getShape());
  for (size_t d = 0; d < sliding.size.size(); ++d) {
    low.push_back(std::exchange(sliding.padsBegin[d], 0));
    high.push_back(std::exchange(sliding.padsEnd[d], 0));
    none.push_back(0);
    shape[d + 2] += low.back() + high.back();
  }
  return b.make<PadOp>(tensorType(image).clone(shape), image, low, high, none,
                       APFloat(0.0));
}

/// With count_include_pad the node's own paddings count, but not the elements
/// that ceil_mode adds after them.
absl::Status averagePool(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Pool pool, readPool(importer, node));
  Sliding &s = pool.sliding;
  bool countsPad = node.integer("count_include_pad", 0);
  if (countsPad && node.integer("ceil_mode", 0)) {
    SmallVector<int64_t> whole = s.padsEnd;
    s.padsEnd = pool.padsEnd;
    for (auto [end, own] : llvm::zip(whole, s.padsEnd))
      end -= own;
    pool.input = padded(b, pool.input, s);
    s.padsEnd = whole;
    countsPad = false;
  }
  Value result = AveragePoolOp::create(
      importer.builder, importer.location(node), pool.result, pool.input,
      s.size, s.strides, s.padsBegin, s.padsEnd, s.dilations, countsPad);
  return importer.define(node, 0, result);
}

/// The p-norm of each window: a mean of powers, times their number.
absl::Status lpPool(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Pool pool, readPool(importer, node));
  double p = node.opset() < 2 ? node.number("p", 2) : node.integer("p", 2);
  if (!(p > 0) || !Building::isFloat(pool.input))
    return node.error("expected floats and a p above 0, found ", p);
  Value x = b.absolute(pool.input);
  if (p == 2)
    x = b.multiply(x, x);
  else if (p != 1)
    x = b.power(x, b.number(p, x));
  const Sliding &s = pool.sliding;
  double count = 1;
  for (int64_t size : s.size)
    count *= size;
  Value mean = AveragePoolOp::create(b.builder, b.loc, pool.result, x, s.size,
                                     s.strides, s.padsBegin, s.padsEnd,
                                     s.dilations, /*count_include_pad=*/true);
  Value total = b.multiply(mean, b.number(count, mean));
  if (p == 2)
    total = b.squareRoot(total);
  else if (p != 1)
    total = b.power(total, b.number(1 / p, total));
  return importer.define(node, 0, total);
}

//===-- columns -----------------------------------------------------------===//

/// One-hot windows [channels * positions, 1, window...]: a one at each row's
/// position.
Constant oneHotWindows(Type element, int64_t channels,
                       ArrayRef<int64_t> window) {
  int64_t positions = 1;
  for (int64_t size : window)
    positions *= size;
  SmallVector<int64_t> shape = {channels * positions, 1};
  llvm::append_range(shape, window);
  Constant result = zeros(element, shape);
  for (int64_t row = 0; row < channels * positions; ++row)
    result.tensor.floats[row * positions + row % positions] = 1;
  return result;
}

/// Sums columns [N, C * positions, windows] at their positions in images: the
/// gradient of a convolution that extracts windows.
absl::Status columnsToImage(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0, 3));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> image,
                          importer.integers(node, 1, "image_shape"));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> block,
                          importer.integers(node, 2, "block_shape"));
  if (!Building::isFloat(input))
    return node.error("its columns are integers, which are not supported");
  if (image.empty() || image.size() > 3 || !isWithin(image, kMostElements) ||
      llvm::is_contained(image, 0))
    return node.error("images of shape [", joined(image),
                      "] are not supported");
  GRADUS_ASSIGN_OR_RETURN(Sliding sliding, readWindow(node, block, image));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  int64_t positions =
      isWithin(block, INT32_MAX) ? llvm::product_of(block) : INT32_MAX;
  int64_t windows = 1;
  int64_t channels = shape[1] / positions;
  SmallVector<int64_t> result = {shape[0], channels};
  llvm::append_range(result, image);
  GRADUS_ASSIGN_OR_RETURN(
      SmallVector<int64_t> columns,
      resultShape(node, sliding, result, channels * positions));
  for (int64_t count : ArrayRef(columns).drop_front(2))
    windows *= count;
  if (channels * positions != shape[1] || channels < 1 || windows != shape[2])
    return node.error("columns of shape [", joined(shape), "] do not fit ",
                      windows, " windows of ", positions, " elements");
  Constant weight =
      oneHotWindows(tensorType(input).getElementType(), channels, sliding.size);
  Value rows = arith::ConstantOp::create(b.builder, b.loc, toAttribute(weight));
  Value summed = ConvolutionBackwardDataOp::create(
      b.builder, b.loc, tensorType(input).clone(result),
      b.shaped(input, columns), rows, sliding.strides, sliding.padsBegin,
      sliding.padsEnd, sliding.dilations, /*groups=*/channels);
  return importer.define(node, 0, summed);
}

const Operator kOperators[] = {
    {"Conv",
     {6, "X, W, B", "more than 3 spatial axes", judgeWindow},
     ofFloats<conv>},
    {"ConvTranspose",
     {6, "X, W, B",
      "an `output_shape` beyond what fits without padding; `output_padding` "
      "beyond strides and pads; more than 3 spatial axes",
      judgeWindow},
     ofFloats<convTranspose>},
    {"MaxPool", {6, "X", "more than 3 spatial axes", judgeWindow}, maxPool},
    {"AveragePool",
     {6, "X", "more than 3 spatial axes", judgeWindow},
     ofFloats<averagePool>},
    {"LpPool", {6, "X", "more than 3 spatial axes", judgeWindow}, lpPool},
    {"Col2Im",
     {18, "input",
      "computed `image_shape`, `block_shape`; integers; more than 3 image "
      "axes"},
     columnsToImage}};

} // namespace

llvm::ArrayRef<Operator> windowOperators() { return kOperators; }

} // namespace gradus::onnx
