// A plug-in that says it was made for another Gradus.

#include "passes/pass_plugin.h"

extern "C" __attribute__((visibility("default"))) const gradus::PassPluginInfo *
gradusPassPlugin() {
  static const gradus::PassPluginInfo info = {"0.0.9", "0123456789ab", "21.1.0",
                                              "old"};
  return &info;
}

/// Not to be called: what it gives may be laid out otherwise there.
extern "C" __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  abort();
}
