// A call is a host function that streams call in order.

#include "runtime/emulated/emulated_library.h"

#include "runtime/cuda/libraries/cublaslt_epilogue.h"
#include "runtime/cuda/libraries/cudnn_attention.h"
#include "runtime/cuda/libraries/cudnn_convolution.h"
#include "runtime/cuda/libraries/matmul_form.h"
#include "runtime/emulated/emulated_ops.h"

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
  /// The data of a call. Captured graphs may run it any number of times.
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

/// Checks a command like the libraries of real GPUs.
Status checkCardsTake(const artifact::LibraryCommand &command) {
  if (command.op_as_matmul())
    return matmulFormOf(command).status();
  if (windowsOf(command))
    return cudnn::checkConvolution(command);
  if (scoresOf(command))
    return cudnn::checkAttention(command);
  return Status(); // the operations report it themselves
}

class Library : public LibraryServer {
public:
  Library(const Driver &driver, EmulatedLibraryOptions options)
      : driver_(driver), options_(std::move(options)) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t scratch) override {
    if (auto call =
            prepareMeasured(*this, command, options_.card, kName, scratch))
      return call;
    return prepareWith(options_.isSlow ? kTwice : kOnce, command, scratch);
  }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand &command, uint64_t) override {
    if (algorithm != kOnce && algorithm != kTwice)
      return invalid("there is no algorithm '", algorithm, "'");
    GRADUS_ASSIGN(std::string lack, lackOf(command));
    if (!lack.empty())
      return failed(lack);
    GRADUS_ASSIGN(EmulatedOp op, emulatedOp(command));
    return std::unique_ptr<LibraryCall>(
        std::make_unique<Call>(driver_, std::move(op), algorithm == kTwice));
  }

  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &,
                                  uint64_t) override {
    return Algorithms{kName, {kOnce, kTwice}};
  }

  StatusOr<std::string>
  lackOf(const artifact::LibraryCommand &command) override {
    GRADUS_TRY(checkCardsTake(command));
    if (!command.op_as_matmul())
      return std::string();
    GRADUS_ASSIGN(MatmulForm form, matmulFormOf(command));
    uint32_t epilogue = cublaslt::epilogueOf(form);
    if (!(epilogue & options_.lackedEpilogues))
      return std::string();
    return inWords("the emulated library has no algorithm with ",
                   cublaslt::nameOfEpilogue(epilogue));
  }

private:
  const Driver &driver_;
  EmulatedLibraryOptions options_;
};

} // namespace

std::unique_ptr<LibraryServer> emulatedLibrary(const Driver &driver,
                                               EmulatedLibraryOptions options) {
  return std::make_unique<Library>(driver, std::move(options));
}

} // namespace gradus::runtime::cuda
