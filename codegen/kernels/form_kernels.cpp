// Groups the nests of each graph and turns the groups into kernels.
//
// A tiny graph is one serial kernel: more launches would cost more than its
// work. Otherwise small nests share serial kernels, nests that pass rows to
// each other share kernels split by rows, and all updates of one structure
// share a launch.

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/nests/lower_to_nests.h"
#include "codegen/nests/makers.h"
#include "codegen/nests/order.h"
#include "codegen/nests/sums_around.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_FORMKERNELS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::KernelOp;
using plan::NestOp;
using plan::Split;

/// The number of small nests whose work is not worth a second thread, and the
/// bytes of results below which a graph is tiny.
constexpr int64_t kSmallNests = 4, kTinyBytes = 256 * 1024;
/// The work of a row, in adds, above which few rows leave a device idle.
constexpr int64_t kShortRow = 16'000;

/// The bytes of computed values whose last use is this nest: they can be freed
/// after it.
int64_t bytesFreedBy(NestOp nest) {
  int64_t bytes = 0;
  for (Value operand : nest->getOperands()) {
    Value value = viewedBy(operand);
    bool isComputed =
        isa_and_present<NestOp, plan::Command>(value.getDefiningOp());
    if (isComputed && operand.hasOneUse() && value.hasOneUse())
      bytes += bytesOf(value.getType());
  }
  return bytes;
}

class GraphKernels {
public:
  GraphKernels(GraphOp graph, KernelTable &kernels,
               const FormKernelsOptions &options, StringRef pass)
      : block_(graph.getBody().front()), kernels_(kernels), options_(options),
        pass_(pass) {}

  void run() {
    sortByOperands(block_);
    for (Operation &op : llvm::make_early_inc_range(block_))
      if (isa<plan::TakeOp, plan::AddAtOp>(op))
        outlineIndexed(&op, kernels_, options_);
    auto nests = llvm::to_vector(block_.getOps<NestOp>());
    if (nests.empty())
      return;
    number();
    if (isTiny(nests))
      groups_.push_back({{Split::serial, updatesLast(nests)}});
    else
      for (NestOp nest : nests)
        place(nest);
    remark::analysis(nests.front().getLoc(),
                     remark::RemarkOpts::name("Walked").category(pass_))
        << std::to_string(needs_.steps())
        << " steps from ops to what they need";
    for (Group &group : groups_)
      launch(group);
    sortByOperands(block_);
  }

private:
  struct Group {
    KernelGroup kernel;
    KernelOp flat = {}; // the kernel of a flat group
    int64_t work = 0;
    int64_t freed = 0; // bytes
  };

  /// Numbers the ops; each depends only on earlier ones.
  void number() {
    places_ = placesIn(block_);
    needs_ = Needs(makersIn(block_, places_,
                            [](Value operand) { return viewedBy(operand); }));
    sums_ = SumsAround(block_);
  }

  bool isTiny(ArrayRef<NestOp> nests) {
    int64_t work = 0, bytes = 0;
    for (NestOp nest : nests) {
      work += costOf(nest).work;
      for (Value result : nest.getResults())
        bytes += bytesOf(result.getType());
    }
    bool hasOthers = !block_.getOps<plan::Command>().empty();
    return !hasOthers && work < options_.tinyWork && bytes < kTinyBytes &&
           int64_t(nests.size()) <= options_.mostNests;
  }

  /// Moves updates of states to the end, so that new values may reuse the
  /// memory of the old ones.
  static SmallVector<NestOp> updatesLast(ArrayRef<NestOp> nests) {
    SmallVector<NestOp> order(nests);
    std::stable_partition(order.begin(), order.end(),
                          [](NestOp nest) { return !isUpdate(nest); });
    return order;
  }

  //===-- which group -----------------------------------------------------===//

  void place(NestOp nest) {
    bool flat = isFlat(nest);
    if (flat && isUpdate(nest))
      return placeFlat(nest);
    int64_t work = costOf(nest).work;
    if (work <= options_.smallWork || nest.getParallel().empty())
      return join(nest, Split::serial, serial_, [&](const Group &group) {
        return group.work + work <= kSmallNests * options_.smallWork &&
               sums_.agree(nest, group.kernel.nests.front());
      });
    SmallVector<size_t> makers = groupsReadBy(nest);
    if (flat && !hasRowPartner(nest, makers) && !feedsRows(nest))
      return placeFlat(nest);
    join(nest, Split::rows, makers,
         [&](const Group &group) { return passesRows(group, nest); });
  }

  /// The groups that compute operands of a nest, in order.
  SmallVector<size_t> groupsReadBy(NestOp nest) {
    SmallVector<size_t> found;
    for (Value operand : nest->getOperands())
      if (auto group = groupOf_.find(viewedBy(operand).getDefiningOp());
          group != groupOf_.end())
        found.push_back(group->second);
    llvm::sort(found);
    found.erase(llvm::unique(found), found.end());
    return found;
  }

  /// A launch that frees much memory gets no more nests: those would keep
  /// gradients alive that could be freed earlier, and evict them from the
  /// cache.
  void placeFlat(NestOp nest) {
    KernelOp kernel = flatKernel(nest, kernels_);
    auto takes = [&](size_t index) {
      return groups_[index].flat == kernel &&
             sums_.agree(nest, groups_[index].kernel.nests.front()) &&
             !dependsOnGroup(nest, index, /*directly=*/true);
    };
    if (auto beside = groupBeside(nest); beside && takes(*beside))
      return add(nest, *beside);
    for (auto [index, group] : llvm::enumerate(groups_))
      if (group.freed < options_.freedBytes && takes(index))
        return add(nest, index);
    groups_.push_back({{Split::flat, {}}, kernel});
    add(nest, groups_.size() - 1);
  }

  /// The group with a user of another result of the call whose result this nest
  /// uses, e.g. the gradients of a weight and its bias: both results become
  /// live at the same command and should be freed together.
  std::optional<size_t> groupBeside(NestOp nest) {
    for (Value operand : nest->getOperands())
      if (auto call = viewedBy(operand).getDefiningOp<plan::LibraryOp>();
          call && call->getNumResults() > 1)
        for (Operation *user : call->getUsers())
          if (auto found = groupOf_.find(user); found != groupOf_.end())
            return found->second;
    return std::nullopt;
  }

  /// Adds a nest to the last candidate group that fits, or to a new one.
  void join(NestOp nest, Split split, ArrayRef<size_t> candidates,
            llvm::function_ref<bool(const Group &)> fits) {
    for (size_t index : llvm::reverse(candidates)) {
      const Group &group = groups_[index];
      if (group.kernel.split == split && hasRoom(group) && fits(group) &&
          !dependsOnGroup(nest, index, false))
        return add(nest, index);
    }
    if (split == Split::serial)
      serial_.push_back(groups_.size());
    groups_.push_back({{split, {}}});
    add(nest, groups_.size() - 1);
  }

  bool hasRoom(const Group &group) {
    return int64_t(group.kernel.nests.size()) < options_.mostNests;
  }

  void add(NestOp nest, size_t index) {
    Group &group = groups_[index];
    groupOf_[nest] = index;
    if (!group.kernel.nests.empty())
      needs_.join(placeOf(group), places_.lookup(nest));
    group.kernel.nests.push_back(nest);
    group.work += costOf(nest).work;
    group.freed += bytesFreedBy(nest);
  }

  unsigned placeOf(const Group &group) const {
    return places_.lookup(group.kernel.nests.front());
  }

  bool hasRowPartner(NestOp nest, ArrayRef<size_t> makers) {
    return llvm::any_of(makers, [&](size_t index) {
      const Group &group = groups_[index];
      return group.kernel.split == Split::rows && hasRoom(group) &&
             passesRows(group, nest) && !dependsOnGroup(nest, index, false);
    });
  }

  /// Whether a user of the nest that is not flat can use its rows.
  bool feedsRows(NestOp nest) {
    Group alone{{Split::rows, {nest}}};
    return llvm::any_of(nest->getUsers(), [&](Operation *user) {
      auto reader = dyn_cast<NestOp>(user);
      return reader && !isFlat(reader) && !reader.getParallel().empty() &&
             passesRows(alone, reader);
    });
  }

  /// Whether the nest uses results of the group, and in each row only those of
  /// the same row.
  bool passesRows(const Group &group, NestOp nest) {
    NestOp first = group.kernel.nests.front();
    if (first.getParallel()[0] != nest.getParallel()[0] ||
        areFewAndLong(first) || areFewAndLong(nest))
      return false;
    bool takes = false;
    unsigned inputs = nest.getMapInputs().size() + nest.getThenInputs().size();
    for (unsigned i = 0; i < inputs; ++i) {
      Value value = nest->getOperand(i), viewed = viewedBy(value);
      if (!isIn(viewed, group))
        continue;
      if (!readsOwnRow(viewed, value, nest.getInputMap(i)))
        return false;
      takes = true;
    }
    return takes;
  }

  bool areFewAndLong(NestOp nest) {
    int64_t rows = nest.getParallel()[0];
    return rows < options_.leastRows && costOf(nest).work > rows * kShortRow;
  }

  static bool isIn(Value value, const Group &group) {
    return llvm::is_contained(group.kernel.nests,
                              value.getDefiningOp<NestOp>());
  }

  /// Whether row d0 writes and reads only elements (d0, ...) of `viewed`: d0 is
  /// its first dimension and the first of its view.
  static bool readsOwnRow(Value viewed, Value view, AffineMap read) {
    auto result = cast<OpResult>(viewed);
    AffineMap written =
        cast<NestOp>(result.getOwner()).getOutputMap(result.getResultNumber());
    auto isD0 = [](AffineMap map) {
      auto dim = map.getNumResults() == 0
                     ? AffineDimExpr(nullptr)
                     : dyn_cast<AffineDimExpr>(map.getResult(0));
      return dim && dim.getPosition() == 0;
    };
    return isD0(written) && isD0(read) &&
           shapeOf(viewed)[0] == shapeOf(view)[0];
  }

  /// Whether the nest depends on the group's results through nests outside the
  /// group, so that it cannot be in the same launch; `directly`: or uses them
  /// itself.
  bool dependsOnGroup(NestOp nest, size_t index, bool directly) {
    unsigned group = placeOf(groups_[index]), place = places_.lookup(nest);
    return directly ? needs_.isNeeded(group, place)
                    : needs_.isNeededBetween(group, place);
  }

  //===-- launches --------------------------------------------------------===//

  void launch(Group &group) {
    size_t count = group.kernel.nests.size();
    Location location = group.kernel.nests.front().getLoc();
    if (group.flat)
      outlineFlat(group.flat, group.kernel.nests, options_);
    else
      outline(group.kernel, kernels_, options_);
    remark::passed(location, remark::RemarkOpts::name("Kernel").category(pass_))
        << "kernel of " << std::to_string(count) << " nests, split "
        << plan::stringifySplit(group.kernel.split);
  }

  Block &block_;
  KernelTable &kernels_;
  const FormKernelsOptions &options_;
  StringRef pass_;
  std::vector<Group> groups_;
  llvm::DenseMap<Operation *, size_t> groupOf_;
  llvm::DenseMap<Operation *, unsigned> places_;
  std::vector<size_t> serial_; // numbers of the serial groups
  Needs needs_;                // merges the nests of a group
  SumsAround sums_;
};

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using Base::Base;

  /// Scratch may be 0, divisors must be at least 1, and scatter_add uses half
  /// of the blocks.
  LogicalResult checkOptions() {
    for (auto [name, value, least] :
         {std::tuple("scratch-bytes", scratchBytes.getValue(), 0),
          {"block-work", blockWork, 1},
          {"block-bytes", blockBytes, 1},
          {"most-blocks", mostBlocks, 2},
          {"moved-bytes", movedBytes, 1},
          {"most-nests", mostNests, 1}})
      if (value < least)
        return getOperation().emitError("form-kernels: ")
               << name << " is " << value << ", expected at least " << least;
    return success();
  }

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    KernelTable kernels(getOperation());
    FormKernelsOptions options{.tinyWork = tinyWork,
                               .smallWork = smallWork,
                               .freedBytes = freedBytes,
                               .scratchBytes = scratchBytes,
                               .blockWork = blockWork,
                               .blockBytes = blockBytes,
                               .mostBlocks = mostBlocks,
                               .movedBytes = movedBytes,
                               .leastRows = leastRows,
                               .mostNests = mostNests};
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      GraphKernels(graph, kernels, options, getArgument()).run();
      removeBorders(graph.getBody().front());
    }
  }
};

} // namespace
} // namespace gradus
