// The file's ending picks the format.

#include "tool/failure.h"
#include "tool/run/tensor_file.h"
#include "training/data/dataset.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace gradus::cli;
using gradus::runtime::DType;

TEST(TensorFile, WritesBothFormats) {
  for (std::string ending : {".safetensors", ".npz"}) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("gradus_tensors" + ending))
            .string();
    writeTensors(
        path, {{"logits", {DType::f32, {2, 1}}, {0, 0, 128, 63, 0, 0, 0, 64}}});
    auto dataset = gradus::data::Dataset::open({path});
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(dataset->contents(), "logits 2x1xf32");
    std::filesystem::remove(path);
  }
}

TEST(TensorFile, RefusesOtherEndings) {
  EXPECT_THROW(checkTensorPath("out.txt"), Failure);
}
