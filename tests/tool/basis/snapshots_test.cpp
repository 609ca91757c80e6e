// Checkpoints that are read as vectors: their order, their types, and what is
// refused.

#include "tests/tool/adder.h"
#include "tool/basis/snapshots.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::cli;
using namespace gradus::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

StateInfo stateOf(const std::string &name, std::vector<int64_t> shape) {
  StateInfo state;
  state.name = name;
  state.type = {DType::f32, std::move(shape)};
  state.bytes = *bytesOf(state.type);
  return state;
}

template <typename Number>
std::span<const uint8_t> raw(const std::vector<Number> &numbers) {
  return {reinterpret_cast<const uint8_t *>(numbers.data()),
          numbers.size() * sizeof(Number)};
}

/// The artifact, and files of a matrix `w` [2, 2] and a vector `b` [1].
struct SnapshotsOf : testing::Test {
  std::string write(const std::string &name, std::vector<float> w, float b,
                    std::map<std::string, std::string> metadata = {}) {
    std::string path = testing::TempDir() + "/" + name + ".safetensors";
    std::vector<float> bias = {b};
    EXPECT_TRUE(writeSafetensors(path,
                                 {{"b", {DType::f32, {1}}, raw(bias)},
                                  {"w", {DType::f32, {2, 2}}, raw(w)}},
                                 metadata)
                    .ok());
    return path;
  }

  Snapshots open(const std::vector<std::string> &paths) const {
    return {paths, states, *artifact};
  }

  std::string refusal(const std::vector<std::string> &paths) const {
    try {
      open(paths);
    } catch (const Failure &failure) {
      return failure.what();
    }
    return "";
  }

  std::string warnings(const std::vector<std::string> &paths) const {
    testing::internal::CaptureStderr();
    open(paths);
    return testing::internal::GetCapturedStderr();
  }

  Adder adder;
  std::shared_ptr<const Artifact> artifact = take(Artifact::open(adder.path));
  std::vector<StateInfo> states = {stateOf("w", {2, 2}), stateOf("b", {1})};
};

} // namespace

TEST_F(SnapshotsOf, StandInTheOrderOfTheirSteps) {
  Snapshots snapshots =
      open({write("ten", {1, 2, 3, 4}, 5, {{"step", "100"}}),
            write("two", {1, 2, 3, 4}, 6, {{"step", "20"}}),
            write("five", {1, 2, 3, 4}, 7, {{"step", "50"}})});
  EXPECT_EQ(snapshots.stepsText(), ", steps 20 to 100");
  EXPECT_THAT(snapshots.newest().path, HasSubstr("ten"));
  SnapshotVectors vectors(snapshots, states);
  EXPECT_EQ(vectors.count(), 3u);
  EXPECT_EQ(vectors.length(), 5u);
  std::vector<double> last(1);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(vectors.read(i, 4, last).ok());
    EXPECT_EQ(last[0], (std::vector{6, 7, 5})[i]);
  }
}

TEST_F(SnapshotsOf, NameOneStepOnce) {
  EXPECT_EQ(open({write("one", {1, 2, 3, 4}, 5, {{"step", "60"}}),
                  write("other", {1, 2, 3, 4}, 6, {{"step", "60"}})})
                .stepsText(),
            " of step 60");
}

TEST_F(SnapshotsOf, HaveOtherStatesThatAreAskedFor) {
  Snapshots snapshots = open({write("one", {1, 2, 3, 4}, 5)});
  snapshots.verify(states);
  states.push_back(stateOf("more", {1}));
  try {
    snapshots.verify(states);
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.what(), snapshots.newest().path + ": lacks more");
  }
}

TEST_F(SnapshotsOf, KeepTheGivenOrderWithoutSteps) {
  Snapshots snapshots =
      open({write("z", {1, 2, 3, 4}, 5), write("a", {1, 2, 3, 4}, 6)});
  EXPECT_EQ(snapshots.stepsText(), "");
  EXPECT_THAT(snapshots.newest().path, HasSubstr("a.safetensors"));
}

// The states' order counts, and not that of the file.
TEST_F(SnapshotsOf, AreReadFromAnyNumberOn) {
  Snapshots snapshots = open({write("one", {1, 2, 3, 4}, 5)});
  SnapshotVectors vectors(snapshots, states);
  EXPECT_EQ(vectors.beginOf(1), 4u);
  std::vector<double> all(5), part(3);
  ASSERT_TRUE(vectors.read(0, 0, all).ok());
  EXPECT_THAT(all, ElementsAre(1, 2, 3, 4, 5));
  ASSERT_TRUE(vectors.read(0, 2, part).ok());
  EXPECT_THAT(part, ElementsAre(3, 4, 5));
}

TEST_F(SnapshotsOf, MayHaveStatesWithoutNumbers) {
  states.insert(states.begin() + 1, stateOf("none", {0}));
  std::string path = testing::TempDir() + "/empty.safetensors";
  std::vector<float> w = {1, 2, 3, 4}, b = {5};
  ASSERT_TRUE(writeSafetensors(path, {{"none", {DType::f32, {0}}, {}},
                                      {"w", {DType::f32, {2, 2}}, raw(w)},
                                      {"b", {DType::f32, {1}}, raw(b)}})
                  .ok());
  Snapshots snapshots = open({path});
  SnapshotVectors vectors(snapshots, states);
  std::vector<double> all(5), last(1);
  ASSERT_TRUE(vectors.read(0, 0, all).ok());
  EXPECT_THAT(all, ElementsAre(1, 2, 3, 4, 5));
  ASSERT_TRUE(vectors.read(0, 4, last).ok());
  EXPECT_THAT(last, ElementsAre(5));
}

TEST_F(SnapshotsOf, AreConvertedFromOtherFloats) {
  std::string path = testing::TempDir() + "/narrow.safetensors";
  std::vector<uint16_t> w = {0x3c00, 0xc000, 0x3800, 0x0001}, // f16
      b = {0x4040};                                           // bf16
  ASSERT_TRUE(writeSafetensors(path, {{"w", {DType::f16, {2, 2}}, raw(w)},
                                      {"b", {DType::bf16, {1}}, raw(b)}})
                  .ok());
  Snapshots snapshots = open({path});
  std::vector<double> all(5);
  ASSERT_TRUE(SnapshotVectors(snapshots, states).read(0, 0, all).ok());
  EXPECT_THAT(all, ElementsAre(1, -2, 0.5, std::exp2(-24), 3));
}

TEST_F(SnapshotsOf, HoldFiniteNumbers) {
  Snapshots snapshots = open(
      {write("good", {1, 2, 3, 4}, 5), write("bad", {1, 2, NAN, 4}, INFINITY)});
  SnapshotVectors vectors(snapshots, states);
  std::vector<double> all(5), last(1);
  EXPECT_TRUE(vectors.read(0, 0, all).ok());
  EXPECT_EQ(vectors.read(1, 0, all).message(),
            snapshots.newest().path +
                ": w holds nan at element 2: expected finite numbers");
  EXPECT_EQ(vectors.read(1, 4, last).message(),
            snapshots.newest().path +
                ": b holds inf at element 0: expected finite numbers");
}

TEST_F(SnapshotsOf, AreRefusedWhereTheyDoNotFit) {
  std::string good = write("good", {1, 2, 3, 4}, 5);
  std::string path = testing::TempDir() + "/other.safetensors";
  std::vector<float> w = {1, 2, 3, 4};
  ASSERT_TRUE(writeSafetensors(path, {{"w", {DType::f32, {4}}, raw(w)}}).ok());
  EXPECT_EQ(refusal({good, path}),
            path + ": lacks b; w is 4xf32 in the file and 2x2xf32 in the "
                   "artifact");
  std::string damaged =
      write("damaged", {1, 2, 3, 4}, 5, {{"content_hash", "0"}});
  EXPECT_THAT(refusal({good, damaged}), HasSubstr(damaged + ": is damaged"));
  EXPECT_THAT(refusal({good, adder.path}), HasSubstr("is a Gradus artifact"));
  EXPECT_THAT(refusal({good, "/nowhere.safetensors"}),
              HasSubstr("/nowhere.safetensors: cannot open"));
}

TEST_F(SnapshotsOf, WarnOfAnotherProgramAndOfEqualContents) {
  std::string one = write("one", {1, 2, 3, 4}, 5, {{"program", "adder"}}),
              other = write("other", {1, 2, 3, 4}, 6, {{"program", "net"}});
  EXPECT_EQ(warnings({one}), "");
  EXPECT_THAT(warnings({one, other}),
              HasSubstr(other + " is a checkpoint of the program 'net', but " +
                        adder.path + " is of 'adder'"));
  auto hashed = [&](const std::string &name) {
    std::string path = testing::TempDir() + "/" + name + ".safetensors";
    auto session = adder.open();
    EXPECT_TRUE(session->saveCheckpoint(path).ok());
    return path;
  };
  states = {stateOf("total", {8})};
  std::string first = hashed("first"), second = hashed("second");
  EXPECT_THAT(warnings({first, second}),
              HasSubstr(second + " holds the same as " + first +
                        ", which counts twice"));
}
