#include "runtime/artifact/artifact.h"

#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace gradus::runtime;
using namespace gradus::test;

TEST(Artifact, OpensAFile) {
  TestArtifact made;
  std::string path = writeFile(made.bytes(), "adder.gradus");
  auto artifact = Artifact::open(path);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ((*artifact)->header().name()->str(), "adder");
  EXPECT_EQ((*artifact)->bytes((*artifact)->header().weights()).size(), 32u);
  EXPECT_EQ((*artifact)
                ->kernels(*(*artifact)->header().plans()->Get(0))
                ->kernels()
                ->size(),
            2u);
  EXPECT_EQ((*artifact)->size(), made.bytes().size());
}

TEST(Artifact, TakesBytesAtAnyAddress) {
  auto bytes = TestArtifact().bytes();
  bytes.insert(bytes.begin(), 1);
  auto artifact = Artifact::fromBytes(std::span(bytes).subspan(1), "memory");
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
}

TEST(Artifact, SaysWhichFileIsMissing) {
  EXPECT_EQ(Artifact::open("nowhere.gradus").status().message(),
            "nowhere.gradus: cannot open: No such file or directory");
}

TEST(Artifact, ChecksItsWeightsWheneverTheyAreRead) {
  auto bytes = TestArtifact().bytes();
  std::string path = writeFile(bytes, "weights.gradus");
  auto artifact = *Artifact::open(path);
  EXPECT_TRUE(artifact->verifyWeights().ok());
  size_t weights = artifact->header().weights()->offset();
  bytes[weights] ^= 1;
  std::ofstream(path, std::ios::binary | std::ios::in)
      .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  EXPECT_TRUE(artifact->verifyWeights().message().starts_with(
      "weights: is damaged: it has hash "));
  std::filesystem::resize_file(path, weights + 3);
  EXPECT_EQ(artifact->verifyWeights().message(),
            "weights: is cut short: it had " + std::to_string(bytes.size()) +
                " bytes when it was opened, and now ends at " +
                std::to_string(weights + 3));
}

TEST(Artifact, SaysWhatIsNoArtifact) {
  std::string path = writeFile({'h', 'e', 'l', 'l', 'o'}, "hello.gradus");
  EXPECT_EQ(Artifact::open(path).status().message(),
            path + ": is not a Gradus artifact");
  path = writeFile({}, "empty.gradus");
  EXPECT_EQ(Artifact::open(path).status().message(),
            path + ": is not a Gradus artifact");
}

TEST(Artifact, TrustSkipsTheHashesOfWeightsOnly) {
  TestArtifact made;
  auto bytes = made.bytes();
  auto artifact = Artifact::fromBytes(bytes, "adder");
  size_t weights = (*artifact)->header().weights()->offset();
  size_t code = (*artifact)->header().plans()->Get(0)->code()->offset();
  bytes[weights] ^= 1;
  EXPECT_FALSE((*Artifact::fromBytes(bytes, "adder"))->verifyWeights().ok());
  artifact = Artifact::fromBytes(bytes, "adder", {.trust = true});
  EXPECT_TRUE((*artifact)->verifyWeights().ok());
  bytes[code] ^= 1;
  EXPECT_FALSE(Artifact::fromBytes(bytes, "adder", {.trust = true}).ok());
}
