// Tests what a file of directions must be, whatever the model is.

#include "runtime/session/basis_file.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;

namespace {

/// Two orthonormal rows of four numbers, of two parameters.
struct BasisFiles : testing::Test {
  std::string refusal() {
    std::vector<NamedTensor> tensors;
    for (const auto &[name, numbers] : {std::pair("a", &a), {"b", &b}})
      tensors.push_back({name,
                         {dtype, {rows, int64_t(numbers->size()) / rows}},
                         {reinterpret_cast<const uint8_t *>(numbers->data()),
                          numbers->size() * sizeof(float)}});
    auto bytes = safetensorsBytes(tensors, metadata);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    auto file = Safetensors::fromBytes(
        std::span<const uint8_t>(bytes->data.get(), bytes->size), "basis");
    EXPECT_TRUE(file.ok()) << file.status();
    Status status = verifyBasisHeader(*file);
    return status.ok() ? verifyBasisValues(*file).message() : status.message();
  }

  DType dtype = DType::f32;
  int64_t rows = 2;
  std::vector<float> a = {0.6f, 0, 0, 0.8f}, b = {0, 0.8f, 0.6f, 0};
  std::map<std::string, std::string> metadata = {{"snapshots", "3"}};
};

} // namespace

TEST_F(BasisFiles, AreTaken) {
  EXPECT_EQ(refusal(), "");
  metadata["snapshots"] = "some";
  EXPECT_EQ(refusal(), "");
}

TEST_F(BasisFiles, HaveOrthonormalRowsOfFiniteNumbers) {
  a[0] = 0.7f;
  EXPECT_NE(refusal().find("its rows are not orthonormal"), std::string::npos);
  a[1] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal(), "row 0 of a holds inf: expected finite numbers");
}

TEST_F(BasisFiles, AreNoCheckpointsOrOtherFiles) {
  dtype = DType::i32;
  EXPECT_EQ(refusal(), "has 2x2xi32 for a, expected a tensor of f32 with as "
                       "many directions along its first axis, as all have");
  metadata["format"] = "gradus";
  EXPECT_EQ(refusal(),
            "is a checkpoint; `gradus basis` makes a basis of several");
}

TEST_F(BasisFiles, HaveNoMoreRowsThanTheirSourceHas) {
  metadata["snapshots"] = "2";
  EXPECT_EQ(refusal(), "has 2 directions of 2 checkpoints, which differ along "
                       "1 at most");
  a = {1, 0}, b = {};
  EXPECT_EQ(refusal(), "has 2 directions of 1 numbers each: no more than there "
                       "are numbers can be orthonormal");
}
