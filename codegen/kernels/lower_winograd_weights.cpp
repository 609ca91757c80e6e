// Lowers gradients of weights by the transposed algorithm to a kernel: the
// tiles of the input and of the output's gradient are transformed, products
// sum them over tiles, and the sums are transformed to weights.
//
// Each block of channels and outputs transforms its tiles anew. That costs less
// than to store transformed tiles, which are 2.25 times as large as tensors.

#include "codegen/kernels/lower_to_kernels.h"
#include "codegen/kernels/winograd_writer.h"
#include "codegen/nests/lower_to_nests.h"
#include "codegen/plan/winograd_weight_tiles.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::WinogradOp;

namespace {

/// Builds the nests of the kernel: its operands are the input and the output's
/// gradient, its result has the weights' gradients of all parts.
class WeightsKernel : public WinogradWriter {
public:
  WeightsKernel(WinogradOp op, const WinogradWeightTiles &tiles, Type result)
      : WinogradWriter(op.getContext(), tiles.block, tiles.group,
                       op->getOperandTypes(), result, tiles.items()),
        tiles_(tiles), inputs_(planes(tiles.tilePlane(tiles.block.channels))),
        gradients_(planes(tiles.tilePlane(tiles.block.outputs))),
        sums_(planes(tiles.sumPlane())) {}

  KernelOp kernel() {
    AffineExpr rest = item();
    quotient(tiles_.parts, rest, tiles_.blocks(), [&](AffineExpr part) {
      rest = rest - part * tiles_.blocks();
      quotient(tiles_.outputBlocks, rest, tiles_.channelBlocks,
               [&](AffineExpr outputs) {
                 AffineExpr channels = rest - outputs * tiles_.channelBlocks;
                 block(part, outputs, channels);
               });
    });
    return finished();
  }

private:
  Value planes(int64_t elements) {
    return f32Scratch({tiles_.block.planes(), elements});
  }

  /// Calls `body` with `number` divided by `by`, one of `count`. It is the
  /// position of a loop, so that addresses have no division.
  void quotient(int64_t count, AffineExpr number, int64_t by,
                llvm::function_ref<void(AffineExpr)> body) {
    if (count == 1)
      return body(constant(0));
    AffineExpr found = number.floorDiv(by);
    loop(count, found, found + 1, body);
  }

  void block(AffineExpr part, AffineExpr outputs, AffineExpr channels);
  using ForGroup = llvm::function_ref<void(AffineExpr group, AffineExpr images,
                                           AffineExpr rows)>;
  void forGroups(AffineExpr part, ForGroup body);
  void addProducts(AffineExpr group);
  void transformSums(AffineExpr part, AffineExpr outputs, AffineExpr channels);

  const WinogradWeightTiles &tiles_;
  Value inputs_, gradients_, sums_;
};

/// Computes a block of a part.
void WeightsKernel::block(AffineExpr part, AffineExpr outputs,
                          AffineExpr channels) {
  int64_t channelVectors = tiles_.block.channels / kWinogradLanes,
          outputVectors = tiles_.block.outputs / kWinogradLanes;
  forGroups(part, [&](AffineExpr group, AffineExpr images, AffineExpr rows) {
    transformSource({operand(0), inputs_, channels * channelVectors,
                     constant(0), channelVectors, tiles_.block.channels},
                    images, rows);
    transformGradient({operand(1), gradients_, outputs * outputVectors,
                       constant(0), outputVectors, tiles_.block.outputs},
                      images, rows);
    addProducts(group);
  });
  transformSums(part, outputs, channels);
}

/// Calls `body` for the groups of tiles of a part: with the group's number in
/// the part, that of its images and that of its rows.
void WeightsKernel::forGroups(AffineExpr part, ForGroup body) {
  AffineExpr first = part * tiles_.groupsOfPart, end;
  if (tiles_.groups() % tiles_.groupsOfPart)
    end = tiles_.groups() - first;
  int64_t rowGroups = tiles_.group.rowGroups;
  auto ofGroup = [&](AffineExpr group) {
    if (rowGroups == 1)
      return body(group, first + group, constant(0));
    quotient(tiles_.group.imageGroups, first + group, rowGroups,
             [&](AffineExpr images) {
               body(group, images, first + group - images * rowGroups);
             });
  };
  if (tiles_.groupsOfPart == 1)
    ofGroup(constant(0));
  else
    loop(tiles_.groupsOfPart, {}, end, ofGroup);
}

/// Adds the products of the tiles of a group to the sums, which begin with the
/// part's first group: a row of a plane is an output, a column a channel.
void WeightsKernel::addProducts(AffineExpr group) {
  int64_t channels = tiles_.block.channels, outputs = tiles_.block.outputs;
  loop(tiles_.block.planes(), {}, {}, [&](AffineExpr plane) {
    At sum{sums_, {plane, x(0) * channels + x(1)}};
    SmallVector<At> before;
    if (tiles_.groupsOfPart > 1)
      before.push_back({sum.buffer, sum.place, {group - 1}});
    product(outputs, channels, tiles_.group.tiles,
            At{gradients_, {plane, x(2) * paddedPlane(outputs) + x(0)}},
            At{inputs_, {plane, x(2) * paddedPlane(channels) + x(1)}}, before,
            sum, [](const Scalars &s, ValueRange values) {
              return values.size() > 1 ? s.add(values[0], values[1])
                                       : values[0];
            });
  });
}

/// Makes a block of the weights' gradient of the sums.
void WeightsKernel::transformSums(AffineExpr part, AffineExpr outputs,
                                  AffineExpr channels) {
  SmallVector<At> reads, outs;
  for (int64_t plane = 0; plane < tiles_.block.planes(); ++plane)
    reads.push_back(
        {sums_, {constant(plane), x(0) * tiles_.block.channels + x(1)}});
  for (int64_t y = 0; y < kWinogradWindow; ++y)
    for (int64_t z = 0; z < kWinogradWindow; ++z)
      outs.push_back({result(0),
                      {part, outputs * tiles_.block.outputs + x(0),
                       channels * tiles_.block.channels + x(1), constant(y),
                       constant(z)}});
  transform({tiles_.block.outputs, tiles_.block.channels}, reads, outs,
            [](const Scalars &s, ValueRange values) -> SmallVector<Value> {
              return winogradWeightGradient(s, values);
            });
}

/// The sum over parts, which are f32, in the element of the result.
Value sumOfParts(OpBuilder &builder, WinogradOp op, Value parts) {
  RankedTensorType type = cast<RankedTensorType>(op.getResult().getType());
  Domain domain(builder.getContext());
  SmallVector<AffineExpr> at = domain.parallel(type.getShape()), from = at;
  from.insert(from.begin(), domain.reduced(shapeOf(parts)[0]));
  return sumNest(builder, op.getLoc(), domain, at, type,
                 {parts, domain.map(from), {}}, "sum");
}

} // namespace

SmallVector<Value> lowerWinogradWeights(OpBuilder &builder, WinogradOp op,
                                        KernelTable &kernels) {
  WinogradSizes sizes = winogradSizes(op);
  WinogradWeightTiles tiles(sizes);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), tiles.parts);
  auto ofParts = tiles.parts == 1
                     ? type.clone(shape)
                     : RankedTensorType::get(shape, builder.getF32Type());
  Value parts = launchWinograd(builder, op, kernels,
                               WeightsKernel(op, tiles, ofParts).kernel(),
                               op->getOperands(), ofParts, sizes.productFlops(),
                               nameOfWinograd(op) + "_backward_weights");
  return {tiles.parts == 1
              ? reshape(builder, op.getLoc(), parts, type.getShape())
              : sumOfParts(builder, op, parts)};
}

} // namespace gradus
