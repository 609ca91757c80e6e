#include "runtime/session/checkpoint.h"

#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

std::unique_ptr<Session> startOn(const char *device) {
  auto artifact = Artifact::fromBytes(TestArtifact().bytes(), "adder");
  return *Session::create(*artifact, deviceOf(device), {.threads = 1});
}

std::vector<float> floatsOf(const Session &session, const char *state) {
  std::vector<float> floats(kSize);
  EXPECT_TRUE(
      session.readState(state, floats.data(), kSize * sizeof(float)).ok());
  return floats;
}

float totalOf(const Session &session, int i) {
  return floatsOf(session, "total")[i];
}

void step(Session &session, int count) {
  std::vector<float> ones(kSize, 1);
  const void *inputs[] = {ones.data()};
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE(session.step(0, inputs).ok());
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

struct Checkpoint : testing::TestWithParam<const char *> {
  void SetUp() override {
    session = start();
    step(*session, 1);
    ASSERT_TRUE(session->saveCheckpoint(path).ok());
  }

  static std::unique_ptr<Session> start() { return startOn(GetParam()); }

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

INSTANTIATE_TEST_SUITE_P(Each, Checkpoint, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(Checkpoint, BringsEverythingBack) {
  auto fresh = start();
  ASSERT_TRUE(fresh->loadCheckpoint(path).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 4);
  EXPECT_EQ(*fresh->stepCount(), 1);
  auto file = Safetensors::open(path);
  EXPECT_EQ(file->metadata().at("program"), "adder");
  EXPECT_EQ(file->metadata().at("step"), "1");
}

TEST_P(Checkpoint, GivesTheSameBytesForTheSameState) {
  std::string again = temporaryPath("again.safetensors");
  ASSERT_TRUE(session->saveCheckpoint(again).ok());
  auto one = Safetensors::open(path), two = Safetensors::open(again);
  for (size_t i = 0; i < one->tensors().size(); ++i)
    EXPECT_TRUE(std::equal(one->tensors()[i].data.begin(),
                           one->tensors()[i].data.end(),
                           two->tensors()[i].data.begin()));
}

TEST_P(Checkpoint, SaysWhenAnyByteHasChanged) {
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

TEST_P(Checkpoint, SaysWhichFileIsDamaged) {
  std::map<std::string, std::string> metadata{{"content_hash", "0"}};
  auto file = Safetensors::open(path);
  std::string other = temporaryPath("other.safetensors");
  ASSERT_TRUE(writeSafetensors(other, file->tensors(), metadata).ok());
  EXPECT_THAT(session->loadCheckpoint(other).message(),
              testing::StartsWith(other + ": is damaged: "));
}

TEST_P(Checkpoint, SaysWhatIsMissingOrUnknown) {
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

TEST_P(Checkpoint, SaysWhichShapeDiffers) {
  EXPECT_EQ(words(changed(
                path, [](auto &tensors) { tensors[0].type.shape = {2, 4}; })),
            "total is 2x4xf32 in the file and 8xf32 in the artifact");
}

TEST_P(Checkpoint, SaysAllThatDoesNotFitAtOnce) {
  EXPECT_EQ(words(changed(path,
                          [](auto &tensors) {
                            tensors[0].type.shape = {2, 4};
                            tensors[1].name = "conv";
                          })),
            "lacks scale; has conv, which the artifact does not know; total is "
            "2x4xf32 in the file and 8xf32 in the artifact");
}

TEST_P(Checkpoint, TakesNotesAlong) {
  ASSERT_TRUE(session->saveCheckpoint(path, {{"training", "far"}}).ok());
  EXPECT_EQ(Safetensors::open(path)->metadata().at("training"), "far");
}

TEST_P(Checkpoint, StartsFromWeightsOfOtherNames) {
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

TEST_P(Checkpoint, TakesAGivenNameBeforeTheSameOneOfAnother) {
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

TEST_P(Checkpoint, ConvertsWeightsOfOtherFloats) {
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

TEST_P(Checkpoint, ChangesNothingOnAnError) {
  auto fresh = start();
  std::string broken =
      changed(path, [](auto &tensors) { tensors[1].type.shape = {4}; });
  EXPECT_FALSE(fresh->loadCheckpoint(broken).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 3);
}

TEST_P(Checkpoint, StartsFromParametersAlone) {
  std::string part = changed(path, [](auto &tensors) {
    tensors.erase(tensors.begin() + 1, tensors.end());
    tensors.push_back({"of another model", {DType::f32, {0}}, {}});
  });
  auto fresh = start();
  ASSERT_TRUE(fresh->loadCheckpoint(part, Restore::parameters).ok());
  EXPECT_EQ(totalOf(*fresh, 3), 4);
  EXPECT_EQ(*fresh->stepCount(), 0) << "not a parameter";
  EXPECT_EQ(words(changed(path, [](auto &tensors) { tensors.clear(); }),
                  Restore::parameters),
            "has none of the parameters, such as total");
}

TEST_P(Checkpoint, SaysThatAFileIsMissing) {
  EXPECT_EQ(session->loadCheckpoint("nowhere").message(),
            "nowhere: cannot open: No such file or directory");
}

// Names alone tell what is what, so that the device may be another.
TEST(Checkpoints, GoOnOnAnotherDevice) {
  for (const char *from : {"cpu", "fake"})
    for (const char *to : {"cpu", "fake"}) {
      auto first = startOn(from), second = startOn(to);
      std::string file = temporaryPath("from_a_device.safetensors");
      step(*first, 2);
      ASSERT_TRUE(first->saveCheckpoint(file).ok());
      ASSERT_TRUE(second->loadCheckpoint(file).ok());
      for (Session *session : {first.get(), second.get()}) {
        step(*session, 3);
        std::vector<float> sum(kSize);
        void *outputs[] = {sum.data()};
        ASSERT_TRUE(
            session->step(session->findGraph("evaluate"), {}, outputs).ok());
        EXPECT_EQ(sum, (std::vector<float>{5, 6, 7, 8, 9, 10, 11, 12}))
            << from << " to " << to;
        EXPECT_EQ(*session->stepCount(), 5);
      }
      EXPECT_EQ(floatsOf(*first, "total"), floatsOf(*second, "total"));
    }
}

namespace {

/// Tensors of several sizes, one of which is more than a piece of the writer.
struct Tensors {
  std::vector<uint8_t> small = std::vector<uint8_t>(3, 7),
                       large = std::vector<uint8_t>((3 << 20) + 5);
  std::vector<NamedTensor> all;

  Tensors() {
    for (size_t i = 0; i < large.size(); ++i)
      large[i] = static_cast<uint8_t>(i * i >> 8);
    all = {{"none", {DType::f32, {0, 2}}, {}},
           {"small", {DType::u8, {3}}, small},
           {"large", {DType::u8, {int64_t(large.size())}}, large},
           {"also none", {DType::f32, {0}}, {}}};
  }
  std::vector<uint8_t> data() const {
    std::vector<uint8_t> bytes = small;
    bytes.insert(bytes.end(), large.begin(), large.end());
    return bytes;
  }
};

} // namespace

TEST(TensorsWriter, WritesPiecesOfAnySizeWithTheHashOfTheirContents) {
  Tensors tensors;
  std::vector<uint8_t> data = tensors.data();
  std::string hash;
  for (size_t piece : {1000u, 1u << 20, 1u << 22}) {
    std::string path = temporaryPath("pieces.safetensors");
    auto writer = TensorsWriter::create(path, tensors.all, {{"step", "7"}});
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (size_t at = 0; at < data.size(); at += piece)
      ASSERT_TRUE(writer
                      ->write(std::span(data).subspan(
                          at, std::min(piece, data.size() - at)))
                      .ok());
    ASSERT_TRUE(writer->commit().ok());
    auto file = Safetensors::open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->metadata().at("step"), "7");
    for (const NamedTensor &tensor : tensors.all) {
      const NamedTensor *found = file->find(tensor.name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->type, tensor.type);
      EXPECT_TRUE(std::ranges::equal(found->data, tensor.data));
    }
    EXPECT_TRUE(verifyContents(*file).ok());
    EXPECT_TRUE(hash.empty() || hash == file->metadata().at("content_hash"));
    hash = file->metadata().at("content_hash");
    EXPECT_NE(hash, inHex(0));
  }
}

TEST(TensorsWriter, WritesNoFileOfTooFewOrTooManyBytes) {
  Tensors tensors;
  std::vector<uint8_t> data = tensors.data();
  std::string path = temporaryPath("wrong.safetensors");
  {
    auto writer = TensorsWriter::create(path, tensors.all, {});
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->write(std::span(data).first(13)).ok());
    EXPECT_EQ(writer->commit().message(),
              path + ": lacks 3145723 bytes of tensor large");
  }
  {
    auto writer = TensorsWriter::create(path, tensors.all, {});
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->write(data).ok());
    EXPECT_EQ(writer->write(std::span(data).first(1)).message(),
              path + ": is given more bytes than its 4 tensors have");
  }
  EXPECT_FALSE(Safetensors::open(path).ok());
  EXPECT_EQ(TensorsWriter::create(path, {{"w\xE9", {DType::f32, {}}, {}}}, {})
                .status()
                .message(),
            path + ": the name of tensor 'w\\xE9' is not UTF-8");
}

TEST(VerifyShapes, AcceptsOtherFloatsAndTensorsThatAreMore) {
  std::vector<uint8_t> bytes(32);
  std::string path = temporaryPath("shapes.safetensors");
  ASSERT_TRUE(
      writeSafetensors(path,
                       {{"a", {DType::f16, {2, 4}}, std::span(bytes).first(16)},
                        {"b", {DType::i32, {8}}, bytes},
                        {"c", {DType::f32, {8}}, bytes}})
          .ok());
  auto file = Safetensors::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto words = [&](const char *name, TensorType type) {
    StateInfo state;
    state.name = name;
    state.type = std::move(type);
    return verifyShapes(*file, {{&state, 0}}).message();
  };
  EXPECT_EQ(words("a", {DType::f32, {2, 4}}), "");
  EXPECT_EQ(words("a", {DType::f32, {8}}),
            "a is 2x4xf16 in the file and 8xf32 in the artifact");
  EXPECT_EQ(words("b", {DType::f32, {8}}),
            "b is 8xi32 in the file and 8xf32 in the artifact");
  EXPECT_EQ(words("d", {DType::f32, {8}}), "lacks d");
}

//===-- fixed states ------------------------------------------------------===//

/// A session of an artifact with a fixed state that is full of a number.
static std::unique_ptr<Session> startFixed(double number) {
  TestArtifact made;
  made.addFixed(number);
  return *Session::create(*Artifact::fromBytes(made.bytes(), "adder"),
                          deviceOf("cpu"), {.threads = 1});
}

TEST(FixedStates, AreInNoCheckpointButTheirHash) {
  std::string path = temporaryPath("fixed.safetensors");
  auto session = startFixed(2);
  step(*session, 1);
  ASSERT_TRUE(session->saveCheckpoint(path).ok());
  auto file = Safetensors::open(path);
  EXPECT_EQ(file->find("rows"), nullptr);
  ASSERT_TRUE(file->metadata().contains("fixed_hash"));
  EXPECT_TRUE(startFixed(2)->loadCheckpoint(path).ok());
  auto other = startFixed(3);
  EXPECT_EQ(
      other->loadCheckpoint(path).message(),
      path +
          ": is of a run with other values of the artifact's fixed "
          "states, such as rows: their hash is " +
          file->metadata().at("fixed_hash") + " there, and the artifact's is " +
          [&] {
            std::string own = temporaryPath("own.safetensors");
            EXPECT_TRUE(other->saveCheckpoint(own).ok());
            return Safetensors::open(own)->metadata().at("fixed_hash");
          }());
  EXPECT_EQ(totalOf(*other, 3), 3) << "nothing has changed";
  EXPECT_TRUE(other->loadCheckpoint(path, Restore::parameters).ok());
  EXPECT_EQ(totalOf(*other, 3), 4);
}

/// A file that says what it must hold has been written by an artifact, whose
/// fixed states it would know. A tool that edits a checkpoint knows no hash.
TEST(FixedStates, AreNotTakenFromAFileThatKnowsNone) {
  std::string path = temporaryPath("noted.safetensors"),
              other = temporaryPath("unnoted.safetensors");
  auto plain = startOn("cpu"), session = startFixed(2);
  step(*plain, 1);
  ASSERT_TRUE(plain->saveCheckpoint(path).ok());
  EXPECT_EQ(session->loadCheckpoint(path).message(),
            path + ": has a content_hash and no fixed_hash, so it is of an "
                   "artifact without fixed states, and this one has some, such "
                   "as rows; what edits a checkpoint leaves out both");
  EXPECT_EQ(totalOf(*session, 3), 3) << "nothing has changed";
  EXPECT_TRUE(session->loadCheckpoint(path, Restore::parameters).ok());
  auto file = Safetensors::open(path);
  std::map<std::string, std::string> metadata = file->metadata();
  metadata.erase("content_hash");
  ASSERT_TRUE(writeSafetensors(other, file->tensors(), metadata).ok());
  EXPECT_TRUE(session->loadCheckpoint(other).ok());
}

/// An artifact whose ranks share out a fixed state knows checkpoints of one
/// whose ranks each have all of it, and the other way round.
TEST(FixedStates, AreKnownByTheirWholes) {
  auto shared = [](double number) {
    TestArtifact made;
    made.addFixed(number);
    made.header.ranks = 2;
    auto &state = *made.header.states.back();
    state.per_rank = true;
    state.whole = std::make_unique<gradus::artifact::TensorTypeT>(*state.type);
    state.type->shape = {1};
    return *Session::create(*Artifact::fromBytes(made.bytes(), "adder"),
                            deviceOf("cpu"), {.threads = 1});
  };
  std::string whole = temporaryPath("whole.safetensors"),
              parts = temporaryPath("parts.safetensors");
  ASSERT_TRUE(startFixed(2)->saveCheckpoint(whole).ok());
  ASSERT_TRUE(shared(2)->saveCheckpoint(parts).ok());
  EXPECT_TRUE(shared(2)->loadCheckpoint(whole).ok());
  EXPECT_TRUE(startFixed(2)->loadCheckpoint(parts).ok());
  EXPECT_TRUE(shared(2)->loadCheckpoint(parts).ok());
  EXPECT_THAT(shared(3)->loadCheckpoint(parts).message(),
              testing::HasSubstr("such as rows: their hash is"));
}

TEST(FixedStates, CannotBeWritten) {
  auto session = startFixed(2);
  std::vector<float> numbers = {5, 6};
  EXPECT_EQ(session->writeState("rows", numbers.data(), 8).message(),
            "adder: state rows is fixed in the artifact, and cannot be "
            "written");
  ASSERT_TRUE(session->readState("rows", numbers.data(), 8).ok());
  EXPECT_EQ(numbers, std::vector<float>({2, 2}));
}

//===-- parts of ranks ----------------------------------------------------===//

/// Two ranks have a part each of a tensor of 3x5.
static std::unique_ptr<Session> startWithParts() {
  TestArtifact made;
  made.header.ranks = 2;
  made.weights.resize(15 * sizeof(float));
  gradus::artifact::StateT &state = *made.header.states[0];
  state.per_rank = true;
  state.role = gradus::artifact::Role::slot;
  state.whole = std::make_unique<gradus::artifact::TensorTypeT>();
  state.whole->shape = {3, 5};
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *Session::create(*artifact, deviceOf("cpu"), {.threads = 1});
}

TEST(CheckpointOfParts, HasWholesThatOthersGather) {
  auto session = startWithParts();
  std::string path = temporaryPath("parts.safetensors");
  EXPECT_EQ(session->saveCheckpoint(path).message(),
            path + ": state total: each rank has a part of it "
                   "(distribution.zero), so `gradus train` saves it on all of "
                   "them together");
  std::vector<float> whole(15, 2);
  std::vector<NamedTensor> others = {
      {"total",
       {DType::f32, {3, 5}},
       {reinterpret_cast<const uint8_t *>(whole.data()), 60}}};
  ASSERT_TRUE(session->saveCheckpoint(path, {}, nullptr, others).ok());
  auto file = Safetensors::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->find("total")->type, (TensorType{DType::f32, {3, 5}}));
  // What a rank has of it is dealt out by who knows the ranks.
  float before = totalOf(*session, 0);
  EXPECT_TRUE(session->loadCheckpoint(path).ok());
  EXPECT_EQ(totalOf(*session, 0), before);
}

TEST(CheckpointOfParts, HasNoOtherShape) {
  auto session = startWithParts();
  std::string path = temporaryPath("other.safetensors");
  std::vector<float> part(kSize);
  std::vector<NamedTensor> others = {
      {"total",
       {DType::f32, {kSize}},
       {reinterpret_cast<const uint8_t *>(part.data()), 4 * kSize}}};
  ASSERT_TRUE(session->saveCheckpoint(path, {}, nullptr, others).ok());
  EXPECT_EQ(session->loadCheckpoint(path).message(),
            path + ": total is 8xf32 in the file and 3x5xf32 in the artifact");
}
