#include "codegen/artifact_writer.h"

#include "program_text.h"
#include "runtime/artifact.h"

using namespace gradus;

static const char *const states = R"(
gradus.program @states {
  gradus.state @given : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 3.0]> : tensor<2xf32>}
  gradus.state @filled : tensor<3xf32> {role = #gradus.role<slot>, init = #gradus.init<constant, 4.0 : f64>}
  gradus.graph @same(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
})";

/// The program written without kernels, for this machine.
static std::vector<char> written() {
  ProgramText text(states);
  ArtifactParts parts;
  parts.program = text.program();
  parts.states = placeStates(parts.program);
  auto planned = std::make_shared<PlannedProgram>();
  planned->graphs = {text.graph("same")};
  planned->memory = {
      planMemory(planned->graphs[0], parts.states, parts.constants)};
  parts.recipe = "{}";
  Target target = llvm::cantFail(findTarget("cpu:x86-64-v2"));
  parts.plans.push_back({std::move(target), std::move(planned), {}});
  auto bytes = writeArtifact(parts);
  EXPECT_TRUE(bool(bytes));
  return std::move(*bytes);
}

TEST(ArtifactWriter, WritesWhatTheRuntimeAccepts) {
  std::vector<char> bytes = written();
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      "states");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Header &header = (*artifact)->header();
  EXPECT_EQ(header.name()->str(), "states");
  EXPECT_EQ(header.states()->size(), 2u);
  EXPECT_TRUE(header.states()->Get(0)->has_initial());
  EXPECT_FALSE(header.states()->Get(1)->has_initial());
  EXPECT_EQ(header.states()->Get(1)->fill(), 4.0);
  EXPECT_EQ((*artifact)->bytes(header.weights()).size(), 8u);
}

TEST(ArtifactWriter, WritesTheSameBytesTwice) {
  EXPECT_EQ(written(), written());
}
