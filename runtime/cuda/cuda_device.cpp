// Chooses the image of a plan for a GPU, and prepares its kernels for launch.

#include "runtime/cuda/cuda_device.h"

#include "runtime/cpu/features.h"
#include "runtime/cuda/card_libraries.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/library_nodes.h"
#include "runtime/cuda/tune.h"
#include "runtime/flat.h"

#include <charconv>

namespace gradus::runtime::cuda {

namespace {

using artifact::CodeImage;
using artifact::ImageKind;

//===-- images ------------------------------------------------------------===//

/// Returns 90 for "sm_90"; 0 for other names.
int capabilityOf(const CodeImage &image) {
  std::string name = textOf(image.architecture());
  if (!name.starts_with("sm_"))
    return 0;
  unsigned number = 0;
  const char *last = name.data() + name.size();
  auto [end, error] = std::from_chars(name.data() + 3, last, number);
  bool isNumber = error == std::errc() && end == last && number <= 10000;
  return isNumber ? int(number) : 0;
}

/// Whether a plan also has PTX for the architecture of an image.
bool goesOnAsPtx(const artifact::Plan &plan, const CodeImage &image) {
  if (image.kind() != ImageKind::cubin)
    return false;
  for (size_t i = 0; i < countOf(plan.images()); ++i) {
    const CodeImage &other = *plan.images()->Get(i);
    if (other.kind() == ImageKind::ptx &&
        textOf(other.architecture()) == textOf(image.architecture()))
      return true;
  }
  return false;
}

/// Lists the architectures of a plan: "sm_90, sm_100 and later".
std::string architecturesOf(const artifact::Plan &plan) {
  std::string list;
  for (size_t i = 0; i < countOf(plan.images()); ++i) {
    const CodeImage &image = *plan.images()->Get(i);
    if (goesOnAsPtx(plan, image))
      continue;
    append(list, list.empty() ? "" : ", ",
           image.kind() == ImageKind::emulated ? "the emulated GPU"
                                               : textOf(image.architecture()),
           image.kind() == ImageKind::ptx ? " and later" : "");
  }
  return list.empty() ? "nothing" : list;
}

} // namespace

const CodeImage *chooseImage(const artifact::Plan &plan, int capability) {
  const CodeImage *cubin = nullptr, *ptx = nullptr;
  for (size_t i = 0; i < countOf(plan.images()); ++i) {
    const CodeImage *image = plan.images()->Get(i);
    int has = capabilityOf(*image);
    if (has == 0 || has > capability || image->kind() == ImageKind::emulated)
      continue;
    bool isPtx = image->kind() == ImageKind::ptx;
    if (!isPtx && has / 10 != capability / 10)
      continue;
    const CodeImage *&best = isPtx ? ptx : cubin;
    if (!best || capabilityOf(*best) < has)
      best = image;
  }
  return cubin ? cubin : ptx;
}

//===-- the device --------------------------------------------------------===//

StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::openCard(int index) {
  GRADUS_ASSIGN(const Driver *driver, systemDriver());
  GRADUS_ASSIGN(std::unique_ptr<Card> card, Card::open(*driver, index));
  return onCard(std::move(card), index);
}

std::unique_ptr<CudaDevice> CudaDevice::onCard(std::unique_ptr<Card> card,
                                               int index) {
  std::string name = inWords("card ", index, " (", card->name(), ")");
  return std::unique_ptr<CudaDevice>(new CudaDevice(name, std::move(card)));
}

const CodeImage *CudaDevice::imageFor(const artifact::Plan &plan) const {
  return chooseImage(plan, card_->capability());
}

std::vector<uint8_t> CudaDevice::packed(const Artifact &, const CodeImage &,
                                        const artifact::CodeHeader &) const {
  return {};
}

std::unique_ptr<LibraryServer> CudaDevice::makeLibraries() const {
  return cardLibraries(*card_);
}

StatusOr<PlanCode>
CudaDevice::loadKernels(const Artifact &artifact, const CodeImage &image,
                        const artifact::CodeHeader &header) const {
  PlanCode code;
  std::vector<uint8_t> own = packed(artifact, image, header);
  auto bytes = artifact.bytes(image.code());
  if (!own.empty())
    bytes = own;
  if (bytes.empty())
    return code; // nor are there kernels
  if (image.kind() == ImageKind::ptx && bytes.back() != 0)
    return invalid("its PTX does not end with a zero");
  GRADUS_ASSIGN(code.module, card_->load(bytes.data(), "the plan's kernels"));
  for (size_t i = 0; i < countOf(header.kernels()); ++i) {
    const auto &signature = *header.kernels()->Get(i);
    const artifact::GpuLaunch &launch = *signature.gpu();
    KernelFacts facts;
    GRADUS_ASSIGN(facts.function,
                  card_->function(code.module.get(), textOf(signature.name())));
    facts.threads = launch.threads();
    GRADUS_ASSIGN(facts.residentBlocks,
                  card_->residentBlocks(facts.function, facts.threads));
    facts.mostBlocks = launch.most_blocks();
    facts.piece = launch.piece();
    facts.scratch = valuesOf(launch.scratch());
    code.kernels.push_back(std::move(facts));
  }
  return code;
}

std::string CudaDevice::refusal(const artifact::Plan &plan) const {
  const CodeImage *image = imageFor(plan);
  if (!image)
    return inWords("has code for ", architecturesOf(plan), ", and none for ",
                   architecture());
  std::string missing = missingFeatures(image->features());
  return missing.empty() ? "" : "needs " + missing;
}

LibraryServer *CudaDevice::librariesFor(const artifact::Plan &plan) {
  if (!hasLibraryCommands(plan))
    return nullptr;
  if (!libraries_)
    libraries_ = makeLibraries();
  libraries_->lend(scratchToLend(card_->memory(), plan));
  return libraries_.get();
}

StatusOr<std::vector<TunedCall>> CudaDevice::tune(const artifact::Plan &plan,
                                                  const TuneOptions &options) {
  GRADUS_TRY(card_->makeCurrent());
  LibraryServer *libraries = librariesFor(plan);
  if (!libraries)
    return std::vector<TunedCall>();
  return tuneCalls(*card_, *libraries, plan, options);
}

StatusOr<std::vector<CallForm>> CudaDevice::forms(const Artifact &artifact,
                                                  const artifact::Plan &plan) {
  GRADUS_TRY(card_->makeCurrent());
  const artifact::CodeHeader *header = artifact.kernels(plan);
  if (!header)
    return invalid("plan ", textOf(plan.target()), " has no list of kernels");
  LibraryNodes nodes(plan, *header, librariesFor(plan));
  GRADUS_TRY(nodes.prepare());
  return nodes.forms();
}

StatusOr<std::unique_ptr<DevicePlan>>
CudaDevice::load(const Artifact &artifact, const artifact::Plan &plan,
                 const LoadOptions &) {
  GRADUS_TRY(card_->makeCurrent());
  const CodeImage *image = imageFor(plan);
  const artifact::CodeHeader *header = artifact.kernels(plan);
  if (!image)
    return invalid("plan ", textOf(plan.target()), " ", refusal(plan));
  if (!header)
    return invalid("plan ", textOf(plan.target()), " has no list of kernels");
  GRADUS_ASSIGN(PlanCode code, loadKernels(artifact, *image, *header));
  auto loaded = CudaPlan::load(*card_, artifact, plan, std::move(code),
                               librariesFor(plan));
  GRADUS_TRY(loaded.status());
  return std::unique_ptr<DevicePlan>(*std::move(loaded));
}

} // namespace gradus::runtime::cuda
