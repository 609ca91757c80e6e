// Passes outside of Gradus, in a shared library: how a plug-in declares its
// passes, and how a tool loads it.
//
// A plug-in links Gradus::compiler of find_package(Gradus), and its source ends
// in GRADUS_PASS_PLUGIN(MyPass); docs/add_a_pass.md writes one. A pass that has
// a function `method()` is switched on by a key of the recipe.
#pragma once

#include "passes/version.h"
#include "recipe/settings.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

/// The recipe's object that has the keys of plug-ins.
inline constexpr const char *kPluginsKey = "plugins";

/// A training method of a plug-in: its key in the recipe's `plugins`, an object
/// that is null by default, whose settings the pass reads, and the stage of
/// passes/pipeline.cpp at whose end the pass runs where the recipe has the key.
/// A pass says which is its own by a static function `method()`. Passes of a
/// library that say the same key, each with its stage, are parts of one method.
template <typename Settings> struct PluginMethod {
  recipe::Field field;
  llvm::StringRef stage;

  /// Returns the settings; nothing where the key is null or false.
  std::optional<Settings> of(ProgramOp program) const {
    std::optional<Settings> settings;
    recipe::valueOf(program, field, kPluginsKey).to(settings);
    return settings;
  }
};

/// A key of a plug-in with the passes that it switches on.
struct PluginKey {
  struct Part {
    std::string stage, pass;
  };
  recipe::Field field;
  std::vector<Part> parts;

  bool switches(llvm::StringRef pass) const {
    return llvm::any_of(parts, [&](const Part &part) {
      return llvm::StringRef(part.pass) == pass;
    });
  }
  bool isOn(ProgramOp program) const {
    return !recipe::valueOf(program, field, kPluginsKey).isNull();
  }
};

/// Loads a plug-in and registers its passes; one that is loaded stays so. Its
/// keys have other names than `taken`. The error says what the file is instead
/// of a plug-in for this Gradus.
llvm::Error loadPassPlugin(llvm::StringRef path,
                           llvm::ArrayRef<llvm::StringRef> taken = {});

/// The names of the passes of all loaded plug-ins.
std::vector<std::string> pluginPasses();

/// The keys of all plug-ins that are loaded.
const std::vector<PluginKey> &pluginKeys();

/// Describes a plug-in: the versions that it is made with, and its passes, in
/// types that any version can read; `keys` is called where the versions are the
/// same.
struct PassPluginInfo {
  const char *version; // of Gradus
  const char *headers; // which of that version
  const char *llvm;
  const char *passes; // their names, a space between
  std::vector<PluginKey> (*keys)() = nullptr;
};

/// Adds a part to the key of that name, or the key.
void addPart(std::vector<PluginKey> &keys, const recipe::Field &field,
             PluginKey::Part part);

/// Adds the key of a pass that has one.
template <typename Pass> void addPluginKey(std::vector<PluginKey> &keys) {
  if constexpr (requires { Pass::method(); })
    addPart(keys, Pass::method().field,
            {Pass::method().stage.str(), Pass().getArgument().str()});
}

template <typename... Passes> std::vector<PluginKey> keysOfPasses() {
  std::vector<PluginKey> keys;
  (addPluginKey<Passes>(keys), ...);
  return keys;
}

/// The description that GRADUS_PASS_PLUGIN makes of these passes.
template <typename... Passes> const PassPluginInfo *passPluginInfo() {
  static const std::string names = [] {
    std::string names;
    ((names += (names.empty() ? "" : " ") + Passes().getArgument().str()), ...);
    return names;
  }();
  static const PassPluginInfo info = {
      GRADUS_COMPILER_VERSION, GRADUS_COMPILER_HEADERS, LLVM_VERSION_STRING,
      names.c_str(), keysOfPasses<Passes...>};
  return &info;
}

template <typename... Passes> void registerPluginPasses() {
  (::mlir::PassRegistration<Passes>(), ...);
}

} // namespace gradus

/// Makes a shared library a plug-in with these passes. Each is constructed
/// without arguments and has a name, its `getArgument`.
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
