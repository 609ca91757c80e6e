#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;

static std::string wordsFor(const std::vector<uint8_t> &bytes) {
  auto artifact = Artifact::fromBytes(bytes, "adder");
  return artifact.ok() ? "ok" : artifact.status().message();
}

TEST(VerifyHeader, RefusesWhatIsNoArtifact) {
  EXPECT_EQ(wordsFor(std::vector<uint8_t>()),
            "adder: is not a Gradus artifact");
  EXPECT_EQ(wordsFor(std::vector<uint8_t>(1000, 'x')),
            "adder: is not a Gradus artifact");
}

TEST(VerifyHeader, SaysWhereAFileIsCutShort) {
  auto bytes = TestArtifact().bytes();
  bytes.resize(100);
  EXPECT_NE(wordsFor(bytes).find("is cut short"), std::string::npos)
      << wordsFor(bytes);
}

TEST(VerifyHeader, RefusesAnotherVersion) {
  constexpr uint32_t kNext = gradus::artifact::kVersion + 1;
  EXPECT_EQ(wordsAfter([](auto &made) { made.header.version = kNext; }),
            "adder: has version " + std::to_string(kNext) +
                ", and this runtime reads version " +
                std::to_string(kNext - 1) + ": compile it again");
}

/// The runtime of version 3 would add up what groups of ranks are to combine.
TEST(VerifyHeader, KnowsMoreThanVersion3) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.version = 3;
            }).find("adder: has version 3, and this runtime reads version "),
            0u);
}

/// The runtime of version 4 would take the part of rank 0 on all ranks.
TEST(VerifyHeader, KnowsMoreThanVersion4) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.version = 4;
            }).find("adder: has version 4, and this runtime reads version "),
            0u);
}

TEST(VerifyHeader, NoticesEveryFlippedBit) {
  auto bytes = TestArtifact().bytes();
  size_t size = flatbuffers::ReadScalar<uint32_t>(bytes.data()) + 4;
  for (size_t bit = 0; bit < size * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_NE(wordsFor(bytes), "ok") << "bit " << bit;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  EXPECT_EQ(wordsFor(bytes), "ok");
}

TEST(VerifyHeader, SaysBothHashes) {
  auto bytes = TestArtifact().bytes();
  auto *header = gradus::artifact::GetSizePrefixedHeader(bytes.data());
  const char *name = header->name()->c_str();
  bytes[static_cast<size_t>(reinterpret_cast<const uint8_t *>(name) -
                            bytes.data())] = 'u';
  EXPECT_EQ(wordsFor(bytes).find("adder: is damaged: its header has hash "),
            0u);
}
