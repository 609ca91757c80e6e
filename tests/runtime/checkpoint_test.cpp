#include "runtime/checkpoint.h"

#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "test_artifact.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

std::unique_ptr<Session> start() {
  auto artifact = Artifact::fromBytes(TestArtifact().bytes(), "adder");
  return *Session::create(*artifact, {.threads = 1});
}

float totalOf(const Session &session, int i) {
  return static_cast<const float *>(session.stateBuffer(0))[i];
}

/// A copy of a checkpoint with its tensors changed.
template <typename Change>
std::string changed(const std::string &path, Change change) {
  auto file = Safetensors::open(path);
  std::vector<NamedTensor> tensors = file->tensors();
  change(tensors);
  std::string other = temporaryPath("changed.safetensors");
  EXPECT_TRUE(writeSafetensors(other, tensors).ok());
  return other;
}

struct Checkpoint : testing::Test {
  void SetUp() override {
    session = start();
    float ones[kSize];
    std::fill_n(ones, kSize, 1.0f);
    const void *inputs[] = {ones};
    ASSERT_TRUE(session->steps(0, 1, inputs, {}).ok());
    ASSERT_TRUE(session->saveCheckpoint(path).ok());
  }

  /// What loading a file says, without its path.
  std::string words(const std::string &file,
                    Restore what = Restore::everything) {
    Status status = start()->loadCheckpoint(file, what);
    return status.ok() ? "ok" : status.message().substr(file.size() + 2);
  }

  std::unique_ptr<Session> session;
  std::string path = temporaryPath("checkpoint.safetensors");
};

} // namespace

TEST_F(Checkpoint, BringsEverythingBack) {
  auto fresh = start();
  ASSERT_TRUE(fresh->loadCheckpoint(path).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 4);
  EXPECT_EQ(fresh->stepCount(), 1);
  auto file = Safetensors::open(path);
  EXPECT_EQ(file->metadata().at("program"), "adder");
  EXPECT_EQ(file->metadata().at("step"), "1");
}

TEST_F(Checkpoint, GivesTheSameBytesForTheSameState) {
  std::string again = temporaryPath("again.safetensors");
  ASSERT_TRUE(session->saveCheckpoint(again).ok());
  auto one = Safetensors::open(path), two = Safetensors::open(again);
  for (size_t i = 0; i < one->tensors().size(); ++i)
    EXPECT_TRUE(std::equal(one->tensors()[i].data.begin(),
                           one->tensors()[i].data.end(),
                           two->tensors()[i].data.begin()));
}

TEST_F(Checkpoint, SaysWhenAnyByteHasChanged) {
  auto file = MappedFile::open(path);
  std::vector<uint8_t> bytes(file->bytes().begin(), file->bytes().end());
  size_t header = 8 + bytes[0] + bytes[1] * 256u, taken = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 1;
    std::string said = words(writeFile(damaged, "damaged.safetensors"));
    if (i >= header)
      EXPECT_THAT(said, testing::MatchesRegex(
                            "is damaged: its contents have the hash "
                            "[0-9a-f]*, but were written with [0-9a-f]*"))
          << i;
    taken += said == "ok";
  }
  EXPECT_EQ(taken, std::strlen("content_hash")) << "where only that is lost";
}

TEST_F(Checkpoint, SaysWhichFileIsDamaged) {
  std::map<std::string, std::string> metadata{{"content_hash", "0"}};
  auto file = Safetensors::open(path);
  std::string other = temporaryPath("other.safetensors");
  ASSERT_TRUE(writeSafetensors(other, file->tensors(), metadata).ok());
  EXPECT_THAT(session->loadCheckpoint(other).message(),
              testing::StartsWith(other + ": is damaged: "));
}

TEST_F(Checkpoint, SaysWhatIsMissingOrUnknown) {
  EXPECT_EQ(words(changed(
                path, [](auto &tensors) { tensors.erase(tensors.begin()); })),
            "lacks total");
  EXPECT_EQ(words(changed(path, [](auto &tensors) { tensors.clear(); })),
            "lacks total, scale, step");
  EXPECT_EQ(words(changed(path,
                          [](auto &tensors) {
                            tensors.push_back({"conv", {DType::f32, {0}}, {}});
                          })),
            "has conv, which the artifact does not know");
}

TEST_F(Checkpoint, SaysWhichShapeDiffers) {
  EXPECT_EQ(words(changed(
                path, [](auto &tensors) { tensors[0].type.shape = {2, 4}; })),
            "total is 2x4xf32 in the file and 8xf32 in the artifact");
}

TEST_F(Checkpoint, SaysAllThatDoesNotFitAtOnce) {
  EXPECT_EQ(words(changed(path,
                          [](auto &tensors) {
                            tensors[0].type.shape = {2, 4};
                            tensors[1].name = "conv";
                          })),
            "lacks scale; has conv, which the artifact does not know; total is "
            "2x4xf32 in the file and 8xf32 in the artifact");
}

TEST_F(Checkpoint, TakesNotesAlong) {
  ASSERT_TRUE(session->saveCheckpoint(path, {{"training", "far"}}).ok());
  EXPECT_EQ(Safetensors::open(path)->metadata().at("training"), "far");
}

TEST_F(Checkpoint, StartsFromWeightsOfOtherNames) {
  std::string other =
      changed(path, [](auto &tensors) { tensors[0].name = "sum"; });
  Rename rename = [](const std::string &name) {
    return name == "sum" ? "total" : name == "step" ? "" : name;
  };
  auto fresh = start();
  TakenWeights taken;
  ASSERT_TRUE(fresh->loadWeights(other, rename, &taken).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 4);
  EXPECT_EQ(taken.taken, (std::vector<std::string>{"total", "scale"}));
  EXPECT_EQ(taken.unused, (std::vector<std::string>{"step"}));
  EXPECT_EQ(taken.missing, (std::vector<std::string>{}));
}

TEST_F(Checkpoint, TakesAGivenNameBeforeTheSameOneOfAnother) {
  auto average = [](const char *name) {
    return [name](auto &tensors) {
      tensors.push_back(tensors[0]);
      tensors.back().name = name;
      tensors.back().data = tensors[0].data;
    };
  };
  auto load = [](const std::string &file, const char *from) {
    return start()->loadWeights(file, [from](const std::string &name) {
      return name.starts_with(from) ? "total" : name;
    });
  };
  EXPECT_TRUE(load(changed(path, average("average")), "average").ok());
  std::string two = changed(path, [&](auto &tensors) {
    average("a1")(tensors);
    average("a2")(tensors);
  });
  EXPECT_EQ(load(two, "a").message(),
            two + ": tensors a1 and a2 are both meant for total");
}

TEST_F(Checkpoint, ConvertsWeightsOfOtherFloats) {
  std::vector<double> wide = {8, 7, 6, 5, 4, 3, 2, 0.1};
  std::string other = changed(path, [&](auto &tensors) {
    tensors[0].type.dtype = DType::f64;
    tensors[0].data = {reinterpret_cast<const uint8_t *>(wide.data()),
                       wide.size() * sizeof(double)};
  });
  auto fresh = start();
  ASSERT_TRUE(fresh->loadCheckpoint(other, Restore::parameters).ok());
  EXPECT_EQ(totalOf(*fresh, 0), 8);
  EXPECT_EQ(totalOf(*fresh, 7), 0.1f);
  EXPECT_NE(words(other), "ok") << "a checkpoint is taken as it is";
}

TEST_F(Checkpoint, ChangesNothingOnAnError) {
  auto fresh = start();
  std::string broken =
      changed(path, [](auto &tensors) { tensors[1].type.shape = {4}; });
  EXPECT_FALSE(fresh->loadCheckpoint(broken).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 3);
}

TEST_F(Checkpoint, StartsFromParametersAlone) {
  std::string part = changed(path, [](auto &tensors) {
    tensors.erase(tensors.begin() + 1, tensors.end());
    tensors.push_back({"of another model", {DType::f32, {0}}, {}});
  });
  auto fresh = start();
  ASSERT_TRUE(fresh->loadCheckpoint(part, Restore::parameters).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 4);
  EXPECT_EQ(fresh->stepCount(), 0) << "not a parameter";
  EXPECT_EQ(words(changed(path, [](auto &tensors) { tensors.clear(); }),
                  Restore::parameters),
            "has none of the parameters, such as total");
}

TEST_F(Checkpoint, SaysThatAFileIsMissing) {
  EXPECT_EQ(session->loadCheckpoint("nowhere").message(),
            "nowhere: cannot open: No such file or directory");
}
