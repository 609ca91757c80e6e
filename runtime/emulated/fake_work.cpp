// The order is one graph over the ops of all streams.

#include "runtime/emulated/fake_work.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

namespace gradus::runtime::cuda {

namespace {

using Ops = std::unordered_set<const FakeOp *>;

/// An op and all ops before it.
Ops withAncestors(const FakeOpRef &op) {
  Ops found{op.get()};
  std::vector<const FakeOp *> open{op.get()};
  while (!open.empty()) {
    const FakeOp *each = open.back();
    open.pop_back();
    for (const FakeOpRef &before : each->after)
      if (found.insert(before.get()).second)
        open.push_back(before.get());
  }
  return found;
}

/// Describes a race, "A writes 16 bytes that B reads, and nothing orders the
/// two", or returns nothing.
std::string conflictOf(const FakeOp &a, const FakeOp &b) {
  for (const Access &mine : a.accesses)
    for (const Access &other : b.accesses)
      if (mine.conflictsWith(other)) {
        uint64_t start = std::max(mine.start, other.start);
        return inWords(a.name, mine.writes ? " writes " : " reads ",
                       std::min(mine.end(), other.end()) - start,
                       " bytes that ", b.name,
                       other.writes ? " writes" : " reads",
                       ", and nothing orders the two");
      }
  return "";
}

bool isReady(const FakeOpRef &op) {
  return std::all_of(op->after.begin(), op->after.end(),
                     [](const FakeOpRef &before) { return before->isDone(); });
}

} // namespace

int64_t FakeWork::now() const {
  if (countsOperations_)
    return operations_;
  if (clock_)
    return *clock_;
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

std::string FakeWork::add(const FakeOpRef &op) {
  Ops before; // including itself; computed on demand
  std::string wrong;
  for (const FakeOpRef &other : begun_) {
    if (op->launch && op->launch == other->launch)
      continue;
    std::string conflict = conflictOf(*op, *other);
    if (conflict.empty())
      continue;
    if (before.empty())
      before = withAncestors(op);
    if (wrong.empty() && !before.count(other.get()))
      wrong = conflict;
  }
  begun_.push_back(op);
  waiting_.push_back(op);
  return wrong;
}

Result FakeWork::step() {
  std::vector<size_t> ready;
  for (size_t i = 0; i < waiting_.size(); ++i)
    if (isReady(waiting_[i]))
      ready.push_back(i);
  if (ready.empty())
    return Result::success;
  size_t chosen = ready[random() % ready.size()];
  FakeOpRef op = waiting_[chosen];
  waiting_.erase(waiting_.begin() + ptrdiff_t(chosen));
  Result result = op->run ? op->run() : Result::success;
  op->run = nullptr;
  op->nanoseconds = now();
  return result;
}

Result FakeWork::finish(const FakeOpRef &op) {
  while (op && !op->isDone())
    if (Result result = step(); result != Result::success)
      return result;
  if (op)
    noteFinished(op);
  return Result::success;
}

Result FakeWork::finishAll() {
  while (!waiting_.empty())
    if (Result result = step(); result != Result::success)
      return result;
  for (const FakeOpRef &op : begun_)
    op->after.clear();
  begun_.clear();
  return Result::success;
}

void FakeWork::noteFinished(const FakeOpRef &op) {
  Ops known = withAncestors(op);
  auto rest =
      std::partition(begun_.begin(), begun_.end(), [&](const FakeOpRef &each) {
        return !known.count(each.get());
      });
  for (auto each = rest; each != begun_.end(); ++each)
    (*each)->after.clear();
  begun_.erase(rest, begun_.end());
}

void FakeWork::drop() {
  for (const FakeOpRef &op : begun_) {
    op->after.clear();
    op->run = nullptr;
  }
  begun_.clear();
  waiting_.clear();
}

std::string FakeWork::userOf(DevicePointer start, uint64_t bytes) const {
  Access all{start, bytes, 1, true};
  for (const FakeOpRef &op : waiting_)
    for (const Access &access : op->accesses)
      if (all.conflictsWith(access))
        return op->name;
  return "";
}

std::string unorderedPair(std::span<const FakeOp *const> ops,
                          std::span<const std::vector<uint32_t>> after) {
  std::vector<std::vector<bool>> before(ops.size(),
                                        std::vector<bool>(ops.size()));
  for (size_t i = 0; i < ops.size(); ++i) {
    for (uint32_t direct : after[i]) {
      before[i][direct] = true;
      for (size_t k = 0; k < i; ++k)
        before[i][k] = before[i][k] || before[direct][k];
    }
    for (size_t k = 0; k < i; ++k)
      if (!before[i][k])
        if (std::string wrong = conflictOf(*ops[i], *ops[k]); !wrong.empty())
          return wrong;
  }
  return "";
}

} // namespace gradus::runtime::cuda
