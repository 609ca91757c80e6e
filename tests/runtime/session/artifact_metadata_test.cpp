// What an artifact says of itself under keys.

#include "runtime/session/artifact_metadata.h"

#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::runtime;

namespace {

std::unique_ptr<Session> sessionOf(const gradus::test::TestArtifact &made) {
  return *Session::create(*Artifact::fromBytes(made.bytes(), "adder"));
}

} // namespace

TEST(ArtifactMetadata, HasFactsBesideTheRecipe) {
  gradus::test::TestArtifact made;
  made.header.classes = 10;
  made.header.producer = "gradus 0.1.0";
  made.header.graphs[0]->inputs[0]->indices = 0;
  auto session = sessionOf(made);
  EXPECT_EQ(metadataOf(*session, "artifact.program"), "\"adder\"");
  EXPECT_EQ(metadataOf(*session, "artifact.producer"), "\"gradus 0.1.0\"");
  EXPECT_EQ(metadataOf(*session, "artifact.target"), "\"cpu:x86-64-v2\"");
  EXPECT_EQ(metadataOf(*session, "artifact.classes"), "10");
  EXPECT_EQ(metadataOf(*session, "artifact.deterministic"), "false");
  EXPECT_EQ(metadataOf(*session, "artifact.indices"), "{}");
  EXPECT_EQ(metadataOf(*session, "artifact.age"), "");
}

TEST(ArtifactMetadata, SaysThatThereAreNoLabels) {
  EXPECT_EQ(metadataOf(*sessionOf({}), "artifact.classes"), "null");
}

TEST(ArtifactMetadata, FindsKeysByTheirPaths) {
  gradus::test::TestArtifact made;
  made.header.recipe =
      R"({"metrics": ["accuracy"], "inputs": {"dims": {"batch": 32}}, "ema": null})";
  auto session = sessionOf(made);
  EXPECT_EQ(metadataOf(*session, "metrics"), R"(["accuracy"])");
  EXPECT_EQ(metadataOf(*session, "inputs.dims"), R"({"batch":32})");
  EXPECT_EQ(metadataOf(*session, "inputs.dims.batch"), "32");
  EXPECT_EQ(metadataOf(*session, "ema"), "null");
  for (const char *wrong : {"inputs.", ".inputs", "inputs..dims", "metrics.0",
                            "inputs.dims.batch.more", "dims"})
    EXPECT_EQ(metadataOf(*session, wrong), "") << wrong;
}

TEST(ArtifactMetadata, TakesAnyTextForARecipe) {
  gradus::test::TestArtifact made;
  for (std::string text : {"", "not json", "[1]", "{\"a\": \"\xff\"}"}) {
    made.header.recipe = text;
    EXPECT_EQ(metadataOf(*sessionOf(made), kWholeRecipe), "{}") << text;
  }
}

TEST(ArtifactMetadata, IsNotLedIntoTheDepths) {
  gradus::test::TestArtifact made;
  made.header.recipe = R"({"kept": 1, "deep": )" + std::string(500000, '[') +
                       std::string(500000, ']') + "}";
  auto session = sessionOf(made);
  EXPECT_EQ(metadataOf(*session, "kept"), "1");
  EXPECT_LT(metadataOf(*session, kWholeRecipe).size(), 1000u);
}
