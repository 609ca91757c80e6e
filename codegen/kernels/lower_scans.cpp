// Makes kernels of scans. Their bodies are lowered to nests and fused as graphs
// of a program of their own; scan_kernel.cpp puts the nests into a loop.

#include "codegen/kernels/scan_kernel.h"
#include "codegen/plan/passes.h"
#include "ir/build.h"
#include "ir/scan_ops.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"

namespace gradus {
#define GEN_PASS_DEF_LOWERSCANS
#include "codegen/plan/passes.h.inc"

using namespace mlir;

namespace {

/// Whether a value is stored for the matmuls that read it.
bool isRoundedForMatmul(Operation *op) {
  return isa<arith::TruncFOp>(op) &&
         llvm::any_of(op->getUsers(), llvm::IsaPred<MatmulOp>);
}

/// Divides the ops of a body into segments: an op behind a concatenation, or
/// behind what is rounded for it, is in a later one.
class Segments {
public:
  explicit Segments(ScanOp scan) : scan_(scan) {
    for (Operation &op : scan.getBodyBlock().without_terminator()) {
      unsigned number = 0;
      for (Value operand : op.getOperands())
        number = std::max(number, afterOf(operand));
      segmentOf_[&op] = number;
      count_ = std::max(count_, number + 1);
    }
  }

  /// Builds the graphs in `program`.
  ScanNests graphs(ProgramOp program) {
    ScanNests nests{scan_, {}, {}};
    nests.joins.resize(count_);
    for (unsigned number = 0; number < count_; ++number)
      nests.segments.push_back(graph(program, number));
    for (auto op : scan_.getBodyBlock().getOps<ConcatenateOp>())
      nests.joins[segmentOf_.lookup(op)].push_back(op);
    return nests;
  }

private:
  static bool isConstant(Operation *op) {
    return op->hasTrait<OpTrait::ConstantLike>();
  }

  /// The first segment in which an op may read a value.
  unsigned afterOf(Value value) const {
    Operation *op = value.getDefiningOp();
    bool isStored = op && (isa<ConcatenateOp>(op) || isRoundedForMatmul(op));
    return op ? segmentOf_.lookup(op) + isStored : 0;
  }

  bool isIn(Operation *op, unsigned number) const {
    return op && segmentOf_.lookup(op) == number && !isConstant(op) &&
           !isa<ConcatenateOp, YieldOp>(op);
  }

  ScanSegment graph(ProgramOp program, unsigned number);

  ScanOp scan_;
  DenseMap<Operation *, unsigned> segmentOf_;
  unsigned count_ = 0;
};

ScanSegment Segments::graph(ProgramOp program, unsigned number) {
  llvm::SetVector<Value> inputs, outputs;
  SmallVector<Operation *> ops;
  for (Operation &op : scan_.getBodyBlock().without_terminator()) {
    if (!isIn(&op, number))
      continue;
    ops.push_back(&op);
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp();
          !isIn(maker, number) && !(maker && isConstant(maker)))
        inputs.insert(operand);
    for (OpOperand &use : op.getUses())
      if (!isIn(use.getOwner(), number))
        outputs.insert(use.get());
  }
  OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
  auto graph = GraphOp::create(
      builder, scan_.getLoc(), "segment" + std::to_string(number),
      builder.getFunctionType({}, {}), builder.getStrArrayAttr({}),
      builder.getStrArrayAttr({}), StringAttr(), ArrayAttr(), ArrayAttr());
  Block *block = builder.createBlock(&graph.getBody());
  ReturnOp::create(builder, scan_.getLoc(), ValueRange());
  builder.setInsertionPointToStart(block);
  IRMapping values;
  for (auto [i, value] : llvm::enumerate(inputs))
    values.map(value, graph.addInput("in" + std::to_string(i), value.getType(),
                                     value.getLoc()));
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && isConstant(maker) && !values.contains(operand))
        builder.clone(*maker, values);
    builder.clone(*op, values);
  }
  for (auto [i, value] : llvm::enumerate(outputs))
    graph.addOutput("out" + std::to_string(i), values.lookup(value));
  return {graph, inputs.takeVector(), outputs.takeVector()};
}

struct LowerScans : impl::LowerScansBase<LowerScans> {
  using Base::Base;

  void runOnOperation() override {
    KernelTable kernels(getOperation());
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (ScanOp scan :
           llvm::make_early_inc_range(graph.getBody().front().getOps<ScanOp>()))
        if (failed(replace(scan, kernels)))
          return signalPassFailure();
  }

  LogicalResult replace(ScanOp scan, KernelTable &kernels) {
    OpBuilder builder(scan);
    SmallVector<Value> values;
    if (scan->use_empty()) {
      scan.erase();
      return success();
    }
    if (loops)
      values = kernelOf(builder, scan, kernels);
    bool isKernel = !values.empty();
    if (!isKernel && int64_t(scan.getSteps()) > kMostStepsWrittenOut)
      return scan.emitOpError("has ")
             << scan.getSteps() << " steps; at most " << kMostStepsWrittenOut
             << (loops ? " can be written out, as a body that is no kernel is"
                       : " can be written out, as they are for GPUs");
    if (!isKernel)
      values = scan.decompose(builder);
    remark::passed(scan.getLoc(),
                   remark::RemarkOpts::name("Scan").category(getArgument()))
        << (isKernel ? "scan is one kernel, " : "scan is written out, ")
        << std::to_string(scan.getSteps()) << " steps";
    scan->replaceAllUsesWith(values);
    scan.erase();
    return success();
  }

  /// Constants with several numbers come from outside, as nests hold none.
  static void takeOutConstants(ScanOp scan) {
    for (auto op : llvm::make_early_inc_range(
             scan.getBodyBlock().getOps<arith::ConstantOp>()))
      if (!splatOf(op)) {
        op->moveBefore(scan);
        Value inside =
            scan.getBodyBlock().addArgument(op.getType(), op.getLoc());
        op->replaceAllUsesWith(ValueRange{inside});
        scan.getInvariantsMutable().append(op.getResult());
      }
  }

  /// Rounds the parts of a concatenation that all read rounded: they are
  /// written so then.
  static void roundParts(ScanOp scan) {
    for (auto op : llvm::make_early_inc_range(
             scan.getBodyBlock().getOps<ConcatenateOp>())) {
      if (op->use_empty() ||
          !llvm::all_of(op->getUsers(), [&](Operation *user) {
            return isa<arith::TruncFOp>(user) &&
                   user->getResult(0).getType() ==
                       op->user_begin()->getResult(0).getType();
          }))
        continue;
      RankedTensorType type = tensorType(op->user_begin()->getResult(0));
      OpBuilder builder(op);
      SmallVector<Value> parts;
      for (Value part : op.getInputs())
        parts.push_back(arith::TruncFOp::create(
            builder, op.getLoc(), tensorType(part).clone(type.getElementType()),
            part));
      Value all = ConcatenateOp::create(builder, op.getLoc(), type, parts,
                                        op.getAxis());
      for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
        user->replaceAllUsesWith(ValueRange{all});
        user->erase();
      }
      op->erase();
    }
  }

  SmallVector<Value> kernelOf(OpBuilder &builder, ScanOp scan,
                              KernelTable &kernels) {
    takeOutConstants(scan);
    roundParts(scan);
    OpBuilder inProgram =
        OpBuilder::atBlockEnd(&getOperation().getBody().front());
    auto program = ProgramOp::create(inProgram, scan.getLoc(), "scan.body",
                                     DictionaryAttr());
    program.getBody().emplaceBlock();
    ScanNests nests = Segments(scan).graphs(program);
    nests.pairs = pairs;
    SmallVector<Value> values;
    if (succeeded(lowerBody(program)))
      values = launchScan(builder, nests, kernels);
    program.erase();
    return values;
  }

  /// Lowers the graphs of a body to nests; fails if more than nests remain.
  /// A body without a kernel is no error here: its steps are written out then,
  /// and their errors are found where these are lowered.
  LogicalResult lowerBody(ProgramOp program) {
    ScopedDiagnosticHandler silent(&getContext(),
                                   [](Diagnostic &) { return success(); });
    OpPassManager manager(ProgramOp::getOperationName());
    manager.addPass(createLowerToNests());
    manager.addPass(createFuse());
    if (failed(runPipeline(manager, program)))
      return failure();
    for (auto graph : program.getBody().getOps<GraphOp>())
      for (Operation &op : graph.getBody().front().without_terminator())
        if (!isa<plan::NestOp>(op) && !op.hasTrait<NamesMemory>())
          return failure();
    return success();
  }
};

} // namespace
} // namespace gradus
