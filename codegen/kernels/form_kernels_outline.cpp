// Outlines groups of nests: chooses arguments, scratch, values that may be
// computed in place, and how the work is divided into blocks.

#include "codegen/kernels/form_kernels_outline.h"

#include "codegen/nests/fuse_maps.h"
#include "codegen/plan/nest_cost.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/BitVector.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;
using plan::NestOp;
using plan::Split;

Value viewedBy(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<NamesMemory>())
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool isPartOfState(Value value) {
  return value.getDefiningOp<PartOp>() &&
         viewedBy(value).getDefiningOp<ReadOp>();
}

bool isNewValueOf(Value result, Value operand) {
  auto read = operand.getDefiningOp<ReadOp>();
  return read && llvm::any_of(result.getUsers(), [&](Operation *user) {
           auto write = dyn_cast<WriteOp>(user);
           return write && write.getState() == read.getState();
         });
}

//===-- equal kernels -----------------------------------------------------===//

KernelTable::KernelTable(ProgramOp program) : program_(program) {
  llvm::append_range(kernels_, program.getBody().getOps<KernelOp>());
}

static bool areEqual(KernelOp a, KernelOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a.getInputs() == b.getInputs() && a.getSplit() == b.getSplit() &&
         a.getItems() == b.getItems() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// Turns a label into a part of a symbol.
static std::string identifier(StringRef label) {
  std::string name;
  for (char c : label.take_front(48))
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

KernelOp KernelTable::add(KernelOp kernel, StringRef label) {
  for (KernelOp known : kernels_)
    if (areEqual(known, kernel)) {
      kernel.erase();
      return known;
    }
  // Another pass may have erased kernels with smaller numbers.
  std::string name;
  auto isTaken = [&](KernelOp known) { return known.getSymName() == name; };
  for (size_t number = kernels_.size();
       name.empty() || llvm::any_of(kernels_, isTaken); ++number)
    name = "kernel" + std::to_string(number) + "_" + identifier(label);
  kernel.setSymName(name);
  program_.getBody().front().push_back(kernel);
  kernels_.push_back(kernel);
  return kernel;
}

namespace {

//===-- buffers of a kernel -----------------------------------------------===//

/// The form of a tensor in a kernel: unchanged, one row of it (scratch of a
/// work item), or flattened (if it is viewed with two shapes).
struct Buffer {
  Value value;  // the tensor
  Value memory; // the memref, once there is one
  bool isLine = false;
  int rowDim = -1; // dimension that is dropped

  MemRefType type() const {
    auto tensor = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(tensor.getShape());
    if (rowDim >= 0)
      shape.erase(shape.begin() + rowDim);
    if (isLine)
      shape = {product(shape)};
    return MemRefType::get(shape, tensor.getElementType());
  }

  /// Whether an index into the view gives one into the buffer without division.
  bool showsPlainly(AffineMap map, Value view) const {
    return view == value || throughReshape(map, shapeOf(value), shapeOf(view));
  }

  /// Converts a map into `view`, another shape of the tensor, to one into the
  /// buffer.
  AffineMap access(AffineMap map, Value view) const {
    if (isLine && rowDim >= 0) // The first dimension of all views is the row.
      return linearised(map.dropResult(0), shapeOf(view).drop_front());
    if (isLine)
      return linearised(map, shapeOf(view));
    if (view != value)
      map = *throughReshape(map, shapeOf(value), shapeOf(view));
    return rowDim < 0 ? map : map.dropResult(rowDim);
  }
};

/// The dimension of the tensor that d0 of a map indexes, or -1.
int dimensionOfRows(AffineMap map) {
  for (auto [result, expression] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expression);
        dim && dim.getPosition() == 0)
      return result;
  return -1;
}

/// Outlines one group.
class Outlining {
public:
  Outlining(const KernelGroup &group, const FormKernelsOptions &options)
      : group_(group), options_(options),
        members_(group.nests.begin(), group.nests.end()) {}

  LaunchOp run(KernelTable &kernels) {
    collectArguments();
    chooseScratch();
    orderOutputs();
    chooseLines();
    KernelOp kernel = kernels.add(buildKernel(), label());
    return buildLaunch(kernel);
  }

private:
  using Results = llvm::SetVector<Value>;

  NestOp first() { return group_.nests.front(); }

  bool isInside(Value value) {
    Operation *op = value.getDefiningOp();
    return op && members_.contains(op);
  }

  /// Whether a user outside the group needs the value, in any shape.
  bool isNeededOutside(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (user->hasTrait<NamesMemory>())
        return isNeededOutside(user->getResult(0));
      return !members_.contains(user);
    });
  }

  void collectArguments() {
    for (NestOp nest : group_.nests)
      for (Value operand : nest->getOperands())
        if (!isInside(viewedBy(operand)))
          inputs_.insert(operand);
    for (NestOp nest : group_.nests)
      for (Value result : nest.getResults())
        (isNeededOutside(result) ? outputs_ : inner_).insert(result);
  }

  /// Values used only inside go to scratch, the smallest first, while there is
  /// room; the rest become outputs without users. A kernel that contracts rows
  /// keeps whole blocks of rows together, so it has no scratch.
  void chooseScratch() {
    SmallVector<Value> bySize(inner_.begin(), inner_.end());
    llvm::stable_sort(bySize, [](Value a, Value b) {
      return bytesOf(a.getType()) < bytesOf(b.getType());
    });
    bool mayHave = group_.split == Split::serial ||
                   llvm::none_of(group_.nests, [](NestOp nest) {
                     return isContraction(nest);
                   });
    int64_t used = 0;
    for (Value value : bySize) {
      int rowDim = rowDimOf(value);
      int64_t bytes =
          bytesOf(value.getType()) /
          (rowDim >= 0 ? std::max<int64_t>(1, shapeOf(value)[rowDim]) : 1);
      bool fits = mayHave && (group_.split == Split::serial || rowDim >= 0) &&
                  used + bytes <= options_.scratchBytes;
      if (!fits) {
        outputs_.insert(value);
        continue;
      }
      used += bytes;
      scratch_.insert(value);
    }
  }

  /// Sorts the outputs in the order of the nests, so that the kernel does not
  /// depend on which values are used outside.
  void orderOutputs() {
    llvm::SetVector<Value> ordered;
    for (NestOp nest : group_.nests)
      for (Value result : nest.getResults())
        if (outputs_.contains(result))
          ordered.insert(result);
    outputs_ = ordered;
  }

  int rowDimOf(Value value) {
    if (group_.split != Split::rows)
      return -1;
    auto result = cast<OpResult>(value);
    return dimensionOfRows(
        cast<NestOp>(result.getOwner()).getOutputMap(result.getResultNumber()));
  }

  /// Makes the buffers, and flattens those that are read with a shape whose
  /// indices would need division.
  void chooseLines() {
    for (auto *values : {&inputs_, &outputs_, &scratch_})
      for (Value value : *values)
        buffers_[value] = {
            value, {}, false, scratch_.contains(value) ? rowDimOf(value) : -1};
    for (NestOp nest : group_.nests) {
      NestParts parts = partsOf(nest);
      for (auto *reads : {&parts.mapReads, &parts.thenReads})
        for (const NestRead &read : *reads) {
          Buffer &buffer = bufferOf(read.value);
          if (!buffer.showsPlainly(read.map, read.value))
            buffer.isLine = true;
        }
    }
  }

  Buffer &bufferOf(Value value) {
    Value viewed = viewedBy(value);
    return buffers_[isInside(viewed) ? viewed : value];
  }

  //===-- the kernel ------------------------------------------------------===//

  KernelOp buildKernel() {
    MLIRContext *context = first().getContext();
    OpBuilder builder(context);
    Location location = UnknownLoc::get(context);
    SmallVector<Value> arguments(inputs_.begin(), inputs_.end());
    llvm::append_range(arguments, outputs_);
    SmallVector<Type> types;
    for (Value value : arguments)
      types.push_back(buffers_[value].type());
    auto kernel = KernelOp::create(builder, location, "kernel",
                                   builder.getFunctionType(types, {}),
                                   inputs_.size(), group_.split, items(),
                                   ArrayAttr(), ArrayAttr(), StringAttr());
    Block *body = builder.createBlock(&kernel.getBody());
    for (auto [value, type] : llvm::zip(arguments, types))
      buffers_[value].memory = body->addArgument(type, location);
    for (Value value : scratch_)
      buffers_[value].memory =
          plan::ScratchOp::create(builder, location, buffers_[value].type());
    for (NestOp nest : group_.nests)
      copyNest(builder, nest);
    plan::EndOp::create(builder, location);
    return kernel;
  }

  int64_t items() {
    return group_.split == Split::rows ? first().getParallel()[0] : 1;
  }

  NestRead onBuffer(const NestRead &read) {
    Buffer &buffer = bufferOf(read.value);
    return {buffer.memory,
            buffer.access(read.map, isInside(viewedBy(read.value))
                                        ? read.value
                                        : buffer.value),
            read.guard};
  }

  void copyNest(OpBuilder &builder, NestOp nest) {
    NestParts parts = partsOf(nest);
    parts.label.clear();
    parts.resultTypes.clear();
    for (NestRead &read : parts.mapReads)
      read = onBuffer(read);
    for (NestRead &read : parts.thenReads)
      read = onBuffer(read);
    for (auto [result, map] : llvm::zip(nest.getResults(), parts.outputMaps)) {
      parts.outs.push_back(buffers_[result].memory);
      map = buffers_[result].access(map, result);
    }
    auto copy = [](Region &region) {
      return
          [&region](OpBuilder &inside, Location location, ValueRange values) {
            return copyBody(inside, region, values, [&](unsigned dim) {
              return indexOf(inside, location, dim);
            });
          };
    };
    buildNest(builder, nest.getLoc(), parts, copy(nest.getMap()),
              copy(nest.getThen()));
  }

  //===-- the launch ------------------------------------------------------===//

  std::string label() {
    std::string joined;
    for (NestOp nest : group_.nests)
      joined = joinLabels(joined, labelOf(nest));
    return joined.empty() ? "copy" : joined;
  }

  LaunchOp buildLaunch(KernelOp kernel) {
    OpBuilder builder(group_.nests.back());
    SmallVector<Location> locations;
    RegionCost cost;
    for (NestOp nest : group_.nests) {
      locations.push_back(nest.getLoc());
      cost.flops += costOf(nest).flops;
      cost.work += costOf(nest).work;
    }
    SmallVector<Type> types;
    for (Value output : outputs_)
      types.push_back(output.getType());
    auto launch = LaunchOp::create(
        builder, FusedLoc::get(builder.getContext(), locations), types,
        kernel.getSymName(), inputs_.getArrayRef(), ArrayRef<int64_t>{items()},
        grain(cost), inplace(), cost.flops, builder.getStringAttr(label()));
    for (unsigned r = 0; r < outputs_.size(); ++r) {
      Value output = outputs_[r];
      output.replaceAllUsesWith(launch.getResult(r));
    }
    eraseNests();
    return launch;
  }

  /// Erases the nests from last to first, with the reshapes between them.
  void eraseNests() {
    for (NestOp nest : llvm::reverse(group_.nests)) {
      for (Operation *user : llvm::make_early_inc_range(nest->getUsers()))
        eraseUnused(user);
      nest.erase();
    }
  }

  static void eraseUnused(Operation *reshape) {
    for (Operation *user : llvm::make_early_inc_range(reshape->getUsers()))
      eraseUnused(user);
    reshape->erase();
  }

  /// The number of items in a block: enough work to be worth it, few enough
  /// blocks to be cheap, and multiples of eight for contractions (the CPU
  /// emitter's tiles of items divide this; see cpu/tiling.cpp).
  int64_t grain(RegionCost cost) {
    int64_t count = items(), bytes = 0;
    for (NestOp nest : group_.nests)
      bytes += bytesOf(nest);
    int64_t byWork = llvm::divideCeil(options_.blockWork,
                                      std::max<int64_t>(1, cost.work / count));
    int64_t byBytes = llvm::divideCeil(options_.blockBytes,
                                       std::max<int64_t>(1, bytes / count));
    int64_t grain =
        std::max<int64_t>(std::min(byWork, byBytes),
                          llvm::divideCeil(count, options_.mostBlocks));
    if (llvm::any_of(group_.nests, isContraction))
      grain = llvm::alignTo(
          grain, std::clamp<int64_t>(llvm::divideCeil(count, 4), 1, 8));
    return std::min(grain, count);
  }

  //===-- in place --------------------------------------------------------===//

  SmallVector<int64_t> inplace() {
    SmallVector<int64_t> taken(outputs_.size(), -1);
    llvm::BitVector given(inputs_.size());
    collectReads();
    for (bool sameState : {true, false})
      for (auto [r, output] : llvm::enumerate(outputs_))
        for (auto [o, input] : llvm::enumerate(inputs_))
          if (taken[r] < 0 && !given[o] &&
              (!sameState || isNewValueOf(output, input)) &&
              mayTakeOver(output, input)) {
            taken[r] = o;
            given.set(o);
          }
    return taken;
  }

  /// Collects the reads of each input, and the number of its views.
  void collectReads() {
    for (Value input : inputs_)
      ++views_[viewedBy(input)];
    for (NestOp nest : group_.nests) {
      places_.try_emplace(nest, places_.size());
      for (unsigned i = 0;
           i < nest.getMapInputs().size() + nest.getThenInputs().size(); ++i)
        reads_[nest->getOperand(i)].push_back({nest, i});
    }
  }

  /// Whether, once the item that writes `output` has started to write, only the
  /// very element that is written is still read from `input`.
  bool mayTakeOver(Value output, Value input) {
    if (input.getType() != output.getType() ||
        input.getDefiningOp<arith::ConstantOp>() || isPartOfState(input) ||
        views_.lookup(viewedBy(input)) > 1)
      return false;
    NestOp writer = output.getDefiningOp<NestOp>();
    AffineMap written =
        writer.getOutputMap(cast<OpResult>(output).getResultNumber());
    return llvm::all_of(reads_[input], [&](const Read &read) {
      NestOp nest = read.nest;
      AffineMap map = nest.getInputMap(read.input);
      bool before = places_.lookup(nest) < places_.lookup(writer) &&
                    isOwnRow(map, written);
      bool atOnce = nest == writer &&
                    read.input >= nest.getMapInputs().size() && map == written;
      return before || atOnce;
    });
  }

  /// Other items run in parallel: earlier nests may only have read rows of
  /// their own item.
  bool isOwnRow(AffineMap read, AffineMap written) {
    return group_.split == Split::serial ||
           (dimensionOfRows(read) >= 0 &&
            dimensionOfRows(read) == dimensionOfRows(written));
  }

  /// The read of input `input` of a nest.
  struct Read {
    NestOp nest;
    unsigned input;
  };

  const KernelGroup &group_;
  const FormKernelsOptions &options_;
  llvm::DenseMap<Value, unsigned> views_;
  llvm::DenseMap<Value, SmallVector<Read, 2>> reads_;
  llvm::DenseMap<Operation *, size_t> places_;
  llvm::DenseSet<Operation *> members_;
  llvm::SetVector<Value> inputs_, outputs_, inner_, scratch_;
  llvm::DenseMap<Value, Buffer> buffers_;
};

} // namespace

LaunchOp outline(const KernelGroup &group, KernelTable &kernels,
                 const FormKernelsOptions &options) {
  return Outlining(group, options).run(kernels);
}

} // namespace gradus
