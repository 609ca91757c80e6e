// Groups nests by hash, then by comparison; numbers depend only on the kernels.

#include "codegen/cpu/shared_points.h"

#include "codegen/cpu/lanes.h"
#include "codegen/cpu/ops.h"
#include "codegen/kernels/shared_nests.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"

using namespace llvm;
using namespace gradus;

//===-- forms -------------------------------------------------------------===//

/// Calls do not pay for less: a call costs some ten instructions.
static constexpr int64_t kFewestOps = 64;

/// Whether a region has many ops, which all are functions of its arguments.
static bool isLong(mlir::Region &region) {
  int64_t count = 0;
  for (mlir::Operation &op : region.front()) {
    if (isa<plan::IndexOp>(op))
      return false;
    ++count;
  }
  return count >= kFewestOps;
}

/// Whether all positions are in whole vectors.
static bool isWhole(const Nest &nest, const Tiling &tiling) {
  if (tiling.vectorDim < 0)
    return true;
  int64_t size = tiling.vectorDim == nest.itemDim
                     ? nest.itemLength
                     : nest.extents[tiling.vectorDim];
  return size % tiling.lanes == 0;
}

/// Whether accesses move alike from position to position.
static bool moveAlike(const Access &one, const Access &other) {
  return one.buffer == other.buffer && one.element == other.element &&
         one.place.strides == other.place.strides;
}

static int64_t storedBytes(mlir::Type element) {
  return divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// The pointer of many vectors that are read of an argument of the kernel; -1:
/// there is none. (Scratch is in the cache.)
static int askedPointer(const PointForm &form) {
  constexpr int64_t many = 8;
  for (auto [pointer, first] : enumerate(form.firsts)) {
    auto isRead = [&, number = pointer](const PointForm::Element &element) {
      return element.pointer == number && element.isVector;
    };
    if (first < form.nest.inputs.size() &&
        isa<mlir::BlockArgument>(form.nest.inputs[first].buffer) &&
        count_if(form.elements, isRead) >= many)
      return pointer;
  }
  return -1;
}

std::optional<PointForm> PointForm::of(const Nest &nest, const Tiling &tiling) {
  constexpr unsigned mostPointers = 5; // and the table: they are in registers
  if (nest.hasReduction() || !isLong(nest.then()) || !isWhole(nest, tiling))
    return std::nullopt;
  PointForm form{nest, tiling.lanes, {}, {}};
  for (unsigned i = 0; i < nest.inputs.size() + nest.outputs.size(); ++i) {
    const Access &access = accessOf(nest, i);
    LaneStep::Kind step =
        tiling.lanes == 1
            ? LaneStep::same
            : laneStep(nest, access, tiling.vectorDim, tiling.lanes).kind;
    bool isPlain = access.guard.empty() && access.place.terms.empty() &&
                   !access.element.isInteger(1);
    bool isOutput = i >= nest.inputs.size();
    if (!isPlain || step > LaneStep::next ||
        (isOutput && tiling.lanes > 1 && step == LaneStep::same))
      return std::nullopt;
    auto *first = find_if(form.firsts, [&](unsigned other) {
      return moveAlike(accessOf(nest, other), access);
    });
    unsigned pointer = first - form.firsts.begin();
    if (first == form.firsts.end())
      form.firsts.push_back(i);
    int64_t distance =
        access.place.offset - accessOf(nest, form.firsts[pointer]).place.offset;
    form.elements.push_back({access.element, pointer, step == LaneStep::next,
                             distance * storedBytes(access.element)});
  }
  if (form.firsts.size() > mostPointers)
    return std::nullopt;
  if (form.firsts.size() < mostPointers) // how far ahead to ask takes one, too
    form.asked = askedPointer(form);
  return form;
}

bool PointForm::operator==(const PointForm &other) const {
  return lanes == other.lanes && asked == other.asked &&
         nest.inputs.size() == other.nest.inputs.size() &&
         equal(elements, other.elements,
               [](const Element &x, const Element &y) {
                 return x.type == y.type && x.pointer == y.pointer &&
                        x.isVector == y.isVector;
               }) &&
         mlir::OperationEquivalence::isRegionEquivalentTo(
             &nest.then(), &other.nest.then(),
             mlir::OperationEquivalence::IgnoreLocations);
}

size_t PointForm::hash() const {
  hash_code hash = hash_combine(lanes, nest.inputs.size(), elements.size());
  for (const Element &element : elements)
    hash = hash_combine(hash, element.pointer, element.isVector);
  for (mlir::Operation &op : nest.then().front())
    hash = hash_combine(hash, op.getName().getAsOpaquePointer());
  return hash;
}

//===-- groups ------------------------------------------------------------===//

/// The bytes from the element before that has the same pointer.
static SmallVector<int64_t> stepsOf(const PointForm &form) {
  SmallVector<int64_t> steps, last(form.firsts.size(), 0);
  for (const PointForm::Element &element : form.elements) {
    steps.push_back(element.offset - last[element.pointer]);
    last[element.pointer] = element.offset;
  }
  return steps;
}

SharedPoints::SharedPoints(ArrayRef<plan::KernelOp> kernels,
                           const CpuTarget &target) {
  for (plan::KernelOp kernel : kernels) {
    bool oneItem = !takesItemsTogether(kernel);
    kernel.walk([&](plan::NestOp op) {
      if (!op.isElementwise() || !isLong(op.getThen()))
        return;
      Nest nest = SharedNest::of(op, kernel.getSplit(), oneItem).nest;
      if (auto form = PointForm::of(nest, chooseTiling(nest, target)))
        add(op, *std::move(form));
    });
  }
}

void SharedPoints::add(plan::NestOp op, PointForm form) {
  SmallVector<int64_t> steps = stepsOf(form);
  auto &candidates = byHash_[form.hash()];
  for (unsigned number : candidates)
    if (Group &group = groups_[number]; group.form == form) {
      ++group.nests;
      for (auto [common, own] : zip_equal(group.steps, steps))
        if (common && *common != own)
          common.reset();
      numbers_[op] = number;
      return;
    }
  numbers_[op] = groups_.size();
  candidates.push_back(groups_.size());
  groups_.push_back({std::move(form), 1, {steps.begin(), steps.end()}});
}

std::optional<unsigned> SharedPoints::find(plan::NestOp op) const {
  auto number = numbers_.find(op);
  if (number == numbers_.end() || groups_[number->second].nests < 2)
    return std::nullopt;
  return number->second;
}

SmallVector<unsigned> SharedPoints::functions() const {
  SmallVector<unsigned> found;
  for (auto [number, group] : enumerate(groups_))
    if (group.nests > 1)
      found.push_back(number);
  return found;
}

//===-- code --------------------------------------------------------------===//

Function *SharedPoints::declare(unsigned number, CpuBuilder &b,
                                Module &module) const {
  std::string name = "p" + std::to_string(number);
  if (Function *known = module.getFunction(name))
    return known;
  const PointForm &form = groups_[number].form;
  SmallVector<Type *> types(1 + form.firsts.size(), b.getPtrTy());
  if (form.asked >= 0)
    types.push_back(b.getInt64Ty());
  return b.declare(module, types, GlobalValue::ExternalLinkage, name);
}

/// The address at a distance from a pointer that is in a row of the table.
static Value *distant(CpuBuilder &b, Function &function, unsigned pointer,
                      unsigned row) {
  Value *place = b.CreateConstGEP1_64(b.getInt64Ty(), function.getArg(0), row);
  LoadInst *distance = b.CreateAlignedLoad(b.getInt64Ty(), place, Align(8));
  distance->setMetadata(LLVMContext::MD_invariant_load,
                        MDNode::get(b.getContext(), {}));
  return b.CreateGEP(b.getInt8Ty(), function.getArg(1 + pointer), distance);
}

/// The addresses of all elements of a position.
static Values addresses(CpuBuilder &b, const PointForm &form,
                        ArrayRef<std::optional<int64_t>> steps,
                        Function &function) {
  /// An address, and bytes from there.
  struct Place {
    Value *start;
    int64_t bytes;
  };
  SmallVector<Place> last; // one a pointer
  for (unsigned i = 0; i < form.firsts.size(); ++i)
    last.push_back({function.getArg(1 + i), 0});
  Values found;
  unsigned row = 0;
  for (auto [element, step] : zip_equal(form.elements, steps)) {
    Place &place = last[element.pointer];
    if (step)
      place.bytes += *step;
    else
      place = {distant(b, function, element.pointer, row++), 0};
    found.push_back(place.bytes ? b.CreateConstGEP1_64(b.getInt8Ty(),
                                                       place.start, place.bytes)
                                : place.start);
  }
  return found;
}

/// Asks for what a position ahead reads of the asked pointer: for each line of
/// a row of elements once, and for its last element, as rows may begin anywhere
/// in a line. The hardware follows no rows as short as those of a tile.
static void ask(CpuBuilder &b, const PointForm &form,
                ArrayRef<std::optional<int64_t>> steps,
                ArrayRef<Value *> places, Function &function) {
  constexpr unsigned first = 1;
  constexpr int64_t line = 64;
  Value *ahead = function.getArg(1 + form.firsts.size());
  SmallVector<unsigned> rows; // the numbers of the pointer's reads
  for (unsigned i = 0; i < form.nest.inputs.size(); ++i)
    if (int(form.elements[i].pointer) == form.asked)
      rows.push_back(i);
  int64_t since = line;
  for (auto [place, i] : enumerate(rows)) {
    auto isNear = [&](unsigned number) {
      return steps[number] && std::abs(*steps[number]) < line;
    };
    since = place && isNear(i) ? since + *steps[i] : line;
    bool endsRow = place + 1 == rows.size() || !isNear(rows[place + 1]);
    if (since < line && !(endsRow && since > 0))
      continue;
    since = 0;
    b.askFor(b.CreateGEP(b.getInt8Ty(), places[i], ahead), first);
  }
}

void SharedPoints::emit(unsigned number, CpuBuilder &b,
                        Function &function) const {
  const auto &[form, nests, steps] = groups_[number];
  IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(BasicBlock::Create(b.getContext(), "entry", &function));
  Values places = addresses(b, form, steps, function), arguments;
  size_t inputs = form.nest.inputs.size();
  if (form.asked >= 0)
    ask(b, form, steps, places, function);
  auto typeOf = [&](const PointForm::Element &element) {
    return b.wide(memoryType(b, element.type),
                  element.isVector ? form.lanes : 1);
  };
  for (size_t i = 0; i < inputs; ++i)
    arguments.push_back(
        b.CreateAlignedLoad(typeOf(form.elements[i]), places[i],
                            Align(storedBytes(form.elements[i].type))));
  auto indexOf = [](int64_t) -> Value * { return nullptr; }; // isLong: none
  Values results = RegionEmitter(b, form.nest.then(), indexOf).run(arguments);
  for (auto [i, value] : enumerate(results)) {
    const PointForm::Element &element = form.elements[inputs + i];
    b.CreateAlignedStore(b.splat(value, lanesOf(typeOf(element))),
                         places[inputs + i], Align(storedBytes(element.type)));
  }
  b.CreateRetVoid();
}

PointCall SharedPoints::call(unsigned number, const PointForm &form,
                             const Nest &nest, Function *function) const {
  const Access *asked =
      form.asked < 0 ? nullptr : &nest.inputs[form.firsts[form.asked]];
  SmallVector<int64_t> offsets;
  for (auto [element, step] : zip_equal(form.elements, groups_[number].steps))
    if (!step)
      offsets.push_back(element.offset);
  if (offsets.empty())
    return {function,
            ConstantPointerNull::get(
                PointerType::getUnqual(function->getContext())),
            form.firsts, asked};
  Constant *numbers = ConstantDataArray::get(function->getContext(), offsets);
  auto *table =
      new GlobalVariable(*function->getParent(), numbers->getType(), true,
                         GlobalValue::InternalLinkage, numbers, "distances");
  table->setAlignment(Align(8));
  return {function, table, form.firsts, asked};
}
