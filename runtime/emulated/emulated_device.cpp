// Opens the emulated GPU, and gives its driver the kernels of a plan.

#include "runtime/emulated/emulated_device.h"

#include "runtime/emulated/emulated_image.h"
#include "runtime/emulated/emulated_library.h"
#include "runtime/flat.h"

#include <mutex>

namespace gradus::runtime::cuda {

namespace {

using artifact::CodeImage;
using artifact::ImageKind;

class EmulatedDevice : public CudaDevice {
public:
  EmulatedDevice(std::unique_ptr<Card> card, std::shared_ptr<FakeDriver> driver,
                 const FakeOptions &options)
      : CudaDevice(card->name(), std::move(card), driver), driver_(*driver),
        options_{cardName(), options.slowLibrary, options.lackedEpilogues} {}

  std::string target() const override { return "emulated"; }

protected:
  const CodeImage *imageFor(const artifact::Plan &plan) const override;
  std::string architecture() const override { return cardName(); }
  /// Packs an image in the form that the emulated driver loads.
  std::vector<uint8_t>
  packed(const Artifact &artifact, const CodeImage &image,
         const artifact::CodeHeader &header) const override;
  std::unique_ptr<LibraryServer> makeLibraries() const override {
    return emulatedLibrary(driver_.driver(), options_);
  }

private:
  FakeDriver &driver_;
  EmulatedLibraryOptions options_;
};

const CodeImage *EmulatedDevice::imageFor(const artifact::Plan &plan) const {
  for (size_t i = 0; i < countOf(plan.images()); ++i)
    if (plan.images()->Get(i)->kind() == ImageKind::emulated)
      return plan.images()->Get(i);
  return nullptr;
}

std::vector<uint8_t>
EmulatedDevice::packed(const Artifact &artifact, const CodeImage &image,
                       const artifact::CodeHeader &header) const {
  std::vector<EmulatedFunction> functions;
  for (size_t i = 0; i < countOf(header.kernels()); ++i) {
    const auto &signature = *header.kernels()->Get(i);
    const auto &kernel = *image.kernels()->Get(i);
    size_t arguments = signature.gpu()->piece()
                           ? 3
                           : countOf(signature.fixed_bytes()) +
                                 countOf(signature.gpu()->scratch());
    functions.push_back({textOf(signature.name()), kernel.entry(),
                         kernel.shared(), signature.gpu()->threads(),
                         arguments});
  }
  return packImage(functions, artifact.bytes(image.code()));
}

/// Returns the only emulated driver, which lives as long as it is held: the
/// lock ensures that it is destroyed before the next is created.
class OnlyDriver {
public:
  std::shared_ptr<FakeDriver> hold(const FakeOptions &options) {
    std::lock_guard lock(mutex_);
    if (holders_++ == 0)
      driver_ = new FakeDriver(options);
    return held();
  }
  /// Null where nobody holds it.
  std::shared_ptr<FakeDriver> holdIfOpen() {
    std::lock_guard lock(mutex_);
    if (holders_ == 0)
      return nullptr;
    ++holders_;
    return held();
  }

private:
  std::shared_ptr<FakeDriver> held() {
    return {driver_, [this](FakeDriver *) {
              std::lock_guard lock(mutex_);
              if (--holders_ == 0)
                delete driver_;
            }};
  }

  std::mutex mutex_;
  FakeDriver *driver_ = nullptr;
  int holders_ = 0;
};

OnlyDriver &onlyDriver() {
  static OnlyDriver only;
  return only;
}

} // namespace

StatusOr<std::unique_ptr<CudaDevice>> openEmulated(const FakeOptions &options) {
  std::shared_ptr<FakeDriver> driver = onlyDriver().hold(options);
  GRADUS_ASSIGN(std::unique_ptr<Card> card, Card::open(driver->driver(), 0));
  return std::unique_ptr<CudaDevice>(
      new EmulatedDevice(std::move(card), std::move(driver), options));
}

void *emulatedMemory(const void *bytes, size_t size) {
  std::shared_ptr<FakeDriver> open = onlyDriver().holdIfOpen();
  if (!open || !bytes || !size)
    return nullptr;
  auto card = Card::open(open->driver(), 0);
  if (!card.ok())
    return nullptr;
  const Driver &driver = open->driver();
  DevicePointer memory = 0;
  if (driver.memoryAllocate(&memory, size) != Result::success)
    return nullptr;
  Stream stream = nullptr; // the default one
  if (driver.copyToDevice(memory, bytes, size, stream) != Result::success ||
      driver.streamSynchronize(stream) != Result::success) {
    (void)driver.memoryFree(memory);
    return nullptr;
  }
  return reinterpret_cast<void *>(memory);
}

} // namespace gradus::runtime::cuda
