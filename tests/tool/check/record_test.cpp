// What Gradus records passes its own check, and a mistake leaves nothing.

#include "tests/this_build.h"
#include "tool/check/check_run.h"
#include "tool/check/record.h"

#include "runtime/safetensors.h"

#include "absl/strings/str_join.h"

#include <gtest/gtest.h>
#include <unistd.h>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus::check {
namespace {

namespace fs = std::filesystem;

const std::string kDigits = GRADUS_SOURCE_DIR "/docs/examples/digits/";

struct Recording {
  Recording() {
    fs::remove_all(folder);
    request.model.model = kDigits + "lenet.onnx";
    request.model.dims = {"batch=4"};
    request.model.plan.threads = 1;
    request.data = {kDigits + "test.safetensors"};
    request.steps = 3;
  }
  ~Recording() { fs::remove_all(folder); }

  std::string mistake() {
    try {
      recordCase(*gradus_compiler(), request, folder);
    } catch (const std::exception &error) {
      EXPECT_FALSE(fs::exists(folder));
      EXPECT_FALSE(fs::exists(folder.string() + ".partial"));
      return error.what();
    }
    return "";
  }

  RecordRequest request;
  fs::path folder = fs::temp_directory_path() /
                    ("gradus_record_test." + std::to_string(getpid()));
};

} // namespace

TEST(Record, WritesACaseThatPasses) {
  Recording recording;
  // An optimizer that PyTorch's recorder does not know, with settings of ours.
  recording.request.model.recipe.overrides = {"optimizer.type=lion",
                                              "optimizer.learning_rate=0.001",
                                              "fixed=[\"conv1.*\"]"};
  ASSERT_EQ(recording.mistake(), "");
  auto recorded = RecordedCase::open(recording.folder);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  EXPECT_EQ(recorded->description().at("parameters").size(), 8u);
  Outcome outcome =
      checkRun(*gradus_compiler(), *recorded, "model.onnx", "lion", {});
  EXPECT_TRUE(outcome.passed()) << absl::StrJoin(outcome.failures, "\n");
  EXPECT_GT(outcome.comparisons, 50u);
}

TEST(Record, RefusesWhatACaseCannotSay) {
  Recording recording;
  recording.request.model.recipe.overrides = {"accumulation=2"};
  EXPECT_EQ(recording.mistake(), "recipe: a recorded case cannot say "
                                 "`accumulation`, which is 2");
}

TEST(Record, WritesNormalizedDataAndNoneThatIsDrawn) {
  Recording recording;
  recording.request.model.recipe.overrides = {
      "inputs.augment={\"image\":{\"flip\":true}}"};
  EXPECT_EQ(recording.mistake(),
            "recipe: a recorded case cannot say `inputs.augment`: its batches "
            "are the same for all who train by it");
  recording.request.model.recipe.overrides = {
      "inputs.normalize={\"image\":{\"mean\":[0.5],\"std\":[0.25]}}"};
  ASSERT_EQ(recording.mistake(), "");
  auto raw = runtime::Safetensors::open(kDigits + "test.safetensors"),
       data = runtime::Safetensors::open(recording.folder / "data.safetensors");
  ASSERT_TRUE(raw.ok() && data.ok());
  const auto *batch = data->find("input.image.0");
  ASSERT_NE(batch, nullptr);
  auto *numbers = reinterpret_cast<const float *>(batch->data.data());
  auto *pixels =
      reinterpret_cast<const float *>(raw->find("image")->data.data());
  ASSERT_EQ(raw->find("image")->type.dtype, runtime::DType::f32);
  for (size_t i = 0; i < batch->data.size() / sizeof(float); ++i)
    ASSERT_EQ(numbers[i], (pixels[i] - 0.5f) / 0.25f) << i;
}

TEST(Record, NeedsAWholeBatch) {
  Recording recording;
  recording.request.model.dims = {"batch=500"};
  EXPECT_EQ(recording.mistake(),
            kDigits + "test.safetensors: has 360 samples, but one batch takes "
                      "500");
}

} // namespace gradus::check
