// Cuts sums over ranks into buckets; see buckets.h.

#include "passes/distribution/buckets.h"

#include <map>

using namespace mlir;
using namespace gradus;

namespace {

/// Buckets that are filled one after the other.
class Filling {
public:
  /// Adds a sum to the open bucket, or to a new one if it cannot join.
  void add(const PlacedSum &sum) {
    if (open_.empty() || !mayTake(sum))
      close();
    open_.push_back(sum);
    bytes_ += sum.bytes;
    elements_ += sum.elements;
  }

  /// Adds a sum that travels alone, and leaves the open bucket open.
  void addAlone(const PlacedSum &sum) { closed_.push_back({sum.op}); }

  void close() {
    if (open_.empty())
      return;
    Bucket &bucket = closed_.emplace_back();
    for (const PlacedSum &each : open_)
      bucket.push_back(each.op);
    open_.clear();
    bytes_ = elements_ = 0;
  }

  int64_t bytes() const { return bytes_; }
  int64_t elements() const { return elements_; }
  int64_t group() const { return open_.empty() ? 0 : open_.back().group; }

  std::vector<Bucket> take() {
    close();
    return std::move(closed_);
  }

private:
  /// Nothing may need a result of the bucket before `next` can begin. So
  /// `next` depends on none of it either.
  bool mayTake(const PlacedSum &next) const {
    return llvm::all_of(open_, [&](const PlacedSum &each) {
      return each.needed > next.place &&
             AllReduceOp(each.op).mayJoin(AllReduceOp(next.op));
    });
  }

  std::vector<PlacedSum> open_;
  int64_t bytes_ = 0, elements_ = 0; // of the open one
  std::vector<Bucket> closed_;
};

/// Cuts buckets of at most so many bytes; what comes last, whose time nothing
/// hides, is a smaller one.
std::vector<Bucket> cutByBytes(ArrayRef<PlacedSum> sums, int64_t mostBytes) {
  size_t tail = sums.size();
  for (int64_t bytes = 0;
       tail > 0 && (bytes += sums[tail - 1].bytes) <= mostBytes / 8;)
    --tail;
  Filling filling;
  for (auto [index, sum] : llvm::enumerate(sums)) {
    if (index == tail || filling.bytes() + sum.bytes > mostBytes)
      filling.close();
    filling.add(sum);
  }
  return filling.take();
}

/// SINGA's rule, of which both comparisons are strict: a gradient of more than
/// `most` elements travels alone and leaves the bucket open; others fill it
/// until they have more.
std::vector<Bucket> cutByElements(ArrayRef<PlacedSum> sums, int64_t most) {
  Filling filling;
  for (const PlacedSum &sum : sums) {
    if (sum.elements > most) {
      filling.addAlone(sum);
      continue;
    }
    filling.add(sum);
    if (filling.elements() > most)
      filling.close();
  }
  return filling.take();
}

/// A bucket for each group.
std::vector<Bucket> cutByGroup(ArrayRef<PlacedSum> sums) {
  std::map<int64_t, Filling> groups;
  for (const PlacedSum &sum : sums)
    groups[sum.group].add(sum);
  std::vector<Bucket> buckets;
  for (auto &[group, filling] : groups)
    llvm::append_range(buckets, filling.take());
  return buckets;
}

/// Whether a sum has its place in a bucket by another rule than that of bytes.
bool isCutOtherwise(PlacedSum sum, const DistributionSettings &settings) {
  if (settings.cuts.splits)
    return sum.group != 0;
  return settings.cuts.elements && sum.isGradient();
}

} // namespace

/// Lists those that may travel together, each list in their order.
static std::vector<std::vector<PlacedSum>> byKind(ArrayRef<PlacedSum> sums) {
  std::vector<std::vector<PlacedSum>> kinds;
  for (PlacedSum sum : sums) {
    auto kind = llvm::find_if(kinds, [&](std::vector<PlacedSum> &others) {
      return others.front().op.mayJoin(sum.op);
    });
    if (kind == kinds.end())
      kind = kinds.insert(kind, std::vector<PlacedSum>());
    kind->push_back(sum);
  }
  return kinds;
}

void gradus::shareOnce(Block &block) {
  using Way = std::tuple<Attribute, Attribute, Attribute>;
  DenseMap<std::pair<Value, Way>, Value> sums;
  for (auto sum : llvm::make_early_inc_range(block.getOps<AllReduceOp>())) {
    if (sum.getNumOperands() != 1)
      continue;
    auto [known, isNew] = sums.try_emplace(
        {sum.getOperand(0),
         {sum.getAxisAttr(), sum.getGroupsAttr(), sum.getPartsAttr()}},
        sum.getResult(0));
    if (isNew)
      continue;
    sum.getResult(0).replaceAllUsesWith(known->second);
    sum.erase();
  }
}

std::vector<Bucket> gradus::cutBuckets(ArrayRef<PlacedSum> sums,
                                       const DistributionSettings &settings) {
  std::vector<PlacedSum> byBytes, others;
  std::vector<Bucket> buckets;
  for (PlacedSum sum : sums)
    if (sum.op.getNumOperands() > 1)
      buckets.push_back({sum.op});
    else
      (isCutOtherwise(sum, settings) ? others : byBytes).push_back(sum);
  for (const std::vector<PlacedSum> &kind : byKind(byBytes))
    llvm::append_range(buckets, cutByBytes(kind, settings.bucketBytes));
  llvm::append_range(
      buckets, settings.cuts.splits
                   ? cutByGroup(others)
                   : cutByElements(others, settings.cuts.elements.value_or(0)));
  return buckets;
}
