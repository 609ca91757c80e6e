// Passes that live outside of Gradus, as a shared library: how a plug-in says
// what it has, and how a tool takes it in.
//
// A plug-in links Gradus::compiler of find_package(Gradus), and its source ends
// in GRADUS_PASS_PLUGIN(MyPass); docs/add_a_pass.md writes one.
#pragma once

#include "passes/version.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// Loads a plug-in and registers its passes; one that is loaded stays so. The
/// error says what the file is instead of a plug-in for this Gradus.
llvm::Error loadPassPlugin(llvm::StringRef path);

/// The names of the passes of all plug-ins that are loaded.
std::vector<std::string> pluginPasses();

/// What a plug-in is made with and what it has, in types that any version
/// can read.
struct PassPluginInfo {
  const char *version; // of Gradus
  const char *headers; // which of that version
  const char *llvm;
  const char *passes; // their names, a space between
};

/// What GRADUS_PASS_PLUGIN says of these passes.
template <typename... Passes> const PassPluginInfo *passPluginInfo() {
  static const std::string names = [] {
    std::string names;
    ((names += (names.empty() ? "" : " ") + Passes().getArgument().str()), ...);
    return names;
  }();
  static const PassPluginInfo info = {GRADUS_COMPILER_VERSION,
                                      GRADUS_COMPILER_HEADERS,
                                      LLVM_VERSION_STRING, names.c_str()};
  return &info;
}

template <typename... Passes> void registerPluginPasses() {
  (::mlir::PassRegistration<Passes>(), ...);
}

} // namespace gradus

/// Makes a shared library a plug-in with these passes. Each is made without
/// arguments and has a name, its `getArgument`.
#define GRADUS_PASS_PLUGIN(...)                                                \
  extern "C" __attribute__((visibility("default")))                            \
  const ::gradus::PassPluginInfo *                                             \
  gradusPassPlugin() {                                                         \
    return ::gradus::passPluginInfo<__VA_ARGS__>();                            \
  }                                                                            \
  extern "C"                                                                   \
      __attribute__((visibility("default"))) ::mlir::PassPluginLibraryInfo     \
      mlirGetPassPluginInfo() {                                                \
    return {MLIR_PLUGIN_API_VERSION, "Gradus", GRADUS_COMPILER_VERSION,        \
            ::gradus::registerPluginPasses<__VA_ARGS__>};                      \
  }
