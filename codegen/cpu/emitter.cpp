// Emits kernels into several LLVM modules, which threads compile in parallel,
// and joins their code into one blob. The distribution depends only on the
// kernels, so the bytes are the same on any machine.

#include "codegen/cpu/emitter.h"

#include "codegen/cpu/indexing.h"
#include "codegen/cpu/loops.h"
#include "codegen/cpu/object.h"
#include "codegen/cpu/ops.h"
#include "codegen/cpu/shared_points.h"
#include "codegen/kernels/shared_kernels.h"
#include "codegen/kernels/shared_nests.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/parallel.h"
#include "codegen/plan/plan_ops.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;
using namespace gradus;

/// The LLVM names of functions: names of kernels need not be unique.
static std::string functionName(size_t index) {
  return "k" + std::to_string(index);
}

//===-- functions ---------------------------------------------------------===//

namespace {

/// The code, nests and points that kernels share.
struct Shared {
  SharedPoints points;
  SharedNests nests;         // of all nests that have no function for a point
  SmallVector<size_t> codes; // the number of each kernel's code

  Shared(ArrayRef<plan::KernelOp> kernels, const CpuTarget &target)
      : points(kernels, target),
        nests(kernels,
              [&](plan::NestOp op) { return points.find(op).has_value(); }),
        codes(sharedCode(kernels)) {}
};

/// Functions for nests that occur more than once in a program, with a pointer
/// for each access, then the items, as arguments. A module can call those of
/// other modules, and those for points.
class NestFunctions {
public:
  NestFunctions(Module &module, CpuBuilder &builder, const Shared &shared)
      : nests(shared.nests), module_(module), b_(builder),
        points_(shared.points) {}

  Function *operator[](unsigned number);
  /// Emits a function into this module; returns its number of instructions.
  size_t emit(unsigned number);
  /// Emits the function for a point.
  size_t emitPoint(unsigned number);
  /// The call that a nest makes at each point; nothing: its loops have the
  /// code.
  std::optional<PointCall> atPoints(plan::NestOp op, const Nest &nest,
                                    const Tiling &tiling);

  const SharedNests &nests;

private:
  void emitBody(const SharedNest &shared, Function &function);

  Module &module_;
  CpuBuilder &b_;
  const SharedPoints &points_;
  DenseMap<unsigned, Function *> declared_;
};

} // namespace

Function *NestFunctions::operator[](unsigned number) {
  Function *&function = declared_[number];
  if (function)
    return function;
  const Nest &nest = nests[number].nest;
  SmallVector<Type *> types(nest.inputs.size() + nest.outputs.size(),
                            b_.getPtrTy());
  types.append(2, b_.getInt64Ty());
  return function = b_.declare(module_, types, GlobalValue::ExternalLinkage,
                               "n" + std::to_string(number));
}

size_t NestFunctions::emit(unsigned number) {
  Function *function = (*this)[number];
  emitBody(nests[number], *function);
  return function->getInstructionCount();
}

void NestFunctions::emitBody(const SharedNest &shared, Function &function) {
  IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(BasicBlock::Create(b_.getContext(), "entry", &function));
  const Nest &nest = shared.nest;
  DenseMap<const Access *, Value *> pointers;
  for (auto *accesses : {&nest.inputs, &nest.outputs})
    for (const Access &access : *accesses) {
      unsigned number = pointers.size();
      pointers[&access] = function.getArg(number);
    }
  Items items;
  items.begin = function.getArg(pointers.size());
  if (shared.oneItem)
    items.count = 1;
  else
    items.end = function.getArg(pointers.size() + 1);
  gradus::emitNest(b_, nest, chooseTiling(nest, b_.target), items,
                   [&](const Access &access) { return pointers.at(&access); });
  b_.CreateRetVoid();
}

size_t NestFunctions::emitPoint(unsigned number) {
  Function *function = points_.declare(number, b_, module_);
  points_.emit(number, b_, *function);
  return function->getInstructionCount();
}

std::optional<PointCall> NestFunctions::atPoints(plan::NestOp op,
                                                 const Nest &nest,
                                                 const Tiling &tiling) {
  auto number = points_.find(op);
  if (!number)
    return std::nullopt;
  return points_.call(*number, *PointForm::of(nest, tiling), nest,
                      points_.declare(*number, b_, module_));
}

//===-- kernels -----------------------------------------------------------===//

namespace {

class KernelEmitter {
public:
  KernelEmitter(CpuBuilder &builder, NestFunctions &functions,
                plan::KernelOp kernel, Function &function)
      : b_(builder), functions_(functions), kernel_(kernel),
        function_(&function) {}
  void emit();

  size_t instructions = 0;

private:
  using Ops = SmallVector<mlir::Operation *>;

  Value *pointerOf(mlir::Value buffer, bool isKept = true);
  void emitScratch(plan::ScratchOp op);
  void emitFrame();
  void emitBody(const Items &items);
  void emitPart(const Ops &ops, const Items &items);
  void emitNests(const Ops &ops, const Items &items);
  void emitNest(plan::NestOp op, const Items &items);
  void callShared(unsigned number, const Nest &nest, const Items &items);
  void emitLoop(plan::LoopOp op, const Items &items);
  Value *foundPosition(plan::LoopOp op, ArrayRef<Value *> positions);
  void emitIndexed();
  void emitItems();

  CpuBuilder &b_;
  NestFunctions &functions_;
  plan::KernelOp kernel_;
  Function *function_;
  DenseMap<mlir::Value, Value *> scratch_;
  /// The start of a kernel's scratch, if it is split into parts, and the offset
  /// of each buffer in it.
  Value *frame_ = nullptr;
  DenseMap<mlir::Value, int64_t> offsets_;
};

} // namespace

//===-- limits of loops ---------------------------------------------------===//

static Value *evaluate(CpuBuilder &b, mlir::AffineExpr expression,
                       ArrayRef<Value *> positions) {
  if (auto number = dyn_cast<mlir::AffineConstantExpr>(expression))
    return b.getInt64(number.getValue());
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expression))
    return positions[dim.getPosition()];
  auto both = cast<mlir::AffineBinaryOpExpr>(expression);
  Value *x = evaluate(b, both.getLHS(), positions),
        *y = evaluate(b, both.getRHS(), positions);
  if (both.getKind() == mlir::AffineExprKind::Add)
    return b.CreateNSWAdd(x, y);
  if (both.getKind() == mlir::AffineExprKind::Mul)
    return b.CreateNSWMul(x, y);
  int64_t divisor = cast<ConstantInt>(y)->getSExtValue();
  if (both.getKind() == mlir::AffineExprKind::CeilDiv)
    x = b.CreateNSWAdd(x, b.getInt64(divisor - 1));
  Value *quotient = b.floorDivide(x, divisor);
  return both.getKind() == mlir::AffineExprKind::Mod
             ? b.CreateNSWSub(x, b.CreateNSWMul(quotient, y))
             : quotient;
}

/// The largest or smallest result of a map.
static Value *emitLimit(CpuBuilder &b, mlir::AffineMap map,
                        Intrinsic::ID choose, ArrayRef<Value *> positions) {
  Value *limit = nullptr;
  for (mlir::AffineExpr result : map.getResults()) {
    Value *value = evaluate(b, result, positions);
    limit = limit ? b.CreateBinaryIntrinsic(choose, limit, value) : value;
  }
  return limit;
}

//===-- parts of kernels -------------------------------------------------===//

/// The address of a buffer. Scratch is on the stack; other addresses are loaded
/// from the arguments at each use, which saves registers. If not `isKept`, the
/// address is loaded again after each call.
Value *KernelEmitter::pointerOf(mlir::Value buffer, bool isKept) {
  if (auto pairs = buffer.getDefiningOp<plan::PairsOp>())
    buffer = pairs.getSource();
  if (Value *own = scratch_.lookup(buffer))
    return own;
  if (auto offset = offsets_.find(buffer); offset != offsets_.end())
    return b_.CreateConstGEP1_64(b_.getInt8Ty(), frame_, offset->second);
  unsigned number = cast<mlir::BlockArgument>(buffer).getArgNumber();
  Type *pointer = b_.getPtrTy();
  Value *slot = b_.CreateConstGEP1_64(pointer, function_->getArg(0), number);
  LoadInst *loaded = b_.CreateAlignedLoad(pointer, slot, Align(8));
  if (isKept)
    loaded->setMetadata(LLVMContext::MD_invariant_load,
                        MDNode::get(b_.getContext(), {}));
  return loaded;
}

void KernelEmitter::emitScratch(plan::ScratchOp op) {
  auto type = cast<mlir::MemRefType>(op.getType());
  Type *memory = ArrayType::get(memoryType(b_, type.getElementType()),
                                type.getNumElements());
  AllocaInst *place = b_.CreateAlloca(memory);
  place->setAlignment(Align(64));
  scratch_[op.getResult()] = place;
}

void KernelEmitter::emitNest(plan::NestOp op, const Items &items) {
  Nest nest = readNest(op, kernel_.getSplit());
  if (auto shared = functions_.nests.find(op))
    return callShared(*shared, nest, items);
  // With one item at a time, no tile has several items.
  if (items.count == 1)
    nest.extents[nest.itemDim] = nest.itemLength;
  Tiling tiling = chooseTiling(nest, b_.target);
  std::optional<PointCall> call = functions_.atPoints(op, nest, tiling);
  gradus::emitNest(
      b_, nest, tiling, items,
      [&](const Access &access) { return pointerOf(access.buffer); },
      call ? &*call : nullptr);
}

/// Calls the shared function with the start of each access, from which the
/// function counts.
void KernelEmitter::callShared(unsigned number, const Nest &nest,
                               const Items &items) {
  const Nest &form = functions_.nests[number].nest;
  Values arguments;
  auto add = [&](const Access &own, const Access &common) {
    arguments.push_back(b_.CreateConstGEP1_64(
        memoryType(b_, own.element), pointerOf(own.buffer, /*isKept=*/false),
        own.place.offset - common.place.offset));
  };
  for (auto [own, common] : zip_equal(nest.inputs, form.inputs))
    add(own, common);
  for (auto [own, common] : zip_equal(nest.outputs, form.outputs))
    add(own, common);
  arguments.push_back(items.begin);
  arguments.push_back(items.end ? items.end : items.begin);
  b_.CreateCall(functions_[number], arguments);
}

static SmallVector<mlir::Operation *> nestsAndLoops(mlir::Block &block) {
  SmallVector<mlir::Operation *> ops;
  for (mlir::Operation &op : block)
    if (isa<plan::NestOp, plan::LoopOp>(op))
      ops.push_back(&op);
  return ops;
}

void KernelEmitter::emitLoop(plan::LoopOp op, const Items &items) {
  Values around = {items.begin};
  llvm::append_range(around, items.loops);
  auto body = [&](Value *position) {
    Items inside = items;
    inside.loops.push_back(position);
    emitNests(nestsAndLoops(op.getBody().front()), inside);
  };
  if (op.getAt())
    return body(foundPosition(op, around));
  Value *first = emitLimit(b_, op.getFirst(), Intrinsic::smax, around),
        *end = emitLimit(b_, op.getEnd(), Intrinsic::smin, around);
  b_.loop(first, end, 1, body);
}

/// Loads the position of a loop that reads it from a buffer.
Value *KernelEmitter::foundPosition(plan::LoopOp op,
                                    ArrayRef<Value *> positions) {
  Value *place = b_.getInt64(0);
  ArrayRef<int64_t> shape =
      cast<mlir::MemRefType>(op.getAt().getType()).getShape();
  for (auto [size, index] : zip_equal(shape, op.getFirst().getResults()))
    place = b_.CreateNSWAdd(b_.CreateNSWMul(place, b_.getInt64(size)),
                            evaluate(b_, index, positions));
  Type *type = b_.getInt32Ty();
  Value *address = b_.CreateGEP(type, pointerOf(op.getAt()), place);
  return b_.CreateSExt(b_.CreateAlignedLoad(type, address, Align(4)),
                       b_.getInt64Ty());
}

void KernelEmitter::emitNests(const Ops &ops, const Items &items) {
  for (mlir::Operation *op : ops)
    if (auto nest = dyn_cast<plan::NestOp>(op))
      emitNest(nest, items);
    else
      emitLoop(cast<plan::LoopOp>(op), items);
}

//===-- kernels of very many nests ----------------------------------------===//

/// LLVM needs more than ten times as long for a function with a thousand nests
/// (an unrolled layer) as for one with a hundred.
static constexpr size_t kMostNests = 128;

static bool isOfParts(plan::KernelOp kernel) {
  return nestsAndLoops(kernel.getBody().front()).size() > kMostNests;
}

/// Allocates all scratch as one buffer, whose address is passed to the parts.
void KernelEmitter::emitFrame() {
  int64_t size = 0;
  for (auto op : kernel_.getBody().getOps<plan::ScratchOp>()) {
    offsets_[op.getResult()] = size;
    size = alignTo(size + bytesOf(op.getType()), 64);
  }
  AllocaInst *place = b_.CreateAlloca(
      ArrayType::get(b_.getInt8Ty(), std::max<int64_t>(size, 1)));
  place->setAlignment(Align(64));
  frame_ = place;
}

void KernelEmitter::emitBody(const Items &items) {
  Ops ops = nestsAndLoops(kernel_.getBody().front());
  if (!isOfParts(kernel_))
    return emitNests(ops, items);
  for (ArrayRef<mlir::Operation *> rest = ops; !rest.empty();
       rest = rest.drop_front(std::min(rest.size(), kMostNests)))
    emitPart(Ops(rest.take_front(kMostNests)), items);
}

/// Emits some of the nests as a function of their own, and its call.
void KernelEmitter::emitPart(const Ops &ops, const Items &items) {
  Function *part = b_.declare(
      *function_->getParent(),
      {b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()},
      GlobalValue::InternalLinkage, function_->getName().str() + ".part");
  b_.CreateCall(part, {function_->getArg(0), frame_, items.begin,
                       items.end ? items.end : items.begin});
  IRBuilderBase::InsertPointGuard guard(b_);
  llvm::SaveAndRestore whole(function_, part);
  llvm::SaveAndRestore outer(frame_, static_cast<Value *>(part->getArg(1)));
  b_.SetInsertPoint(BasicBlock::Create(b_.getContext(), "entry", part));
  Items own = items;
  own.begin = part->getArg(2);
  own.end = items.end ? part->getArg(3) : nullptr;
  emitNests(ops, own);
  b_.CreateRetVoid();
  instructions += part->getInstructionCount();
}

/// Emits the op of a kernel with indices, which has no other ops.
void KernelEmitter::emitIndexed() {
  auto pointer = [&](mlir::Value buffer) { return pointerOf(buffer); };
  for (auto op : kernel_.getBody().getOps<plan::TakeOp>())
    emitTake(b_, op, function_->getArg(1), function_->getArg(2), pointer);
  for (auto op : kernel_.getBody().getOps<plan::AddAtOp>())
    emitAddAt(b_, op, function_->getArg(1), function_->getArg(2), pointer);
}

/// Runs each nest on all items or, if nests pass values through scratch or are
/// in loops, all nests on one item after another.
void KernelEmitter::emitItems() {
  Value *begin = function_->getArg(1), *end = function_->getArg(2);
  if (takesItemsTogether(kernel_))
    return emitBody({begin, end, -1, {}});
  b_.loop(begin, end, 1,
          [&](Value *item) { emitBody({item, nullptr, 1, {}}); });
}

void KernelEmitter::emit() {
  b_.SetInsertPoint(BasicBlock::Create(b_.getContext(), "entry", function_));
  if (isOfParts(kernel_))
    emitFrame();
  else
    for (auto op : kernel_.getBody().getOps<plan::ScratchOp>())
      emitScratch(op);
  emitItems();
  emitIndexed();
  b_.CreateRetVoid();
  instructions += function_->getInstructionCount();
}

//===-- parts -------------------------------------------------------------===//

namespace {

/// A kernel, or a function that kernels call.
struct Piece {
  enum Kind { kernel, nest, point } kind;
  size_t weight, number;

  /// Orders by falling weight.
  bool operator<(const Piece &other) const {
    return std::tuple(other.weight, kind, number) <
           std::tuple(weight, other.kind, other.number);
  }
};

/// Some of the kernels and functions, in a module that one thread compiles.
struct Part {
  LLVMContext context;
  Module module{"kernels", context};
  CpuBuilder builder;
  NestFunctions functions;
  size_t instructions = 0;
  Expected<ObjectBytes> object = ObjectBytes();

  Part(const CpuTarget &target, const Shared &shared)
      : builder(context, target), functions(module, builder, shared) {
    cantFail(object.takeError());
  }
  void add(const Piece &piece, ArrayRef<plan::KernelOp> kernels);
  void compile();

private:
  void addKernel(size_t number, plan::KernelOp kernel);
};

} // namespace

void Part::add(const Piece &piece, ArrayRef<plan::KernelOp> kernels) {
  if (piece.kind == Piece::point)
    instructions += functions.emitPoint(piece.number);
  else if (piece.kind == Piece::nest)
    instructions += functions.emit(piece.number);
  else
    addKernel(piece.number, kernels[piece.number]);
}

void Part::addKernel(size_t number, plan::KernelOp kernel) {
  Function *function = builder.declare(
      module, {builder.getPtrTy(), builder.getInt64Ty(), builder.getInt64Ty()},
      GlobalValue::ExternalLinkage, functionName(number));
  KernelEmitter emitter(builder, functions, kernel, *function);
  emitter.emit();
  instructions += emitter.instructions;
}

void Part::compile() {
  auto machine = targetMachine(builder.target);
  if (machine)
    object = compileToObject(module, **machine);
  else
    object = machine.takeError();
}

using Parts = std::vector<std::unique_ptr<Part>>;

/// A rough measure of a nest's code: contractions are unrolled into tiles.
static size_t weightOf(plan::NestOp nest) {
  return nest.isElementwise() ? 1 : 3;
}

static size_t weightOf(plan::KernelOp kernel) {
  size_t weight = 0;
  kernel.walk([&](plan::NestOp nest) { weight += weightOf(nest); });
  return weight;
}

/// Distributes the kernels and functions, the heaviest first, each to the part
/// with the least weight.
static void fillParts(Parts &parts, ArrayRef<plan::KernelOp> kernels,
                      const Shared &shared) {
  std::vector<Piece> pieces;
  for (auto [number, kernel] : enumerate(kernels))
    if (shared.codes[number] == number)
      pieces.push_back({Piece::kernel, weightOf(kernel), number});
  for (unsigned number : shared.nests.functions())
    pieces.push_back(
        {Piece::nest, weightOf(shared.nests[number].nest.op), number});
  for (unsigned number : shared.points.functions())
    pieces.push_back(
        {Piece::point, weightOf(shared.points.example(number)), number});
  llvm::sort(pieces);
  for (const Piece &piece : pieces) {
    auto least =
        std::min_element(parts.begin(), parts.end(), [](auto &x, auto &y) {
          return x->instructions < y->instructions;
        });
    (*least)->add(piece, kernels);
  }
}

/// Joins the code of the parts into one blob.
static Expected<CpuCode> joinParts(Parts &parts,
                                   ArrayRef<plan::KernelOp> kernels,
                                   ArrayRef<size_t> codes) {
  std::vector<ObjectBytes> objects;
  Error errors = Error::success();
  for (auto &part : parts)
    if (part->object)
      objects.push_back(std::move(*part->object));
    else
      errors = joinErrors(std::move(errors), part->object.takeError());
  if (errors)
    return std::move(errors);
  std::vector<std::string> names;
  for (size_t code : codes)
    names.push_back(functionName(code));
  Expected<Blob> blob = joinObjects(objects, names);
  if (!blob)
    return blob.takeError();
  CpuCode code{std::move(blob->bytes), {}};
  for (auto [kernel, entry] : zip(kernels, blob->entries))
    code.kernels.push_back({plan::KernelOp(kernel).getSymName().str(), entry});
  return code;
}

Expected<CpuCode> gradus::emitCpu(ArrayRef<plan::KernelOp> kernels,
                                  const CpuTarget &target) {
  constexpr size_t mostParts = 4, weightOfPart = 10;
  size_t weight = 0;
  for (plan::KernelOp kernel : kernels) {
    if (Error error = checkKernel(kernel))
      return std::move(error);
    weight += weightOf(kernel);
  }
  Parts parts(std::clamp<size_t>(
      std::min(weight / weightOfPart, kernels.size()), 1, mostParts));
  Shared shared(kernels, target);
  for (auto &part : parts)
    part = std::make_unique<Part>(target, shared);
  fillParts(parts, kernels, shared);
  parallelFor(parts.size(), [&](size_t part) { parts[part]->compile(); });
  return joinParts(parts, kernels, shared.codes);
}
