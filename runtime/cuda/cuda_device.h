// GPUs as devices of a session.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/libraries/library_call.h"
#include "runtime/device/device.h"

namespace gradus::runtime::cuda {

struct PlanCode;

class CudaDevice : public Device {
public:
  /// Opens GPU `index` of this machine.
  static StatusOr<std::unique_ptr<CudaDevice>> openCard(int index);
  /// Makes a device of an open GPU.
  static std::unique_ptr<CudaDevice> onCard(std::unique_ptr<Card> card,
                                            int index);

  /// "card 0 (NVIDIA H200)"
  std::string name() const override { return name_; }
  std::string kind() const override { return "cuda"; }
  std::string target() const override { return "cuda"; }
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

protected:
  /// `driver` lives as long as the device; null: it always lives.
  CudaDevice(std::string name, std::unique_ptr<Card> card,
             std::shared_ptr<const void> driver = nullptr)
      : name_(std::move(name)), driver_(std::move(driver)),
        card_(std::move(card)) {}

  // The emulated GPU overrides these (runtime/emulated/emulated_device.h):
  /// Returns the image of a plan that it runs; null if none fits.
  virtual const artifact::CodeImage *imageFor(const artifact::Plan &plan) const;
  /// Returns the architecture whose image a plan needs: "sm_80".
  virtual std::string architecture() const { return card_->architecture(); }
  /// Returns the bytes that the driver loads for an image; empty: those of the
  /// artifact.
  virtual std::vector<uint8_t> packed(const Artifact &artifact,
                                      const artifact::CodeImage &image,
                                      const artifact::CodeHeader &header) const;
  /// Creates the server of library commands.
  virtual std::unique_ptr<LibraryServer> makeLibraries() const;

private:
  StatusOr<PlanCode> loadKernels(const Artifact &artifact,
                                 const artifact::CodeImage &image,
                                 const artifact::CodeHeader &header) const;
  /// Returns the server of a plan's library commands, created for the first
  /// plan that has any; null if this one has none.
  LibraryServer *librariesFor(const artifact::Plan &plan);

  std::string name_;
  std::shared_ptr<const void> driver_; // outlives card_
  std::unique_ptr<Card> card_;
  std::unique_ptr<LibraryServer> libraries_;
};

/// Returns the best image of a plan for an architecture (10 x major + minor):
/// the cubin of the same major number with the highest minor that is not above
/// it, else PTX. Null: none.
const artifact::CodeImage *chooseImage(const artifact::Plan &plan,
                                       int capability);

} // namespace gradus::runtime::cuda
