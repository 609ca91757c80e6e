// Merges two reductions of the same elements, which then read them once, even
// if the code after the second's sums uses the results of the first: the mean
// and the mean of squares for a variance; the score of a label and the sum of
// exponentials that divides it.

#include "codegen/nests/makers.h"
#include "codegen/nests/order.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_JOINSUMS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::NestOp;

/// The sums of a nest must fit in registers together.
constexpr size_t kMostSums = 4;

bool isOf(NestOp nest, Value value) {
  return value.getDefiningOp() == nest.getOperation();
}

AffineMap mapOf(NestOp nest, Value result) {
  return nest.getOutputMap(cast<OpResult>(result).getResultNumber());
}

/// Whether both read all elements of a tensor in the same order.
bool shareElements(const NestParts &first, const NestParts &second,
                   int64_t points) {
  return llvm::any_of(first.mapReads, [&](const NestRead &read) {
    return product(shapeOf(read.value)) == points &&
           llvm::is_contained(second.mapReads, read);
  });
}

/// Whether the second uses the first's results, if at all, only after its own
/// sums and at its own point.
bool asksBehindSums(NestOp first, const NestParts &second) {
  return llvm::none_of(
             second.mapReads,
             [&](const NestRead &read) { return isOf(first, read.value); }) &&
         llvm::all_of(second.thenReads, [&](const NestRead &read) {
           return !isOf(first, read.value) ||
                  (!read.isGuarded() && read.map == mapOf(first, read.value));
         });
}

bool areAlike(NestOp first, NestOp second) {
  if (first == second || first.getCombine().empty() ||
      first.getParallel() != second.getParallel() ||
      first.getReduced() != second.getReduced() ||
      first.getCombine().size() + second.getCombine().size() > kMostSums ||
      isContraction(first) || isContraction(second))
    return false;
  NestParts parts = partsOf(second);
  return shareElements(partsOf(first), parts, product(first.getExtents())) &&
         asksBehindSums(first, parts);
}

/// Copies the code of a region at the nest's own indices.
SmallVector<Value> copied(OpBuilder &builder, Location location, Region &region,
                          ArrayRef<Value> arguments) {
  return copyBody(builder, region, arguments, [&](unsigned dim) {
    return indexOf(builder, location, dim);
  });
}

/// Builds the code after the sums of both. The second's reads of the first's
/// results become the values that the first yields.
SmallVector<Value> both(OpBuilder &builder, Location location, NestOp first,
                        NestOp second, ValueRange values) {
  NestParts a = partsOf(first), b = partsOf(second);
  size_t sums = a.combine.size() + b.combine.size();
  ValueRange combined = values.take_front(sums),
             reads = values.drop_front(sums);
  SmallVector<Value> forA(combined.take_front(a.combine.size())),
      forB(combined.drop_front(a.combine.size()));
  llvm::append_range(forA, reads.take_front(a.thenReads.size()));
  SmallVector<Value> yielded = copied(builder, location, first.getThen(), forA);
  size_t next = a.thenReads.size();
  for (const NestRead &read : b.thenReads)
    forB.push_back(isOf(first, read.value)
                       ? yielded[cast<OpResult>(read.value).getResultNumber()]
                       : reads[next++]);
  llvm::append_range(yielded,
                     copied(builder, location, second.getThen(), forB));
  return yielded;
}

/// Merges two nests at the position of the second. Both are erased.
NestOp join(NestOp first, NestOp second) {
  NestParts a = partsOf(first), b = partsOf(second), parts = a;
  llvm::append_range(parts.mapReads, b.mapReads);
  llvm::append_range(parts.combine, b.combine);
  llvm::append_range(parts.outputMaps, b.outputMaps);
  llvm::append_range(parts.resultTypes, b.resultTypes);
  llvm::copy_if(b.thenReads, std::back_inserter(parts.thenReads),
                [&](const NestRead &read) { return !isOf(first, read.value); });
  parts.label = joinLabels(labelOf(first), labelOf(second));
  OpBuilder builder(second);
  auto location =
      FusedLoc::get(builder.getContext(), {first.getLoc(), second.getLoc()});
  NestOp joined = buildNest(
      builder, location, parts,
      [&](OpBuilder &b, Location location, ValueRange values) {
        SmallVector<Value> forA(values.take_front(a.mapReads.size())),
            forB(values.drop_front(a.mapReads.size()));
        auto yielded = copied(b, location, first.getMap(), forA);
        llvm::append_range(yielded, copied(b, location, second.getMap(), forB));
        return yielded;
      },
      [&](OpBuilder &b, Location location, ValueRange values) {
        return both(b, location, first, second, values);
      });
  first.replaceAllUsesWith(
      joined.getResults().take_front(first->getNumResults()));
  second.replaceAllUsesWith(
      joined.getResults().drop_front(first->getNumResults()));
  first.erase();
  second.erase();
  return joined;
}

class SumJoiner {
public:
  explicit SumJoiner(GraphOp graph, StringRef pass)
      : block_(graph.getBody().front()), pass_(pass) {}

  void run() {
    relate();
    bool changed = false;
    for (Operation *op = &block_.front(); op;) {
      Operation *next = op->getNextNode();
      auto first = dyn_cast<NestOp>(op);
      if (NestOp second = first ? partnerOf(first) : NestOp()) {
        bool isNext = second == next;
        unsigned place = places_.at(second);
        needs_.join(places_.at(first), place);
        NestOp joined = join(first, second);
        places_[joined] = place;
        remark::passed(joined.getLoc(),
                       remark::RemarkOpts::name("Joined").category(pass_))
            << "two reductions read the same elements once";
        next = isNext ? joined.getOperation() : next;
        changed = true;
      }
      op = next;
    }
    if (changed)
      sortByOperands(block_); // Users of the first may precede it now.
  }

private:
  void relate() {
    places_ = placesIn(block_);
    needs_ =
        Needs(makersIn(block_, places_, [](Value operand) { return operand; }));
  }

  /// Finds a later nest that may be merged with this one.
  NestOp partnerOf(NestOp first) {
    for (Value input : first.getMapInputs())
      for (Operation *user : input.getUsers())
        if (auto second = dyn_cast<NestOp>(user);
            second && areAlike(first, second) && mayJoin(first, second))
          return second;
    return {};
  }

  bool mayJoin(NestOp first, NestOp second) {
    unsigned a = places_.at(first), b = places_.at(second);
    return a < b && !needs_.isNeeded(b, a) && !needs_.isNeededBetween(a, b);
  }

  Block &block_;
  llvm::DenseMap<Operation *, unsigned> places_;
  Needs needs_; // by numbers
  StringRef pass_;
};

struct JoinSums : impl::JoinSumsBase<JoinSums> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      SumJoiner(graph, getArgument()).run();
  }
};

} // namespace
} // namespace gradus
