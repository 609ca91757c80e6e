// Orders of what was begun: all that are allowed come about, no other does.

#include "runtime/emulated/fake_work.h"

#include <gtest/gtest.h>

#include <set>

using namespace gradus::runtime::cuda;

namespace {

struct FakeWorkTest : ::testing::Test {
  FakeOpRef op(const std::string &name, std::vector<FakeOpRef> after,
               std::vector<Access> accesses = {}) {
    auto made = std::make_shared<FakeOp>();
    made->name = name;
    made->after = std::move(after);
    made->accesses = std::move(accesses);
    made->run = [this, name] {
      order += name;
      return Result::success;
    };
    return made;
  }
  std::string order;
};

} // namespace

TEST_F(FakeWorkTest, RunsInEachOrderThatIsAllowed) {
  std::set<std::string> orders;
  for (unsigned seed = 0; seed < 500; ++seed) {
    order.clear();
    FakeWork work(seed);
    FakeOpRef a = op("a", {}), b = op("b", {a}), c = op("c", {a}),
              d = op("d", {b, c}), e = op("e", {});
    for (const FakeOpRef &each : {a, b, c, d, e})
      EXPECT_EQ(work.add(each), "");
    EXPECT_EQ(order, "");
    EXPECT_EQ(work.finishAll(), Result::success);
    orders.insert(order);
  }
  // abcd and acbd, with e at one of five places.
  EXPECT_EQ(orders.size(), 10u);
}

TEST_F(FakeWorkTest, RunsUntilOneIsDone) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    order.clear();
    FakeWork work(seed);
    FakeOpRef a = op("a", {}), b = op("b", {a}), c = op("c", {b});
    for (const FakeOpRef &each : {a, b, c})
      work.add(each);
    EXPECT_EQ(work.finish(b), Result::success);
    EXPECT_EQ(order, "ab");
    EXPECT_FALSE(c->isDone());
  }
}

TEST_F(FakeWorkTest, FindsWhatNothingOrders) {
  FakeWork work(0);
  Access reads{100, 8, 1, false}, writes{104, 8, 1, true};
  EXPECT_EQ(work.add(op("a", {}, {reads})), "");
  EXPECT_EQ(work.add(op("b", {}, {reads})), "");
  FakeOpRef c = op("c", {}, {writes});
  EXPECT_EQ(work.add(c),
            "c writes 4 bytes that a reads, and nothing orders the two");
  EXPECT_EQ(work.userOf(110, 20), "c");
  EXPECT_EQ(work.userOf(112, 20), "");
}

/// What ran by chance is in no order yet; what the host waited for is.
TEST_F(FakeWorkTest, OrdersWhatTheHostWaitedFor) {
  FakeWork work(0);
  Access writes{0, 8, 1, true};
  FakeOpRef a = op("a", {}, {writes});
  work.add(a);
  EXPECT_EQ(work.step(), Result::success);
  EXPECT_TRUE(a->isDone());
  EXPECT_NE(work.add(op("b", {}, {writes})), "");
  EXPECT_EQ(work.finishAll(), Result::success);
  EXPECT_EQ(work.add(op("c", {}, {writes})), "");
}

TEST_F(FakeWorkTest, TellsOperationsForTime) {
  FakeWork work(0, /*countsOperations=*/true);
  FakeOpRef a = op("a", {}), b = op("b", {a});
  b->run = [&] {
    work.count(1000);
    return Result::success;
  };
  work.add(a);
  work.add(b);
  EXPECT_EQ(work.finishAll(), Result::success);
  EXPECT_EQ(b->nanoseconds - a->nanoseconds, 1000);
}

TEST_F(FakeWorkTest, StopsAtAFailure) {
  FakeWork work(0);
  FakeOpRef a = op("a", {}), b = op("b", {a});
  a->run = [] { return Result::launchFailed; };
  work.add(a);
  work.add(b);
  EXPECT_EQ(work.finishAll(), Result::launchFailed);
  work.drop();
  EXPECT_EQ(work.finishAll(), Result::success);
  EXPECT_EQ(order, "");
}

TEST_F(FakeWorkTest, SeesPathsThroughOthers) {
  FakeOp a{"a", {{0, 8, 1, true}}, {}, {}}, b{"b", {}, {}, {}},
      c{"c", {{0, 8, 1, false}}, {}, {}};
  const FakeOp *ops[] = {&a, &b, &c};
  std::vector<std::vector<uint32_t>> path = {{}, {0}, {1}},
                                     none = {{}, {0}, {}};
  EXPECT_EQ(unorderedPair(ops, path), "");
  EXPECT_EQ(unorderedPair(ops, none),
            "c reads 8 bytes that a writes, and nothing orders the two");
}
