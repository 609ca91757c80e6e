#include "written_graph.h"

#include "runtime/artifact_generated.h"

using namespace gradus;
namespace fb = gradus::artifact;

/// A graph that selects the largest numbers of a tensor.
static std::string selecting(const std::string &size, const std::string &count,
                             const std::string &from = "",
                             const std::string &fromType = "") {
  std::string input = "tensor<" + size + "xf32>",
              results = "tensor<" + count + "xi32>, tensor<" + count + "xf32>";
  return "gradus.program @p {\n  gradus.graph @train(%x: " + input +
         ", %t: tensor<f32>) -> (i: tensor<" + count + "xi32>, y: tensor<" +
         count + "xf32>) {\n    %i, %y = plan.select %x" + from + " : " +
         input + fromType + " -> " + results +
         "\n    gradus.return %i, %y : " + results + "\n  }\n}";
}

TEST(WriteSelect, SaysWhatIsSelectedOfWhat) {
  WrittenGraph written(selecting("1000", "10").c_str());
  EXPECT_EQ(written.command(0).name()->str(), "select_largest");
  EXPECT_EQ(written.command(0).bytes(), 4000u + 40 + 40);
  const auto *select = written.command(0).kind_as_SelectCommand();
  ASSERT_TRUE(select);
  EXPECT_EQ(select->threshold(), UINT32_MAX);
  EXPECT_EQ(select->parts(), 1u);
  EXPECT_EQ(select->digit_bits(), 8u);
  EXPECT_EQ(select->listed(), 0u) << "few elements are looked at again";
  EXPECT_NE(select->scratch(), UINT32_MAX);
  EXPECT_NE(select->indices(), select->values());
}

TEST(WriteSelect, HasAThreshold) {
  WrittenGraph written(
      selecting("1000", "10", " from %t", " from tensor<f32>").c_str());
  const auto *select = written.command(0).kind_as_SelectCommand();
  ASSERT_TRUE(select);
  EXPECT_NE(select->threshold(), UINT32_MAX);
  EXPECT_NE(select->threshold(), select->input());
}

/// More parts than threads share the work as well, and lists have room for
/// twice what the guess aims at.
TEST(WriteSelect, DividesManyElements) {
  WrittenGraph written(selecting("20000001", "200001").c_str());
  const auto *select = written.command(0).kind_as_SelectCommand();
  ASSERT_TRUE(select);
  EXPECT_EQ(select->parts(), 16u);
  EXPECT_EQ(select->digit_bits(), 13u);
  EXPECT_EQ(select->listed(), 2u * (2 * 200001 / 16 + 512));
}

static uint32_t listedOf(const char *size, const char *count) {
  WrittenGraph written(selecting(size, count).c_str());
  const auto *select = written.command(0).kind_as_SelectCommand();
  return select ? select->listed() : UINT32_MAX;
}

/// What is selected may be most of a tensor; the memory for it stays that of
/// all its elements and their indices.
TEST(WriteSelect, ListsAtMostTheElementsOfAPart) {
  EXPECT_EQ(listedOf("400001", "150000"), 66668u) << "in 6 parts";
  EXPECT_EQ(listedOf("400001", "200000"), 66668u);
  EXPECT_EQ(listedOf("400001", "200001"), 0u);
  EXPECT_EQ(listedOf("25000000", "25000000"), 0u);
}
