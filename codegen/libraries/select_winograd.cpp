// The sizes of a convolution, and its replacement. What pays is estimated in
// codegen/plan/winograd_tiles.cpp.

#include "codegen/libraries/select_winograd.h"

#include "codegen/libraries/blocked_tensor.h"
#include "codegen/plan/nest.h"
#include "codegen/plan/winograd_weight_tiles.h"
#include "recipe/run_settings.h"

#include "llvm/Support/FormatVariadic.h"

namespace gradus {
using namespace mlir;
using plan::WinogradKind;
using plan::WinogradOp;

//===-- sizes -------------------------------------------------------------===//

static bool areAll(ArrayRef<int64_t> values, int64_t value) {
  return llvm::all_of(values, [&](int64_t each) { return each == value; });
}

/// The groups of a convolution or of a gradient of it; 0 for other ops.
static int64_t groupsOf(Operation *op) {
  if (auto forward = dyn_cast<ConvolutionOp>(op))
    return forward.getGroups();
  if (auto gradient = dyn_cast<ConvolutionBackwardDataOp>(op))
    return gradient.getGroups();
  if (auto gradient = dyn_cast<ConvolutionBackwardWeightsOp>(op))
    return gradient.getGroups();
  return 0;
}

bool leavesChoiceOfConvolutions(ProgramOp program) {
  return runSettings(program).convolutions == Convolutions::fastest &&
         hasConvolutions(program);
}

bool hasConvolutions(ProgramOp program) {
  auto found = program.walk([](Operation *op) {
    return groupsOf(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

static bool givesWeights(const Candidate &found) {
  return isa<ConvolutionBackwardWeightsOp>(found.product);
}

static bool isSquare(const Candidate &found) {
  ArrayRef<int64_t> weight = shapeOf(
      givesWeights(found) ? found.product->getResult(0) : found.operands[1]);
  return weight.size() == 4 && areAll(weight.drop_front(2), 3) &&
         areAll(found.call.strides, 1) && areAll(found.call.dilations, 1);
}

static bool is16Bits(Value value) {
  return getElementTypeOrSelf(value.getType()).isBF16();
}

/// Whether all tensors are of types that the kernels read and write.
static bool hasTypes(const Candidate &found) {
  auto isKnown = [](Value value) {
    return getElementTypeOrSelf(value.getType()).isF32() || is16Bits(value);
  };
  return isKnown(found.result) && llvm::all_of(found.operands, isKnown);
}

static WinogradKind kindOf(const Candidate &found) {
  return givesWeights(found)                 ? WinogradKind::weight_gradient
         : isa<ConvolutionOp>(found.product) ? WinogradKind::forward
                                             : WinogradKind::input_gradient;
}

static WinogradSizes sizesOf(const Candidate &found) {
  return winogradSizes(kindOf(found), shapeOf(found.operands[0]),
                       shapeOf(givesWeights(found)
                                   ? found.operands[1]
                                   : found.product->getResult(0)),
                       found.call.padsBegin);
}

/// The reason against any tiles; empty: their sizes decide.
static StringRef reasonAgainst(const Candidate &found, bool tiles) {
  if (groupsOf(found.product) != 1)
    return "it is no convolution of one group";
  if (!isSquare(found))
    return "its windows are not 3x3, or move by more than one";
  if (!hasTypes(found))
    return "it is not of f32 or bf16";
  return is16Bits(found.operands[0]) && tiles
             ? "the library multiplies tiles of bf16, which is faster"
             : "";
}

static WinogradChoice chooseWinograd(const Candidate &found, int64_t tile) {
  WinogradSizes sizes = sizesOf(found);
  sizes.tile = tile;
  bool isNarrow = is16Bits(found.operands[0]);
  if (givesWeights(found))
    return chooseWinogradWeights(sizes,
                                 isNarrow ? kPairsForWeights : WinogradRival());
  return chooseWinograd(sizes, isNarrow ? kPairs : WinogradRival());
}

WinogradTile winogradTile(const Candidate &found, bool tiles) {
  if (StringRef reason = reasonAgainst(found, tiles); !reason.empty())
    return {0, reason.str()};
  WinogradChoice large = chooseWinograd(found, 4),
                 small = chooseWinograd(found, 2);
  if (!large.pays() && !small.pays())
    return {0, large.reason.str()};
  bool isSmall = small.pays() && (!large.pays() || small.ours <= large.ours);
  auto line = [](int tile, const WinogradChoice &choice) {
    std::string text = llvm::formatv("tiles of {0}x{0}", tile);
    if (choice.direct)
      text += llvm::formatv(" take {0:F2} of the library's time",
                            choice.ours / choice.direct);
    return choice.pays() ? text : text + ": " + choice.reason.str();
  };
  return {isSmall ? 2 : 4, line(4, large) + "; " + line(2, small)};
}

//===-- replacement -------------------------------------------------------===//

static RankedTensorType blocksOf(RankedTensorType type) {
  return type.clone(blockedShape(type.getShape(), kWinogradLanes));
}

static Value inBlocks(OpBuilder &builder, Location location, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return reorder(builder, location, value, blocksOf(type),
                 rowMajorLayout(type.getShape()),
                 blockedLayout(type.getShape(), kWinogradLanes));
}

static WinogradOp emitWeights(Candidate &found, int64_t tile) {
  OpBuilder builder(found.op);
  Location location = found.op->getLoc();
  auto op = WinogradOp::create(
      builder, location, found.type(), WinogradKind::weight_gradient,
      inBlocks(builder, location, found.operands[0]),
      inBlocks(builder, location, found.operands[1]), /*bias=*/Value(),
      found.call.padsBegin, /*activation=*/StringAttr(), tile);
  found.result.replaceAllUsesWith(
      reshape(builder, location, op.getResult(), shapeOf(found.result)));
  return op;
}

WinogradOp emitWinograd(Candidate &found, int64_t tile) {
  if (givesWeights(found))
    return emitWeights(found, tile);
  OpBuilder builder(found.op);
  Location location = found.op->getLoc();
  auto to = found.type();
  Value source = inBlocks(builder, location, found.operands[0]);
  Value bias = found.call.hasBias() ? found.operands[2] : Value();
  StringRef activation = found.call.activation;
  auto op = WinogradOp::create(
      builder, location, blocksOf(to), kindOf(found), source, found.operands[1],
      bias, found.call.padsBegin,
      activation.empty() ? StringAttr() : builder.getStringAttr(activation),
      tile);
  Value result = reorder(builder, location, op.getResult(), to,
                         blockedLayout(to.getShape(), kWinogradLanes),
                         rowMajorLayout(to.getShape()));
  found.result.replaceAllUsesWith(
      reshape(builder, location, result, shapeOf(found.result)));
  return op;
}

} // namespace gradus
