// A file may not say of its outputs what its nodes contradict.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using ::onnx::TensorProto;

namespace {

/// Gives its input, of [2, 4], as an output that is declared as said.
SmallModel declaring(const std::vector<std::string> &sizes, int type,
                     int given = TensorProto::FLOAT) {
  SmallModel model;
  model.input("x", {2, 4}, given).node("Identity", {"x"}, {"y"}).output("y");
  auto &declared =
      *model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  declared.set_elem_type(type);
  for (const std::string &size : sizes) {
    auto &dimension = *declared.mutable_shape()->add_dim();
    if (isdigit(size[0]))
      dimension.set_dim_value(std::stoi(size));
    else
      dimension.set_dim_param(size);
  }
  return model;
}

std::string notesOf(const SmallModel &model) {
  return notes(model.write(), "{}");
}

} // namespace

TEST(DeclaredOutputs, HaveTheTypeThatTheNodesGive) {
  EXPECT_EQ(import(declaring({"2", "4"}, TensorProto::INT64)).error,
            "declares its output \"y\" as INT64, but its nodes give elements "
            "of f32");
  EXPECT_EQ(import(declaring({"2", "4"}, TensorProto::STRING)).error,
            "declares its output \"y\" as STRING, but its nodes give elements "
            "of f32");
  EXPECT_EQ(import(declaring({}, TensorProto::INT8, TensorProto::UINT8)).error,
            "declares its output \"y\" as INT8, but its nodes give elements of "
            "ui8");
  for (int type : {TensorProto::UINT8, TensorProto::INT8, TensorProto::BOOL,
                   TensorProto::INT64, TensorProto::DOUBLE})
    EXPECT_EQ(import(declaring({}, type, type)).error, "");
}

TEST(DeclaredOutputs, MayHaveOtherSizesWithAWarning) {
  EXPECT_EQ(notesOf(declaring({"99", "99"}, TensorProto::FLOAT)),
            "output \"y\" is declared as [99, 99], but its nodes give [2, 4], "
            "which counts");
  EXPECT_EQ(notesOf(declaring({"batch"}, TensorProto::FLOAT)),
            "output \"y\" is declared as [batch], but its nodes give [2, 4], "
            "which counts");
}

TEST(DeclaredOutputs, MayLeaveSizesOpen) {
  EXPECT_EQ(notesOf(declaring({"2", "4"}, TensorProto::FLOAT)), "");
  EXPECT_EQ(notesOf(declaring({"batch", "4"}, TensorProto::FLOAT)), "");
}
