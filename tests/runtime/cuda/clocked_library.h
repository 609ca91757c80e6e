// A server for tests whose algorithms are called after the microseconds that
// they take on the clock of a test: "300" by itself, and "100", "299" and
// "broken".
#pragma once

#include "test_library.h"

namespace gradus::runtime::cuda::test {

class ClockedLibrary : public LibraryServer {
public:
  /// `clock` counts nanoseconds (FakeOptions).
  ClockedLibrary(const Driver &driver, int64_t &clock)
      : driver_(driver), clock_(clock) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t scratch) override {
    hadChoices |= countOf(command.choices()) > 0;
    offered.push_back(scratch);
    return prepareWith("300", command, scratch);
  }
  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm, const artifact::LibraryCommand &,
              uint64_t) override {
    return std::unique_ptr<LibraryCall>(new Call(*this, algorithm));
  }
  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &,
                                  uint64_t) override {
    return Algorithms{"clocked 1", {"300", "100", "broken", "299"}};
  }

  std::vector<uint64_t> offered; // bytes of scratch, of each call
  bool hadChoices = false;
  std::string ran; // the algorithms, in order: "300 100 "
  int zeros = 0;   // numbers of inputs that are 0

private:
  class Call : public LibraryCall {
  public:
    Call(ClockedLibrary &library, std::string algorithm)
        : library_(library), algorithm_(std::move(algorithm)) {}
    std::string algorithm() const override { return algorithm_; }
    uint64_t scratchBytes() const override { return 512; }
    Status enqueue(Stream stream, const CallAddresses &addresses) override {
      if (algorithm_ == "broken")
        return failed("it is broken");
      addresses_ = addresses;
      return check(library_.driver_,
                   library_.driver_.streamCall(stream, run, this), "a call");
    }

  private:
    static void run(void *data) {
      auto *call = static_cast<Call *>(data);
      auto *numbers = std::bit_cast<float *>(call->addresses_.inputs[0]);
      for (int64_t i = 0; i < gradus::test::kSize; ++i)
        call->library_.zeros += numbers[i] == 0;
      call->library_.ran += call->algorithm_ + " ";
      call->library_.clock_ += std::stoi(call->algorithm_) * int64_t{1000};
    }

    ClockedLibrary &library_;
    std::string algorithm_;
    CallAddresses addresses_;
  };

  const Driver &driver_;
  int64_t &clock_;
};

} // namespace gradus::runtime::cuda::test
