// A call is a function of the host that streams call when its turn has come.

#include "runtime/cuda/emulated_library.h"

#include "runtime/cuda/emulated_ops.h"

namespace gradus::runtime::cuda {

namespace {

class Call : public LibraryCall {
public:
  Call(const Driver &driver, EmulatedOp op)
      : driver_(driver), op_(std::move(op)) {}

  Status enqueue(Stream stream, const CallAddresses &addresses) override {
    begun_.push_back(std::make_unique<Begun>(Begun{op_, addresses}));
    return check(driver_, driver_.streamCall(stream, run, begun_.back().get()),
                 "calling the emulated library");
  }

private:
  /// Graphs that recorded it run it as often as they like.
  struct Begun {
    const EmulatedOp &op;
    CallAddresses addresses;
  };
  static void run(void *data) {
    auto *begun = static_cast<Begun *>(data);
    begun->op(begun->addresses);
  }

  const Driver &driver_;
  EmulatedOp op_;
  std::vector<std::unique_ptr<Begun>> begun_;
};

class Library : public LibraryServer {
public:
  explicit Library(const Driver &driver) : driver_(driver) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t) override {
    GRADUS_ASSIGN(EmulatedOp op, emulatedOp(command));
    return std::unique_ptr<LibraryCall>(
        std::make_unique<Call>(driver_, std::move(op)));
  }

private:
  const Driver &driver_;
};

} // namespace

std::unique_ptr<LibraryServer> emulatedLibrary(const Driver &driver) {
  return std::make_unique<Library>(driver);
}

} // namespace gradus::runtime::cuda
