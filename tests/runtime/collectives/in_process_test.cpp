#include "runtime/collectives/in_process.h"

#include "tests/runtime/collectives/ranks.h"

using namespace gradus::runtime;

namespace {

struct Pair {
  std::unique_ptr<Communicator> zero, one;
};

Pair pairOver(Network network = {}) {
  auto openers = inProcess(2, network);
  return {*openers[0](), *openers[1]()};
}

} // namespace

TEST(InProcess, MovesBytesOnceBothHaveBegun) {
  Pair pair = pairOver();
  Bytes sent = {1, 2, 3}, received(3);
  Transfer out = *pair.zero->send(1, sent);
  EXPECT_FALSE(*pair.zero->isDone(out));
  Transfer in = *pair.one->receive(0, received);
  EXPECT_TRUE(*pair.one->isDone(in));
  EXPECT_TRUE(*pair.zero->isDone(out));
  EXPECT_EQ(received, sent);
}

TEST(InProcess, KeepsTheOrderOfAPair) {
  Pair pair = pairOver();
  Bytes values = {1, 2}, received(2);
  Transfer first = *pair.one->receive(0, std::span(received).first(1));
  Transfer second = *pair.one->receive(0, std::span(received).last(1));
  pair.zero->send(1, std::span(values).first(1)).status();
  EXPECT_TRUE(*pair.one->isDone(first));
  EXPECT_FALSE(*pair.one->isDone(second));
  pair.zero->send(1, std::span(values).last(1)).status();
  EXPECT_TRUE(*pair.one->isDone(second));
  EXPECT_EQ(received, values);
}

TEST(InProcess, NamesTheSizesThatDiffer) {
  Pair pair = pairOver();
  Bytes sent(3), received(4);
  EXPECT_TRUE(pair.zero->send(1, sent).ok());
  EXPECT_EQ(pair.one->receive(0, received).status().message(),
            "rank 0 sends 3 bytes, and rank 1 expects 4");
}

TEST(InProcess, CarriesMessagesInOrder) {
  Pair pair = pairOver();
  std::vector<uint8_t> heard;
  EXPECT_EQ(*pair.one->hear(heard), -1);
  EXPECT_TRUE(pair.zero->tell(1, Bytes{1}, false).ok());
  EXPECT_TRUE(pair.zero->tell(1, Bytes{2}, true).ok());
  EXPECT_EQ(*pair.one->hear(heard), 0);
  EXPECT_EQ(heard, Bytes{1});
  EXPECT_EQ(*pair.one->hear(heard), 0);
  EXPECT_EQ(heard, Bytes{2});
  EXPECT_EQ(*pair.one->hear(heard), -1);
}

/// Memory of who forgets or leaves may be away: nothing is copied from or to
/// it.
TEST(InProcess, ForgetsTransfers) {
  Pair pair = pairOver();
  Bytes sent = {7}, received = {0};
  EXPECT_TRUE(pair.zero->send(1, sent).ok());
  pair.zero->forget();
  Transfer in = *pair.one->receive(0, received);
  EXPECT_FALSE(*pair.one->isDone(in));
  EXPECT_EQ(received, Bytes{0});
  EXPECT_TRUE(pair.one->tell(0, sent, true).ok());
  EXPECT_EQ(*pair.zero->hear(received), 1);
}

/// Two transfers of a link follow each other, those of two links do not.
TEST(InProcess, TakesTheTimeOfItsNetwork) {
  using Clock = std::chrono::steady_clock;
  Network slow{1e6, std::chrono::milliseconds(5)};
  Pair pair = pairOver(slow);
  Bytes sent(10000), received(10000), back(10000);
  auto start = Clock::now();
  Transfer first = *pair.one->receive(0, received);
  Transfer second = *pair.one->receive(0, back);
  EXPECT_TRUE(pair.zero->send(1, sent).ok());
  EXPECT_TRUE(pair.zero->send(1, sent).ok());
  auto wait = [&](Transfer transfer) {
    while (!*pair.one->isDone(transfer))
      pair.one->pause({});
    return Clock::now() - start;
  };
  EXPECT_GE(wait(first), std::chrono::milliseconds(15));
  EXPECT_GE(wait(second), std::chrono::milliseconds(25));
}
