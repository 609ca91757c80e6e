// Installs a signal handler for the whole process. It acts for the thread that
// reads and passes every other SIGBUS to the handler before.

#include "training/data/guarded_read.h"

#include <csetjmp>
#include <csignal>
#include <cstring>

namespace gradus::data {

static thread_local sigjmp_buf *wayOut = nullptr;
static struct sigaction handlerBefore;

static void onBusError(int, siginfo_t *, void *) {
  if (wayOut)
    siglongjmp(*wayOut, 1);
  sigaction(SIGBUS, &handlerBefore, nullptr); // The fault occurs again.
}

static bool installHandler() {
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_NODEFER; // The mask is not restored.
  return sigaction(SIGBUS, &action, &handlerBefore) == 0;
}

bool guardedRead(void (*read)(const void *argument), const void *argument) {
  static const bool installed = installHandler();
  sigjmp_buf place;
  if (!installed) {
    read(argument);
    return true;
  }
  if (sigsetjmp(place, /*savemask=*/0)) {
    wayOut = nullptr;
    return false;
  }
  wayOut = &place;
  read(argument);
  wayOut = nullptr;
  return true;
}

runtime::Status cutShort(const std::string &tensor, int64_t sample) {
  return runtime::invalid("the file was cut short while it was read: tensor '",
                          tensor, "' lacks its sample ", sample);
}

/// Copies all at once; samples may be small. One by one only finds the first
/// that is missing.
runtime::Status copySamples(const std::string &tensor, int64_t samples,
                            std::span<const uint8_t> from, uint8_t *to) {
  if (from.empty() ||
      readsWhole([&] { std::memcpy(to, from.data(), from.size()); }))
    return runtime::Status();
  size_t each = from.size() / samples;
  return readSamples(tensor, samples, [&](int64_t sample) {
    std::memcpy(to + sample * each, from.data() + sample * each, each);
    return true;
  });
}

} // namespace gradus::data
