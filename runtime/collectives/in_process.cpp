// Mailboxes between threads.

#include "runtime/collectives/in_process.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace gradus::runtime {

namespace {

using Clock = std::chrono::steady_clock;

/// Threads that sleep are woken so much too late, at most, where a core is
/// free.
constexpr std::chrono::microseconds kLateWaking{150};

/// One end of a transfer. It belongs to the rank that began it.
struct End {
  const uint8_t *from = nullptr;
  uint8_t *to = nullptr;
  size_t size = 0;
  bool isBegun = false, isDone = false;
  Clock::time_point due; // of one that is done
};

struct Letter {
  int from;
  std::vector<uint8_t> bytes;
};

/// A count of what happened to a rank.
struct Happening {
  std::condition_variable changed;
  uint64_t count = 0;

  void add() {
    ++count;
    changed.notify_one();
  }
};

/// The mailboxes that the threads share, all under one lock: the copies too,
/// since a rank that leaves takes its memory away.
struct Group {
  Group(int ranks, Network network)
      : network(network), ends(static_cast<size_t>(ranks)),
        letters(ends.size()), links(ends.size()), happened(ends.size()),
        sends(ends.size() * ends.size()), receives(sends.size()) {}

  size_t pair(int from, int to) const {
    return static_cast<size_t>(from) * ends.size() + static_cast<size_t>(to);
  }

  Network network;
  std::mutex mutex;
  std::vector<std::deque<End>> ends;       // by rank; a Transfer is an index
  std::vector<std::deque<Letter>> letters; // to each rank
  std::vector<Link> links;                 // of each rank
  std::vector<Happening> happened;         // to each rank
  std::vector<std::vector<Transfer>> sends,
      receives; // by pair, without partner
};

class InProcess final : public Communicator {
public:
  InProcess(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), rank_(rank) {}
  ~InProcess() override { leave(false); }

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(group_->ends.size()); }
  const std::string &host(int) const override {
    static const std::string name = "this process";
    return name;
  }

  StatusOr<Transfer> send(int to, std::span<const uint8_t> bytes) override {
    std::lock_guard lock(group_->mutex);
    Transfer transfer =
        add({bytes.data(), nullptr, bytes.size(), true, false, {}});
    group_->sends[group_->pair(rank_, to)].push_back(transfer);
    GRADUS_TRY(match(rank_, to));
    return transfer;
  }

  StatusOr<Transfer> receive(int from, std::span<uint8_t> bytes) override {
    std::lock_guard lock(group_->mutex);
    Transfer transfer =
        add({nullptr, bytes.data(), bytes.size(), true, false, {}});
    group_->receives[group_->pair(from, rank_)].push_back(transfer);
    GRADUS_TRY(match(from, rank_));
    return transfer;
  }

  StatusOr<bool> isDone(Transfer transfer) override {
    std::lock_guard lock(group_->mutex);
    End &end = own()[transfer];
    if (!end.isDone)
      return false;
    if (end.due > Clock::now()) {
      due_ = end.due;
      return false;
    }
    end.isBegun = false;
    return true;
  }

  Status tell(int to, std::span<const uint8_t> message, bool) override {
    std::lock_guard lock(group_->mutex);
    group_->letters[static_cast<size_t>(to)].push_back(
        {rank_, {message.begin(), message.end()}});
    group_->happened[static_cast<size_t>(to)].add();
    return {};
  }

  StatusOr<int> hear(std::vector<uint8_t> &message) override {
    std::lock_guard lock(group_->mutex);
    auto &letters = group_->letters[static_cast<size_t>(rank_)];
    if (letters.empty())
      return -1;
    int from = letters.front().from;
    message = std::move(letters.front().bytes);
    letters.pop_front();
    return from;
  }

  /// A message is not found later than it arrives: the end of the way there is
  /// spent awake.
  void pause(std::chrono::microseconds) override {
    std::unique_lock lock(group_->mutex);
    auto until = Clock::now() + kLongestPause;
    bool isAwaited = due_ > Clock::now() && due_ < until;
    if (isAwaited)
      until = due_ - kLateWaking;
    Happening &happening = group_->happened[static_cast<size_t>(rank_)];
    auto hasHappened = [&] { return happening.count != seen_; };
    happening.changed.wait_until(lock, until, hasHappened);
    while (isAwaited && due_ > Clock::now() && !hasHappened()) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    seen_ = happening.count;
  }

  void leave(bool) override { forget(); }

  void forget() override {
    std::lock_guard lock(group_->mutex);
    for (int peer = 0; peer < ranks(); ++peer) {
      group_->sends[group_->pair(rank_, peer)].clear();
      group_->receives[group_->pair(peer, rank_)].clear();
    }
  }

private:
  std::deque<End> &own() { return group_->ends[static_cast<size_t>(rank_)]; }

  Transfer add(const End &end) {
    auto free = std::find_if(own().begin(), own().end(),
                             [](const End &each) { return !each.isBegun; });
    if (free == own().end())
      free = own().insert(free, end);
    *free = end;
    return static_cast<Transfer>(free - own().begin());
  }

  /// Copies what both ends have begun.
  Status match(int from, int to) {
    auto &sends = group_->sends[group_->pair(from, to)];
    auto &receives = group_->receives[group_->pair(from, to)];
    if (sends.empty() || receives.empty())
      return {};
    End &sent = group_->ends[static_cast<size_t>(from)][sends.front()];
    End &received = group_->ends[static_cast<size_t>(to)][receives.front()];
    sends.erase(sends.begin());
    receives.erase(receives.begin());
    if (sent.size != received.size)
      return failed("rank ", from, " sends ", sent.size, " bytes, and rank ",
                    to, " expects ", received.size);
    std::memcpy(received.to, sent.from, sent.size);
    sent.isDone = received.isDone = true;
    sent.due = received.due = group_->links[static_cast<size_t>(from)].arrival(
        group_->network, Clock::now(), sent.size);
    for (int rank : {from, to})
      group_->happened[static_cast<size_t>(rank)].add();
    return {};
  }

  std::shared_ptr<Group> group_;
  int rank_;
  Clock::time_point due_; // of a transfer that was asked for
  uint64_t seen_ = 0;     // of what happened to this rank, when it last paused
};

} // namespace

std::vector<OpenCommunicator> inProcess(int ranks, Network network) {
  auto group = std::make_shared<Group>(ranks, network);
  std::vector<OpenCommunicator> openers;
  for (int rank = 0; rank < ranks; ++rank)
    openers.push_back([=]() -> StatusOr<std::unique_ptr<Communicator>> {
      return std::unique_ptr<Communicator>(
          std::make_unique<InProcess>(group, rank));
    });
  return openers;
}

} // namespace gradus::runtime
