// What a device says of the calls of an artifact, as JSON and as a table.

#include "tool/inspect/call_forms.h"

#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(CallForms, SayWhatTakesThePlaceOfACall) {
  nlohmann::ordered_json forms = {
      {"device", "cuda"},
      {"target", "cuda"},
      {"calls",
       {{{"call", "matmul+bias"},
         {"count", 12},
         {"form", "plain call and a kernel"},
         {"why", "cuBLASLt has no algorithm with BIAS"}},
        {{"call", "matmul"}, {"count", 3}, {"form", "whole"}}}}};
  std::string text = callFormsText(forms);
  EXPECT_TRUE(text.starts_with("  call on cuda")) << text;
  EXPECT_NE(text.find("commands"), std::string::npos) << text;
  EXPECT_NE(text.find("plain call and a kernel (cuBLASLt has no algorithm with "
                      "BIAS)\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("whole\n")) << text;
}

/// oneDNN is the one that the plan was compiled with.
TEST(CallForms, AreNoneOnAProcessor) {
  gradus::test::TestArtifact adder;
  auto forms = callFormsOf(
      **gradus::runtime::Artifact::fromBytes(adder.bytes(), "a"), "cpu");
  EXPECT_TRUE(forms["calls"].empty());
  EXPECT_EQ(callFormsText(forms),
            "plan cpu:x86-64-v2 on cpu: no call of a library has more than one "
            "form there\n");
}
