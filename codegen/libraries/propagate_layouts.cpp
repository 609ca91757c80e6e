// Lets ops between the library's convolutions work on their blocked tensors, so
// that few reorders are left. Runs after selection.
//
// A blocked result is recognised by its reorder to the plain shape. Elementwise
// ops, pooling and reductions that read it are rewritten over the blocks; their
// results get reorders of their own, which are erased if unused.

#include "codegen/libraries/blocked_tensor.h"
#include "codegen/libraries/depthwise_blocks.h"
#include "codegen/plan/nest.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"

namespace gradus {
#define GEN_PASS_DEF_PROPAGATELAYOUTS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::LibraryOp;

/// The blocked form of a plain value.
struct Blocks {
  Value value;
  int64_t size = 0;
};

bool isReorder(Operation *op) {
  auto library = dyn_cast_or_null<LibraryOp>(op);
  return library && library.getCall() == "reorder";
}

class Propagation {
public:
  Propagation(GraphOp graph, const Library &library, StringRef pass)
      : graph_(graph), library_(library), pass_(pass) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : graph_.getBody().front())
      ops.push_back(&op);
    findFeeders();
    for (Operation *op : ops)
      visit(op);
    tidy();
    if (!library_.reorders())
      for (LibraryOp op : llvm::to_vector(graph_.getOps<LibraryOp>()))
        if (isReorder(op))
          lower(op);
  }

private:
  void visit(Operation *op) {
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return cancel(transpose);
    if (Operation *straight = straightened(op))
      op = straight;
    if (isReorder(op))
      visitReorder(cast<LibraryOp>(op));
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      visitReduce(reduce);
    else if (op->hasTrait<PoolsWindows>())
      visitPool(op);
    else if (isElementwise(op))
      visitElementwise(op);
    else if (auto depthwise = depthwiseOf(op))
      visitDepthwise(*depthwise);
  }

  /// Whether a value is the gradient of a weight, which must return to the
  /// layout of the weight and its slots, so that updates run in place. oneDNN
  /// has layouts of its own for these.
  bool isForUpdate(Value value) const {
    auto call = value.getDefiningOp<LibraryOp>();
    return !library_.reorders() && call &&
           call.getCall() == "convolution_backward_weights";
  }

  void visitReorder(LibraryOp op) {
    Value from = op.getOperands()[0], to = op.getResult(0);
    if (shapeOf(from).size() == shapeOf(to).size() + 1 && !isForUpdate(from))
      blocks_[to] = {from, shapeOf(from).back()};
    if (!isReorder(from.getDefiningOp()))
      return;
    auto before = cast<LibraryOp>(from.getDefiningOp());
    Value start = before.getOperands()[0];
    if (op.getLayouts()[1] == before.getLayouts()[0] &&
        start.getType() == to.getType())
      to.replaceAllUsesWith(start); // they cancel each other
  }

  //===-- transposes ------------------------------------------------------===//

  /// The transpose of a value in blocks that makes this one: a layer norm of
  /// channels computes between two transposes.
  TransposeOp turned(Value value) const {
    auto op = value.getDefiningOp<TransposeOp>();
    return op && blocks_.contains(op.getInput()) ? op : TransposeOp();
  }

  void cancel(TransposeOp op) {
    TransposeOp before = turned(op.getInput());
    if (!before)
      return;
    for (auto [d, dim] : llvm::enumerate(op.getPermutation()))
      if (before.getPermutation()[dim] != int64_t(d))
        return;
    op.getResult().replaceAllUsesWith(before.getInput());
  }

  /// The op on what is before a transpose, in front of which it moves; null if
  /// that cannot be.
  Operation *straightened(Operation *op) {
    bool isReduce = isa<ReduceOp>(op);
    if (!isReduce && (!isElementwise(op) || op->getNumResults() != 1))
      return nullptr;
    TransposeOp lead;
    for (Value operand : op->getOperands())
      lead = lead ? lead : turned(operand);
    if (!lead)
      return nullptr;
    ArrayRef<int64_t> order = lead.getPermutation();
    OpBuilder builder(op);
    if (isReduce)
      return straightReduce(builder, cast<ReduceOp>(op), lead);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (Value made = beforeTranspose(builder, operand, lead))
        operands.push_back(made);
      else
        return nullptr;
    Operation *straight = builder.clone(*op);
    straight->setOperands(operands);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    straight->getResult(0).setType(type.clone(shapeOf(lead.getInput())));
    op->getResult(0).replaceAllUsesWith(
        transpose(builder, op->getLoc(), straight->getResult(0), order));
    return straight;
  }

  /// A sum over the same axes; null if what is left would be in another order.
  Operation *straightReduce(OpBuilder &builder, ReduceOp op, TransposeOp lead) {
    SmallVector<int64_t> axes, left;
    for (auto [d, dim] : llvm::enumerate(lead.getPermutation()))
      (llvm::is_contained(op.getAxes(), int64_t(d)) ? axes : left)
          .push_back(dim);
    if (!llvm::is_sorted(left))
      return nullptr;
    llvm::sort(axes);
    Value made =
        reduce(builder, op.getLoc(), op.getKind(), lead.getInput(), axes);
    op.getResult().replaceAllUsesWith(made);
    return made.getDefiningOp();
  }

  /// Returns the value that a transpose like `lead` would turn into this one;
  /// null if there is none.
  Value beforeTranspose(OpBuilder &builder, Value value, TransposeOp lead) {
    ArrayRef<int64_t> shape = shapeOf(lead.getInput());
    auto type = cast<RankedTensorType>(value.getType());
    if (TransposeOp op = turned(value))
      return op.getPermutation() == lead.getPermutation() ? op.getInput()
                                                          : Value();
    if (TypedAttr number = splatOf(value))
      return arith::ConstantOp::create(
          builder, value.getLoc(),
          DenseElementsAttr::get(type.clone(shape),
                                 ArrayRef<Attribute>(number)));
    auto op = value.getDefiningOp<BroadcastOp>();
    if (!op)
      return {};
    SmallVector<int64_t> sizes, dims;
    for (auto [size, dim] :
         llvm::zip(shapeOf(op.getInput()), op.getDimensions()))
      if (size != 1) {
        sizes.push_back(size);
        dims.push_back(lead.getPermutation()[dim]);
      }
    if (!llvm::is_sorted(dims))
      return {};
    Value input = reshape(builder, op.getLoc(), op.getInput(), sizes);
    return broadcast(builder, op.getLoc(), input, shape, dims);
  }

  //===-- elementwise -----------------------------------------------------===//

  void visitElementwise(Operation *op) {
    if (isVector(op->getResult(0)) && !isOfChannels(op))
      return;
    const Blocks *lead = nullptr;
    int64_t known = 0, others = 0;
    for (Value operand : op->getOperands())
      if (auto found = blocks_.find(operand); found != blocks_.end()) {
        lead = lead ? lead : &found->second;
        known += found->second.size == lead->size;
      } else {
        others += !isSmall(operand);
      }
    if (!lead || others > known)
      return;
    Blocks like = *lead;
    replaceByBlocks(op, onBlocks(op, like), like.size);
  }

  /// Whether a value is as cheap to compute blocked as plain.
  static bool isSmall(Value value) {
    return splatOf(value) || value.getDefiningOp<BroadcastOp>() ||
           isVector(value) || isOfSmall(value);
  }

  /// Whether a value is computed of splats and broadcasts alone, such as a gate
  /// of channels that is widened.
  static bool isOfSmall(Value value) {
    Operation *op = value.getDefiningOp();
    return op && isElementwise(op) && op->getNumOperands() > 0 &&
           llvm::all_of(op->getOperands(), [](Value operand) {
             return splatOf(operand) || operand.getDefiningOp<BroadcastOp>();
           });
  }

  static bool isVector(Value value) { return shapeOf(value).size() == 1; }

  /// Finds the ops of which only new values of states are made. Each state is
  /// updated whole, in its own shape.
  void findFeeders() {
    for (Operation &op : llvm::reverse(graph_.getBody().front()))
      if (!op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
            return isa<WriteOp>(user) || feeders_.contains(user);
          }))
        feeders_.insert(&op);
  }

  /// Whether an op on vectors computes with sums of blocks and parameters
  /// alone, as between the sums of a normalization and the factors of channels:
  /// one nest can do both.
  bool isOfChannels(Operation *op) const {
    return !feeders_.contains(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return blocks_.contains(operand) || splatOf(operand) ||
                    operand.getDefiningOp<ReadOp>();
           });
  }

  Value inBlocks(OpBuilder &builder, Value plain, const Blocks &like) {
    if (auto found = blocks_.find(plain);
        found != blocks_.end() && found->second.size == like.size)
      return found->second.value;
    auto type = cast<RankedTensorType>(plain.getType());
    auto shape = shapeInBlocks(type, like.size);
    auto wanted = RankedTensorType::get(shape, type.getElementType());
    if (TypedAttr number = splatOf(plain))
      return arith::ConstantOp::create(
          builder, plain.getLoc(),
          DenseElementsAttr::get(wanted, ArrayRef<Attribute>(number)));
    if (auto broadcast = plain.getDefiningOp<BroadcastOp>())
      if (Value made = broadcastBlocks(builder, broadcast, shape, like))
        return made;
    if (isVector(plain))
      return reshape(builder, plain.getLoc(), plain, shape);
    if (!canReorder(type) || isOfNarrow(plain, like))
      return computedInBlocks(builder, plain, like);
    return reorder(builder, plain.getLoc(), plain, wanted,
                   rowMajorLayout(type.getShape()),
                   blockedLayout(type.getShape(), like.size));
  }

  /// Whether a value is computed element by element of what is in blocks and at
  /// most one tensor of 16 bits: to reorder that one moves half the bytes, or
  /// less, as several values are made of it.
  bool isOfNarrow(Value plain, const Blocks &like) const {
    constexpr unsigned mostValues = 64;
    llvm::SmallSetVector<Value, 4> leaves;
    llvm::SmallDenseMap<Value, bool> known;
    auto visit = [&](auto &self, Value value) -> bool {
      auto found = blocks_.find(value);
      if (isSmall(value) ||
          (found != blocks_.end() && found->second.size == like.size))
        return true;
      if (auto before = known.find(value); before != known.end())
        return before->second;
      if (known.size() == mostValues)
        return false;
      known[value] = false;
      Operation *op = value.getDefiningOp();
      bool isMade = op && isElementwise(op) &&
                    llvm::all_of(op->getOperands(), [&](Value operand) {
                      return self(self, operand);
                    });
      if (!isMade && value != plain &&
          getElementTypeOrSelf(value).getIntOrFloatBitWidth() == 16)
        isMade = leaves.insert(value) && leaves.size() == 1;
      return known[value] = isMade;
    };
    return visit(visit, plain);
  }

  /// Computes again, of blocks, a value of a type that the library cannot
  /// reorder, such as a mask, or that is made of narrower ones. It is done once
  /// for all readers: ops are visited in their order, so that what was made for
  /// one dominates the next.
  Value computedInBlocks(OpBuilder &builder, Value plain, const Blocks &like) {
    Operation *op = plain.getDefiningOp();
    if (!op || !isElementwise(op) || splatOf(plain))
      return blocked(builder, plain.getLoc(), plain, like.size);
    if (Value made = computed_.lookup({plain, like.size}))
      return made;
    Operation *copy = onBlocks(op, like, builder);
    auto type = cast<RankedTensorType>(plain.getType());
    copy->getResult(0).setType(
        type.clone(blockedShape(type.getShape(), like.size)));
    return computed_[{plain, like.size}] = copy->getResult(0);
  }

  static SmallVector<int64_t> shapeInBlocks(RankedTensorType type,
                                            int64_t size) {
    if (type.getRank() > 1)
      return blockedShape(type.getShape(), size);
    return {type.getDimSize(0) / size, size};
  }

  /// Broadcasts directly to blocks, or returns null if that needs a transpose.
  Value broadcastBlocks(OpBuilder &builder, BroadcastOp op,
                        ArrayRef<int64_t> shape, const Blocks &like) {
    SmallVector<int64_t> from, dims;
    bool split = false;
    for (auto [size, dim] :
         llvm::zip(shapeOf(op.getInput()), op.getDimensions())) {
      if (split && size != 1)
        return {}; // the block would have to move after it
      from.push_back(dim == 1 && size != 1 ? shape[1] : size);
      dims.push_back(dim);
      split |= dim == 1 && size != 1;
    }
    if (split) {
      from.push_back(shape.back());
      dims.push_back(shape.size() - 1);
    }
    bool isOfChannels = isVector(op.getInput()) && from.size() == 2;
    Value input = isOfChannels
                      ? inBlocks(builder, op.getInput(), like)
                      : reshape(builder, op.getLoc(), op.getInput(), from);
    return broadcast(builder, op.getLoc(), input, shape, dims);
  }

  //===-- reductions ------------------------------------------------------===//

  /// Handles reductions that leave no dimension after the channels, or no
  /// channels: their result is plain.
  void visitReduce(ReduceOp op) {
    auto found = blocks_.find(op.getInput());
    if (found == blocks_.end())
      return;
    const Blocks &blocks = found->second;
    int64_t rank = shapeOf(op.getInput()).size();
    SmallVector<int64_t> axes(op.getAxes());
    bool reducesChannels = llvm::is_contained(axes, 1);
    for (int64_t d = 2; d < rank && !reducesChannels; ++d)
      if (!llvm::is_contained(axes, d))
        return;
    if (reducesChannels)
      axes.push_back(rank);
    OpBuilder builder(op);
    int64_t size = blocks.size;
    Value sums = reduce(builder, op.getLoc(), op.getKind(), blocks.value, axes);
    Value plain = reshape(builder, op.getLoc(), sums, shapeOf(op.getResult()));
    op.getResult().replaceAllUsesWith(plain);
    if (isVector(plain) && !reducesChannels)
      blocks_[plain] = {sums, size};
    ++count_;
  }

  //===-- pooling ---------------------------------------------------------===//

  /// Handles pooling: a window on [N, C/16, H, W, 16] has three dimensions, of
  /// extent 1 along the last, so tap numbers do not change. Windows that
  /// already have three dimensions are left alone.
  void visitPool(Operation *op) {
    if (op->getAttrOfType<DenseI64ArrayAttr>("window").size() > 2)
      return;
    const Blocks *lead = nullptr;
    for (Value operand : op->getOperands())
      if (auto found = blocks_.find(operand); found != blocks_.end() && !lead)
        lead = &found->second;
    if (!lead)
      return;
    Blocks like = *lead;
    Operation *copy = onBlocks(op, like);
    for (auto [name, value] : {std::pair("window", 1),
                               {"strides", 1},
                               {"pads_begin", 0},
                               {"pads_end", 0},
                               {"dilations", 1}}) {
      SmallVector<int64_t> values(
          op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef());
      values.push_back(value);
      copy->setAttr(name, DenseI64ArrayAttr::get(op->getContext(), values));
    }
    replaceByBlocks(op, copy, like.size);
  }

  //===-- depthwise convolutions ------------------------------------------===//

  /// Handles those that the library does not compute, where all activations
  /// that they read are in blocks.
  void visitDepthwise(const Depthwise &of) {
    SmallVector<Value> blocks;
    int64_t size = 0;
    for (Value value : of.activations) {
      auto found = blocks_.find(value);
      if (found == blocks_.end() || (size && found->second.size != size))
        return;
      blocks.push_back(found->second.value);
      size = found->second.size;
    }
    if (!library_.reorders() || isBorder(of))
      return;
    OpBuilder builder(of.op);
    Value result = gradus::onBlocks(builder, of, blocks, size);
    if (of.givesWeights())
      of.op->getResult(0).replaceAllUsesWith(result);
    else
      replace(of.op->getResult(0), result, size);
    ++count_;
  }

  /// Whether an input's gradient meets a plain input, to which the gradient of
  /// the result is the smaller one to reorder.
  bool isBorder(const Depthwise &of) const {
    return isa<ConvolutionBackwardDataOp>(of.op) &&
           llvm::any_of(of.activations[0].getUsers(), [&](Operation *user) {
             auto weights = dyn_cast<ConvolutionBackwardWeightsOp>(user);
             return weights && !blocks_.contains(weights.getInput());
           });
  }

  //===-- results ---------------------------------------------------------===//

  /// A copy of `op` with blocked operands.
  Operation *onBlocks(Operation *op, const Blocks &like) {
    OpBuilder builder(op);
    return onBlocks(op, like, builder);
  }

  Operation *onBlocks(Operation *op, const Blocks &like, OpBuilder &builder) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, inBlocks(builder, operand, like));
    return builder.clone(*op, mapping);
  }

  /// Gives a copy of `op` blocked shapes, and replaces the op's results by
  /// plain forms of the copy's.
  void replaceByBlocks(Operation *op, Operation *copy, int64_t size) {
    for (auto [old, result] : llvm::zip(op->getResults(), copy->getResults())) {
      auto type = cast<RankedTensorType>(old.getType());
      result.setType(type.clone(shapeInBlocks(type, size)));
      replace(old, result, size);
    }
    ++count_;
  }

  void replace(Value old, Value result, int64_t size) {
    OpBuilder builder(graph_.getContext());
    builder.setInsertionPointAfterValue(result);
    auto type = cast<RankedTensorType>(old.getType());
    ArrayRef<int64_t> shape = type.getShape();
    Value plain =
        type.getRank() == 1 ? reshape(builder, old.getLoc(), result, shape)
        : canReorder(type)
            ? reorder(builder, old.getLoc(), result, type,
                      blockedLayout(shape, size), rowMajorLayout(shape))
            : unblocked(builder, old.getLoc(), result, shape);
    old.replaceAllUsesWith(plain);
    blocks_[plain] = {result, size};
  }

  /// Whether the library supports tensors of this type.
  bool canReorder(RankedTensorType type) const {
    return library_.accepts(type.getElementType());
  }

  /// Lowers a reorder to a transpose, for libraries that have none.
  static void lower(LibraryOp op) {
    OpBuilder builder(op);
    Location location = op.getLoc();
    Value value = op.getOperands()[0];
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    auto from = cast<RankedTensorType>(value.getType());
    if (from.getElementType() != type.getElementType())
      value = arith::TruncFOp::create(builder, location,
                                      from.clone(type.getElementType()), value);
    bool intoBlocks = type.getRank() > from.getRank();
    Value moved =
        intoBlocks ? blocked(builder, location, value, type.getShape().back())
                   : unblocked(builder, location, value, type.getShape());
    op.getResult(0).replaceAllUsesWith(moved);
    op.erase();
  }

  /// Merges equal reorders and erases unused ops.
  void tidy() {
    IRRewriter rewriter(graph_.getContext());
    DominanceInfo dominance(graph_);
    eliminateCommonSubExpressions(rewriter, dominance, graph_);
    Block &block = graph_.getBody().front();
    eraseUnused(block);
    int64_t reorders =
        llvm::count_if(block, [](Operation &op) { return isReorder(&op); });
    if (count_ > 0)
      remark::passed(graph_.getLoc(),
                     remark::RemarkOpts::name("Propagated").category(pass_))
          << std::to_string(count_) << " ops work on blocked channels, "
          << std::to_string(reorders) << " reorders are left";
  }

  GraphOp graph_;
  const Library &library_;
  StringRef pass_;
  llvm::DenseMap<Value, Blocks> blocks_;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> computed_; // by block size
  llvm::DenseSet<Operation *> feeders_;
  int64_t count_ = 0;
};

struct PropagateLayouts : impl::PropagateLayoutsBase<PropagateLayouts> {
  using Base::Base;

  void runOnOperation() override {
    const Library *library = findLibrary(provider);
    if (!library) {
      getOperation().emitError("propagate-layouts: provider is '")
          << provider << "', expected onednn or cuda";
      return signalPassFailure();
    }
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      if (!graph.getBody().getOps<LibraryOp>().empty())
        Propagation(graph, *library, getArgument()).run();
  }
};

} // namespace
} // namespace gradus
