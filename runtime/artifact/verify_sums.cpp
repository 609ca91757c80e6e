// Checks that the sums over ranks of a graph begin and end in pairs, and that
// no other command touches their memory meanwhile.
//
// A rank that began a sum twice, or waited for one that no rank begins, would
// wait for ever.

#include "runtime/artifact/verify.h"

#include "runtime/flat.h"

#include <map>
#include <optional>

namespace gradus::runtime {

namespace {

/// No memory has so many bytes; and `gradus inspect` goes through all pieces of
/// a sum (runtime/collectives/network.h) without any.
constexpr uint64_t kMostSummedBytes = uint64_t(1) << 40;

/// The bytes [begin, end) of the arena.
struct ArenaRange {
  uint64_t begin, end;
};

/// The memory of the sums that are under way, no two of which overlap.
class Summed {
public:
  /// The sum that has bytes of a range.
  std::optional<size_t> sumIn(ArenaRange range) const {
    auto next = ranges_.lower_bound(range.end);
    if (next == ranges_.begin() || std::prev(next)->second.end <= range.begin)
      return std::nullopt;
    return std::prev(next)->second.number;
  }

  void add(ArenaRange range, size_t number) {
    if (range.begin < range.end)
      ranges_[range.begin] = {range.end, number};
  }
  void remove(size_t number) {
    std::erase_if(ranges_, [&](const auto &range) {
      return range.second.number == number;
    });
  }

private:
  struct Taken {
    uint64_t end;
    size_t number;
  };
  std::map<uint64_t, Taken> ranges_; // by their beginnings
};

class SumOrder {
public:
  SumOrder(const artifact::Plan &plan, const artifact::CodeHeader *kernels)
      : plan_(plan), kernels_(kernels) {}

  Status verify(const artifact::Command &command) {
    if (const auto *start = command.kind_as_StartCommand())
      return begin(*start);
    if (const auto *finish = command.kind_as_FinishCommand())
      GRADUS_TRY(end(*finish));
    for (const BufferUse &use : usesOf(plan_, kernels_, command))
      if (isArena(use.buffer))
        if (auto sum = summed_.sumIn(rangeOf(use.buffer, use.bytes)))
          return invalid("uses buffer ", use.buffer, ", which belongs to sum ",
                         *sum, " until it is waited for");
    return Status();
  }

  Status verifyEnd() const {
    if (ended_ != begun_.size())
      return invalid("begins ", begun_.size(),
                     " sums over ranks and waits for ", ended_);
    return Status();
  }

private:
  bool isArena(uint32_t buffer) const {
    return plan_.buffers()->Get(buffer)->region() == artifact::Region::arena;
  }

  /// Returns the range of all ranks' parts, if the buffer is one.
  ArenaRange rangeOf(uint32_t buffer, uint64_t bytes) const {
    const artifact::Buffer &facts = *plan_.buffers()->Get(buffer);
    uint64_t offset = facts.offset();
    if (facts.rank_stride())
      bytes += facts.rank_stride() * (facts.parts() - 1);
    return {offset, offset + std::min(bytes, UINT64_MAX - offset)};
  }

  /// A sum has whole lines of 64 bytes: what lies between two of its buffers
  /// may be summed with them.
  ArenaRange linesOf(uint32_t buffer) const {
    const artifact::Buffer &facts = *plan_.buffers()->Get(buffer);
    return rangeOf(buffer, (*bytesOf(typeOf(facts.type())) + 63) / 64 * 64);
  }

  Status begin(const artifact::StartCommand &start) {
    size_t number = begun_.size();
    if (start.number() != number)
      return invalid("begins sum ", start.number(), ", expected ", number);
    uint64_t left = kMostSummedBytes;
    for (size_t i = 0; i < countOf(start.buffers()); ++i) {
      uint32_t buffer = start.buffers()->Get(i);
      uint64_t bytes = *bytesOf(typeOf(plan_.buffers()->Get(buffer)->type()));
      if (bytes > left)
        return invalid("sums buffer ", buffer, " of ", bytes,
                       " bytes, expected at most ", left, " of the ",
                       kMostSummedBytes, " that a sum may have");
      left -= bytes;
      if (auto sum = summed_.sumIn(linesOf(buffer)))
        return invalid("sums buffer ", buffer, ", which overlaps another of ",
                       "sum ", *sum);
      summed_.add(linesOf(buffer), number);
    }
    begun_.push_back(&start);
    return Status();
  }

  Status end(const artifact::FinishCommand &finish) {
    size_t number = ended_;
    if (finish.number() != number)
      return invalid("waits for sum ", finish.number(), ", expected ", number);
    if (number >= begun_.size())
      return invalid("waits for sum ", number, ", which has not begun");
    const auto *sums = begun_[number]->buffers(), *ended = finish.buffers();
    bool same = countOf(sums) == countOf(ended);
    for (size_t i = 0; same && i < countOf(sums); ++i)
      same = sums->Get(i) == ended->Get(i);
    if (!same)
      return invalid("waits for other buffers than sum ", number, " has");
    summed_.remove(number);
    ++ended_;
    return Status();
  }

  const artifact::Plan &plan_;
  const artifact::CodeHeader *kernels_;
  std::vector<const artifact::StartCommand *> begun_;
  size_t ended_ = 0; // of begun_
  Summed summed_;
};

} // namespace

Status verifySums(const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels,
                  const artifact::GraphPlan &graph) {
  SumOrder order(plan, kernels);
  for (size_t i = 0; i < countOf(graph.commands()); ++i) {
    const artifact::Command *command = graph.commands()->Get(i);
    GRADUS_TRY(at(order.verify(*command), "command ", i, " (",
                  textOf(command->name()), ")"));
  }
  return order.verifyEnd();
}

} // namespace gradus::runtime
