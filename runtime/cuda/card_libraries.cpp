// Chooses the library for each command, and its algorithm.

#include "runtime/cuda/card_libraries.h"

#include "runtime/cuda/libraries/cublaslt.h"
#include "runtime/cuda/libraries/cudnn.h"

#include <algorithm>

namespace gradus::runtime::cuda {

namespace {

/// A library that is opened on first use.
struct Part {
  std::string name; // "cublaslt 130100"
  std::unique_ptr<LibraryServer> server;
};

class CardLibraries : public LibraryServer {
public:
  explicit CardLibraries(const Card &card) : card_(card) {}
  /// Handles must be destroyed with their GPU current; otherwise the CUDA
  /// runtime under the libraries could make another one current.
  ~CardLibraries() override {
    (void)card_.makeCurrent();
    products_ = {};
    others_ = {};
  }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command,
          uint64_t scratchBytes) override {
    GRADUS_ASSIGN(Part * part, partFor(command));
    if (auto call = prepareMeasured(*part->server, command, card_.name(),
                                    part->name, scratchBytes))
      return call;
    return part->server->prepare(command, scratchBytes);
  }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand &command,
              uint64_t scratchBytes) override {
    GRADUS_ASSIGN(Part * part, partFor(command));
    return part->server->prepareWith(algorithm, command, scratchBytes);
  }

  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &command,
                                  uint64_t scratchBytes) override {
    GRADUS_ASSIGN(Part * part, partFor(command));
    return part->server->algorithms(command, scratchBytes);
  }

  StatusOr<std::string>
  lackOf(const artifact::LibraryCommand &command) override {
    GRADUS_ASSIGN(Part * part, partFor(command));
    return part->server->lackOf(command);
  }

  void lend(uint64_t bytes) override {
    lent_ = bytes;
    if (others_.server)
      others_.server->lend(bytes);
  }

  /// Libraries load kernels on their first call, which capture forbids.
  bool warmsUp() const override { return true; }

private:
  StatusOr<Part *> partFor(const artifact::LibraryCommand &command) {
    bool isProduct = command.op_type() == artifact::LibraryOp::matmul;
    Part &part = isProduct ? products_ : others_;
    if (part.server)
      return &part;
    GRADUS_TRY(card_.makeCurrent());
    if (isProduct) {
      GRADUS_ASSIGN(auto session, cublaslt::openSession());
      part = {session->name(), serveMatmuls(session)};
    } else {
      GRADUS_ASSIGN(auto session, cudnn::openSession());
      part = {session->name(), serveCudnn(session)};
      part.server->lend(lent_);
    }
    return &part;
  }

  const Card &card_;
  Part products_, others_;
  uint64_t lent_ = 0;
};

} // namespace

uint64_t scratchToLend(uint64_t ofCard, const artifact::Plan &plan) {
  constexpr uint64_t kPart = 32;
  uint64_t constants = 0;
  for (size_t i = 0; i < countOf(plan.buffers()); ++i) {
    const artifact::Buffer &buffer = *plan.buffers()->Get(unsigned(i));
    if (buffer.region() == artifact::Region::constants)
      constants = std::max(constants, buffer.offset() + buffer.size());
  }
  uint64_t ofPlan = plan.state_bytes() + plan.arena_bytes() + constants;
  return ofPlan <= ofCard / 2 ? ofCard / kPart : 0;
}

std::unique_ptr<LibraryServer> cardLibraries(const Card &card) {
  return std::make_unique<CardLibraries>(card);
}

} // namespace gradus::runtime::cuda
