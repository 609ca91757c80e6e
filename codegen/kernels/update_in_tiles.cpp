// Updates states in the tiles of the matmuls that make their gradients, which
// are never stored then.
//
// A matmul is bound by arithmetic and an update by memory: where a tile's sums
// are computed, its part of the states is on the way already. Kernels are
// changed as they are, so this pass knows nothing of how a matmul is divided.

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/plan/nest_access.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_UPDATEINTILES
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;
using plan::NestOp;
using plan::Split;

//===-- which updates -----------------------------------------------------===//

/// The use of a value, or of a reshape of it, if there is but one.
OpOperand *onlyUse(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    auto reshape = dyn_cast<ReshapeOp>(use.getOwner());
    if (!reshape)
      return &use;
    value = reshape.getResult();
  }
  return nullptr;
}

/// The extents of a nest in a kernel over rows without the item's and those of
/// loops.
ArrayRef<int64_t> tileOf(NestOp nest) {
  unsigned loops = readNest(nest, Split::rows).loops;
  return nest.getParallel().drop_front(
      std::min<size_t>(1 + loops, nest.getParallel().size()));
}

/// Whether an op computes whole sums of products and writes them in rows to
/// `sums`, which it doesn't read, a small tile at a time.
bool writesTile(Operation *op, Value sums) {
  constexpr int64_t mostBytes = 16 * 1024;
  auto nest = dyn_cast<NestOp>(op);
  if (!nest || nest.getOuts().size() != 1 || nest.isElementwise() ||
      llvm::count(nest->getOperands(), sums) != 1 || nest.getOuts()[0] != sums)
    return false;
  ArrayRef<int64_t> tile = tileOf(nest);
  Nest read = readNest(nest, Split::rows);
  return !tile.empty() &&
         (tile.back() == 1 ||
          read.outputs.front().hasStride(read.parallel - 1, 1)) &&
         product(tile) * int64_t(sizeof(double)) <= mostBytes;
}

/// Whether a kernel with one result writes it in tiles, each of them once.
bool isOfTiles(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (!kernel.getWritesOnce() || kernel.getSplit() != Split::rows ||
      body.getNumArguments() != kernel.getInputs() + 1)
    return false;
  Value sums = body.getArguments().back();
  return llvm::all_of(sums.getUsers(),
                      [&](Operation *user) { return writesTile(user, sums); });
}

/// An update, and the launch that makes the gradient which it alone reads.
struct Pair {
  LaunchOp launch;
  NestOp update;
  int64_t gradient; // the number of the update's operand

  /// The update's other operands.
  SmallVector<Value> others() const {
    SmallVector<Value> values(update->getOperands());
    values.erase(values.begin() + gradient);
    return values;
  }
};

std::optional<Pair> pairOf(LaunchOp launch) {
  if (launch->getNumResults() != 1 || launch.getItems().size() != 1)
    return std::nullopt;
  OpOperand *use = onlyUse(launch.getResult(0));
  auto update = use ? dyn_cast<NestOp>(use->getOwner()) : NestOp();
  if (!update || !isFlat(update) || !isUpdate(update))
    return std::nullopt;
  return Pair{launch, update, use->getOperandNumber()};
}

//===-- kernels -----------------------------------------------------------===//

/// Changes a copy of a matmul's kernel into one that updates states.
class UpdatingKernel {
public:
  /// `inplace` tells which of the update's results take over the memory of an
  /// operand.
  UpdatingKernel(KernelOp matmul, Pair pair, ArrayRef<int64_t> inplace)
      : pair_(pair), kernel_(matmul.clone()), body_(kernel_.getBody().front()),
        sums_(body_.getArguments().back()) {
    addArguments();
    for (auto [number, out] : llvm::enumerate(outs_))
      if (inplace[number] < 0)
        asked_.push_back(out);
  }

  KernelOp run() {
    for (Operation *user : llvm::make_early_inc_range(sums_.getUsers()))
      follow(cast<NestOp>(user));
    body_.eraseArgument(sums_.getArgNumber());
    Builder builder(kernel_.getContext());
    kernel_.setFunctionType(
        builder.getFunctionType(body_.getArgumentTypes(), {}));
    kernel_.setInputs(body_.getNumArguments() - outs_.size());
    return kernel_;
  }

private:
  /// Tensors get the shape of the matmul's result.
  MemRefType typeOf(Value value) const {
    auto tensor = cast<RankedTensorType>(value.getType());
    ArrayRef<int64_t> shape;
    if (tensor.getNumElements() > 1)
      shape = cast<MemRefType>(sums_.getType()).getShape();
    return MemRefType::get(shape, tensor.getElementType());
  }

  void addArguments() {
    for (Value value : pair_.others()) {
      ins_.push_back(body_.insertArgument(sums_.getArgNumber(), typeOf(value),
                                          sums_.getLoc()));
      if (typeOf(value).getRank())
        asked_.push_back(ins_.back());
    }
    for (Value result : pair_.update.getResults())
      outs_.push_back(body_.addArgument(typeOf(result), sums_.getLoc()));
  }

  /// Keeps the sums of a nest in scratch, from which the update reads them.
  void follow(NestOp product) {
    AffineMap at = product.getOutputMap(0);
    ArrayRef<int64_t> shape = tileOf(product);
    unsigned dims = at.getNumDims();
    auto tile = MemRefType::get(
        shape, cast<MemRefType>(sums_.getType()).getElementType());
    AffineMap inTile = AffineMap::getMinorIdentityMap(dims, shape.size(),
                                                      product.getContext());
    Value scratch = scratchOf(tile);
    product.getOutsMutable().assign(scratch);
    product.setOutputMapsAttr(OpBuilder(product).getAffineMapArrayAttr(inTile));
    ask(product, at);
    update(product, at, {scratch, inTile, {}});
  }

  Value scratchOf(MemRefType tile) {
    Value &scratch = scratch_[tile];
    OpBuilder builder = OpBuilder::atBlockBegin(&body_);
    if (!scratch)
      scratch = plan::ScratchOp::create(builder, kernel_.getLoc(), tile);
    return scratch;
  }

  /// Lets the sums ask for the tile's part of the states.
  void ask(NestOp product, AffineMap at) {
    OpBuilder builder(product);
    SmallVector<Attribute> maps(product.getThenInputMaps().getValue()),
        guards(product.getGuards().getValue());
    for (Value buffer : asked_) {
      product.getThenInputsMutable().append(buffer);
      product.getThen().addArgument(
          cast<MemRefType>(buffer.getType()).getElementType(),
          product.getLoc());
      maps.push_back(AffineMapAttr::get(at));
      guards.push_back(builder.getUnitAttr());
    }
    product.setThenInputMapsAttr(builder.getArrayAttr(maps));
    product.setGuardsAttr(builder.getArrayAttr(guards));
  }

  void update(NestOp product, AffineMap at, const NestRead &gradient) {
    AffineMap scalar = AffineMap::get(at.getNumDims(), 0, at.getContext());
    NestParts parts = partsOf(pair_.update);
    parts.label.clear();
    parts.resultTypes.clear();
    parts.parallel.assign(product.getParallel().begin(),
                          product.getParallel().end());
    SmallVector<Value> ins = ins_;
    ins.insert(ins.begin() + pair_.gradient, Value());
    for (auto [read, buffer] : llvm::zip_equal(parts.thenReads, ins)) {
      bool isWhole = buffer && cast<MemRefType>(buffer.getType()).getRank();
      read = buffer ? NestRead{buffer, isWhole ? at : scalar, {}} : gradient;
    }
    parts.outs = outs_;
    parts.outputMaps.assign(outs_.size(), at);
    OpBuilder builder(product);
    builder.setInsertionPointAfter(product);
    buildNest(builder, product.getLoc(), parts, nullptr,
              [&](OpBuilder &inside, Location, ValueRange values) {
                return copyBody(inside, pair_.update.getThen(), values,
                                nullptr);
              });
  }

  Pair pair_;
  KernelOp kernel_;
  Block &body_;
  BlockArgument sums_;
  SmallVector<Value> ins_, outs_; // of the update, without the gradient
  SmallVector<Value> asked_;      // memory that the update reads or writes
  llvm::DenseMap<Type, Value> scratch_;
};

//===-- launches ----------------------------------------------------------===//

/// Returns the ops behind the matmul that make what the update reads, in order,
/// if all of them make scalars, and nothing if one doesn't.
std::optional<SmallVector<Operation *>> scalarsBehind(Pair pair) {
  llvm::SetVector<Operation *> behind;
  SmallVector<Value> values = pair.others();
  while (!values.empty()) {
    Operation *maker = values.pop_back_val().getDefiningOp();
    if (!maker || maker->isBeforeInBlock(pair.launch) || !behind.insert(maker))
      continue;
    bool isNamed =
        isa<ReadOp, arith::ConstantOp>(maker) || maker->hasTrait<NamesMemory>();
    bool isScalar = isa<NestOp>(maker) &&
                    llvm::all_of(maker->getResults(), [](Value result) {
                      return product(shapeOf(result)) == 1;
                    });
    if (!isNamed && !isScalar)
      return std::nullopt;
    llvm::append_range(values, maker->getOperands());
  }
  SmallVector<Operation *> ops = behind.takeVector();
  llvm::sort(ops, [](Operation *one, Operation *other) {
    return one->isBeforeInBlock(other);
  });
  return ops;
}

/// Returns the op before which the launch of both stands: the matmul, so that
/// what it reads dies early, or else the update.
Operation *placeOf(Pair pair) {
  auto scalars = scalarsBehind(pair);
  if (!scalars)
    return pair.update;
  for (Operation *op : *scalars)
    op->moveBefore(pair.launch);
  return pair.launch;
}

/// The operand of the launch of both whose memory each result may reuse.
SmallVector<int64_t> inplaceOf(Pair pair) {
  Readings readings;
  for (Operation *op : {pair.launch.getOperation(), pair.update.getOperation()})
    for (Value operand : op->getOperands())
      ++readings[viewedBy(operand)];
  SmallVector<int64_t> inplace = flatInplace(pair.update, readings);
  for (int64_t &operand : inplace)
    if (operand == pair.gradient)
      operand = -1;
    else if (operand >= 0)
      operand += pair.launch->getNumOperands() - (operand > pair.gradient);
  return inplace;
}

void join(Pair pair, KernelOp matmul, KernelTable &kernels) {
  auto [launch, update, gradient] = pair;
  SmallVector<int64_t> inplace = inplaceOf(pair);
  std::string label =
      joinLabels(launch.getLabel().value_or(""), updateLabel(update));
  KernelOp kernel =
      kernels.add(UpdatingKernel(matmul, pair, inplace).run(), label);
  SmallVector<Value> operands(launch.getOperands());
  llvm::append_range(operands, pair.others());
  OpBuilder builder(placeOf(pair));
  auto both = LaunchOp::create(
      builder, builder.getFusedLoc({launch.getLoc(), update.getLoc()}),
      update.getResultTypes(), kernel.getSymName(), operands, launch.getItems(),
      launch.getGrain(), inplace, launch.getFlops() + costOf(update).flops,
      builder.getStringAttr(label));
  update->replaceAllUsesWith(both);
  Operation *op = update;
  while (op != launch) { // with the reshapes of the gradient
    Operation *before = op == update ? op->getOperand(gradient).getDefiningOp()
                                     : op->getOperand(0).getDefiningOp();
    op->erase();
    op = before;
  }
  launch.erase();
}

struct UpdateInTiles : impl::UpdateInTilesBase<UpdateInTiles> {
  using Base::Base;

  void runOnOperation() override {
    KernelTable kernels(getOperation());
    llvm::SetVector<Operation *> replaced;
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (auto launch :
           llvm::to_vector(graph.getBody().front().getOps<LaunchOp>())) {
        auto pair = pairOf(launch);
        auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
            launch, launch.getKernelAttr());
        if (!pair || !kernel || !isOfTiles(kernel))
          continue;
        remark::passed(
            launch.getLoc(),
            remark::RemarkOpts::name("Joined").category(getArgument()))
            << "an update reads its gradient from the tiles of the matmul";
        replaced.insert(kernel);
        join(*pair, kernel, kernels);
      }
    eraseUnused(replaced.getArrayRef());
  }

  /// Erases the kernels of which no launch is left.
  void eraseUnused(ArrayRef<Operation *> kernels) {
    llvm::DenseSet<StringAttr> launched;
    getOperation().walk([&](LaunchOp launch) {
      launched.insert(launch.getKernelAttr().getAttr());
    });
    for (Operation *kernel : kernels)
      if (!launched.contains(cast<KernelOp>(kernel).getSymNameAttr()))
        kernel->erase();
  }
};

} // namespace
} // namespace gradus
