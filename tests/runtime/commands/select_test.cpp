#include "runtime/artifact/artifact.h"
#include "runtime/artifact/command_kinds.h"
#include "runtime/cpu/command.h"
#include "tests/runtime/refusals.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;
namespace fb = gradus::artifact;

namespace {

/// A plan whose command selects two of five numbers of the arena.
struct Selecting {
  Selecting() {
    select.input = add(fb::DType::f32, 5, 0);
    select.indices = add(fb::DType::i32, 2, 64);
    select.values = add(fb::DType::f32, 2, 128);
    select.threshold = add(fb::DType::f32, 1, 192);
    select.scratch = add(fb::DType::u8, 64, 256);
    select.parts = 1;
    select.digit_bits = 4;
  }

  uint32_t add(fb::DType type, int64_t elements, uint64_t offset) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->type = std::make_unique<fb::TensorTypeT>();
    buffer->type->dtype = type;
    buffer->type->shape = {elements};
    buffer->offset = offset;
    buffer->size = 64;
    plan.buffers.push_back(std::move(buffer));
    addresses.push_back(arena + offset);
    return static_cast<uint32_t>(plan.buffers.size() - 1);
  }

  void run() {
    flatbuffers::FlatBufferBuilder tables, command;
    tables.Finish(fb::Plan::Pack(tables, &plan));
    command.Finish(fb::SelectCommand::Pack(command, &select));
    ThreadPool pool(1);
    CommandContext context{
        *flatbuffers::GetRoot<fb::Plan>(tables.GetBufferPointer()),
        nullptr,
        nullptr,
        addresses,
        pool,
        false};
    auto made = prepareKind(context, *flatbuffers::GetRoot<fb::SelectCommand>(
                                         command.GetBufferPointer()));
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE((*made)->run().ok());
  }

  template <typename T> T *at(uint32_t buffer) {
    return reinterpret_cast<T *>(addresses[buffer]);
  }

  fb::PlanT plan;
  fb::SelectCommandT select;
  std::vector<uint8_t *> addresses;
  alignas(64) uint8_t arena[320] = {};
};

} // namespace

TEST(Select, GivesIndicesAndValues) {
  Selecting made;
  float numbers[] = {1, -3, 2, 3, 0};
  std::copy_n(numbers, 5, made.at<float>(made.select.input));
  *made.at<float>(made.select.threshold) = 2.5;
  made.run();
  const auto *indices = made.at<int32_t>(made.select.indices);
  EXPECT_EQ(indices[0], 1);
  EXPECT_EQ(indices[1], 3);
  EXPECT_EQ(made.at<float>(made.select.values)[0], -3);
  *made.at<float>(made.select.threshold) = 4;
  made.run();
  EXPECT_EQ(indices[0], 5) << "the number of elements: none";
  EXPECT_EQ(made.at<float>(made.select.values)[1], 0);
}

TEST(Select, NeedsNoThreshold) {
  Selecting made;
  made.select.threshold = UINT32_MAX;
  made.run();
  EXPECT_EQ(made.at<int32_t>(made.select.indices)[1], 1);
}

namespace {

uint32_t addIndices(TestArtifact &made, int64_t count) {
  uint32_t buffer = made.addArena(count);
  made.plan().buffers[buffer]->type->dtype = fb::DType::i32;
  return buffer;
}

/// What is said of a command of the artifact of tests, after a change. It would
/// select the largest of the eight numbers of one buffer.
std::string wordsOf(
    const std::function<void(fb::SelectCommandT &, TestArtifact &)> &change) {
  std::string words = wordsAfter([&](TestArtifact &made) {
    fb::SelectCommandT select;
    select.input = kX;
    select.threshold = UINT32_MAX;
    select.indices = addIndices(made, 1);
    select.values = made.addArena(1);
    select.scratch = made.addArena(16);
    select.parts = 1;
    select.digit_bits = 4;
    change(select, made);
    made.add("select", std::move(select));
  });
  size_t end = words.rfind("(select): ");
  return end == std::string::npos ? words : words.substr(end + 10);
}

} // namespace

TEST(Select, RefusesWhatItCannotSelect) {
  EXPECT_EQ(wordsOf([](auto &, auto &) {}), "ok");
  EXPECT_EQ(wordsOf([](auto &select, auto &) { select.parts = 0; }),
            "has 0 parts, expected 1 to 64");
  EXPECT_EQ(wordsOf([](auto &select, auto &) { select.digit_bits = 17; }),
            "has digits of 17 bits, expected 4 to 16");
  EXPECT_EQ(wordsOf([](auto &select, auto &) { select.listed = 3; }),
            "lists 3 elements, expected an even number");
  EXPECT_EQ(wordsOf([](auto &select, auto &) { select.listed = 2; }),
            "scratch: its buffer has 64 bytes, too few for its counts");
  EXPECT_EQ(wordsOf([](auto &select, auto &made) {
              select.scratch = made.addArena(16);
              made.plan().buffers[select.scratch]->region = fb::Region::state;
              made.plan().buffers[select.scratch]->offset = 0;
            }),
            "scratch: does not lie in the arena");
  EXPECT_EQ(wordsOf([](auto &select, auto &made) {
              select.input = made.addArena(8);
              made.plan().buffers[select.input]->type->dtype = fb::DType::f16;
            }),
            "selects of f16, expected f32 or f64");
  EXPECT_EQ(
      wordsOf([](auto &select, auto &) { select.input = 99; }).substr(0, 16),
      "names buffer 99 ");
  EXPECT_EQ(wordsOf([](auto &select, auto &made) {
              select.indices = addIndices(made, 2);
            }),
            "has indices 2xi32 and values 1xf32, expected as many i32 and "
            "f32");
  EXPECT_EQ(wordsOf([](auto &select, auto &made) {
              select.indices = addIndices(made, 9);
              select.values = made.addArena(9);
            }),
            "selects 9 of 8 elements");
  EXPECT_EQ(wordsOf([](auto &select, auto &made) {
              select.threshold = made.addArena(2);
            }),
            "has the threshold 2xf32, expected one f32");
}
