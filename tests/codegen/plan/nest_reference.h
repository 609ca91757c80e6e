// A kernel run twice: by the definition of its nests, point by point in f64 and
// i64, and by emitted machine code. Tests compare the two.
#pragma once

#include "codegen/cpu/emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/TargetParser/Host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <sys/mman.h>

namespace gradus::test {

/// A number of either kind: every value of a nest is one of them.
struct Number {
  double real = 0;
  int64_t whole = 0;
};

/// The elements of a buffer as numbers.
struct Tensor {
  mlir::MemRefType type;
  std::vector<int64_t> shape;
  std::vector<Number> elements;

  bool isReal() const {
    return llvm::isa<mlir::FloatType>(type.getElementType());
  }
};

inline int64_t countOf(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

//===-- elements in memory ------------------------------------------------===//

inline int64_t bytesOf(mlir::Type type) {
  return type.isInteger(1) ? 1
         : type.isIndex()  ? 8
                           : type.getIntOrFloatBitWidth() / 8;
}

inline void writeElement(mlir::Type type, Number value, char *at) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    llvm::APFloat number(value.real);
    bool lost;
    number.convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &lost);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(at, &bits, bytesOf(type));
    return;
  }
  std::memcpy(at, &value.whole, bytesOf(type));
}

inline Number readElement(mlir::Type type, const char *at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytesOf(type));
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    llvm::APFloat number(real.getFloatSemantics(),
                         llvm::APInt(real.getWidth(), bits));
    return {number.convertToDouble(), 0};
  }
  unsigned width = 8 * bytesOf(type);
  return {0, type.isInteger(1) ? int64_t(bits & 1)
                               : llvm::SignExtend64(bits, width)};
}

//===-- scalars -----------------------------------------------------------===//

inline bool compareReals(mlir::arith::CmpFPredicate predicate, double x,
                         double y) {
  return mlir::arith::applyCmpPredicate(predicate, llvm::APFloat(x),
                                        llvm::APFloat(y));
}

inline bool compareWholes(mlir::arith::CmpIPredicate predicate, int64_t x,
                          int64_t y) {
  using P = mlir::arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  default:
    ADD_FAILURE() << "predicate not in the reference";
    return false;
  }
}

using RealFunction = double (*)(const std::vector<Number> &);

inline const std::map<std::string, RealFunction> &realFunctions() {
  using X = const std::vector<Number> &;
  static const std::map<std::string, RealFunction> functions = {
      {"arith.addf", [](X x) { return x[0].real + x[1].real; }},
      {"arith.subf", [](X x) { return x[0].real - x[1].real; }},
      {"arith.mulf", [](X x) { return x[0].real * x[1].real; }},
      {"arith.divf", [](X x) { return x[0].real / x[1].real; }},
      {"arith.negf", [](X x) { return -x[0].real; }},
      {"arith.maximumf", [](X x) { return std::fmax(x[0].real, x[1].real); }},
      {"arith.minimumf", [](X x) { return std::fmin(x[0].real, x[1].real); }},
      {"arith.extf", [](X x) { return x[0].real; }},
      {"arith.truncf", [](X x) { return x[0].real; }},
      {"arith.sitofp", [](X x) { return double(x[0].whole); }},
      {"arith.uitofp", [](X x) { return double(x[0].whole); }},
      {"math.exp", [](X x) { return std::exp(x[0].real); }},
      {"math.log", [](X x) { return std::log(x[0].real); }},
      {"math.sqrt", [](X x) { return std::sqrt(x[0].real); }},
      {"math.tanh", [](X x) { return std::tanh(x[0].real); }},
      {"math.erf", [](X x) { return std::erf(x[0].real); }},
      {"math.absf", [](X x) { return std::fabs(x[0].real); }},
      {"math.powf", [](X x) { return std::pow(x[0].real, x[1].real); }},
  };
  return functions;
}

using WholeFunction = int64_t (*)(const std::vector<Number> &);

inline const std::map<std::string, WholeFunction> &wholeFunctions() {
  using X = const std::vector<Number> &;
  static const std::map<std::string, WholeFunction> functions = {
      {"arith.addi", [](X x) { return x[0].whole + x[1].whole; }},
      {"arith.subi", [](X x) { return x[0].whole - x[1].whole; }},
      {"arith.muli", [](X x) { return x[0].whole * x[1].whole; }},
      {"arith.divsi", [](X x) { return x[0].whole / x[1].whole; }},
      {"arith.andi", [](X x) { return x[0].whole & x[1].whole; }},
      {"arith.extsi", [](X x) { return x[0].whole; }},
      {"arith.extui", [](X x) { return x[0].whole; }},
      {"arith.trunci", [](X x) { return x[0].whole; }},
      {"arith.index_cast", [](X x) { return x[0].whole; }},
      {"arith.fptosi", [](X x) { return int64_t(x[0].real); }},
  };
  return functions;
}

/// What an op of a region gives for numbers.
inline Number evaluate(mlir::Operation &op, const std::vector<Number> &x,
                       llvm::ArrayRef<int64_t> point) {
  if (auto index = llvm::dyn_cast<plan::IndexOp>(op))
    return {0, point[index.getDim()]};
  if (auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(op)) {
    if (auto real = llvm::dyn_cast<mlir::FloatAttr>(constant.getValue()))
      return {real.getValueAsDouble(), 0};
    return {0, llvm::cast<mlir::IntegerAttr>(constant.getValue()).getInt()};
  }
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    return {0, compareReals(compare.getPredicate(), x[0].real, x[1].real)};
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpIOp>(op))
    return {0, compareWholes(compare.getPredicate(), x[0].whole, x[1].whole)};
  if (llvm::isa<mlir::arith::SelectOp>(op))
    return x[0].whole & 1 ? x[1] : x[2];
  std::string name = op.getName().getStringRef().str();
  if (auto found = realFunctions().find(name); found != realFunctions().end())
    return {found->second(x), 0};
  if (auto found = wholeFunctions().find(name); found != wholeFunctions().end())
    return {0, found->second(x)};
  ADD_FAILURE() << name << " is not in the reference";
  return {};
}

inline std::vector<Number> runRegion(mlir::Region &region,
                                     const std::vector<Number> &arguments,
                                     llvm::ArrayRef<int64_t> point) {
  llvm::DenseMap<mlir::Value, Number> values;
  for (auto [argument, number] : llvm::zip(region.getArguments(), arguments))
    values[argument] = number;
  auto all = [&](mlir::Operation &op) {
    std::vector<Number> x;
    for (mlir::Value operand : op.getOperands())
      x.push_back(values.lookup(operand));
    return x;
  };
  for (mlir::Operation &op : region.front().without_terminator())
    values[op.getResult(0)] = evaluate(op, all(op), point);
  return all(*region.front().getTerminator());
}

//===-- nests -------------------------------------------------------------===//

using Memory = llvm::DenseMap<mlir::Value, Tensor *>;

/// Calls `visit` with every point of a box.
inline void
forEachPoint(llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
             llvm::function_ref<void(std::vector<int64_t> &)> visit) {
  std::vector<int64_t> point(low.begin(), low.end());
  for (size_t d = 0; d < point.size(); ++d)
    if (low[d] >= high[d])
      return;
  while (true) {
    visit(point);
    int d = int(point.size()) - 1;
    while (d >= 0 && ++point[d] == high[d])
      point[d] = low[d], --d;
    if (d < 0)
      return;
  }
}

inline int64_t evaluate(mlir::AffineExpr expression,
                        llvm::ArrayRef<int64_t> point) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression))
    return point[dim.getPosition()];
  auto both = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
  int64_t x = evaluate(both.getLHS(), point),
          y = evaluate(both.getRHS(), point);
  switch (both.getKind()) {
  case mlir::AffineExprKind::Add:
    return x + y;
  case mlir::AffineExprKind::Mul:
    return x * y;
  case mlir::AffineExprKind::Mod:
    return llvm::mod(x, y);
  case mlir::AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(x, y);
  default:
    return llvm::divideCeilSigned(x, y);
  }
}

inline int64_t placeOf(const Tensor &tensor, mlir::AffineMap map,
                       llvm::ArrayRef<int64_t> point) {
  int64_t place = 0;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    int64_t index = evaluate(map.getResult(i), point);
    EXPECT_TRUE(index >= 0 && index < tensor.shape[i])
        << "index " << index << " in dimension " << i;
    place = place * tensor.shape[i] + index;
  }
  return place;
}

inline bool isInside(mlir::IntegerSet set, llvm::ArrayRef<int64_t> point) {
  for (unsigned i = 0; set && i < set.getNumConstraints(); ++i) {
    int64_t value = evaluate(set.getConstraint(i), point);
    if (set.isEq(i) ? value != 0 : value < 0)
      return false;
  }
  return true;
}

inline Number readInput(plan::NestOp nest, unsigned i,
                        llvm::ArrayRef<int64_t> point, const Memory &memory) {
  auto operands = nest->getOperands();
  const Tensor &tensor = *memory.lookup(operands[i]);
  if (!isInside(nest.getGuard(i), point))
    return {};
  return tensor.elements[placeOf(tensor, nest.getInputMap(i), point)];
}

inline Number combine(Reduction kind, bool real, Number x, Number y) {
  if (kind == Reduction::sum)
    return {x.real + y.real, x.whole + y.whole};
  bool takeY = real ? (kind == Reduction::max) == (y.real > x.real)
                    : (kind == Reduction::max) == (y.whole > x.whole);
  return takeY ? y : x;
}

/// Runs one nest for d0 in [begin, end) (over everything if it is serial).
inline void runNest(plan::NestOp nest, llvm::ArrayRef<int64_t> low,
                    llvm::ArrayRef<int64_t> high, const Memory &memory) {
  unsigned mapInputs = nest.getMapInputs().size();
  std::vector<int64_t> zeros(nest.getReduced().size(), 0);
  forEachPoint(low, high, [&](std::vector<int64_t> &outer) {
    std::vector<Number> combined;
    forEachPoint(zeros, nest.getReduced(), [&](std::vector<int64_t> &inner) {
      if (nest.isElementwise())
        return;
      std::vector<int64_t> point = outer;
      point.insert(point.end(), inner.begin(), inner.end());
      std::vector<Number> arguments;
      for (unsigned i = 0; i < mapInputs; ++i)
        arguments.push_back(readInput(nest, i, point, memory));
      std::vector<Number> values = runRegion(nest.getMap(), arguments, point);
      for (unsigned i = 0; i < values.size(); ++i) {
        auto kind = llvm::cast<ReductionAttr>(nest.getCombine()[i]).getValue();
        bool real = llvm::isa<mlir::FloatType>(
            nest.getMap().front().getTerminator()->getOperand(i).getType());
        if (combined.size() <= i)
          combined.push_back(values[i]);
        else
          combined[i] = combine(kind, real, combined[i], values[i]);
      }
    });
    for (unsigned i = 0; i < nest.getThenInputs().size(); ++i)
      combined.push_back(nest.isAsked(i)
                             ? Number()
                             : readInput(nest, mapInputs + i, outer, memory));
    std::vector<Number> results = runRegion(nest.getThen(), combined, outer);
    for (auto [i, out] : llvm::enumerate(nest.getOuts())) {
      Tensor &tensor = *memory.lookup(out);
      Number &element =
          tensor.elements[placeOf(tensor, nest.getOutputMap(i), outer)];
      char bytes[8] = {};
      writeElement(tensor.type.getElementType(), results[i], bytes);
      element = readElement(tensor.type.getElementType(), bytes);
    }
  });
}

/// Runs a kernel's nests by their definition for items [begin, end).
inline void runKernel(plan::KernelOp kernel, std::vector<Tensor> &arguments,
                      int64_t begin, int64_t end) {
  Memory memory;
  std::vector<std::unique_ptr<Tensor>> scratch;
  for (auto [value, tensor] :
       llvm::zip(kernel.getBody().getArguments(), arguments))
    memory[value] = &tensor;
  for (auto op : kernel.getBody().getOps<plan::ScratchOp>()) {
    auto type = llvm::cast<mlir::MemRefType>(op.getType());
    scratch.push_back(std::make_unique<Tensor>(
        Tensor{type, type.getShape().vec(),
               std::vector<Number>(type.getNumElements())}));
    memory[op.getResult()] = scratch.back().get();
  }
  bool serial = kernel.getSplit() == plan::Split::serial;
  for (int64_t item = begin; item < end; item = serial ? end : item + 1)
    for (auto nest : kernel.getBody().getOps<plan::NestOp>()) {
      std::vector<int64_t> low(nest.getParallel().size(), 0),
          high = nest.getParallel().vec();
      if (!serial)
        low[0] = item, high[0] = item + 1;
      runNest(nest, low, high, memory);
    }
}

//===-- machine code ------------------------------------------------------===//

/// Emitted code, mapped executable.
class Code {
public:
  explicit Code(CpuCode emitted) : code(std::move(emitted)) {
    size = (code.code.size() + 4095) / 4096 * 4096;
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory, code.code.data(), code.code.size());
    mprotect(memory, size, PROT_READ | PROT_EXEC);
  }
  Code(const Code &) = delete;
  ~Code() { munmap(memory, size); }

  /// Kernel i on items [begin, end). Emitted code carries no type for the
  /// sanitizer to check.
  __attribute__((no_sanitize("function"))) void
  run(size_t i, void **buffers, int64_t begin, int64_t end) const {
    using Entry = void (*)(void **, int64_t, int64_t);
    char *entry = static_cast<char *>(memory) + code.kernels[i].entry;
    reinterpret_cast<Entry>(entry)(buffers, begin, end);
  }

private:
  CpuCode code;
  void *memory = nullptr;
  size_t size = 0;
};

/// 64-byte aligned bytes with a margin behind that must stay as it is.
class Buffer {
public:
  explicit Buffer(const Tensor &tensor) : type(tensor.type.getElementType()) {
    count = tensor.elements.size();
    int64_t bytes = count * bytesOf(type);
    storage.assign(bytes + 64 + margin, char(0xA5));
    for (int64_t i = 0; i < count; ++i)
      writeElement(type, tensor.elements[i], data() + i * bytesOf(type));
  }
  char *data() {
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    return storage.data() + (64 - address % 64) % 64;
  }
  Number at(int64_t i) { return readElement(type, data() + i * bytesOf(type)); }
  bool marginIsIntact() {
    for (char *p = data() + count * bytesOf(type);
         p < data() + count * bytesOf(type) + margin; ++p)
      if (*p != char(0xA5))
        return false;
    return true;
  }
  bool operator==(Buffer &other) {
    return std::memcmp(data(), other.data(), count * bytesOf(type)) == 0;
  }

private:
  static constexpr int64_t margin = 256;
  mlir::Type type;
  int64_t count = 0;
  std::vector<char> storage;
};

//===-- comparing ---------------------------------------------------------===//

struct Context {
  mlir::MLIRContext context;
  Context() {
    context.loadDialect<GradusDialect, plan::PlanDialect,
                        mlir::arith::ArithDialect, mlir::math::MathDialect>();
  }
};

/// Reals in [-2, 2) but for i1 and integers, which lie in [0, 10).
inline Tensor randomTensor(mlir::MemRefType type, int64_t items,
                           std::mt19937 &random) {
  Tensor tensor{type, type.getShape().vec(), {}};
  for (int64_t &extent : tensor.shape)
    extent = mlir::ShapedType::isDynamic(extent) ? items : extent;
  tensor.elements.resize(countOf(tensor.shape));
  for (Number &number : tensor.elements) {
    char bytes[8] = {};
    number.real = std::uniform_real_distribution<>(-2, 2)(random);
    number.whole =
        type.getElementType().isInteger(1) ? random() % 2 : random() % 10;
    writeElement(type.getElementType(), number, bytes);
    number = readElement(type.getElementType(), bytes);
  }
  return tensor;
}

/// Emits the kernels of a module's text for each target, runs each over its
/// items in pieces that start at `cuts`, and compares with the definition. All
/// divisions of the items must give the same bits.
class KernelCheck {
public:
  std::vector<std::string> targets = {"cpu", "cpu:x86-64-v2", "cpu:x86-64-v3"};
  std::vector<std::vector<int64_t>> divisions = {{}, {1}, {3, 4}};
  int64_t items = 0; // of flat kernels
  double tolerance = 1e-5;

  void run(llvm::StringRef text);

private:
  void runOn(plan::KernelOp kernel, const Code &code, size_t index,
             const std::string &target);
  Context context;
};

inline void compare(plan::KernelOp kernel, std::vector<Tensor> &expected,
                    std::vector<Buffer> &buffers, double tolerance,
                    const std::string &where) {
  for (unsigned i = kernel.getInputs(); i < buffers.size(); ++i) {
    EXPECT_TRUE(buffers[i].marginIsIntact())
        << where << ": wrote past argument " << i;
    mlir::Type type = expected[i].type.getElementType();
    double relative = type.isBF16() ? 0.01 : type.isF16() ? 0.002 : tolerance;
    int wrong = 0;
    for (size_t e = 0; e < expected[i].elements.size() && wrong < 4; ++e) {
      Number want = expected[i].elements[e], found = buffers[i].at(e);
      bool close = expected[i].isReal()
                       ? (std::isnan(want.real) && std::isnan(found.real)) ||
                             want.real == found.real ||
                             std::fabs(want.real - found.real) <=
                                 relative * (1 + std::fabs(want.real))
                       : want.whole == found.whole;
      if (close)
        continue;
      ++wrong;
      ADD_FAILURE() << where << ": argument " << i << ", element " << e
                    << " is "
                    << (expected[i].isReal() ? found.real : double(found.whole))
                    << ", expected "
                    << (expected[i].isReal() ? want.real : double(want.whole));
    }
  }
}

inline void KernelCheck::runOn(plan::KernelOp kernel, const Code &code,
                               size_t index, const std::string &target) {
  std::mt19937 random(7);
  int64_t count =
      kernel.getSplit() == plan::Split::flat ? items : kernel.getItems();
  std::vector<Tensor> arguments;
  for (mlir::Type type : kernel.getArgumentTypes())
    arguments.push_back(
        randomTensor(llvm::cast<mlir::MemRefType>(type), items, random));
  std::vector<Tensor> expected = arguments;
  runKernel(kernel, expected, 0, count);
  std::vector<Buffer> first;
  bool serial = kernel.getSplit() == plan::Split::serial;
  for (size_t d = 0; d < (serial ? 1 : divisions.size()); ++d) {
    std::vector<Buffer> buffers(arguments.begin(), arguments.end());
    std::vector<void *> table;
    for (Buffer &buffer : buffers)
      table.push_back(buffer.data());
    int64_t begin = 0;
    for (int64_t cut : divisions[d])
      if (cut < count)
        code.run(index, table.data(), begin, cut), begin = cut;
    code.run(index, table.data(), begin, count);
    std::string where = target + ", kernel " + kernel.getSymName().str();
    compare(kernel, expected, buffers, tolerance, where);
    if (d == 0)
      first = std::move(buffers);
    else
      for (size_t i = 0; i < first.size(); ++i)
        EXPECT_TRUE(first[i] == buffers[i])
            << where << ": bits depend on the division of items";
  }
}

inline bool runsHere(const CpuTarget &target) {
  auto host = llvm::sys::getHostCPUFeatures();
  return llvm::all_of(requiredFeatures(target),
                      [&](auto &feature) { return host.lookup(feature); });
}

inline void KernelCheck::run(llvm::StringRef text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  ASSERT_TRUE(module) << text.str();
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  for (const std::string &name : targets) {
    auto target = cpuTarget(name);
    ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
    if (!runsHere(*target))
      continue;
    auto emitted = emitCpu(kernels, *target);
    ASSERT_TRUE(bool(emitted)) << llvm::toString(emitted.takeError());
    Code code(std::move(*emitted));
    for (auto [i, kernel] : llvm::enumerate(kernels))
      runOn(kernel, code, i, name);
  }
}

} // namespace gradus::test
