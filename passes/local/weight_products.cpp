// Finds the two sides of a layer in its weight's gradient; see
// weight_products.h.

#include "passes/local/weight_products.h"

#include "ir/build.h"
#include "ir/scalar_ops.h"
#include "passes/computation.h"
#include "passes/overflow_origin.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace gradus {
namespace {

using Axes = SmallVector<int64_t>;
using Found = std::optional<WeightProduct>;

//===-- the ops that sum over rows ----------------------------------------===//

/// The axis of an operand of a matmul that the result keeps.
int64_t keptAxis(Value operand, bool isLeft, bool isTransposed) {
  int64_t rank = tensorType(operand).getRank();
  return isLeft == isTransposed ? rank - 1 : rank - 2;
}

Found ofMatmul(MatmulOp op, const ForwardPass &forward) {
  bool isLeft = forward.computes(op.getA());
  if (isLeft == forward.computes(op.getB()))
    return {};
  int64_t a = keptAxis(op.getA(), true, op.getTransposeA()),
          b = keptAxis(op.getB(), false, op.getTransposeB());
  return WeightProduct{.kind = WeightKind::dense,
                       .op = op,
                       .inputs = isLeft ? op.getA() : op.getB(),
                       .outputs = isLeft ? op.getB() : op.getA(),
                       .inputAxis = isLeft ? a : b,
                       .outputAxis = isLeft ? b : a,
                       .axes = {isLeft ? 0 : 1}};
}

/// The sum of matmuls over all their batches, of which each has rows of its
/// own.
Found ofBatches(ReduceOp op, const ForwardPass &forward) {
  auto matmul = op.getInput().getDefiningOp<MatmulOp>();
  if (!matmul || op.getKind() != Reduction::sum || op.getType().getRank() != 2)
    return {};
  Axes batches = allAxes(matmul.getType().getRank() - 2);
  auto hasAll = [&](Value operand) {
    ArrayRef<int64_t> shape = tensorType(operand).getShape(),
                      all = matmul.getType().getShape();
    return shape.drop_back(2) == all.drop_back(2);
  };
  bool fits = op.getAxes() == ArrayRef<int64_t>(batches) &&
              hasAll(matmul.getA()) && hasAll(matmul.getB());
  return fits ? ofMatmul(matmul, forward) : Found();
}

/// The roles of a transposed convolution's operands are exchanged: the window
/// is over its own gradient, and not over its input.
Found ofConvolution(ConvolutionBackwardWeightsOp op,
                    const ForwardPass &forward) {
  bool isTransposed = forward.computes(op.getGradient());
  if (isTransposed == forward.computes(op.getInput()))
    return {};
  Axes first = {0}, others = axesExcept(op.getType().getRank(), first);
  return WeightProduct{
      .kind = WeightKind::convolution,
      .op = op,
      .inputs = isTransposed ? op.getGradient() : op.getInput(),
      .outputs = isTransposed ? op.getInput() : op.getGradient(),
      .inputAxis = 1,
      .outputAxis = 1,
      .axes = isTransposed ? first : others,
      .groups = int64_t(op.getGroups()),
      .isTransposed = isTransposed};
}

Found ofEmbedding(ScatterAddOp op, const ForwardPass &forward) {
  int64_t rank = tensorType(op.getUpdates()).getRank(); // 1 of a single index
  if (op.getBatchDims() != 0 || op.getAxis() != 0 ||
      op.getType().getRank() != 2 || rank < 2 ||
      !forward.computes(op.getIndices()) || forward.computes(op.getUpdates()))
    return {};
  return WeightProduct{.kind = WeightKind::embedding,
                       .op = op,
                       .inputs = op.getIndices(),
                       .outputs = op.getUpdates(),
                       .outputAxis = rank - 1,
                       .axes = {0}};
}

Found ofProduct(Operation *op, const ForwardPass &forward) {
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return matmul.getType().getRank() == 2 ? ofMatmul(matmul, forward)
                                           : Found();
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return ofBatches(reduce, forward);
  if (auto convolution = dyn_cast<ConvolutionBackwardWeightsOp>(op))
    return ofConvolution(convolution, forward);
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return ofEmbedding(scatter, forward);
  return {};
}

//===-- ops on the way ----------------------------------------------------===//

/// The elements of a value along one of its axes have this place in the weight:
/// `size` of them, from `from` on, are those from `to` on along the weight's
/// `axis`. That is -1 where the weight has no such axis, and one element.
struct AxisPlace {
  int64_t axis, from, to, size;
};
using Place = SmallVector<AxisPlace>;

/// A value that is a part of the gradient: of one index, `dropped.to`, along an
/// axis of the weight that the value has not, if that is not -1.
struct Pending {
  Value value;
  Place place;
  AxisPlace dropped = {-1, 0, 0, 1};
};

/// Maps the place of a reshape's result to that of its input, and adds what has
/// no axis there to `dropped`; nothing if the reshape does more than add or
/// drop axes of size 1.
std::optional<Place> beforeView(ReshapeOp view, const Place &place,
                                SmallVectorImpl<AxisPlace> &dropped) {
  ArrayRef<int64_t> from = tensorType(view.getInput()).getShape(),
                    to = view.getType().getShape();
  Place result;
  size_t position = 0;
  auto skipOnes = [&] {
    while (position < to.size() && to[position] == 1)
      dropped.push_back(place[position++]);
  };
  for (int64_t size : from) {
    if (size == 1) {
      result.push_back({-1, 0, 0, 1});
      continue;
    }
    skipOnes();
    if (position == to.size() || to[position] != size)
      return {};
    result.push_back(place[position++]);
  }
  skipOnes();
  if (position != to.size())
    return {};
  return result;
}

Place beforeTranspose(TransposeOp transpose, const Place &place) {
  Place result(place.size());
  for (auto [position, axis] : llvm::enumerate(transpose.getPermutation()))
    result[axis] = place[position];
  return result;
}

/// Cuts a place along an axis to the elements from `begin` to `end`, which are
/// counted from `begin` on then. False if nothing is left.
bool cut(Place &place, size_t axis, int64_t begin, int64_t end) {
  AxisPlace &part = place[axis];
  int64_t first = std::max(part.from, begin),
          last = std::min(part.from + part.size, end);
  part.to += first - part.from;
  part.from = first - begin;
  part.size = last - first;
  return part.size > 0;
}

bool isAll(ArrayRef<int64_t> numbers, int64_t value) {
  return llvm::all_of(numbers, [&](int64_t each) { return each == value; });
}

/// Finds the parts of a gradient, from the gradient back to its products.
class Search {
public:
  Search(RankedTensorType weight, const ForwardPass &forward)
      : weight_(weight), forward_(forward) {}

  /// False with a reason.
  bool run(Value gradient) {
    Place place;
    for (auto [axis, size] : llvm::enumerate(weight_.getShape()))
      place.push_back({int64_t(axis), 0, 0, size});
    pending_.push_back({gradient, place});
    while (!pending_.empty())
      if (!visit(pending_.pop_back_val()))
        return false;
    if (parts.empty())
      reason = "zero";
    return !parts.empty();
  }

  SmallVector<WeightPart> parts;
  std::string reason;

private:
  bool visit(const Pending &part) {
    Operation *op = part.value.getDefiningOp();
    if (!op)
      return fail("an input of the graph");
    if (matchPattern(part.value, m_AnyZeroFloat()))
      return true;
    dropped_ = part.dropped;
    if (Found found = ofProduct(op, forward_))
      return add(*found, tensorType(part.value).getShape(), part.place);
    if (isAtBorder(op))
      return fail("multiplied at a border of loss scales");
    return lookThrough(op, part.place) ||
           fail("made by " + op->getName().getStringRef() +
                ", which sums no product of a layer's two sides over rows");
  }

  bool fail(const Twine &words) {
    reason = ((isSum_ ? "a sum, of which a part is " : "") + words).str();
    return false;
  }

  /// Goes on with what an op moves or adds up. False for others.
  bool lookThrough(Operation *op, const Place &place) {
    if (changesWidth(op))
      return follow(op->getOperand(0), place);
    if (isa<arith::AddFOp>(op)) {
      isSum_ = true;
      return follow(op->getOperand(1), place) &&
             follow(op->getOperand(0), place); // which is next
    }
    if (auto view = dyn_cast<ReshapeOp>(op))
      return ofView(view, place);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return follow(transpose.getInput(), beforeTranspose(transpose, place));
    if (auto slice = dyn_cast<SliceOp>(op))
      return ofSlice(slice, place);
    if (auto pad = dyn_cast<PadOp>(op))
      return ofPad(pad, place);
    if (auto join = dyn_cast<ConcatenateOp>(op))
      return ofConcatenation(join, place);
    return false;
  }

  bool follow(Value value, const Place &place) {
    pending_.push_back({value, place, dropped_});
    return true;
  }

  /// One index along an axis of the weight, such as one direction of a
  /// recurrent layer, may be dropped.
  bool ofView(ReshapeOp view, const Place &place) {
    SmallVector<AxisPlace> dropped;
    std::optional<Place> before = beforeView(view, place, dropped);
    if (!before)
      return false;
    for (const AxisPlace &each : dropped) {
      if (each.axis < 0 || weight_.getDimSize(each.axis) == 1)
        continue;
      if (dropped_.axis >= 0)
        return false;
      dropped_ = each;
    }
    return follow(view.getInput(), *before);
  }

  bool ofSlice(SliceOp slice, Place place) {
    if (!isAll(slice.getSteps(), 1))
      return false;
    for (auto [axis, start] : llvm::enumerate(slice.getStarts()))
      place[axis].from += start;
    return follow(slice.getInput(), place);
  }

  bool ofPad(PadOp pad, Place place) {
    if (!isAll(pad.getInterior(), 0) || !pad.getValue().isZero())
      return false;
    ArrayRef<int64_t> shape = tensorType(pad.getInput()).getShape();
    for (auto [axis, low] : llvm::enumerate(pad.getLow()))
      if (!cut(place, axis, low, low + shape[axis]))
        return true; // zeros alone
    return follow(pad.getInput(), place);
  }

  bool ofConcatenation(ConcatenateOp join, const Place &place) {
    isSum_ |= join.getInputs().size() > 1;
    int64_t axis = join.getAxis(), begin = 0;
    SmallVector<Pending> found;
    for (Value input : join.getInputs()) {
      int64_t end = begin + tensorType(input).getDimSize(axis);
      Place part = place;
      if (cut(part, axis, begin, end))
        found.push_back({input, part, dropped_});
      begin = end;
    }
    pending_.append(found.rbegin(), found.rend()); // The first one is next.
    return true;
  }

  /// The range of the features that `axes` of a product of a shape count;
  /// nothing if it is not a range by the first of them.
  std::optional<SideRange> rangeOf(ArrayRef<int64_t> shape, bool isGrouped,
                                   ArrayRef<int64_t> axes, const Place &place) {
    SideRange range;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      const AxisPlace &part = place[axis];
      int64_t total = part.axis < 0 ? 1 : weight_.getDimSize(part.axis);
      if (i == 0)
        range = {part.from, part.to, part.size, total};
      else if (part.size != shape[axis] || part.size != total)
        return {};
    }
    bool isWhole = range.isWhole() && range.size == shape[axes.front()];
    if (isGrouped && !isWhole)
      return {};
    return range;
  }

  /// Adds a product of a shape, whose axes lie so in the weight.
  bool add(WeightProduct product, ArrayRef<int64_t> shape, const Place &place) {
    Axes outputs = axesExcept(place.size(), sorted(product.axes));
    bool isGrouped = product.groups > 1;
    std::optional<SideRange> in =
                                 rangeOf(shape, isGrouped, product.axes, place),
                             out = rangeOf(shape, isGrouped, outputs, place);
    auto inWeight = [&](ArrayRef<int64_t> axes) {
      Axes result;
      for (int64_t axis : axes)
        if (place[axis].axis >= 0)
          result.push_back(place[axis].axis);
      return result;
    };
    product.axes = inWeight(product.axes);
    Axes order = inWeight(outputs);
    if (out && dropped_.axis >= 0) { // These are further outputs.
      order.insert(order.begin(), dropped_.axis);
      out->to += dropped_.to * out->total;
      out->total *= weight_.getDimSize(dropped_.axis);
    }
    if (!in || !out || !llvm::is_sorted(order) ||
        (isGrouped && dropped_.axis >= 0))
      return fail("a part of a window, or of a group, or has other axes");
    parts.push_back({product, *in, *out});
    return true;
  }

  static Axes sorted(Axes axes) {
    llvm::sort(axes);
    return axes;
  }

  RankedTensorType weight_;
  const ForwardPass &forward_;
  SmallVector<Pending> pending_;
  AxisPlace dropped_ = {-1, 0, 0, 1}; // of what is visited
  bool isSum_ = false;
};

} // namespace

ForwardPass::ForwardPass(GraphOp train) {
  if (OpOperand *loss = findLoss(train))
    ops_.insert_range(computationOf(loss->get().getDefiningOp()));
}

bool ForwardPass::computes(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || ops_.contains(op))
    return true;
  bool isMoved =
      movesOneOperand(op) || changesWidth(op) || isa<ConcatenateOp>(op);
  return isMoved && llvm::all_of(op->getOperands(), [&](Value operand) {
           return computes(operand);
         });
}

SmallVector<WeightPart> weightParts(Value gradient, const ForwardPass &forward,
                                    std::string &reason) {
  Search search(tensorType(gradient), forward);
  if (search.run(gradient))
    return search.parts;
  reason = "its gradient is " + search.reason;
  return {};
}

} // namespace gradus
