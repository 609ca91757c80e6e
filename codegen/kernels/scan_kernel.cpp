// Builds the kernel of a scan; see scan_kernel.h.

#include "codegen/kernels/scan_kernel.h"

#include "codegen/kernels/scan_packing.h"
#include "codegen/nests/fuse_maps.h"
#include "codegen/plan/nest_cost.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;
using plan::NestOp;

namespace {

class ScanKernel {
public:
  ScanKernel(OpBuilder &outer, const ScanNests &nests, int64_t rows)
      : outer_(outer), nests_(nests), scan_(nests.scan),
        builder_(outer.getContext()), loc_(scan_.getLoc()), rows_(rows) {}

  /// The launch's results for the scan; none if the body does not fit.
  SmallVector<Value> run(KernelTable &kernels);

private:
  //===-- buffers ---------------------------------------------------------===//

  Value input(Value value);
  Value output(Type type);
  static MemRefType memory(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  }
  ScanPlace working(Type type);
  ScanPlace stacked(unsigned number);
  ScanPlace home(Value value);
  ScanPlace placeOf(Value value);

  //===-- indices ---------------------------------------------------------===//

  AffineExpr dim(unsigned number) { return builder_.getAffineDimExpr(number); }
  /// The dimensions of a nest before its own: of the item and the step.
  unsigned around() const { return isInLoop_ ? 2 : 1; }
  AffineExpr step() {
    int64_t last = scan_.getSteps() - 1;
    return scan_.getReverse() ? last - dim(1) : dim(1);
  }
  /// The dimensions of a nest in the kernel, in terms of its own.
  struct Dims {
    SmallVector<int64_t> parallel; // those of the item and the loop included
    ScanIndices now;               // of each old dimension; row: of all rows
    AffineExpr row;                // among the item's own
    unsigned all = 0;
    unsigned packed = ~0u; // the map input that is read in panels
    bool ofPairs = false;  // the sum is of products of pairs
  };
  Dims dimsOf(ArrayRef<int64_t> parallel, unsigned reduced);
  bool packs(NestOp nest, Dims &dims, ScanPlace &packed,
             MutableArrayRef<ScanRead> reads, unsigned number);
  AffineMap access(const ScanPlace &place, AffineMap map, const Dims &dims,
                   unsigned count);

  //===-- nests -----------------------------------------------------------===//

  std::optional<ScanRead> seen(Value value, AffineMap map);
  void copy(Type type, const ScanPlace &from, AffineMap map,
            const ScanPlace &to);
  void copyValue(Value value, const ScanPlace &to);
  void fill(RankedTensorType type, TypedAttr number, const ScanPlace &to);
  void write(NestOp nest);
  void settle(const ScanSegment &segment);
  void write(unsigned segment);
  void join(ConcatenateOp op);
  ScanPlace partOf(ConcatenateOp op, unsigned number);
  void begin();
  plan::LoopOp beginLoop(int64_t count);
  void beginPanels(NestParts &parts);
  void body();
  void end();
  SmallVector<Value> launch(KernelTable &kernels);

  OpBuilder &outer_;
  const ScanNests &nests_;
  ScanOp scan_;
  OpBuilder builder_;
  Location loc_;
  ScanRows rows_;
  bool isInLoop_ = false, isWrong_ = false;
  KernelOp kernel_;
  SmallVector<Value> inputs_;  // values outside, one for each argument
  SmallVector<Value> outputs_; // arguments
  SmallVector<ScanPlace> carried_;
  int64_t scratch_ = 0;               // bytes
  DenseMap<Value, ScanPlace> homes_;  // of the body's values
  DenseMap<Value, ScanPlace> places_; // of a segment's values
};

//===-- buffers -----------------------------------------------------------===//

/// The argument for a value from outside.
Value ScanKernel::input(Value value) {
  Block &block = kernel_.getBody().front();
  auto known = llvm::find(inputs_, value);
  if (known != inputs_.end())
    return block.getArgument(known - inputs_.begin());
  inputs_.push_back(value);
  return block.insertArgument(inputs_.size() - 1, memory(value.getType()),
                              loc_);
}

Value ScanKernel::output(Type type) {
  outputs_.push_back(kernel_.getBody().front().addArgument(memory(type), loc_));
  return outputs_.back();
}

/// Memory for a value of a step: scratch while there is room.
ScanPlace ScanKernel::working(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  if (rows_.all)
    shape[0] = rows_.own;
  int64_t bytes = bytesOf(tensor.clone(shape));
  ScanPlace place;
  place.isMade = true;
  if (scratch_ + bytes > kMostScanScratch) {
    place.buffer = output(type);
    return place;
  }
  scratch_ += bytes;
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(&kernel_.getBody().front());
  place.buffer = plan::ScratchOp::create(
      builder_, loc_, MemRefType::get(shape, tensor.getElementType()));
  place.isOfItem = true;
  return place;
}

/// The slice of the step of result `number`.
ScanPlace ScanKernel::stacked(unsigned number) {
  ScanPlace place;
  place.buffer = outputs_[number];
  place.lead = {step()};
  place.isMade = true;
  return place;
}

/// The place in which an op that computes a value of the body writes it: in a
/// stacked result, or a concatenation, if it is part of one.
ScanPlace ScanKernel::home(Value value) {
  for (auto [number, yielded] : llvm::enumerate(scan_.getYielded()))
    if (yielded == value && number >= carried_.size())
      return stacked(number);
  for (OpOperand &use : value.getUses())
    if (auto op = dyn_cast<ConcatenateOp>(use.getOwner()))
      return partOf(op, use.getOperandNumber());
  return working(value.getType());
}

ScanPlace ScanKernel::placeOf(Value value) {
  auto known = homes_.find(value);
  if (known != homes_.end())
    return known->second;
  ScanPlace place = home(value);
  homes_[value] = place;
  return place;
}

ScanPlace ScanKernel::partOf(ConcatenateOp op, unsigned number) {
  ScanPlace place = placeOf(op.getResult());
  int64_t axis = op.getAxis();
  place.start.resize(op.getType().getRank());
  for (Value before : op.getInputs().take_front(number))
    place.start[axis] += shapeOf(before)[axis];
  if (rows_.all && axis == 0)
    isWrong_ = true;
  return place;
}

//===-- indices -----------------------------------------------------------===//

/// A nest's dimensions behind those of the item and the loop; a dimension of
/// rows becomes one of the item's own.
ScanKernel::Dims ScanKernel::dimsOf(ArrayRef<int64_t> parallel,
                                    unsigned reduced) {
  Dims dims;
  dims.parallel = {rows_.items};
  if (isInLoop_)
    dims.parallel.push_back(scan_.getSteps());
  unsigned first = dims.parallel.size();
  llvm::append_range(dims.parallel, parallel);
  if (parallel.empty())
    dims.parallel.push_back(1);
  for (unsigned i = 0; i < parallel.size(); ++i)
    dims.now.push_back(dim(first + i));
  for (unsigned i = 0; i < reduced; ++i)
    dims.now.push_back(dim(dims.parallel.size() + i));
  if (rows_.all) {
    isWrong_ |= parallel.empty() || parallel[0] != rows_.all;
    dims.parallel[first] = rows_.own;
    dims.row = dim(first);
    if (!parallel.empty())
      dims.now[0] = dim(0) * rows_.own + dims.row;
  }
  dims.all = dims.parallel.size() + reduced;
  return dims;
}

AffineMap ScanKernel::access(const ScanPlace &place, AffineMap map,
                             const Dims &dims, unsigned count) {
  ScanIndices at = place.lead;
  for (auto [i, index] : llvm::enumerate(map.getResults())) {
    AffineExpr now = index.replaceDims(dims.now);
    if (rows_.all && place.isMade) {
      bool isRow = index == dim(0);
      isWrong_ |= i == 0 ? !isRow : index.isFunctionOfDim(0);
      if (isRow && place.isOfItem)
        now = dims.row;
    }
    if (!place.start.empty() && place.start[i])
      now = now + place.start[i];
    at.push_back(now);
  }
  return AffineMap::get(count, 0, at, builder_.getContext());
}

/// Whether a nest multiplies rows with a whole matrix from outside. Then its
/// columns become panels, and the nest is one of them, in a loop.
bool ScanKernel::packs(NestOp nest, Dims &dims, ScanPlace &packed,
                       MutableArrayRef<ScanRead> reads, unsigned number) {
  const ScanRead &weight = reads[number];
  if (weight.place.isMade || !weight.place.lead.empty())
    return false;
  auto argument = cast<BlockArgument>(weight.place.buffer);
  Value matrix = inputs_[argument.getArgNumber()];
  unsigned first = around();
  int64_t rows = dims.parallel[first];
  auto panels =
      panelsOf(nest, number, reads, shapeOf(matrix), rows, nests_.pairs);
  if (!panels)
    return false;
  packed.buffer = input(packedMatrix(outer_, loc_, matrix, *panels));
  AffineExpr panel = dim(first), row = dim(first + 1), column = dim(first + 2);
  dims.parallel.resize(first);
  dims.parallel.append({panels->count(), rows, panels->width});
  dims.row = row;
  dims.now = {rows_.all ? dim(0) * rows_.own + row : row,
              panel * panels->width + column, dim(first + 3)};
  dims.all = first + 4;
  dims.packed = number;
  kernel_.setMultiplies(true);
  packed.lead = {panel, dims.now[2], column};
  if (panels->ofPairs) {
    dims.ofPairs = true;
    packed.buffer = pairsOf(builder_, packed.buffer);
    packed.lead.push_back(builder_.getAffineConstantExpr(0));
    ScanPlace &place = reads[1 - number].place;
    place.buffer = pairsOf(builder_, place.buffer);
    if (!place.start.empty())
      place.start.back() /= 2;
  }
  return true;
}

//===-- nests -------------------------------------------------------------===//

/// Finds the place in memory of the elements of a value that a nest of a
/// segment reads.
std::optional<ScanRead> ScanKernel::seen(Value value, AffineMap map) {
  Value memory = viewedBy(value);
  auto known = places_.find(memory);
  if (known == places_.end())
    return std::nullopt;
  if (memory == value)
    return ScanRead{known->second, map};
  auto through = throughReshape(map, shapeOf(memory), shapeOf(value));
  if (!through)
    return std::nullopt;
  return ScanRead{known->second, *through};
}

/// Copies a tensor, whose elements `map` finds in `from`.
void ScanKernel::copy(Type type, const ScanPlace &from, AffineMap map,
                      const ScanPlace &to) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  Dims dims = dimsOf(shape, 0);
  NestParts parts;
  parts.parallel = dims.parallel;
  AffineMap all = everyElement(type);
  parts.thenReads = {{from.buffer, access(from, map, dims, dims.all), {}}};
  parts.outs = {to.buffer};
  parts.outputMaps = {access(to, all, dims, dims.all)};
  buildNest(builder_, loc_, parts, nullptr,
            [](OpBuilder &, Location, ValueRange values) {
              return SmallVector<Value>(values);
            });
}

void ScanKernel::fill(RankedTensorType type, TypedAttr number,
                      const ScanPlace &to) {
  Dims dims = dimsOf(type.getShape(), 0);
  NestParts parts;
  parts.parallel = dims.parallel;
  AffineMap all = everyElement(type);
  parts.outs = {to.buffer};
  parts.outputMaps = {access(to, all, dims, dims.all)};
  buildNest(builder_, loc_, parts, nullptr,
            [&](OpBuilder &inside, Location loc, ValueRange) {
              return SmallVector<Value>{
                  arith::ConstantOp::create(inside, loc, number)};
            });
}

/// Copies a value of the body to where it is needed, too.
void ScanKernel::copyValue(Value value, const ScanPlace &to) {
  auto type = cast<RankedTensorType>(value.getType());
  if (TypedAttr number = splatOf(value))
    return fill(type, number, to);
  ScanPlace from = placeOf(value);
  if (!(from == to))
    copy(type, from, everyElement(type), to);
}

/// Adds the products of two pairs to a sum, as a matmul of pairs does.
static SmallVector<Value> dotOfPairs(OpBuilder &inside, Location loc,
                                     ValueRange values) {
  return {plan::DotPairsOp::create(inside, loc, inside.getF32Type(), values[0],
                                   values[1])};
}

/// Writes a nest of a segment into the kernel.
void ScanKernel::write(NestOp nest) {
  NestParts old = partsOf(nest), parts;
  Dims dims = dimsOf(old.parallel, old.reduced.size());
  SmallVector<ScanRead> reads;
  for (const NestRead &read :
       llvm::concat<const NestRead>(old.mapReads, old.thenReads)) {
    auto found = seen(read.value, read.map);
    isWrong_ |= !found;
    if (isWrong_)
      return;
    reads.push_back(*found);
  }
  ScanPlace packed;
  for (unsigned i = 0; i < old.mapReads.size() && dims.packed == ~0u; ++i)
    packs(nest, dims, packed, reads, i);
  parts.parallel = dims.parallel;
  parts.reduced = old.reduced;
  if (dims.ofPairs)
    parts.reduced[0] /= 2;
  parts.combine = old.combine;
  parts.label = old.label;
  auto read = [&](unsigned i, IntegerSet guard, unsigned count) {
    if (guard)
      guard = guard.replaceDimsAndSymbols(dims.now, {}, count, 0);
    if (i == dims.packed)
      return NestRead{
          packed.buffer,
          AffineMap::get(count, 0, packed.lead, builder_.getContext()), guard};
    const ScanPlace &place = reads[i].place;
    return NestRead{place.buffer, access(place, reads[i].map, dims, count),
                    guard};
  };
  unsigned maps = old.mapReads.size(), outer = dims.parallel.size();
  for (auto [i, each] : llvm::enumerate(old.mapReads))
    parts.mapReads.push_back(read(i, each.guard, dims.all));
  for (auto [i, each] : llvm::enumerate(old.thenReads))
    parts.thenReads.push_back(read(maps + i, each.guard, outer));
  for (auto [result, map] : llvm::zip(nest.getResults(), old.outputMaps)) {
    const ScanPlace &place = places_.at(result);
    parts.outs.push_back(place.buffer);
    parts.outputMaps.push_back(access(place, map, dims, outer));
  }
  auto body = [&](Region &region) {
    return [&](OpBuilder &inside, Location loc, ValueRange values) {
      return copyBody(
          inside, region, values.take_front(region.getNumArguments()),
          [&](unsigned old) { return emitAffine(inside, loc, dims.now[old]); });
    };
  };
  OpBuilder::InsertionGuard guard(builder_);
  if (dims.packed != ~0u)
    beginPanels(parts);
  NestOp made =
      dims.ofPairs
          ? buildNest(builder_, loc_, parts, dotOfPairs, body(nest.getThen()))
          : buildNest(builder_, loc_, parts, body(nest.getMap()),
                      body(nest.getThen()));
  setLabel(made, labelOf(nest));
}

/// Gives each value of a segment its place.
void ScanKernel::settle(const ScanSegment &segment) {
  places_.clear();
  GraphOp graph = segment.graph;
  Block &block = graph.getBody().front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), segment.inputs))
    places_[argument] = placeOf(value);
  for (auto [returned, value] : llvm::zip(graph.getReturned(), segment.outputs))
    if (returned.getDefiningOp<NestOp>() && !places_.contains(returned))
      places_[returned] = placeOf(value);
  for (auto nest : block.getOps<NestOp>())
    for (Value result : nest.getResults())
      if (!places_.contains(result)) {
        isWrong_ |= rows_.all && (shapeOf(result).empty() ||
                                  shapeOf(result)[0] != rows_.all);
        if (!isWrong_)
          places_[result] = working(result.getType());
      }
}

void ScanKernel::write(unsigned number) {
  const ScanSegment &segment = nests_.segments[number];
  GraphOp graph = segment.graph;
  settle(segment);
  for (auto nest : graph.getBody().front().getOps<NestOp>())
    if (!isWrong_)
      write(nest);
  for (auto [returned, value] :
       llvm::zip(graph.getReturned(), segment.outputs)) {
    AffineMap all = everyElement(value.getType());
    auto from = seen(returned, all);
    isWrong_ |= !from;
    if (isWrong_)
      return;
    if (viewedBy(returned) != returned || !(from->place == placeOf(value)))
      copy(value.getType(), from->place, from->map, placeOf(value));
  }
  for (ConcatenateOp op : nests_.joins[number])
    join(op);
}

/// Copies the parts of a concatenation that nests did not write in it.
void ScanKernel::join(ConcatenateOp op) {
  for (auto [number, value] : llvm::enumerate(op.getInputs()))
    if (!isWrong_)
      copyValue(value, partOf(op, number));
}

//===-- the loop ----------------------------------------------------------===//

/// Starts the kernel: arguments, results, and the carried values.
void ScanKernel::begin() {
  kernel_ = KernelOp::create(
      builder_, loc_, "kernel", builder_.getFunctionType({}, {}), 0,
      plan::Split::rows, rows_.items, ArrayAttr(), ArrayAttr(), StringAttr());
  Block *block = builder_.createBlock(&kernel_.getBody());
  for (Type type : scan_.getResultTypes())
    output(type);
  for (auto [argument, value] :
       llvm::zip(scan_.getCarriedArguments(), scan_.getCarried())) {
    ScanPlace from;
    from.buffer = input(value);
    ScanPlace place = working(value.getType());
    carried_.push_back(place);
    homes_[argument] = place;
    AffineMap all = everyElement(value.getType());
    builder_.setInsertionPointToEnd(block);
    copy(value.getType(), from, all, place);
  }
}

/// The nests of a step; those that stack what the step starts from come first,
/// and those that replace it last.
void ScanKernel::body() {
  for (auto [argument, value] :
       llvm::zip(scan_.getSlices(), scan_.getSequences())) {
    ScanPlace place;
    place.buffer = input(value);
    place.lead = {step()};
    homes_[argument] = place;
  }
  for (auto [argument, value] :
       llvm::zip(scan_.getInvariantArguments(), scan_.getInvariants())) {
    ScanPlace place;
    place.buffer = input(value);
    homes_[argument] = place;
  }
  auto yielded = scan_.getYielded();
  auto stack = [&](bool isFirst) {
    for (unsigned i = carried_.size(); i < yielded.size() && !isWrong_; ++i)
      if (isa<BlockArgument>(yielded[i]) == isFirst)
        copyValue(yielded[i], stacked(i));
  };
  stack(/*isFirst=*/true);
  for (unsigned i = 0; i < nests_.segments.size() && !isWrong_; ++i)
    write(i);
  stack(/*isFirst=*/false);
  SmallVector<std::pair<Value, ScanPlace>> exchanged;
  for (auto [value, place] : llvm::zip(yielded, carried_))
    if (llvm::is_contained(scan_.getCarriedArguments(), value) && !isWrong_ &&
        !(placeOf(value) == place)) {
      ScanPlace before = working(value.getType());
      copyValue(value, before);
      exchanged.push_back({value, before});
    }
  for (auto [value, place] : llvm::zip(yielded, carried_)) {
    if (isWrong_)
      return;
    auto moved = llvm::find_if(exchanged, [&, value = value](auto &pair) {
      return pair.first == value;
    });
    AffineMap all = everyElement(value.getType());
    if (moved != exchanged.end() && !(placeOf(value) == place))
      copy(value.getType(), moved->second, all, place);
    else
      copyValue(value, place);
  }
}

void ScanKernel::end() {
  for (auto [number, place] : llvm::enumerate(carried_)) {
    ScanPlace last;
    last.buffer = outputs_[number];
    last.isMade = true;
    Type type = scan_.getResult(number).getType();
    copy(type, place, everyElement(type), last);
  }
  plan::EndOp::create(builder_, loc_);
}

/// Goes on in a loop, of which a dimension of nests has the position.
plan::LoopOp ScanKernel::beginLoop(int64_t count) {
  auto bound = [&](int64_t number) {
    return AffineMap::get(around(), 0, builder_.getAffineConstantExpr(number),
                          builder_.getContext());
  };
  auto loop = plan::LoopOp::create(builder_, loc_, bound(0), bound(count),
                                   /*at=*/Value());
  builder_.createBlock(&loop.getBody());
  return loop;
}

void ScanKernel::beginPanels(NestParts &parts) {
  askForNextPanel(parts, around());
  beginLoop(parts.parallel[around()]);
}

SmallVector<Value> ScanKernel::run(KernelTable &kernels) {
  begin();
  plan::LoopOp loop = beginLoop(scan_.getSteps());
  isInLoop_ = true;
  body();
  isInLoop_ = false;
  builder_.setInsertionPointAfter(loop);
  end();
  if (!isWrong_)
    return launch(kernels);
  kernel_.erase();
  return {};
}

SmallVector<Value> ScanKernel::launch(KernelTable &kernels) {
  Block &block = kernel_.getBody().front();
  for (unsigned i = inputs_.size(); i-- > 0;)
    if (block.getArgument(i).use_empty()) {
      block.eraseArgument(i);
      inputs_.erase(inputs_.begin() + i);
    }
  kernel_.setFunctionType(
      builder_.getFunctionType(block.getArgumentTypes(), {}));
  kernel_.setInputs(inputs_.size());
  SmallVector<Type> types;
  for (Value output : outputs_) {
    auto type = cast<MemRefType>(output.getType());
    types.push_back(
        RankedTensorType::get(type.getShape(), type.getElementType()));
  }
  KernelOp kernel = kernels.add(kernel_, "scan");
  auto launch =
      LaunchOp::create(outer_, loc_, types, kernel.getSymName(), inputs_,
                       ArrayRef<int64_t>{rows_.items}, /*grain=*/1,
                       SmallVector<int64_t>(types.size(), -1), scan_.getFlops(),
                       outer_.getStringAttr("scan"));
  return SmallVector<Value>(
      launch.getResults().take_front(scan_.getNumResults()));
}

} // namespace

SmallVector<Value> launchScan(OpBuilder &builder, const ScanNests &nests,
                              KernelTable &kernels) {
  ScanOp scan = nests.scan;
  int64_t rows = 0;
  if (!scan.getCarried().empty()) {
    ArrayRef<int64_t> shape = shapeOf(scan.getCarried()[0]);
    rows = shape.empty() || shape[0] < 2 ? 0 : shape[0];
  }
  bool haveAllRows = llvm::all_of(scan.getYielded(), [&](Value value) {
    return !shapeOf(value).empty() && shapeOf(value)[0] == rows;
  });
  if (rows && haveAllRows)
    if (auto values = ScanKernel(builder, nests, rows).run(kernels);
        !values.empty())
      return values;
  return ScanKernel(builder, nests, 0).run(kernels);
}

} // namespace gradus
