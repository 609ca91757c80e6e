// The artifact of tests/runtime/test_artifact.h with kernels for the emulated
// card, written by hand as the compiler's are: one flat, one of one block.
#pragma once

#include "emulated_card.h"

#include "tests/runtime/test_artifact.h"

#include "runtime/cuda/step_nodes.h"

namespace gradus::runtime::cuda::test {

constexpr int64_t kPiece = 4;

inline int64_t column(Thread *t, int64_t row, int64_t number) {
  auto *table = static_cast<int64_t *>(t->arguments[0]);
  int64_t *address = table + 5 * row + number;
  t->services->access(t, emulated::kAddress, 0, 1, 8, 8, 0, address);
  return *address;
}

inline float *number(Thread *t, int64_t start, int64_t i, bool writes) {
  auto *address = std::bit_cast<float *>(start) + i;
  t->services->access(t, emulated::kAddress, 0, 1, 4, 4, writes, address);
  return address;
}

/// out = a + b of each row: table, rows, pieces.
inline void flatAdd(Thread *t) {
  auto rows = reinterpret_cast<int64_t>(t->arguments[1]);
  auto pieces = reinterpret_cast<int64_t>(t->arguments[2]);
  for (int64_t piece = t->block; piece < pieces; piece += t->blocks) {
    int64_t row = rows - 1;
    while (column(t, row, 0) > piece)
      --row;
    int64_t i = (piece - column(t, row, 0)) * kPiece + t->thread;
    if (t->thread < kPiece && i < column(t, row, 1))
      *number(t, column(t, row, 4), i, true) =
          *number(t, column(t, row, 2), i, false) +
          *number(t, column(t, row, 3), i, false);
  }
}

/// ++*x, by the first thread, which keeps what was there in scratch.
inline void count(Thread *t) {
  if (t->thread)
    return;
  auto *step = static_cast<int64_t *>(t->arguments[0]);
  auto *scratch = static_cast<int64_t *>(t->arguments[1]);
  t->services->access(t, 0, 0, 1, 8, 8, 0, step);
  t->services->access(t, 1, 0, 1, 8, 8, 1, scratch);
  *scratch = *step;
  t->services->access(t, 1, 0, 1, 8, 8, 0, scratch);
  t->services->access(t, 0, 0, 1, 8, 8, 1, step);
  *step = *scratch + 1;
}

class AdderOnCard : public EmulatedCard {
protected:
  void SetUp() override {
    EmulatedCard::SetUp();
    // Its only argument is read and written, which the signature cannot say.
    adder_.kernels.kernels[1]->outputs = 0;
    read();
  }
  /// What `adder_` says by now.
  void read() {
    auto read = Artifact::fromBytes(adder_.bytes(), "adder");
    ASSERT_TRUE(read.ok()) << read.status();
    artifact_ = *std::move(read);
  }

  /// The kernels as they are launched; loads their code.
  std::vector<KernelFacts> loadKernels(Owned<Module> &module) {
    TestKernel kernels[] = {{"flat_add", flatAdd, 3}, {"count", count, 2}};
    adderImage_ = imageOf(kernels);
    auto loaded = card_->load(adderImage_.data(), "the adder");
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    module = *std::move(loaded);
    return {{*card_->function(module.get(), "flat_add"), 32, 0, kPiece, {}, 8},
            {*card_->function(module.get(), "count"), 32, 1, 0, {8}, 8}};
  }
  const artifact::Plan &plan() const {
    return *artifact_->header().plans()->Get(0);
  }
  /// A command of `train` that calls a library.
  const artifact::LibraryCommand &command(uint32_t i) const {
    auto *commands = plan().graphs()->Get(0)->commands();
    return *commands->Get(i)->kind_as_LibraryCommand();
  }

  gradus::test::TestArtifact adder_;
  std::shared_ptr<const Artifact> artifact_;
  std::vector<uint8_t> adderImage_;
};

} // namespace gradus::runtime::cuda::test
