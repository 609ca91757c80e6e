// ONNX ops that pool image regions into a fixed number of bins: RoiAlign, which
// samples between pixels, and MaxRoiPool, which uses whole pixels.
//
// The regions' coordinates get no gradient, as in torchvision: exported models
// no longer contain the detach that stopped it.

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/operators/extremes.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/taps.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;
using FloatIs = arith::CmpFPredicate;
using IntegerIs = arith::CmpIPredicate;

/// One coordinate of each region, [regions], in a type that distinguishes
/// pixels.
Value column(const Building &b, Value regions, int64_t which) {
  Value one = b.cutAlong(regions, 1, which, 1);
  return castTo(b, b.shaped(one, {tensorType(regions).getDimSize(0)}),
                computeType(tensorType(regions).getElementType()));
}

absl::Status checkRegions(const Node &node, Value images, Value regions,
                          int64_t columns) {
  ArrayRef<int64_t> shape = tensorType(images).getShape(),
                    lists = tensorType(regions).getShape();
  if (!Building::isFloat(images) || !Building::isFloat(regions))
    return node.error("its images and its regions must be floats; others are "
                      "not supported");
  if (shape.size() != 4 || lists.size() != 2 || lists[1] != columns)
    return node.error("expected images of rank 4 and [regions, ", columns,
                      "], found shapes [", joined(shape), "] and [",
                      joined(lists), "]");
  return absl::OkStatus();
}

//===-- RoiAlign ----------------------------------------------------------===//

/// The node's checked inputs and attributes.
struct Aligning {
  Value images, regions, places; // places: the image of each region
  double scale = 1;
  bool halfPixel = true, takesLargest = false;
  SmallVector<int64_t> bins; // height and width of the result
  int64_t ratio = 0;         // along an axis of a bin; 0: by its size

  int64_t count() const { return tensorType(regions).getDimSize(0); }
  int64_t size(int64_t d) const { return tensorType(images).getDimSize(2 + d); }
};

/// The number of samples of each region along an axis of its bins; one number
/// if it is the same for all.
struct Samples {
  SmallVector<int64_t> each;
  int64_t most = 1;
};

std::string coordinatesOf(const Node &node) {
  return node.text("coordinate_transformation_mode",
                   node.opset() < 16 ? "output_half_pixel" : "half_pixel");
}

absl::Status judgeAlign(const Node &node) {
  std::string mode = node.text("mode", "avg");
  if (mode != "avg" && mode != "max")
    return node.error("mode is \"", mode, "\", expected avg or max");
  std::string coordinates = coordinatesOf(node);
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return node.error("coordinate_transformation_mode is \"", coordinates,
                      "\", expected half_pixel or output_half_pixel");
  SmallVector<int64_t> sizes = {node.integer("output_height", 1),
                                node.integer("output_width", 1)};
  int64_t ratio = node.integer("sampling_ratio", 0);
  if (sizes[0] < 1 || sizes[1] < 1 || ratio < 0 ||
      !isWithin(SmallVector<int64_t>{sizes[0], sizes[1],
                                     std::max<int64_t>(ratio, 1),
                                     std::max<int64_t>(ratio, 1)},
                kMostFolded))
    return node.error("gives bins of [", joined(sizes),
                      "] with sampling_ratio ", ratio,
                      ", expected sizes of at least 1, a ratio of at least 0, "
                      "and at most ",
                      kMostFolded, " samples of a region");
  return absl::OkStatus();
}

absl::StatusOr<Aligning> readAligning(const Building &b) {
  const Node &node = b.node;
  Aligning a;
  GRADUS_ASSIGN_OR_RETURN(a.images, b.importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(a.regions, b.importer.value(node, 1));
  GRADUS_ASSIGN_OR_RETURN(a.places, b.importer.value(node, 2));
  GRADUS_RETURN_IF_ERROR(checkRegions(node, a.images, a.regions, 4));
  ArrayRef<int64_t> places = tensorType(a.places).getShape();
  if (places != ArrayRef<int64_t>{a.count()} || Building::isFloat(a.places))
    return node.error("expected the image of each of ", a.count(),
                      " regions as integers, found shape [", joined(places),
                      "]");
  a.scale = node.number("spatial_scale", 1);
  a.halfPixel = coordinatesOf(node) == "half_pixel";
  a.takesLargest = node.text("mode", "avg") == "max";
  a.bins = {node.integer("output_height", 1), node.integer("output_width", 1)};
  a.ratio = node.integer("sampling_ratio", 0);
  return a;
}

/// Rounds numbers to 2^-30, which stops the gradient.
Value detached(const Building &b, Value x) {
  Value whole = b.make<math::RoundEvenOp>(b.multiply(x, b.number(0x1p30, x)));
  return b.multiply(whole, b.number(0x1p-30, whole));
}

/// The number of samples in each bin of one region: as many as pixels, rounded
/// up. It is computed in the regions' own type, whose rounding matters.
template <typename Real>
Real countIn(const Aligning &a, ArrayRef<double> region, int64_t d) {
  auto at = [&](int64_t i) {
    return Real(region[i]) * Real(a.scale) - Real(a.halfPixel ? 0.5 : 0);
  };
  Real size = at(3 - d) - at(1 - d);
  if (!a.halfPixel)
    size = std::max(size, Real(1));
  return std::ceil(size / Real(a.bins[d]));
}

absl::StatusOr<Samples> samplesOf(const Building &b, const Aligning &a,
                                  int64_t d) {
  if (a.ratio > 0)
    return Samples{{a.ratio}, a.ratio};
  const Constant *regions = b.importer.constant(b.node, 1);
  if (!regions)
    return b.node.error("sampling_ratio is 0, which samples each region by its "
                        "size, but its regions \"",
                        b.node.input(1).str(),
                        "\" are no constant; only a ratio that is given is "
                        "supported there");
  Samples samples;
  ArrayRef<double> numbers = regions->tensor.floats;
  bool isDouble = regions->element.isF64();
  for (int64_t region = 0; region < a.count(); ++region) {
    ArrayRef<double> own = numbers.slice(region * 4, 4);
    double count = isDouble ? countIn<double>(a, own, d)
                            : double(countIn<float>(a, own, d));
    if (!std::isfinite(count) || count >= 1 << 20)
      return b.node.error("region ", region, " would be sampled ", count,
                          " times along a bin, which is not supported");
    samples.each.push_back(int64_t(std::max(count, 0.0)));
    samples.most = std::max(samples.most, samples.each.back());
  }
  return samples;
}

/// The position of each sample of a region, in bins from the region's start,
/// and its weight: [rows, bins * most]. A region that needs fewer samples
/// repeats its last with weight 0 in a mean.
std::pair<Constant, Constant> samplesIn(const Aligning &a,
                                        const Samples &samples, int64_t bins,
                                        Type element) {
  SmallVector<int64_t> shape = {int64_t(samples.each.size()),
                                bins * samples.most};
  Constant at = zeros(element, shape), counts = zeros(element, shape);
  for (int64_t place = 0; place < at.tensor.size(); ++place) {
    int64_t row = place / shape[1], bin = place % shape[1] / samples.most,
            i = place % samples.most, own = samples.each[row];
    if (own == 0)
      continue; // An empty region gives 0.
    at.tensor.floats[place] = bin + (std::min(i, own - 1) + 0.5) / own;
    counts.tensor.floats[place] = a.takesLargest ? 1 : i < own ? 1.0 / own : 0;
  }
  return {at, counts};
}

/// The taps of all samples along an axis, [regions, bins * most]. Samples more
/// than a pixel outside are 0; others are moved to the border.
SmallVector<Tap> tapsAlong(const Building &b, const Aligning &a, int64_t d,
                           const Samples &samples) {
  double offset = a.halfPixel ? -0.5 : 0;
  auto border = [&](int64_t which) {
    Value x = detached(b, column(b, a.regions, which));
    return scaled(b, x, a.scale, offset);
  };
  Value start = border(1 - d), size = b.subtract(border(3 - d), start);
  if (!a.halfPixel)
    size = b.larger(size, b.number(1, size));
  Value bin = b.divide(size, b.number(a.bins[d], size));
  SmallVector<int64_t> shape = {a.count(), a.bins[d] * samples.most};
  auto [at, counts] =
      samplesIn(a, samples, a.bins[d], tensorType(start).getElementType());
  auto table = [&](const Constant &numbers) {
    Value value =
        arith::ConstantOp::create(b.builder, b.loc, toAttribute(numbers));
    return broadcastLast(b.builder, b.loc, value, shape);
  };
  auto each = [&](Value value) {
    return broadcast(b.builder, b.loc, value, shape, {0});
  };
  Value x = b.add(each(start), b.multiply(table(at), each(bin)));
  auto is = [&](FloatIs predicate, double bound) {
    return b.compare(predicate, x, b.number(bound, x));
  };
  double last = a.size(d);
  Value outside =
      b.make<arith::OrIOp>(is(FloatIs::OLT, -1), is(FloatIs::OGT, last));
  Value part = b.select(outside, b.number(0, x), table(counts));
  SmallVector<Tap> taps =
      linearTaps(b, clipped(b, x, 0, last - 1),
                 {a.size(d), /*alignCorners=*/true, "border"});
  for (Tap &tap : taps)
    tap.weight = b.multiply(tap.weight, part);
  return taps;
}

/// Broadcasts taps along one axis to all points [1, regions * rows * columns].
void spread(const Building &b, SmallVector<Tap> &taps, ArrayRef<int64_t> points,
            ArrayRef<int64_t> dimensions) {
  auto everywhere = [&](Value value) {
    Value wide = broadcast(b.builder, b.loc, value, points, dimensions);
    return b.shaped(wide, {1, llvm::product_of(points)});
  };
  for (Tap &tap : taps) {
    tap.index = everywhere(tap.index);
    if (tap.weight)
      tap.weight = everywhere(tap.weight);
  }
}

/// The values at all samples, [1, points, C]: interpolated ones, or as in ONNX
/// the maximum of the weighted pixels.
Value valuesAt(const Building &b, const Aligning &a, const Pixels &pixels,
               ArrayRef<SmallVector<Tap>> taps) {
  if (!a.takesLargest)
    return sampled(b, pixels, taps);
  Value most;
  forEachSample(b, pixels, taps,
                [&](Value term) { most = most ? b.larger(most, term) : term; });
  return most;
}

absl::Status roiAlign(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Aligning a, readAligning(b));
  SmallVector<Samples> samples;
  SmallVector<int64_t> points = {a.count()};
  for (int64_t d : {0, 1}) {
    GRADUS_ASSIGN_OR_RETURN(Samples along, samplesOf(b, a, d));
    points.push_back(a.bins[d] * along.most);
    samples.push_back(along);
  }
  ArrayRef<int64_t> shape = tensorType(a.images).getShape();
  int64_t channels = shape[1];
  if (!isWithin(SmallVector<int64_t>{points[0], points[1], points[2], channels},
                kMostElements))
    return node.error("samples ", points[0], " regions at [", points[1], ", ",
                      points[2], "] points each, which is not supported");
  Type element = tensorType(a.images).getElementType();
  Value rows =
      castTo(b, b.permuted(a.images, {0, 2, 3, 1}), computeType(element));
  Pixels pixels = {
      b.shaped(rows,
               {1, tensorType(rows).getNumElements() / channels, channels}),
      /*axis=*/1,
      {shape[0], shape[2], shape[3]}};
  SmallVector<SmallVector<Tap>> taps = {{Tap{
      castTo(b, a.places, b.builder.getI64Type(), b.isUnsigned(2)), {}, {}}}};
  spread(b, taps[0], points, {0});
  for (int64_t d : {0, 1}) {
    taps.push_back(tapsAlong(b, a, d, samples[d]));
    spread(b, taps.back(), points, {0, d + 1});
  }
  Value values = b.shaped(valuesAt(b, a, pixels, taps),
                          {a.count(), a.bins[0], samples[0].most, a.bins[1],
                           samples[1].most, channels});
  Value pooled =
      reduce(b.builder, b.loc, a.takesLargest ? Reduction::max : Reduction::sum,
             values, {2, 4});
  return importer.define(node, 0,
                         castTo(b, b.permuted(pooled, {0, 3, 1, 2}), element));
}

//===-- MaxRoiPool --------------------------------------------------------===//

/// Rounds to integers, halves away from zero.
Value rounded(const Building &b, Value x) {
  Value size = b.absolute(x), whole = b.floor(size);
  Value isMore = b.compare(arith::CmpFPredicate::OGE, b.subtract(size, whole),
                           b.number(0.5, x));
  Value nearest = b.select(isMore, b.add(whole, b.number(1, x)), whole);
  Value result =
      b.select(b.less(x, b.number(0, x)), b.negate(nearest), nearest);
  return castTo(b, result, b.builder.getI64Type());
}

/// A mask of the pixels along an axis that are in a bin of a region: [regions,
/// bins, size].
Value inBins(const Building &b, Value regions, int64_t d, int64_t bins,
             int64_t pixels) {
  double scale = b.node.number("spatial_scale", 1);
  auto border = [&](int64_t which) {
    return rounded(b, scaled(b, column(b, regions, which), scale, 0));
  };
  Value start = border(2 - d), end = border(4 - d);
  Value one = b.number(1, start);
  Value size = b.make<arith::MaxSIOp>(b.add(b.subtract(end, start), one), one);
  Type real = computeType(tensorType(regions).getElementType());
  Value bin = castTo(b, size, real);
  bin = b.divide(bin, b.number(bins, bin));
  SmallVector<int64_t> shape = {tensorType(regions).getDimSize(0), bins};
  auto each = [&](Value value) {
    return broadcast(b.builder, b.loc, value, shape, {0});
  };
  Value number = castTo(b, b.indicesAlong(shape, 1), real);
  auto edge = [&](Value place) {
    return b.add(castTo(b, place, b.builder.getI64Type()), each(start));
  };
  Value low = edge(b.floor(b.multiply(number, each(bin))));
  Value high = edge(b.ceiling(b.multiply(scaled(b, number, 1, 1), each(bin))));
  SmallVector<int64_t> all = {shape[0], bins, pixels};
  auto over = [&](Value value) {
    return broadcast(b.builder, b.loc, value, all, {0, 1});
  };
  Value at = b.indicesAlong(all, 2);
  return b.make<arith::AndIOp>(b.compare(IntegerIs::sge, at, over(low)),
                               b.compare(IntegerIs::slt, at, over(high)));
}

/// For each bin along an axis: the maximum, where NaN counts as the largest,
/// and the smallest number of an element equal to it, or `none`. Values and
/// numbers are [regions, .., size, .., C], `inside` is [regions, bins, size].
std::pair<Value, Value> largestIn(const Building &b, Value values,
                                  Value numbers, Value inside, int64_t axis,
                                  int64_t none) {
  SmallVector<int64_t> all(tensorType(values).getShape());
  all.insert(all.begin() + axis, tensorType(inside).getDimSize(1));
  auto over = [&](Value value, int64_t added) {
    return broadcastAlong(b.builder, b.loc, value, all, {added});
  };
  Value mask = broadcast(b.builder, b.loc, inside, all, {0, axis, axis + 1});
  Value spread = over(values, axis), numbered = over(numbers, axis);
  Value masked = b.select(mask, spread, b.number(-INFINITY, spread));
  Value most = reduce(b.builder, b.loc, Reduction::max, masked, {axis + 1});
  Value wins =
      b.make<arith::AndIOp>(mask, isExtreme(b, masked, over(most, axis + 1)));
  Value first =
      reduce(b.builder, b.loc, Reduction::min,
             b.select(wins, numbered, b.number(none, numbered)), {axis + 1});
  return {most, first};
}

/// For each bin of `crops` [regions, H, W, C], the row-major index in its image
/// of the maximum: [regions, h, w, C]; H * W for an empty bin. Of equal pixels
/// the first counts, as in PyTorch; NaN is larger than any number.
Value placesOfLargest(const Building &b, Value crops, Value regions,
                      ArrayRef<int64_t> bins) {
  ArrayRef<int64_t> shape = tensorType(crops).getShape();
  int64_t height = shape[1], width = shape[2];
  // Numbers are floats, so that vectors hold as many of them as of the
  // elements.
  Value numbers = castTo(b, b.indicesAlong({height * width}, 0),
                         computeType(tensorType(crops).getElementType()));
  numbers = b.shaped(numbers, {height, width});
  numbers = broadcast(b.builder, b.loc, numbers, shape, {1, 2});
  auto [most, first] =
      largestIn(b, crops, numbers, inBins(b, regions, /*d=*/1, bins[1], width),
                /*axis=*/2, height * width);
  // Combine the winners of rows along columns.
  Value place =
      largestIn(b, most, first, inBins(b, regions, /*d=*/0, bins[0], height),
                /*axis=*/1, height * width)
          .second;
  return castTo(b, place, b.builder.getI64Type());
}

/// Gathers from images [N, H, W, C] at indices [regions, h, w, C] in the image
/// of each region; 0 at indices after the last pixel.
Value elementsAt(const Building &b, Value images, Value image, Value places) {
  ArrayRef<int64_t> all = tensorType(images).getShape(),
                    shape = tensorType(places).getShape();
  int64_t pixels = all[1] * all[2];
  auto times = [&](Value value, int64_t factor) {
    return b.multiply(value, b.number(factor, value));
  };
  Value start = broadcast(b.builder, b.loc, times(image, pixels), shape, {0});
  Value at =
      b.add(times(b.add(start, places), all[3]), b.indicesAlong(shape, 3));
  Value isEmpty = b.compare(IntegerIs::eq, places, b.number(pixels, places));
  Value found = b.make<GatherOp>(
      tensorType(places).clone(tensorType(images).getElementType()),
      b.shaped(images, {tensorType(images).getNumElements()}),
      b.select(isEmpty, b.number(0, at), at), /*axis=*/0, /*batch_dims=*/0);
  return b.select(isEmpty, b.number(0, found), found);
}

absl::Status maxRoiPool(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value images, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value regions, importer.value(node, 1));
  GRADUS_RETURN_IF_ERROR(checkRegions(node, images, regions, 5));
  SmallVector<int64_t> bins = node.integers("pooled_shape");
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1 ||
      !isWithin(bins, kMostFolded))
    return node.error("pooled_shape is [", joined(bins),
                      "], expected 2 numbers of at least 1");
  SmallVector<int64_t> work(tensorType(images).getShape());
  work[0] = tensorType(regions).getDimSize(0);
  work.append(bins);
  if (!isWithin(work, kMostElements))
    return node.error("pools ", work[0], " regions into [", joined(bins),
                      "] bins of [", work[2], ", ", work[3],
                      "] pixels, which is not supported");
  constexpr int64_t mostPixels = 1 << 24; // an f32 can count them
  if (!isWithin(ArrayRef(work).slice(2, 2), mostPixels))
    return node.error("its images have more than ", mostPixels,
                      " pixels, which is not supported");
  // Channels are adjacent: they share the comparisons of their pixel.
  Value rows = b.permuted(images, {0, 2, 3, 1});
  SmallVector<int64_t> cut(tensorType(rows).getShape());
  cut[0] = work[0];
  Value image = rounded(b, column(b, regions, 0));
  Value crops = b.make<GatherOp>(tensorType(rows).clone(cut), rows, image,
                                 /*axis=*/0, /*batch_dims=*/0);
  Value places = placesOfLargest(b, crops, regions, bins);
  Value pooled = elementsAt(b, rows, image, places);
  return importer.define(node, 0, b.permuted(pooled, {0, 3, 1, 2}));
}

const Operator kOperators[] = {
    {"RoiAlign",
     {10, "X", "`sampling_ratio` 0 with computed `rois`", judgeAlign},
     roiAlign},
    {"MaxRoiPool", {6, "X", "images of more than 2^24 pixels"}, maxRoiPool}};

} // namespace

llvm::ArrayRef<Operator> regionOperators() { return kOperators; }

} // namespace gradus::onnx
