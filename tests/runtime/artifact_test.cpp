#include "runtime/artifact.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

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
  (*artifact)->releasePages();
  EXPECT_EQ((*artifact)->header().name()->str(), "adder");
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
  EXPECT_FALSE(Artifact::fromBytes(bytes, "adder").ok());
  EXPECT_TRUE(Artifact::fromBytes(bytes, "adder", {.trust = true}).ok());
  bytes[code] ^= 1;
  EXPECT_FALSE(Artifact::fromBytes(bytes, "adder", {.trust = true}).ok());
}
