// A call is a function of the host that streams call when its turn has come.

#include "runtime/cuda/emulated_library.h"

#include "runtime/cuda/cudnn_attention.h"
#include "runtime/cuda/cudnn_convolution.h"
#include "runtime/cuda/emulated_ops.h"
#include "runtime/cuda/matmul_form.h"

namespace gradus::runtime::cuda {

namespace {

constexpr const char *kName = "emulated 1", *kOnce = "once", *kTwice = "twice";

class Call : public LibraryCall {
public:
  Call(const Driver &driver, EmulatedOp op, bool isTwice)
      : driver_(driver), op_(std::move(op)), isTwice_(isTwice) {}

  std::string algorithm() const override { return isTwice_ ? kTwice : kOnce; }

  Status enqueue(Stream stream, const CallAddresses &addresses) override {
    begun_.push_back(std::make_unique<Begun>(Begun{op_, addresses, isTwice_}));
    return check(driver_, driver_.streamCall(stream, run, begun_.back().get()),
                 "calling the emulated library");
  }

private:
  /// Graphs that recorded it run it as often as they like.
  struct Begun {
    const EmulatedOp &op;
    CallAddresses addresses;
    bool isTwice;
  };
  static void run(void *data) {
    auto *begun = static_cast<Begun *>(data);
    for (int i = 0; i <= int(begun->isTwice); ++i)
      begun->op(begun->addresses);
  }

  const Driver &driver_;
  EmulatedOp op_;
  bool isTwice_;
  std::vector<std::unique_ptr<Begun>> begun_;
};

/// What the libraries of cards say to a command before they are asked.
Status checkCardsTake(const artifact::LibraryCommand &command) {
  switch (command.op()) {
  case artifact::LibraryOp::matmul:
    return matmulFormOf(command).status();
  case artifact::LibraryOp::convolution:
  case artifact::LibraryOp::convolution_backward_data:
  case artifact::LibraryOp::convolution_backward_weights:
    return cudnn::checkConvolution(command);
  case artifact::LibraryOp::attention:
  case artifact::LibraryOp::attention_backward:
    return cudnn::checkAttention(command);
  default:
    return Status(); // none has it, as the operations say
  }
}

class Library : public LibraryServer {
public:
  Library(const Driver &driver, std::string card, bool isSlow)
      : driver_(driver), card_(std::move(card)), isSlow_(isSlow) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t scratch) override {
    if (auto call = prepareMeasured(*this, command, card_, kName, scratch))
      return call;
    return prepareWith(isSlow_ ? kTwice : kOnce, command, scratch);
  }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand &command, uint64_t) override {
    if (algorithm != kOnce && algorithm != kTwice)
      return invalid("there is no algorithm '", algorithm, "'");
    GRADUS_TRY(checkCardsTake(command));
    GRADUS_ASSIGN(EmulatedOp op, emulatedOp(command));
    return std::unique_ptr<LibraryCall>(
        std::make_unique<Call>(driver_, std::move(op), algorithm == kTwice));
  }

  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &,
                                  uint64_t) override {
    return Algorithms{kName, {kOnce, kTwice}};
  }

private:
  const Driver &driver_;
  std::string card_;
  bool isSlow_;
};

} // namespace

std::unique_ptr<LibraryServer>
emulatedLibrary(const Driver &driver, const std::string &card, bool isSlow) {
  return std::make_unique<Library>(driver, card, isSlow);
}

} // namespace gradus::runtime::cuda
