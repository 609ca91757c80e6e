#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;
namespace fb = gradus::artifact;

namespace {

/// A finished file whose header can be changed in place.
struct File {
  std::vector<uint8_t> bytes = TestArtifact().bytes();

  fb::Header *header() {
    return flatbuffers::GetMutableRoot<fb::Header>(bytes.data() + 4);
  }
  fb::Section *weights() { return header()->mutable_weights(); }
  fb::Section *code() {
    return header()->mutable_plans()->GetMutableObject(0)->mutable_code();
  }

  std::string words() {
    size_t size = flatbuffers::ReadScalar<uint32_t>(bytes.data()) + 4;
    fb::sealHeader(bytes.data(), size);
    auto artifact = Artifact::fromBytes(bytes, "adder");
    if (!artifact.ok())
      return artifact.status().message();
    Status weights = (*artifact)->verifyWeights();
    return weights.ok() ? "ok" : "adder: " + weights.message();
  }
};

} // namespace

TEST(VerifySections, TakesAWholeFile) { EXPECT_EQ(File().words(), "ok"); }

TEST(VerifySections, RefusesASectionThatEndsBehindTheFile) {
  File file;
  file.weights()->mutate_size(1 << 20);
  EXPECT_NE(file.words().find("adder: weights: should end at"),
            std::string::npos);
  file.weights()->mutate_size(~uint64_t{0});
  EXPECT_NE(file.words().find("adder: weights: should end at"),
            std::string::npos);
}

TEST(VerifySections, RefusesASectionThatIsNotAligned) {
  File file;
  file.weights()->mutate_offset(file.weights()->offset() + 8);
  EXPECT_NE(file.words().find("not a multiple of 64"), std::string::npos);
}

TEST(VerifySections, RefusesOverlaps) {
  File file;
  file.weights()->mutate_offset(0);
  EXPECT_NE(file.words().find("adder: weights: starts at 0, inside the header"),
            std::string::npos);
  File other;
  other.weights()->mutate_offset(other.code()->offset());
  EXPECT_NE(other.words(), "ok");
  // Weights that are the code would never be there as code.
  File same;
  std::fill_n(same.bytes.begin() + same.weights()->offset(),
              same.weights()->size(), uint8_t{0});
  same.weights()->mutate_offset(same.code()->offset());
  same.weights()->mutate_size(same.code()->size());
  EXPECT_NE(same.words().find(": overlaps "), std::string::npos)
      << same.words();
}

TEST(VerifySections, SaysWhichSectionIsDamaged) {
  File file;
  file.bytes[file.weights()->offset() + 3] ^= 0x10;
  EXPECT_EQ(file.words().find("adder: weights: is damaged: it has hash "), 0u);
  File other;
  other.bytes[other.code()->offset()] ^= 1;
  std::string plan = TestArtifact().plan().target;
  EXPECT_EQ(
      other.words().find("adder: the code of plan " + plan + ": is damaged: "),
      0u)
      << other.words();
}

TEST(VerifySections, SaysForWhichGpuDamagedCodeIs) {
  TestArtifact made;
  made.addGpuPlan();
  made.header.plans.erase(made.header.plans.begin());
  auto &images = made.header.plans[0]->images;
  for (std::string whose : {"the code for sm_90", "the PTX for sm_90",
                            "the code for the emulated GPU"}) {
    File file{made.bytes()};
    const fb::Plan &plan = *file.header()->plans()->Get(0);
    file.bytes[plan.images()->Get(0)->code()->offset()] ^= 1;
    std::string words = file.words();
    EXPECT_EQ(words.find("adder: " + whose + " of plan cuda: is damaged: "), 0u)
        << words;
    images.erase(images.begin()); // all have the same bytes
  }
}

TEST(VerifySections, NoticesBytesBetweenAndBehindSections) {
  File file;
  size_t gap = file.weights()->offset() + file.weights()->size();
  file.bytes[gap] = 1;
  EXPECT_EQ(file.words(), "adder: byte " + std::to_string(gap) +
                              " lies between two sections and is not zero");
  File longer;
  longer.bytes.push_back(0);
  EXPECT_NE(longer.words(), "ok");
  File shorter;
  shorter.bytes.pop_back();
  EXPECT_NE(shorter.words(), "ok");
}
