// Opens the primary context of a GPU, which the vendor's libraries share with
// us.

#include "runtime/cuda/card.h"

#include <algorithm>
#include <bit>

namespace gradus::runtime::cuda {

std::string sizeInWords(size_t bytes) {
  const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return inWords(bytes, " bytes");
  double size = double(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", size, units[unit]);
  return text;
}

//===-- opening -----------------------------------------------------------===//

constexpr int kLeastMajor = 8; // the minimum that code is made for

StatusOr<std::unique_ptr<Card>> Card::open(const Driver &driver, int index) {
  std::unique_ptr<Card> card(new Card(driver));
  GRADUS_TRY(card->find(index));
  GRADUS_TRY(card->readFacts());
  GRADUS_TRY(card->tell(driver.contextRetain(&card->context_, card->device_),
                        "opening " + card->name_));
  GRADUS_TRY(card->makeCurrent());
  return card;
}

Status Card::find(int index) {
  int count = 0;
  GRADUS_TRY(tell(driver_.init(0), "starting CUDA"));
  GRADUS_TRY(tell(driver_.deviceCount(&count), "counting GPUs"));
  if (count == 0)
    return tell(Result::noDevice, "starting CUDA");
  if (index < 0 || index >= count)
    return invalid("this machine has ", count,
                   count == 1 ? " GPU, cuda:0" : " GPUs, from cuda:0 on");
  return tell(driver_.deviceGet(&device_, index), "opening a GPU");
}

Status Card::readFacts() {
  char name[256] = "";
  GRADUS_TRY(tell(driver_.deviceName(name, sizeof(name), device_),
                  "asking for a GPU's name"));
  name_ = name;
  GRADUS_TRY(tell(driver_.deviceMemory(&memory_, device_),
                  "asking for the memory of " + name_));
  std::pair<DeviceAttribute, int *> facts[] = {
      {DeviceAttribute::capabilityMajor, &major_},
      {DeviceAttribute::capabilityMinor, &minor_},
      {DeviceAttribute::multiprocessors, &multiprocessors_}};
  for (auto [attribute, value] : facts)
    GRADUS_TRY(tell(driver_.deviceAttribute(value, attribute, device_),
                    "asking what " + name_ + " can do"));
  if (major_ < kLeastMajor)
    return invalid(name_, " is ", architecture(), ", and Gradus needs sm_",
                   kLeastMajor, "0 or later");
  return Status();
}

Card::~Card() {
  if (context_)
    driver_.contextRelease(device_);
}

std::string Card::architecture() const {
  return inWords("sm_", major_, minor_);
}

Status Card::makeCurrent() const {
  return tell(driver_.contextSetCurrent(context_), "using " + name_);
}

Status Card::synchronize() const {
  return tell(driver_.contextSynchronize(), "waiting for " + name_);
}

//===-- memory ------------------------------------------------------------===//

/// Lists needs in words: "3.0 GiB of state, 1.0 GiB of arena".
static std::string listOf(std::span<const Need> needs) {
  std::string list;
  for (const Need &need : needs)
    if (need.bytes)
      append(list, list.empty() ? "" : ", ", sizeInWords(need.bytes), " of ",
             need.what);
  return list;
}

Status Card::checkFits(std::span<const Need> needs) const {
  size_t free = 0, total = 0, wanted = 0;
  for (const Need &need : needs)
    wanted += need.bytes;
  GRADUS_TRY(tell(driver_.memoryInfo(&free, &total),
                  "asking for the memory of " + name_));
  if (wanted <= free)
    return Status();
  return failed("needs ", sizeInWords(wanted), " of the GPU's memory (",
                listOf(needs), "), and ", sizeInWords(free), " of ",
                sizeInWords(total), " are free on ", name_);
}

StatusOr<Owned<DevicePointer>> Card::allocate(const Need &need) const {
  if (need.bytes == 0)
    return Owned<DevicePointer>();
  GRADUS_TRY(checkFits({&need, 1}));
  DevicePointer address = 0;
  GRADUS_TRY(tell(driver_.memoryAllocate(&address, need.bytes),
                  inWords("taking ", sizeInWords(need.bytes), " of ", name_,
                          " for ", need.what)));
  return Owned<DevicePointer>(address, driver_.memoryFree);
}

StatusOr<Owned<void *>> Card::allocatePinned(const Need &need) const {
  if (need.bytes == 0)
    return Owned<void *>();
  void *address = nullptr;
  GRADUS_TRY(tell(driver_.pinnedAllocate(&address, need.bytes, 0),
                  inWords("taking ", sizeInWords(need.bytes),
                          " of pinned memory for ", need.what)));
  return Owned<void *>(address, driver_.pinnedFree);
}

//===-- streams and events ------------------------------------------------===//

StatusOr<Owned<Stream>> Card::createStream() const {
  Stream stream = nullptr;
  GRADUS_TRY(tell(driver_.streamCreate(&stream, kStreamNonBlocking, 0),
                  "making a stream"));
  return Owned<Stream>(stream, driver_.streamDestroy);
}

StatusOr<Owned<Event>> Card::createEvent(bool timed) const {
  Event event = nullptr;
  GRADUS_TRY(tell(driver_.eventCreate(&event, timed ? 0 : kEventWithoutTiming),
                  "making an event"));
  return Owned<Event>(event, driver_.eventDestroy);
}

//===-- code --------------------------------------------------------------===//

StatusOr<Owned<Module>> Card::load(const void *image,
                                   const std::string &what) const {
  char log[1024] = "";
  JitOption options[] = {JitOption::errorLog, JitOption::errorLogBytes};
  void *values[] = {log, std::bit_cast<void *>(sizeof(log))};
  Module module = nullptr;
  Result result = driver_.moduleLoad(&module, image, 2, options, values);
  Status loaded = tell(result, inWords("loading ", what, " on ", name_, " (",
                                       architecture(), ")"));
  if (!loaded.ok() && log[0])
    return failed(loaded.message(), ": ", std::string(log));
  GRADUS_TRY(loaded);
  return Owned<Module>(module, driver_.moduleUnload);
}

StatusOr<Function> Card::function(Module module,
                                  const std::string &name) const {
  Function function = nullptr;
  Result result = driver_.moduleFunction(&function, module, name.c_str());
  if (result == Result::notFound)
    return invalid("the GPU code has no kernel '", name, "'");
  GRADUS_TRY(tell(result, "looking for kernel " + name));
  return function;
}

StatusOr<uint32_t> Card::residentBlocks(Function function,
                                        uint32_t threads) const {
  int blocks = 0;
  GRADUS_TRY(tell(driver_.residentBlocks(&blocks, function, int(threads),
                                         /*sharedBytes=*/0),
                  "asking how many blocks of a kernel run at once"));
  return uint32_t(std::max(blocks, 1) * multiprocessors_);
}

} // namespace gradus::runtime::cuda
