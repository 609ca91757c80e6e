// Computes in 16 bits those parts of a model that lose little by it, as the
// recipe's `precision` requests. Parameters, optimizer, losses and statistics
// stay f32.
//
// Runs on @predict, before @train is derived from it, so that gradients follow
// by the rules of the ops. The classes of ops are those of PyTorch's autocast,
// but arithmetic between them is in f32: it happens in registers, and only
// stored values are rounded.

#include "passes/recognition/mixed_precision.h"

#include "ir/build.h"
#include "ir/gradient_ops.h"
#include "ir/scan_ops.h"

#include "passes/passes.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace gradus {
#define GEN_PASS_DEF_MIXEDPRECISION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

bool isF32(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getElementType().isF32();
}

/// Matmul and convolutions: 16-bit operands, sums in f32. An outer product sums
/// nothing: it counts as arithmetic, mostly on positions.
bool isMatmulOrConvolution(Operation *op) {
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    ArrayRef<int64_t> a = tensorType(matmul.getA()).getShape();
    return a[a.size() - (matmul.getTransposeA() ? 2 : 1)] > 1;
  }
  return isa<ConvolutionOp, ConvolutionBackwardDataOp>(op);
}

bool movesElements(Operation *op) { return op->hasTrait<MovesElements>(); }

/// Whether an op gives 16 bits for 16 bits and loses nothing, or no more than
/// the rounding of its result.
bool keepsElements(Operation *op) {
  return movesElements(op) || op->hasTrait<Keeps16Bits>();
}

/// Whether an op computes each element of an image from few others in f32; its
/// result is worth 16 bits if its inputs are.
bool isArithmetic(Operation *op) {
  return isa<Elementwise>(op) || op->hasTrait<OpTrait::Elementwise>() ||
         op->hasTrait<ComputesOfFewElements>();
}

/// Rewrites one graph. A value is narrow if it derives from matmul or
/// convolutions without anything wider added: it may be stored in 16 bits.
class Narrowing {
public:
  Narrowing(GraphOp graph, FloatType element)
      : block_(graph.getBody().front()), element_(element) {}

  void run() {
    markActivations();
    for (auto add : llvm::make_early_inc_range(block_.getOps<arith::AddFOp>()))
      addBeforeReshape(add);
    for (Operation &op : llvm::make_early_inc_range(block_))
      visit(&op);
    storeOnce();
  }

  int64_t products() const { return products_; }

private:
  /// Marks what depends on the graph's inputs; all else is parameters.
  void markActivations() {
    for (BlockArgument input : block_.getArguments())
      activations_.insert(input);
    for (Operation &op : block_)
      if (llvm::any_of(op.getOperands(), [&](Value operand) {
            return activations_.contains(operand);
          }))
        activations_.insert_range(op.getResults());
  }

  void visit(Operation *op) {
    if (!llvm::any_of(op->getResults(), isF32))
      return;
    if (auto scan = dyn_cast<ScanOp>(op))
      return visitScan(scan);
    if (isMatmulOrConvolution(op) && llvm::all_of(op->getOperands(), isF32) &&
        !isOfPositions(op))
      visitMatmulOrConvolution(op);
    else if (keepsElements(op))
      visitKeeping(op);
    else if (isArithmetic(op) && op->getNumResults() == 1 &&
             isNarrowArithmetic(op))
      narrow_.insert(op->getResult(0));
  }

  /// Whether an operand derives from integers, such as angles from positions:
  /// integers beyond 256 are not exact in bf16.
  bool isOfPositions(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *definingOp = operand.getDefiningOp();
      while (definingOp && movesElements(definingOp))
        definingOp = definingOp->getOperand(0).getDefiningOp();
      return isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(definingOp);
    });
  }

  void visitMatmulOrConvolution(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(rounded(operand.get()));
    Value result = op->getResult(0);
    ++products_;
    if (isLast(result))
      return;
    narrow_.insert(result);
    if (Value sum = withBias(op)) {
      narrow_.insert(sum);
      result = sum;
    }
    if (llvm::any_of(result.getUsers(), [](Operation *user) {
          return isMatmulOrConvolution(user) || keepsElements(user) ||
                 isArithmetic(user);
        }))
      rounded(result);
  }

  /// Rounds the operands of matmuls and convolutions in the steps of a scan.
  /// Their sums stay as they are: the step has them in registers. What the scan
  /// stacks is worth 16 bits then.
  void visitScan(ScanOp scan) {
    int64_t before = products_;
    for (Operation &op : llvm::make_early_inc_range(scan.getBodyBlock())) {
      if (!isMatmulOrConvolution(&op) ||
          !llvm::all_of(op.getOperands(), isF32) || isOfPositions(&op))
        continue;
      for (OpOperand &operand : op.getOpOperands())
        operand.set(roundedInStep(scan, operand.get()));
      ++products_;
    }
    if (products_ == before)
      return;
    DenseSet<Value> narrow = narrowInStep(scan);
    size_t first = scan.getCarried().size();
    ValueRange yielded = scan.getBodyBlock().getTerminator()->getOperands();
    for (auto [result, value] :
         llvm::drop_begin(llvm::zip_equal(scan.getResults(), yielded), first))
      if (narrow.contains(value) && !isLast(result))
        narrow_.insert(result);
  }

  /// The values of a step that come of its matmuls, or of what is narrow
  /// outside, without anything wider. What is carried is, unless the step makes
  /// something wider of it.
  DenseSet<Value> narrowInStep(ScanOp scan) {
    Block &body = scan.getBodyBlock();
    size_t carried = scan.getCarried().size();
    ValueRange yielded = body.getTerminator()->getOperands();
    DenseSet<Value> wide, narrow;
    size_t before = 0;
    do {
      before = wide.size();
      narrow.clear();
      for (auto [argument, outer] :
           llvm::zip(body.getArguments(), scan->getOperands()))
        if (argument.getArgNumber() < carried
                ? !wide.contains(argument)
                : !isF32(outer) || narrow_.contains(outer) ||
                      !activations_.contains(outer))
          narrow.insert(argument);
      for (Operation &op : body.without_terminator())
        if (isNarrowInStep(&op, narrow))
          narrow.insert_range(op.getResults());
      for (auto [argument, value] : llvm::zip(body.getArguments(), yielded))
        if (argument.getArgNumber() < carried && !narrow.contains(value))
          wide.insert(argument);
    } while (wide.size() > before);
    return narrow;
  }

  /// Whether an op of a step is a matmul of rounded operands, or makes nothing
  /// but narrow values of narrow ones. Those made of integers are wide.
  static bool isNarrowInStep(Operation *op, const DenseSet<Value> &narrow) {
    auto isFloat = [](Value value) {
      return isa<FloatType>(getElementTypeOrSelf(value.getType()));
    };
    if (isMatmulOrConvolution(op))
      return !isF32(op->getOperand(0));
    if (op->hasTrait<OpTrait::ConstantLike>())
      return true;
    auto operands = llvm::make_filter_range(op->getOperands(), isFloat);
    return !operands.empty() && llvm::all_of(operands, [&](Value operand) {
      return narrow.contains(operand);
    });
  }

  /// A value of a step in 16 bits. What is the same in all steps is rounded
  /// outside, once.
  Value roundedInStep(ScanOp scan, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!llvm::is_contained(scan.getInvariantArguments(), argument))
      return rounded(value);
    if (Value found = rounded_.lookup(value))
      return found;
    Value outside = rounded(scan->getOperand(argument.getArgNumber()));
    scan.getInvariantsMutable().append(outside);
    return rounded_[value] = scan.getBodyBlock().addArgument(outside.getType(),
                                                             value.getLoc());
  }

  /// Adds a bias to the rows of a matmul, instead of behind a reshape that
  /// keeps them.
  void addBeforeReshape(arith::AddFOp add) {
    for (Value rows : add->getOperands()) {
      auto reshape = rows.getDefiningOp<ReshapeOp>();
      auto matmul =
          reshape ? reshape.getInput().getDefiningOp<MatmulOp>() : MatmulOp();
      BroadcastOp bias = matmul ? biasOf(add, rows) : BroadcastOp();
      if (!bias || !rows.hasOneUse() || !matmul->hasOneUse() ||
          tensorType(rows).getShape().back() !=
              tensorType(matmul).getShape().back())
        continue;
      OpBuilder builder(add);
      ArrayRef<int64_t> shape = tensorType(matmul).getShape();
      Value row = broadcast(builder, bias.getLoc(), bias.getInput(), shape,
                            {int64_t(shape.size()) - 1});
      Value sum = arith::AddFOp::create(builder, add.getLoc(), matmul, row);
      Value result = gradus::reshape(builder, reshape.getLoc(), sum,
                                     tensorType(add).getShape());
      activations_.insert(sum);
      activations_.insert(result);
      add.replaceAllUsesWith(result);
      for (Operation *op :
           {add.getOperation(), bias.getOperation(), reshape.getOperation()}) {
        activations_.erase(op->getResult(0));
        op->erase();
      }
      return;
    }
  }

  /// The vector that a sum adds to each of `rows`, made of parameters alone.
  BroadcastOp biasOf(arith::AddFOp add, Value rows) {
    Value other = add.getLhs() == rows ? add.getRhs() : add.getLhs();
    auto bias = other.getDefiningOp<BroadcastOp>();
    RankedTensorType type = tensorType(rows);
    bool isBias =
        bias && !activations_.contains(bias) && bias->hasOneUse() &&
        bias.getDimensions() == ArrayRef<int64_t>{type.getRank() - 1} &&
        tensorType(bias.getInput()).getShape() == type.getShape().take_back();
    return isBias ? bias : BroadcastOp();
  }

  /// The sum of a matmul and the bias of its rows. Rounds the bias like the
  /// weights; the sum is rounded only once.
  Value withBias(Operation *op) {
    auto matmul = dyn_cast<MatmulOp>(op);
    if (!matmul || !matmul->hasOneUse())
      return nullptr;
    auto add = dyn_cast<arith::AddFOp>(*matmul->user_begin());
    BroadcastOp bias = add ? biasOf(add, matmul) : BroadcastOp();
    if (!bias)
      return nullptr;
    OpBuilder builder(bias);
    Value narrow = rounded(bias.getInput());
    bias.getInputMutable().assign(
        convert(builder, bias.getLoc(), narrow, builder.getF32Type()));
    return add;
  }

  /// Whether the result goes to the loss, apart from a bias and moves: then it
  /// is kept in f32.
  bool isLast(Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<ReturnOp>(user))
        return true;
      bool isBias = isa<arith::AddFOp>(user) &&
                    llvm::count_if(user->getOperands(), [&](Value operand) {
                      return activations_.contains(operand);
                    }) == 1;
      return (isBias || movesElements(user)) && isLast(user->getResult(0));
    });
  }

  /// The operands that are activations: all or the first.
  static MutableArrayRef<OpOperand> images(Operation *op) {
    auto operands = op->getOpOperands();
    return isa<ConcatenateOp>(op) ? operands : operands.take_front(1);
  }

  void visitKeeping(Operation *op) {
    auto inputs = images(op);
    if (!llvm::all_of(inputs, [&](OpOperand &input) {
          return isF32(input.get()) && narrow_.contains(input.get());
        }))
      return;
    for (OpOperand &input : inputs)
      input.set(rounded(input.get()));
    Value result = op->getResult(0);
    result.setType(cast<RankedTensorType>(result.getType()).clone(element_));
    OpBuilder builder(block_.getParentOp()->getContext());
    builder.setInsertionPointAfter(op);
    Value wide = convert(builder, op->getLoc(), result, builder.getF32Type());
    result.replaceAllUsesExcept(wide, wide.getDefiningOp());
    rounded_[wide] = result;
    narrow_.insert(wide);
    activations_.insert(wide);
  }

  /// Whether an arithmetic op has a narrow operand and no wide one. Operands
  /// that depend only on parameters do not count.
  bool isNarrowArithmetic(Operation *op) {
    auto images = llvm::make_filter_range(op->getOperands(), [&](Value value) {
      return isF32(value) && activations_.contains(value);
    });
    return isF32(op->getResult(0)) && !images.empty() &&
           llvm::all_of(images,
                        [&](Value value) { return narrow_.contains(value); });
  }

  /// `value` in 16 bits, rounded once for all users.
  Value rounded(Value value) {
    Value &found = rounded_[value];
    if (!found) {
      OpBuilder builder(block_.getParentOp()->getContext());
      builder.setInsertionPointAfterValue(value);
      found = arith::TruncFOp::create(
          builder, value.getLoc(),
          cast<RankedTensorType>(value.getType()).clone(element_), value);
    }
    return found;
  }

  /// Makes all users of a narrow value use its 16-bit form, if it has one.
  void storeOnce() {
    for (auto [value, stored] : rounded_) {
      auto round = stored.getDefiningOp<arith::TruncFOp>();
      if (!round || round.getIn() != value || !narrow_.contains(value) ||
          value.hasOneUse())
        continue;
      OpBuilder builder(round);
      builder.setInsertionPointAfter(round);
      Value wide =
          convert(builder, round.getLoc(), stored, builder.getF32Type());
      value.replaceAllUsesExcept(wide, round);
    }
  }

  Block &block_;
  FloatType element_;
  DenseSet<Value> activations_, narrow_;
  llvm::MapVector<Value, Value> rounded_;
  int64_t products_ = 0;
};

struct MixedPrecisionPass : impl::MixedPrecisionBase<MixedPrecisionPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp predict = getOperation().getGraph(well_known::kPredict);
    Precision precision = precisionOf(getOperation());
    FloatType element = narrowType(precision, &getContext());
    if (!predict || !element)
      return;
    Narrowing narrowing(predict, element);
    narrowing.run();
    report(predict, nameOf(precision), narrowing.products());
  }

  void report(GraphOp graph, StringRef precision, int64_t products) {
    remark::passed(
        graph.getLoc(),
        remark::RemarkOpts::name("MixedPrecision").category(getArgument()))
        << std::to_string(products) << " products compute in " << precision;
  }
};

} // namespace

const recipe::Field &precisionKey() {
  using recipe::Field;
  static const Field key = Field{"precision", recipe::Kind::choice, "\"f32\"",
                                 "what forward and backward compute in"}
                               .among({{"f32"}, {"bf16"}, {"f16"}})
                               .flagged();
  return key;
}

StringRef nameOf(Precision precision) {
  return precisionKey().choices[size_t(precision)].name;
}

Precision precisionOf(ProgramOp program) {
  Precision precision;
  recipe::valueOf(program, precisionKey()).to(precision);
  return precision;
}

FloatType narrowType(Precision precision, MLIRContext *context) {
  Builder builder(context);
  if (precision == Precision::bf16)
    return builder.getBF16Type();
  return precision == Precision::f16 ? builder.getF16Type() : FloatType();
}

} // namespace gradus
