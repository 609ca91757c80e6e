// What a session lends of its states, beyond what the C API's tests show.

#include "runtime/session/session.h"

#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

struct SessionStates : testing::TestWithParam<const char *> {
  std::unique_ptr<Session> session =
      *Session::create(*Artifact::fromBytes(TestArtifact().bytes(), "adder"),
                       deviceOf(GetParam()));
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, SessionStates, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(SessionStates, AreLentWithAllTheirBytes) {
  for (size_t i = 0; i < session->states().size(); ++i) {
    auto data = session->stateData(static_cast<int>(i));
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ(data->size(), session->states()[i].bytes);
  }
}

TEST_P(SessionStates, AreEachLentForItself) {
  auto total = session->stateData(0), scale = session->stateData(1);
  ASSERT_TRUE(total.ok() && scale.ok());
  std::vector<uint8_t> before(total->begin(), total->end());
  std::memset(scale->data(), 0, scale->size());
  ASSERT_TRUE(session->stateChanged(1).ok());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), total->begin()));
  auto read = session->stateBytes(1);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)[0], 0);
}

/// A copy that was lent before a step does not undo the step.
TEST_P(SessionStates, ThatWereNotChangedStayAsStepsLeaveThem) {
  auto total = session->stateData(0);
  ASSERT_TRUE(total.ok());
  float x[kSize] = {1, 1, 1, 1, 1, 1, 1, 1};
  const void *inputs[] = {x};
  ASSERT_TRUE(session->step(0, inputs).ok());
  auto read = session->stateBytes(0);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(reinterpret_cast<const float *>(read->data())[5], 6);
}

TEST_P(SessionStates, BecomeTheBytesOfAFile) {
  auto bytes = session->checkpointBytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  auto file = Safetensors::fromBytes({bytes->data.get(), bytes->size}, "saved");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->metadata().at("program"), "adder");
  EXPECT_TRUE(session->loadCheckpoint(*file, "saved").ok());
}

TEST(SessionState, CannotBeLentByADeviceThatIsLost) {
  auto device = std::make_shared<FakeDevice>();
  auto session = *Session::create(
      *Artifact::fromBytes(TestArtifact().bytes(), "adder"), device);
  ASSERT_TRUE(session->stateData(0).ok());
  device->lost = true;
  EXPECT_FALSE(session->stateData(0).ok());
  EXPECT_FALSE(session->stateChanged(0).ok());
}
