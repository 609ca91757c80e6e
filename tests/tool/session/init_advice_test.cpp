// What is said of weights whose names or shapes are not the model's.

#include "tests/tool/adder.h"
#include "tool/session/init_advice.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using gradus::runtime::DType;
using gradus::runtime::Safetensors;
using testing::HasSubstr;

namespace {

/// A file of one tensor, beside an adder, whose parameter is `total` (8 f32).
struct Given {
  Given(const std::string &name, std::vector<int64_t> shape) {
    std::vector<uint8_t> bytes(*gradus::runtime::bytesOf({DType::f32, shape}));
    path = adder.path + ".safetensors";
    EXPECT_TRUE(gradus::runtime::writeSafetensors(
                    path, {{name, {DType::f32, shape}, bytes}})
                    .ok());
    file.emplace(take(Safetensors::open(path)));
  }
  ~Given() { std::filesystem::remove(path); }

  Adder adder;
  std::unique_ptr<gradus::runtime::Session> session = adder.open();
  std::string path;
  std::optional<Safetensors> file;
};

std::string same(const std::string &name) { return name; }

} // namespace

TEST(InitAdvice, ProposesTheRuleThatNamesTheModels) {
  Given given("module.total", {8});
  EXPECT_EQ(adviceOnNames(*given.file, same, *given.session),
            "; it has module.total; --init-map 'module.*=*' names 1 of its "
            "tensors as the model does");
  EXPECT_EQ(adviceOnRest(*given.file, same, *given.session),
            "; --init-map 'module.*=*' names 1 of its tensors as the model "
            "does");
}

TEST(InitAdvice, ShowsNamesThatNoRuleFits) {
  Given given("other", {8});
  EXPECT_EQ(adviceOnNames(*given.file, same, *given.session), "; it has other");
  EXPECT_EQ(adviceOnRest(*given.file, same, *given.session), "");
}

TEST(InitAdvice, ProposesNothingForWhatTheFileFillsAlready) {
  Given given("total", {8});
  std::vector<uint8_t> bytes(8 * sizeof(float));
  ASSERT_TRUE(gradus::runtime::writeSafetensors(
                  given.path, {{"total", {DType::f32, {8}}, bytes},
                               {"other.total", {DType::f32, {8}}, bytes}})
                  .ok());
  Safetensors file = take(Safetensors::open(given.path));
  EXPECT_EQ(adviceOnRest(file, same, *given.session), "");
}

TEST(InitAdvice, SaysNothingOfWhatARuleLeavesOut) {
  Given given("other", {8});
  auto none = [](const std::string &) { return std::string(); };
  EXPECT_EQ(adviceOnNames(*given.file, none, *given.session), "");
}

TEST(InitAdvice, LeavesOutWhatHasAnotherShape) {
  Given given("total", {6});
  EXPECT_THAT(adviceOnShapes(*given.file, same, *given.session),
              HasSubstr("; --init-map 'total=', before other rules, leaves out "
                        "what does not fit"));
  EXPECT_EQ(adviceOnShapes(*Given("total", {8}).file, same, *given.session),
            "");
}

TEST(InitAdvice, LeavesOutWholeModules) {
  Given given("old.fc.total", {6});
  auto renamed = [](const std::string &) { return std::string("total"); };
  EXPECT_THAT(adviceOnShapes(*given.file, renamed, *given.session),
              HasSubstr("--init-map 'old.fc.*='"));
}
