// GPUs as devices of a session: a card of this machine, or the emulated one.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/emulated_library.h"
#include "runtime/cuda/fake_driver.h"
#include "runtime/device.h"

namespace gradus::runtime::cuda {

class CudaDevice : public Device {
public:
  /// Card `index` of this machine.
  static StatusOr<std::unique_ptr<CudaDevice>> openCard(int index);
  /// The same of a card that is open.
  static std::unique_ptr<CudaDevice> onCard(std::unique_ptr<Card> card,
                                            int index);
  /// The emulated card. All that are open in a process are one, with the
  /// options of the first; the library is each one's own.
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
  /// Null where none will do.
  const artifact::CodeImage *imageFor(const artifact::Plan &plan) const;
  /// What serves the library commands of a plan, made for the first that has
  /// any; null where it has none.
  LibraryServer *librariesFor(const artifact::Plan &plan);

  std::string name_;
  std::shared_ptr<FakeDriver> emulated_; // outlives the card
  std::unique_ptr<Card> card_;
  std::unique_ptr<LibraryServer> libraries_;
  EmulatedLibraryOptions libraryOptions_;
};

/// The image of a plan that runs on an architecture (10 x major + minor) best:
/// a cubin of the same major number, the nearest below, else PTX. Null: none.
const artifact::CodeImage *chooseImage(const artifact::Plan &plan,
                                       int capability);

} // namespace gradus::runtime::cuda
