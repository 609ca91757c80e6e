// Buffers with their places, users and lifetimes.

#include "tests/tool/adder.h"
#include "tool/inspect/memory_map.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static const MapEntry *find(const std::vector<MapEntry> &map,
                            const std::string &use) {
  for (const MapEntry &entry : map)
    if (entry.use == use)
      return &entry;
  return nullptr;
}

TEST(MemoryMap, NamesStatesInputsAndOutputs) {
  Adder adder;
  auto session = adder.open();
  auto map = memoryMap(session->artifact(), session->plan(),
                       *session->plan().graphs()->Get(0));
  ASSERT_NE(find(map, "total"), nullptr);
  EXPECT_EQ(find(map, "total")->region, gradus::artifact::Region::state);
  ASSERT_NE(find(map, "input x"), nullptr);
  EXPECT_EQ(find(map, "input x")->first, 0);
  EXPECT_EQ(find(map, "input x")->type, "8xf32");
  ASSERT_NE(find(map, "output sum"), nullptr);
  EXPECT_EQ(find(map, "output sum")->last,
            static_cast<int>(session->graphs()[0].commands.size()));
}

TEST(MemoryMap, IsSortedByPlace) {
  Adder adder;
  auto session = adder.open();
  auto map = memoryMap(session->artifact(), session->plan(),
                       *session->plan().graphs()->Get(0));
  for (size_t i = 1; i < map.size(); ++i)
    EXPECT_LE(std::tuple(map[i - 1].region, map[i - 1].offset),
              std::tuple(map[i].region, map[i].offset));
}
