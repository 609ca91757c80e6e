// The initial values that an artifact carries.

#include "runtime/session/initial_values.h"

#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;

TEST(InitialValues, AreThoseOfStatesThatHaveSome) {
  gradus::test::TestArtifact made;
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok());
  auto values = initialValuesOf(**artifact);
  ASSERT_TRUE(values.ok()) << values.status().message();
  ASSERT_EQ(values->tensors.size(), 1u); // The others begin with a fill.
  EXPECT_EQ(values->tensors[0].name, "total");
  ASSERT_EQ(values->tensors[0].data.size(), 32u);
  EXPECT_EQ(reinterpret_cast<const float *>(values->tensors[0].data.data())[5],
            5);
}

TEST(InitialValues, AreChecked) {
  gradus::test::TestArtifact made;
  std::vector<uint8_t> bytes = made.bytes();
  auto whole = Artifact::fromBytes(bytes, "adder");
  ASSERT_TRUE(whole.ok());
  bytes[(*whole)->header().weights()->offset()] ^= 1;
  auto changed = Artifact::fromBytes(bytes, "adder");
  if (changed.ok()) // Weights are checked when they are read.
    EXPECT_FALSE(initialValuesOf(**changed).ok());
  else
    EXPECT_EQ(changed.status().message().find("adder: weights"), 0u);
}
