// Groups of ranks for tests: threads that run the same function, buffers with
// values that any way to add them would show, and the sum as its definition
// says.
#pragma once

#include "runtime/collectives/combine.h"
#include "runtime/collectives/communication_thread.h"
#include "runtime/collectives/in_process.h"
#include "runtime/float_mode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

namespace gradus::runtime {

/// A buffer of one rank.
using Bytes = std::vector<uint8_t>;

/// A limit that no machine under load reaches, in tests of other things.
inline LivenessOptions patient() {
  return {std::chrono::minutes(5), std::chrono::minutes(5), {}};
}

/// Runs a function on each rank, in a thread of its own, and ends the group.
inline void onRanks(const std::vector<OpenCommunicator> &openers,
                    const std::function<void(CommunicationThread &)> &run) {
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : openers)
    threads.emplace_back([&] {
      auto rank = CommunicationThread::start(open, patient());
      ASSERT_TRUE(rank.ok()) << rank.status();
      run(**rank);
      Status status = (*rank)->end();
      EXPECT_TRUE(status.ok()) << status;
    });
  for (std::thread &thread : threads)
    thread.join();
}

inline uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

/// Values of many sizes, so that a sum depends on the order of additions. The
/// same on every machine.
inline Bytes valuesOf(DType type, uint64_t count, int rank) {
  Bytes bytes(count * bytesOf(type));
  uint64_t state = static_cast<uint64_t>(rank) * 1000003 + count;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = mixed(state += 0x9e3779b97f4a7c15);
    double number = (static_cast<double>(bits >> 11) / (1ull << 53) - 0.5) *
                    (1 << (bits & 15));
    float single = static_cast<float>(number);
    auto half = static_cast<_Float16>(single);
    uint32_t brain = std::bit_cast<uint32_t>(single) >> 16;
    const void *from = &bits;
    if (type == DType::f32)
      from = &single;
    else if (type == DType::f64)
      from = &number;
    else if (type == DType::f16)
      from = &half;
    else if (type == DType::bf16)
      from = &brain;
    else if (type == DType::boolean)
      bits &= 1;
    std::memcpy(bytes.data() + i * bytesOf(type), from, bytesOf(type));
  }
  return bytes;
}

/// The reduction of the values of ranks [first, last) by the definition: the
/// largest power of two of them is one side, the rest the other.
inline Bytes serialTree(const Collective &collective,
                        const std::vector<Bytes> &values, size_t first,
                        size_t last) {
  if (last - first == 1)
    return values[first];
  size_t middle = first + std::bit_floor(last - first - 1);
  Bytes lower = serialTree(collective, values, first, middle);
  Bytes upper = serialTree(collective, values, middle, last);
  FlushDenormals mode;
  combine(collective.reduction, collective.type, lower.data(), upper.data(),
          lower.data(), collective.count);
  return lower;
}

inline std::vector<Bytes> valuesOfRanks(const Collective &collective,
                                        int ranks) {
  std::vector<Bytes> values;
  for (int rank = 0; rank < ranks; ++rank)
    values.push_back(valuesOf(collective.type, collective.count, rank));
  return values;
}

/// What a rank's buffer must have at the end; where it is undefined, whatever
/// `found` has.
inline Bytes expected(const Collective &collective,
                      const std::vector<Bytes> &values, int rank,
                      const Bytes &found) {
  int ranks = static_cast<int>(values.size());
  size_t width = bytesOf(collective.type);
  auto put = [&](Bytes &to, const Bytes &from, int part) {
    Range range = partOf(collective.count, collective.type, ranks, part);
    std::copy(from.begin() + range.begin * width,
              from.begin() + range.end * width,
              to.begin() + range.begin * width);
  };
  Bytes result = found;
  switch (collective.op) {
  case CollectiveOp::allReduce:
    return serialTree(collective, values, 0, values.size());
  case CollectiveOp::reduceScatter:
    put(result, serialTree(collective, values, 0, values.size()), rank);
    return result;
  case CollectiveOp::allGather:
    for (int part = 0; part < ranks; ++part)
      put(result, values[static_cast<size_t>(part)], part);
    return result;
  case CollectiveOp::broadcast:
    return values[static_cast<size_t>(collective.root)];
  case CollectiveOp::groupReduce:
    break; // tests/runtime/collectives/group_ranks.h
  }
  return result;
}

/// A transport that leaves everything to another one.
class Passing : public Communicator {
public:
  explicit Passing(std::unique_ptr<Communicator> below)
      : below_(std::move(below)) {}

  int rank() const override { return below_->rank(); }
  int ranks() const override { return below_->ranks(); }
  const std::string &host(int rank) const override {
    return below_->host(rank);
  }
  std::string build(int rank) const override { return below_->build(rank); }
  bool isGone(int rank) override { return below_->isGone(rank); }
  StatusOr<Transfer> send(int to, std::span<const uint8_t> bytes) override {
    return below_->send(to, bytes);
  }
  StatusOr<Transfer> receive(int from, std::span<uint8_t> bytes) override {
    return below_->receive(from, bytes);
  }
  StatusOr<bool> isDone(Transfer transfer) override {
    return below_->isDone(transfer);
  }
  Status tell(int to, std::span<const uint8_t> message, bool needed) override {
    return below_->tell(to, message, needed);
  }
  StatusOr<int> hear(std::vector<uint8_t> &message) override {
    return below_->hear(message);
  }
  void forget() override { below_->forget(); }
  void pause(std::chrono::microseconds waited) override {
    below_->pause(waited);
  }
  void leave(bool orderly) override { below_->leave(orderly); }

private:
  std::unique_ptr<Communicator> below_;
};

/// Counts what is sent, and does all late, by times that are drawn.
class Meddling final : public Passing {
public:
  struct Wanted {
    unsigned seed = 0;
    int latest = 0; // microseconds
  };
  Meddling(std::unique_ptr<Communicator> below, Wanted wanted)
      : Passing(std::move(below)), wanted_(wanted),
        random_(wanted.seed * 64 + static_cast<unsigned>(rank())) {}

  uint64_t sent() const { return sent_; }

  StatusOr<Transfer> send(int to, std::span<const uint8_t> bytes) override {
    sent_ += bytes.size();
    sleep();
    return Passing::send(to, bytes);
  }
  StatusOr<Transfer> receive(int from, std::span<uint8_t> bytes) override {
    sleep();
    return Passing::receive(from, bytes);
  }
  StatusOr<bool> isDone(Transfer transfer) override {
    sleep();
    return Passing::isDone(transfer);
  }

private:
  void sleep() {
    if (int most = wanted_.latest)
      std::this_thread::sleep_for(
          std::chrono::microseconds(random_() % static_cast<unsigned>(most)));
  }

  Wanted wanted_;
  std::minstd_rand random_;
  uint64_t sent_ = 0;
};

inline std::vector<OpenCommunicator>
meddling(const std::vector<OpenCommunicator> &below, Meddling::Wanted wanted) {
  std::vector<OpenCommunicator> openers;
  for (const OpenCommunicator &open : below)
    openers.push_back([=]() -> StatusOr<std::unique_ptr<Communicator>> {
      GRADUS_ASSIGN(auto communicator, open());
      return std::unique_ptr<Communicator>(
          std::make_unique<Meddling>(std::move(communicator), wanted));
    });
  return openers;
}

} // namespace gradus::runtime
