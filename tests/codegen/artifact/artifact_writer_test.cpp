#include "codegen/artifact/artifact_writer.h"

#include "runtime/artifact/artifact.h"
#include "tests/codegen/program_text.h"

using namespace gradus;

static const char *const states = R"(
gradus.program @states {
  gradus.state @given : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 3.0]> : tensor<2xf32>}
  gradus.state @filled : tensor<3xf32> {role = #gradus.role<slot>, init = #gradus.init<constant, 4.0 : f64>}
  gradus.graph @same(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
})";

// States that begin with the same values, which stand outside of the program:
// two of one type, and one of another.
static const char *const twins = R"(
gradus.program @twins {
  gradus.state @online : tensor<2xf32> {role = #gradus.role<parameter>, value = dense_resource<w> : tensor<2xf32>}
  gradus.state @target : tensor<2xf32> {role = #gradus.role<parameter>, value = dense_resource<w> : tensor<2xf32>}
  gradus.state @column : tensor<2x1xf32> {role = #gradus.role<parameter>, value = dense_resource<w> : tensor<2x1xf32>}
  gradus.graph @same(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F00004040" } } #-})";

/// Calls `use` with a program planned without kernels, for this machine.
template <typename Use> static auto withParts(const char *program, Use use) {
  ProgramText text(program);
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
  return use(parts);
}

static std::vector<char> written(const char *program = states) {
  auto bytes = withParts(
      program, [](const ArtifactParts &parts) { return writeArtifact(parts); });
  EXPECT_TRUE(bool(bytes));
  return std::move(*bytes);
}

TEST(ArtifactWriter, HasLogicalRanksWhereStepsAreOnRanks) {
  auto ranks = [](const std::string &mode) {
    std::vector<char> bytes = written(
        ("gradus.program @p attributes {recipe = {distribution = {mode = \"" +
         mode + "\", logical_ranks = 8 : i64}}} {\n" + R"(
  gradus.graph @same(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
})")
            .c_str());
    auto artifact = runtime::Artifact::fromBytes(
        {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "p");
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    return (*artifact)->header().logical_ranks();
  };
  EXPECT_EQ(ranks("data_parallel"), 8);
  EXPECT_EQ(ranks("none"), 0);
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

TEST(ArtifactWriter, WritesValuesForEachStateThatBeginsWithThem) {
  std::vector<char> bytes = written(twins);
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "twins");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Header &header = (*artifact)->header();
  for (const artifact::State *state : *header.states()) {
    std::vector<float> values(2);
    size_t size = values.size() * sizeof(float);
    ASSERT_LE(state->initial() + size, header.weights()->size());
    std::memcpy(values.data(),
                bytes.data() + header.weights()->offset() + state->initial(),
                size);
    EXPECT_EQ(values, (std::vector<float>{1, 3})) << state->name()->str();
  }
}

// A rank has two rows of the three.
static const char *const parts = R"(
gradus.program @parts attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
  gradus.state @rows : tensor<2x1xf32> {differs_along = ["data"], fixed, part_of = tensor<3x1xf32>, role = #gradus.role<slot>, value = dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>}
  gradus.graph @same(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
})";

TEST(ArtifactWriter, WritesAllThatRanksHavePartsOf) {
  std::vector<char> bytes = written(parts);
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "parts");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Header &header = (*artifact)->header();
  const artifact::State &rows = *header.states()->Get(0);
  EXPECT_EQ(rows.type()->shape()->Get(0), 2);
  ASSERT_TRUE(rows.whole());
  EXPECT_EQ(rows.whole()->shape()->Get(0), 3);
  EXPECT_EQ(header.weights()->size(), 3 * sizeof(float));
  EXPECT_LT(header.plans()->Get(0)->state_bytes(), 128u);
}

TEST(ArtifactWriter, WritesTheSameBytesTwice) {
  EXPECT_EQ(written(), written());
}

// A state of 4 MiB by rule, and one that is smaller than what it is aligned to.
static const char *const large = R"(
gradus.program @large {
  gradus.state @few : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<normal, 0.5 : f64>}
  gradus.state @many : tensor<1024x1024xf32> {role = #gradus.role<parameter>, init = #gradus.init<normal, 0.5 : f64>}
  gradus.graph @same(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    gradus.return %x : tensor<2xf32>
  }
})";

// Who takes them needs no memory for the weights, and may hash what it takes.
TEST(ArtifactWriter, HandsOutPiecesInTheirOrderAndTheHeaderLast) {
  std::vector<char> file;
  uint64_t end = 0;
  size_t largest = 0;
  auto take = [&](uint64_t offset, llvm::ArrayRef<char> bytes) {
    if (end > 0 && offset != 0)
      EXPECT_EQ(offset, end);
    end = offset + bytes.size();
    largest = std::max(largest, bytes.size());
    file.resize(std::max<size_t>(file.size(), end));
    llvm::copy(bytes, file.begin() + offset);
    return true;
  };
  llvm::Error error = withParts(large, [&](const ArtifactParts &parts) {
    return writeArtifact(parts, take);
  });
  EXPECT_FALSE(bool(error));
  EXPECT_LT(end, file.size()) << "the header is behind the weights";
  EXPECT_LE(largest, size_t(1) << 20);
  EXPECT_EQ(file, written(large));
}

TEST(ArtifactWriter, StopsWhereNothingMoreIsTaken) {
  int calls = 0;
  auto refuse = [&](uint64_t, llvm::ArrayRef<char>) { return ++calls < 3; };
  llvm::Error error = withParts(large, [&](const ArtifactParts &parts) {
    return writeArtifact(parts, refuse);
  });
  EXPECT_EQ(llvm::toString(std::move(error)), "the artifact cannot be written");
  EXPECT_EQ(calls, 3);
}
