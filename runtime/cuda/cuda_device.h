// GPUs as devices of a session: a GPU of this machine, or the emulated one.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/device/device.h"
#include "runtime/emulated/emulated_library.h"
#include "runtime/emulated/fake_driver.h"

namespace gradus::runtime::cuda {

class CudaDevice : public Device {
public:
  /// Opens GPU `index` of this machine.
  static StatusOr<std::unique_ptr<CudaDevice>> openCard(int index);
  /// Makes a device of an open GPU.
  static std::unique_ptr<CudaDevice> onCard(std::unique_ptr<Card> card,
                                            int index);
  /// Opens the emulated GPU. All open ones in a process share one driver, with
  /// the options of the first; each has its own library.
  static StatusOr<std::unique_ptr<CudaDevice>>
  openEmulated(const FakeOptions &options = {});

  /// "card 0 (NVIDIA H200)"
  std::string name() const override { return name_; }
  std::string kind() const override { return "cuda"; }
  std::string target() const override {
    return emulated_ ? "emulated" : "cuda";
  }
  /// "has code for sm_90, sm_100 and later, and none for sm_80"
  std::string refusal(const artifact::Plan &plan) const override;
  StatusOr<std::unique_ptr<DevicePlan>>
  load(const Artifact &artifact, const artifact::Plan &plan,
       const LoadOptions &options) override;
  std::string cardName() const override { return card_->name(); }
  StatusOr<std::vector<TunedCall>> tune(const artifact::Plan &plan,
                                        const TuneOptions &options) override;
  StatusOr<std::vector<CallForm>> forms(const Artifact &artifact,
                                        const artifact::Plan &plan) override;

  const Card &card() const { return *card_; }

private:
  CudaDevice(std::string name, std::shared_ptr<FakeDriver> emulated,
             std::unique_ptr<Card> card)
      : name_(std::move(name)), emulated_(std::move(emulated)),
        card_(std::move(card)) {}
  /// Returns null if no image fits.
  const artifact::CodeImage *imageFor(const artifact::Plan &plan) const;
  /// Returns the server of a plan's library commands, created for the first
  /// plan that has any; null if this one has none.
  LibraryServer *librariesFor(const artifact::Plan &plan);

  std::string name_;
  std::shared_ptr<FakeDriver> emulated_; // outlives card_
  std::unique_ptr<Card> card_;
  std::unique_ptr<LibraryServer> libraries_;
  EmulatedLibraryOptions libraryOptions_;
};

/// Returns the best image of a plan for an architecture (10 x major + minor):
/// the cubin of the same major number with the highest minor that is not above
/// it, else PTX. Null: none.
const artifact::CodeImage *chooseImage(const artifact::Plan &plan,
                                       int capability);

} // namespace gradus::runtime::cuda
