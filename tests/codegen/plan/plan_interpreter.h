// A plain interpreter of plans on host tensors: what nests, kernels and
// launches mean, point by point. Floats are computed in f64, integers in i64.
#pragma once

#include "codegen/plan/nest.h"
#include "ir/evaluator/evaluator.h"
#include "ir/gather_sizes.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

namespace gradus::testing {

/// One number; which member counts is the type's matter.
struct Number {
  double f = 0;
  int64_t i = 0;
};

/// Runs the scalar ops of one region for one point.
class ScalarInterpreter {
public:
  explicit ScalarInterpreter(llvm::ArrayRef<int64_t> point) : point_(point) {}

  llvm::SmallVector<Number> run(mlir::Region &region,
                                llvm::ArrayRef<Number> arguments) {
    for (auto [argument, number] : llvm::zip(region.getArguments(), arguments))
      values_[argument] = number;
    for (mlir::Operation &op : region.front().without_terminator())
      values_[op.getResult(0)] = compute(&op);
    llvm::SmallVector<Number> yielded;
    for (mlir::Value value : region.front().getTerminator()->getOperands())
      yielded.push_back(values_.lookup(value));
    return yielded;
  }

private:
  static Number real(double value) { return {value, 0}; }
  static Number whole(int64_t value) { return {0, value}; }

  Number in(mlir::Operation *op, unsigned i) {
    return values_.lookup(op->getOperand(i));
  }

  Number compute(mlir::Operation *op) {
    using namespace mlir;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        return real(number.getValueAsDouble());
      auto number = cast<IntegerAttr>(constant.getValue());
      return whole(number.getType().isInteger(1)
                       ? number.getValue().getZExtValue()
                       : number.getInt());
    }
    if (auto index = dyn_cast<plan::IndexOp>(op))
      return whole(point_[index.getDim()]);
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return whole(arith::applyCmpPredicate(compare.getPredicate(),
                                            llvm::APFloat(in(op, 0).f),
                                            llvm::APFloat(in(op, 1).f)));
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return whole(arith::applyCmpPredicate(
          compare.getPredicate(), llvm::APInt(64, in(op, 0).i, true),
          llvm::APInt(64, in(op, 1).i, true)));
    if (isa<arith::SelectOp>(op))
      return in(op, 0).i ? in(op, 1) : in(op, 2);
    return op->getNumOperands() == 1 ? unary(op) : binary(op);
  }

  Number unary(mlir::Operation *op) {
    using namespace mlir;
    Number x = in(op, 0);
    return llvm::TypeSwitch<Operation *, Number>(op)
        .Case<math::ExpOp>([&](auto) { return real(std::exp(x.f)); })
        .Case<math::LogOp>([&](auto) { return real(std::log(x.f)); })
        .Case<math::TanhOp>([&](auto) { return real(std::tanh(x.f)); })
        .Case<math::ErfOp>([&](auto) { return real(std::erf(x.f)); })
        .Case<math::SqrtOp>([&](auto) { return real(std::sqrt(x.f)); })
        .Case<math::AbsFOp>([&](auto) { return real(std::fabs(x.f)); })
        .Case<math::CosOp>([&](auto) { return real(std::cos(x.f)); })
        .Case<arith::NegFOp>([&](auto) { return real(-x.f); })
        .Case<arith::SIToFPOp, arith::UIToFPOp>(
            [&](auto) { return real(double(x.i)); })
        .Case<arith::FPToSIOp>([&](auto) { return whole(int64_t(x.f)); })
        .Default([&](auto) { return x; }); // conversions of width
  }

  Number binary(mlir::Operation *op) {
    using namespace mlir;
    Number a = in(op, 0), b = in(op, 1);
    return llvm::TypeSwitch<Operation *, Number>(op)
        .Case<arith::AddFOp>([&](auto) { return real(a.f + b.f); })
        .Case<arith::SubFOp>([&](auto) { return real(a.f - b.f); })
        .Case<arith::MulFOp>([&](auto) { return real(a.f * b.f); })
        .Case<arith::DivFOp>([&](auto) { return real(a.f / b.f); })
        .Case<math::PowFOp>([&](auto) { return real(std::pow(a.f, b.f)); })
        .Case<arith::MaximumFOp>([&](auto) {
          return real(std::isnan(a.f) || std::isnan(b.f) ? NAN
                                                         : std::max(a.f, b.f));
        })
        .Case<arith::MinimumFOp>([&](auto) {
          return real(std::isnan(a.f) || std::isnan(b.f) ? NAN
                                                         : std::min(a.f, b.f));
        })
        .Case<arith::AddIOp>([&](auto) { return whole(a.i + b.i); })
        .Case<arith::SubIOp>([&](auto) { return whole(a.i - b.i); })
        .Case<arith::MulIOp>([&](auto) { return whole(uint64_t(a.i) * b.i); })
        .Case<arith::DivSIOp>([&](auto) { return whole(a.i / b.i); })
        .Case<arith::RemSIOp>([&](auto) { return whole(a.i % b.i); })
        .Case<arith::ShRSIOp>([&](auto) { return whole(a.i >> b.i); })
        .Case<arith::ShRUIOp>([&](auto) { return whole(uint64_t(a.i) >> b.i); })
        .Case<arith::AndIOp>([&](auto) { return whole(a.i & b.i); })
        .Case<arith::OrIOp>([&](auto) { return whole(a.i | b.i); })
        .Case<arith::XOrIOp>([&](auto) { return whole(a.i ^ b.i); })
        .Default([&](auto) {
          op->emitError() << "the interpreter of the tests does not know '"
                          << op->getName() << "'";
          return real(NAN);
        });
  }

  llvm::ArrayRef<int64_t> point_;
  llvm::DenseMap<mlir::Value, Number> values_;
};

/// A tensor of a type, filled with what nobody wrote.
inline HostTensor unwritten(mlir::Type type, int64_t dynamic = 0) {
  auto shaped = mlir::cast<mlir::ShapedType>(type);
  HostTensor tensor;
  for (int64_t extent : shaped.getShape())
    tensor.shape.push_back(mlir::ShapedType::isDynamic(extent) ? dynamic
                                                               : extent);
  tensor.isFloat = mlir::isa<mlir::FloatType>(shaped.getElementType());
  if (tensor.isFloat)
    tensor.floats.assign(tensor.size(), std::nan("unwritten"));
  else
    tensor.integers.assign(tensor.size(), INT64_MIN);
  return tensor;
}

/// A nest on given inputs (map inputs first) and outputs.
class NestInterpreter {
public:
  NestInterpreter(plan::NestOp nest, llvm::ArrayRef<const HostTensor *> inputs,
                  llvm::ArrayRef<HostTensor *> outputs)
      : nest_(nest), inputs_(inputs), outputs_(outputs) {}

  /// Runs all points, or those with d0 in [begin, end), and of the next
  /// dimensions where loops stand.
  void run(int64_t begin = 0, int64_t end = -1,
           llvm::ArrayRef<int64_t> loops = {}) {
    llvm::SmallVector<int64_t> extents(nest_.getParallel());
    if (end >= 0 && !extents.empty())
      extents[0] = end - begin;
    for (unsigned i = 0; i < loops.size(); ++i)
      extents[1 + i] = 1;
    forEachPoint(extents, [&](llvm::ArrayRef<int64_t> relative) {
      llvm::SmallVector<int64_t> point(relative);
      if (!point.empty())
        point[0] += begin;
      for (auto [i, position] : llvm::enumerate(loops))
        point[1 + i] = position;
      auto values =
          ScalarInterpreter(point).run(nest_.getThen(), arguments(point));
      for (auto [r, value] : llvm::enumerate(values))
        store(*outputs_[r], nest_.getOutputMap(r).compose(point), value);
    });
  }

private:
  static void
  forEachPoint(llvm::ArrayRef<int64_t> extents,
               llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
    llvm::SmallVector<int64_t> point(extents.size(), 0);
    for (int64_t count = product(extents); count > 0; --count) {
      visit(point);
      for (int d = int(extents.size()) - 1; d >= 0 && ++point[d] == extents[d];
           --d)
        point[d] = 0;
    }
  }

  static int64_t offset(const HostTensor &tensor,
                        llvm::ArrayRef<int64_t> index) {
    int64_t at = 0;
    for (auto [extent, i] : llvm::zip(tensor.shape, index)) {
      if (i < 0 || i >= extent)
        llvm::report_fatal_error("a nest reads or writes outside of a tensor");
      at = at * extent + i;
    }
    return at;
  }

  static void store(HostTensor &tensor, llvm::ArrayRef<int64_t> index,
                    Number value) {
    int64_t at = offset(tensor, index);
    if (tensor.isFloat)
      tensor.floats[at] = value.f;
    else
      tensor.integers[at] = value.i;
  }

  /// Input `i` at a point, 0 where its guard does not hold.
  Number read(unsigned i, llvm::ArrayRef<int64_t> point) {
    mlir::IntegerSet guard = nest_.getGuard(i);
    if (guard != mlir::IntegerSet() && !holds(guard, point))
      return {};
    const HostTensor &tensor = *inputs_[i];
    int64_t at = offset(tensor, nest_.getInputMap(i).compose(point));
    return tensor.isFloat ? Number{tensor.floats[at], 0}
                          : Number{0, tensor.integers[at]};
  }

  static bool holds(mlir::IntegerSet set, llvm::ArrayRef<int64_t> point) {
    auto map = mlir::AffineMap::get(set.getNumDims(), 0, set.getConstraints(),
                                    set.getContext());
    for (auto [c, value] : llvm::enumerate(map.compose(point)))
      if (set.isEq(c) ? value != 0 : value < 0)
        return false;
    return true;
  }

  llvm::SmallVector<Number> arguments(llvm::ArrayRef<int64_t> point) {
    llvm::SmallVector<Number> values;
    if (!nest_.getCombine().empty())
      values = reduce(point);
    unsigned first = nest_.getMapInputs().size();
    for (unsigned i = 0; i < nest_.getThenInputs().size(); ++i)
      values.push_back(nest_.isAsked(i) ? Number() : read(first + i, point));
    return values;
  }

  llvm::SmallVector<Number> reduce(llvm::ArrayRef<int64_t> parallel) {
    auto kinds = partsOf(nest_).combine;
    llvm::SmallVector<Number> totals;
    for (Reduction kind : kinds)
      totals.push_back(identity(kind));
    forEachPoint(nest_.getReduced(), [&](llvm::ArrayRef<int64_t> reduced) {
      llvm::SmallVector<int64_t> point(parallel);
      point.append(reduced.begin(), reduced.end());
      llvm::SmallVector<Number> inputs;
      for (unsigned i = 0; i < nest_.getMapInputs().size(); ++i)
        inputs.push_back(read(i, point));
      auto terms = ScalarInterpreter(point).run(nest_.getMap(), inputs);
      for (auto [total, term, kind] : llvm::zip(totals, terms, kinds))
        total = combine(kind, total, term);
    });
    return totals;
  }

  static Number identity(Reduction kind) {
    if (kind == Reduction::sum)
      return {};
    double infinity = std::numeric_limits<double>::infinity();
    return kind == Reduction::max ? Number{-infinity, INT64_MIN}
                                  : Number{infinity, INT64_MAX};
  }

  static Number combine(Reduction kind, Number a, Number b) {
    if (kind == Reduction::sum)
      return {a.f + b.f, a.i + b.i};
    bool largest = kind == Reduction::max;
    double f = std::isnan(a.f) || std::isnan(b.f) ? NAN
               : largest                          ? std::max(a.f, b.f)
                                                  : std::min(a.f, b.f);
    return {f, largest ? std::max(a.i, b.i) : std::min(a.i, b.i)};
  }

  plan::NestOp nest_;
  llvm::SmallVector<const HostTensor *> inputs_;
  llvm::SmallVector<HostTensor *> outputs_;
};

/// Slices [begin, end) of what a gather gives.
inline void runTake(const GatherSizes &sizes, const HostTensor &source,
                    const HostTensor &indices, HostTensor &out, int64_t begin,
                    int64_t end) {
  for (int64_t slice = begin; slice < end; ++slice) {
    int64_t row = slice / sizes.count, n = slice % sizes.count;
    int64_t place =
        sizes.placeOf(indices.integers[row / sizes.outer * sizes.count + n]);
    for (int64_t i = 0; i < sizes.inner; ++i) {
      int64_t from =
          (row * sizes.extent + std::max<int64_t>(place, 0)) * sizes.inner + i;
      int64_t to = slice * sizes.inner + i;
      if (out.isFloat)
        out.floats[to] = place < 0 ? NAN : source.floats[from];
      else
        out.integers[to] = place < 0 ? 0 : source.integers[from];
    }
  }
}

/// Slices [begin, end) of a sum at indices of floats.
inline void runAddAt(const GatherSizes &sizes, const HostTensor &source,
                     const HostTensor &indices, HostTensor &out, int64_t begin,
                     int64_t end) {
  for (int64_t to = begin * sizes.inner; to < end * sizes.inner; ++to) {
    int64_t slice = to / sizes.inner, row = slice / sizes.extent;
    out.floats[to] = 0;
    for (int64_t n = 0; n < sizes.count; ++n)
      if (sizes.placeOf(
              indices.integers[row / sizes.outer * sizes.count + n]) ==
          slice % sizes.extent)
        out.floats[to] += source.floats[(row * sizes.count + n) * sizes.inner +
                                        to % sizes.inner];
  }
}

/// A graph of nests, launches, reads, writes and reshapes.
class PlanInterpreter {
public:
  /// The outputs of `graph`; `states` are read at entry and written at exit.
  llvm::SmallVector<HostTensor>
  run(GraphOp graph, llvm::ArrayRef<HostTensor> inputs, StateMap &states) {
    for (auto [argument, input] :
         llvm::zip(graph.getBody().getArguments(), inputs))
      values_[argument] = input;
    StateMap written;
    for (mlir::Operation &op : graph.getBody().front().without_terminator())
      runOp(&op, states, written);
    for (auto &entry : written)
      states[entry.getKey()] = entry.getValue();
    llvm::SmallVector<HostTensor> outputs;
    for (mlir::Value value : graph.getReturned())
      outputs.push_back(values_[value]);
    return outputs;
  }

private:
  void runOp(mlir::Operation *op, StateMap &states, StateMap &written) {
    if (auto nest = mlir::dyn_cast<plan::NestOp>(op))
      return runNest(nest);
    if (auto launch = mlir::dyn_cast<plan::LaunchOp>(op))
      return runLaunch(launch);
    if (mlir::isa<plan::TakeOp, plan::AddAtOp>(op)) {
      HostTensor &out = values_[op->getResult(0)] =
          unwritten(op->getResult(0).getType());
      return runIndexed(op, values_.find(op->getOperand(0))->second,
                        values_.find(op->getOperand(1))->second, out, 0, -1);
    }
    if (auto read = mlir::dyn_cast<ReadOp>(op))
      values_[read.getResult()] = states[read.getState()];
    else if (auto write = mlir::dyn_cast<WriteOp>(op))
      written[write.getState()] = values_[write.getValue()];
    else if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op))
      values_[constant] =
          *toHost(mlir::cast<mlir::ElementsAttr>(constant.getValue()));
    else
      evaluate(op);
  }

  void evaluate(mlir::Operation *op) {
    llvm::SmallVector<HostTensor> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(values_[operand]);
    auto results = evaluateOp(op, operands);
    if (mlir::failed(results))
      llvm::report_fatal_error("an op of the plan cannot be evaluated");
    for (auto [value, result] : llvm::zip(op->getResults(), *results))
      values_[value] = result;
  }

  void runNest(plan::NestOp nest) {
    for (mlir::Value result : nest.getResults())
      values_[result] = unwritten(result.getType());
    llvm::SmallVector<const HostTensor *> inputs;
    llvm::SmallVector<HostTensor *> outputs;
    for (mlir::Value operand : nest->getOperands())
      inputs.push_back(&values_.find(operand)->second);
    for (mlir::Value result : nest.getResults())
      outputs.push_back(&values_.find(result)->second);
    NestInterpreter(nest, inputs, outputs).run();
  }

  using Buffers = llvm::DenseMap<mlir::Value, HostTensor>;

  /// Results lie where `inplace` lets them, as memory planning may choose; the
  /// operands' own values stay for those who read them later.
  void runLaunch(plan::LaunchOp launch) {
    auto kernel = mlir::SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(
        launch, launch.getKernelAttr());
    unsigned in = kernel.getInputs(), out = kernel.getNumArguments() - in;
    Buffers memory;
    for (mlir::Value operand : launch.getOperands())
      memory[memoryOf(operand)] = values_.find(operand)->second;
    llvm::DenseMap<mlir::Value, mlir::Value> place;
    for (auto [result, operand] :
         llvm::zip(launch.getResults(), launch.getInplace())) {
      place[result] = operand < 0 ? mlir::Value(result)
                                  : memoryOf(launch.getOperands()[operand]);
      if (operand < 0)
        memory[result] = unwritten(result.getType());
    }
    for (auto [s, items] : llvm::enumerate(launch.getItems())) {
      llvm::SmallVector<mlir::Value> where;
      for (mlir::Value operand : launch.getOperands().slice(s * in, in))
        where.push_back(memoryOf(operand));
      for (mlir::Value result : launch.getResults().slice(s * out, out))
        where.push_back(place[result]);
      runSegment(kernel, where, items, memory);
    }
    for (mlir::Value result : launch.getResults()) {
      values_[result] = memory[place[result]];
      reshapeTo(values_[result], result.getType());
    }
  }

  /// Reshapes are other views of one memory.
  static mlir::Value memoryOf(mlir::Value value) {
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getInput();
    return value;
  }

  /// Items from the last to the first: none may lean on another.
  void runSegment(plan::KernelOp kernel, llvm::ArrayRef<mlir::Value> where,
                  int64_t items, Buffers &memory) {
    bool serial = kernel.getSplit() == plan::Split::serial;
    for (int64_t item = serial ? 1 : items; item-- > 0;)
      runItem(kernel, where, memory, item, serial ? -1 : item + 1);
  }

  /// The same elements in the shape of a kernel's argument.
  static void reshapeTo(HostTensor &tensor, mlir::Type type) {
    auto shape = mlir::cast<mlir::ShapedType>(type).getShape();
    int64_t size = tensor.size();
    tensor.shape = llvm::SmallVector<int64_t>(shape);
    for (int64_t &extent : tensor.shape)
      extent = mlir::ShapedType::isDynamic(extent) ? size : extent;
  }

  void runItem(plan::KernelOp kernel, llvm::ArrayRef<mlir::Value> where,
               Buffers &memory, int64_t begin, int64_t end) {
    Buffers scratch;
    auto bufferOf = [&](mlir::Value value) -> HostTensor & {
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
      HostTensor &buffer =
          argument ? memory.find(where[argument.getArgNumber()])->second
                   : scratch.find(value)->second;
      reshapeTo(buffer, value.getType());
      return buffer;
    };
    for (mlir::Operation &op : kernel.getBody().front()) {
      if (auto own = mlir::dyn_cast<plan::ScratchOp>(op))
        scratch[own.getResult()] = unwritten(own.getType());
      if (mlir::isa<plan::TakeOp, plan::AddAtOp>(op))
        runIndexed(&op, bufferOf(op.getOperand(0)), bufferOf(op.getOperand(1)),
                   bufferOf(op.getOperand(2)), begin, end);
      runNestOrLoop(&op, bufferOf, begin, end, {});
    }
  }

  static void
  runNestOrLoop(mlir::Operation *op,
                llvm::function_ref<HostTensor &(mlir::Value)> bufferOf,
                int64_t begin, int64_t end, llvm::ArrayRef<int64_t> loops) {
    if (auto nest = mlir::dyn_cast<plan::NestOp>(op))
      runNestIn(nest, bufferOf, begin, end, loops);
    auto loop = mlir::dyn_cast<plan::LoopOp>(op);
    if (!loop)
      return;
    llvm::SmallVector<int64_t> inside = {begin};
    inside.append(loops.begin(), loops.end());
    auto first = loop.getFirst().compose(inside),
         last = loop.getEnd().compose(inside);
    int64_t begins = *llvm::max_element(first), stop = *llvm::min_element(last);
    if (mlir::Value at = loop.getAt()) {
      const HostTensor &found = bufferOf(at);
      int64_t place = 0;
      for (auto [size, index] : llvm::zip(found.shape, first))
        place = place * size + index;
      begins = found.integers[place];
      stop = begins + 1;
    }
    for (int64_t i = begins; i < stop; ++i) {
      llvm::SmallVector<int64_t> positions(loops);
      positions.push_back(i);
      for (mlir::Operation &each : loop.getBody().front())
        runNestOrLoop(&each, bufferOf, begin, end, positions);
    }
  }

  /// Slices [begin, end) of the result, or all with -1.
  static void runIndexed(mlir::Operation *op, const HostTensor &source,
                         const HostTensor &indices, HostTensor &out,
                         int64_t begin, int64_t end) {
    if (auto take = mlir::dyn_cast<plan::TakeOp>(op)) {
      GatherSizes sizes(source.shape, indices.shape, take.getAxis(),
                        take.getBatchDims());
      int64_t all = sizes.batch * sizes.outer * sizes.count;
      return runTake(sizes, source, indices, out, begin, end < 0 ? all : end);
    }
    auto add = mlir::cast<plan::AddAtOp>(op);
    GatherSizes sizes(out.shape, indices.shape, add.getAxis(),
                      add.getBatchDims());
    int64_t all = sizes.batch * sizes.outer * sizes.extent;
    runAddAt(sizes, source, indices, out, begin, end < 0 ? all : end);
  }

  static void runNestIn(plan::NestOp nest,
                        llvm::function_ref<HostTensor &(mlir::Value)> bufferOf,
                        int64_t begin, int64_t end,
                        llvm::ArrayRef<int64_t> loops) {
    llvm::SmallVector<const HostTensor *> inputs;
    llvm::SmallVector<HostTensor *> outputs;
    unsigned reads = nest.getMapInputs().size() + nest.getThenInputs().size();
    for (mlir::Value operand : nest->getOperands().take_front(reads))
      inputs.push_back(&bufferOf(operand));
    for (mlir::Value out : nest.getOuts())
      outputs.push_back(&bufferOf(out));
    NestInterpreter(nest, inputs, outputs).run(begin, end, loops);
  }

  llvm::DenseMap<mlir::Value, HostTensor> values_;
};

} // namespace gradus::testing
