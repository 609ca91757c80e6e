// A trace becomes JSON; what is said twice stands there once.

#include "tool/report/compile_report.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::cli;
using nlohmann::ordered_json;

static compiler::PassRemark remark(const std::string &text,
                                   const std::string &place) {
  compiler::PassRemark remark;
  remark.pass = "less-bn";
  remark.kind = "done";
  remark.text = text;
  remark.place = place;
  return remark;
}

TEST(CompileReport, CountsEqualRemarks) {
  compiler::Trace trace;
  trace.remarks = {remark("gone", "a"), remark("kept", ""), remark("gone", "b"),
                   remark("gone", "a")};
  auto facts =
      compileReport(ordered_json::object(), trace, "models/net.onnx", 12);
  ASSERT_EQ(facts["remarks"].size(), 2u);
  EXPECT_EQ(facts["remarks"][0]["count"], 3);
  EXPECT_EQ(facts["remarks"][0]["places"].dump(), R"(["a","b"])");
  EXPECT_EQ(facts["remarks"][1]["text"], "kept");
  EXPECT_EQ(facts["model"], "net.onnx");
}

TEST(CompileReport, WritesWhatIsNoTextAsText) {
  compiler::Trace trace;
  trace.remarks = {remark("größer \xff", "cut \xe2\x86")};
  auto facts = compileReport(ordered_json::object(), trace, "net.onnx", 12);
  EXPECT_EQ(facts["remarks"][0]["text"], "größer \\xFF");
  EXPECT_EQ(facts["remarks"][0]["places"][0], "cut \\xE2\\x86");
}

TEST(CompileReport, KeepsTheOrderOfPasses) {
  compiler::Trace trace;
  trace.passes.resize(2);
  trace.passes[0].pass = "less-bn";
  trace.passes[1].pass = "autodiff";
  trace.passes[1].after.graphs = {{"train", 7, 8, 9}};
  auto facts = compileReport(ordered_json::object(), trace, "net.onnx", 12);
  EXPECT_EQ(facts["passes"][0]["pass"], "less-bn");
  EXPECT_EQ(facts["passes"][1]["after"]["graphs"][0]["flops"], 8);
}

TEST(CompileReport, NamesTheModulesOfNodes) {
  compiler::Trace trace;
  trace.modules["/layer1/layer1.0/conv1/Conv"] = "layer1.0.conv1";
  auto facts = compileReport(ordered_json::object(), trace, "net.onnx", 12);
  EXPECT_EQ(facts["modules"]["/layer1/layer1.0/conv1/Conv"], "layer1.0.conv1");
}
