// A model without its large values is what protobuf would have parsed, but for
// them.

#include "frontends/onnx/file/embedded_values.h"

#include "tests/frontends/onnx/small_model.h"

using gradus::onnx::SeparatedModel;
using gradus::onnx::separateValues;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

namespace {

constexpr int64_t kLarge = int64_t(1) << 16; // bytes

TensorProto &addTensor(ModelProto &model, const std::string &name,
                       std::initializer_list<int64_t> shape, int64_t bytes) {
  TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  for (int64_t extent : shape)
    tensor.add_dims(extent);
  std::string raw(bytes, name.front());
  raw.back() = '.';
  tensor.set_raw_data(raw);
  return tensor;
}

/// A model with nodes around its initializers.
ModelProto someModel() {
  ModelProto model;
  model.set_ir_version(9);
  model.mutable_graph()->add_node()->set_op_type("Relu");
  addTensor(model, "few", {2, 2}, 16);
  addTensor(model, "many", {128, kLarge / 512}, kLarge);
  addTensor(model, "vector", {kLarge}, 4 * kLarge);
  addTensor(model, "last", {2, kLarge / 4}, 2 * kLarge);
  model.mutable_graph()->set_name("g");
  model.add_opset_import()->set_version(17);
  return model;
}

/// The model that both parts are together.
ModelProto joined(const SeparatedModel &separated) {
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(separated.rest));
  for (auto [number, values] : separated.values)
    model.mutable_graph()->mutable_initializer(number)->set_raw_data(
        values.str());
  return model;
}

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7)
    bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

} // namespace

TEST(EmbeddedValues, LeaveMatricesAlone) {
  std::string file = someModel().SerializeAsString();
  auto separated = separateValues(file);
  ASSERT_TRUE(separated);
  ASSERT_EQ(separated->values.size(), 2u);
  EXPECT_EQ(separated->values[0].first, 1);
  EXPECT_EQ(separated->values[1].first, 3);
  EXPECT_EQ(separated->values[1].second.size(), 2 * size_t(kLarge));
  EXPECT_LT(separated->rest.size(), file.size() - 3 * kLarge);
}

TEST(EmbeddedValues, LieInTheFile) {
  std::string file = someModel().SerializeAsString();
  auto separated = separateValues(file);
  ASSERT_TRUE(separated);
  for (auto [number, values] : separated->values) {
    EXPECT_GE(values.data(), file.data());
    EXPECT_LE(values.data() + values.size(), file.data() + file.size());
  }
}

TEST(EmbeddedValues, AndTheRestAreTheModel) {
  std::string file = someModel().SerializeAsString();
  auto separated = separateValues(file);
  ASSERT_TRUE(separated);
  EXPECT_EQ(joined(*separated).SerializeAsString(), file);
}

// protobuf joins what a file says of a message in several places.
TEST(EmbeddedValues, CountInitializersOfAllPartsOfAGraph) {
  std::string one = someModel().SerializeAsString(), file = one + one;
  auto separated = separateValues(file);
  ASSERT_TRUE(separated);
  ASSERT_EQ(separated->values.size(), 4u);
  EXPECT_EQ(separated->values[2].first, 5);
  ModelProto whole;
  ASSERT_TRUE(whole.ParseFromString(file));
  EXPECT_EQ(joined(*separated).SerializeAsString(), whole.SerializeAsString());
}

TEST(EmbeddedValues, AreTheLastThatATensorStates) {
  ModelProto model;
  addTensor(model, "w", {2, kLarge}, 2 * kLarge);
  std::string values(3 * kLarge, 'z'), tensor;
  tensor = model.graph().initializer(0).SerializeAsString();
  tensor += varint(9 << 3 | 2) + varint(values.size()) + values;
  std::string graph = varint(5 << 3 | 2) + varint(tensor.size()) + tensor;
  std::string file = varint(7 << 3 | 2) + varint(graph.size()) + graph;
  ModelProto whole;
  ASSERT_TRUE(whole.ParseFromString(file));
  auto separated = separateValues(file);
  ASSERT_TRUE(separated);
  EXPECT_EQ(joined(*separated).SerializeAsString(), whole.SerializeAsString());
}

// Whatever is cut off or flipped: both parts together are what protobuf makes
// of the file, where it makes something of it.
TEST(EmbeddedValues, AgreeWithProtobufOnDamagedFiles) {
  std::string file = someModel().SerializeAsString();
  for (size_t at = 0; at < file.size(); at = at < 400 ? at + 1 : at * 5 / 4)
    for (bool cuts : {true, false}) {
      std::string damaged = cuts ? file.substr(0, at) : file;
      if (!cuts)
        damaged[at] ^= 0x55;
      ModelProto whole, rest;
      auto separated = separateValues(damaged);
      if (!separated)
        continue;
      bool parses = whole.ParseFromString(damaged);
      ASSERT_EQ(rest.ParseFromString(separated->rest), parses) << at;
      if (parses)
        EXPECT_EQ(joined(*separated).SerializeAsString(),
                  whole.SerializeAsString())
            << at;
    }
}
