// A server of library commands for tests, which negates eight numbers whatever
// it is asked for, and a command that asks.
#pragma once

#include "emulated_card.h"

#include "tests/runtime/test_artifact.h"

#include "runtime/cuda/libraries/library_call.h"
#include "runtime/cuda/plain_product.h"

namespace gradus::runtime::cuda::test {

class TestLibrary : public LibraryServer {
public:
  explicit TestLibrary(const Driver &driver) : driver_(driver) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command,
          uint64_t scratchBytes) override {
    offered.push_back(scratchBytes);
    if (!refusal.empty())
      return invalid(refusal);
    if (!lack.empty() && hasMore(command))
      return failed(lack);
    return std::unique_ptr<LibraryCall>(new Call(*this, needs));
  }
  StatusOr<std::string>
  lackOf(const artifact::LibraryCommand &command) override {
    return hasMore(command) ? lack : std::string();
  }
  bool warmsUp() const override { return warms; }

  uint64_t needs = 0; // bytes of scratch
  bool warms = false;
  std::string refusal;
  std::string lack; // of what goes with products; empty: it has that
  std::vector<uint64_t> offered; // bytes of scratch, of each call
  int ran = 0, left = 0;         // calls, and those that forgot their stream

private:
  static bool hasMore(const artifact::LibraryCommand &command) {
    return sumsOperand(command) || hasEpilogue(command);
  }

  class Call : public LibraryCall {
  public:
    Call(TestLibrary &library, uint64_t needs)
        : library_(library), needs_(needs) {}
    uint64_t scratchBytes() const override { return needs_; }
    void leaveStream() override { ++library_.left; }
    Status enqueue(Stream stream, const CallAddresses &addresses) override {
      begun_.push_back(std::make_unique<Begun>(Begun{library_, addresses}));
      const Driver &driver = library_.driver_;
      if (needs_)
        GRADUS_TRY(check(
            driver, driver.fill(addresses.scratch, 0, needs_, stream), "zero"));
      return check(driver, driver.streamCall(stream, run, begun_.back().get()),
                   "negating");
    }

  private:
    struct Begun {
      TestLibrary &library;
      CallAddresses addresses;
    };
    static void run(void *data) {
      auto *begun = static_cast<Begun *>(data);
      ++begun->library.ran;
      auto *from = std::bit_cast<float *>(begun->addresses.inputs[0]),
           *to = std::bit_cast<float *>(begun->addresses.outputs[0]);
      for (int64_t i = 0; i < gradus::test::kSize; ++i)
        to[i] = -from[i];
    }

    TestLibrary &library_;
    uint64_t needs_;
    std::vector<std::unique_ptr<Begun>> begun_;
  };

  const Driver &driver_;
};

/// to[8 x 1] from `from`[8 x 1] and a constant[1 x 1].
inline artifact::LibraryCommandT callOn(uint32_t from, uint32_t to,
                                        uint32_t scratch) {
  auto tensor = [](uint32_t buffer, int64_t rows) {
    auto made = std::make_unique<artifact::LibraryTensorT>();
    made->buffer = buffer;
    made->dims = {rows, 1};
    return made;
  };
  artifact::LibraryCommandT command;
  command.op = opOf(artifact::LibraryOp::matmul);
  command.inputs.push_back(tensor(from, gradus::test::kSize));
  command.inputs.push_back(tensor(gradus::test::kConstant, 1));
  command.outputs.push_back(tensor(to, gradus::test::kSize));
  command.scratch = scratch;
  return command;
}

/// The first command of a plan that nobody has verified.
struct PackedPlan {
  explicit PackedPlan(std::string name, artifact::LibraryCommandT command) {
    gradus::test::TestArtifact made;
    made.train().commands.clear();
    made.add(std::move(name), std::move(command));
    builder.Finish(artifact::Plan::Pack(builder, &made.plan()));
  }
  const artifact::Plan &operator*() const {
    return *flatbuffers::GetRoot<artifact::Plan>(builder.GetBufferPointer());
  }
  const artifact::LibraryCommand &command() const {
    return *(**this)
                .graphs()
                ->Get(0)
                ->commands()
                ->Get(0)
                ->kind_as_LibraryCommand();
  }
  flatbuffers::FlatBufferBuilder builder;
};

} // namespace gradus::runtime::cuda::test
