// Takes plug-ins in. A library is asked in plain types which Gradus and LLVM it
// is made for before anything of it runs that could be laid out otherwise.

#include "passes/pass_plugin.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace gradus;

namespace {

struct Loaded {
  llvm::StringSet<> paths;
  std::vector<std::string> passes;
};

Loaded &loaded() {
  static Loaded all;
  return all;
}

llvm::Error refused(StringRef path, const Twine &words) {
  return llvm::createStringError(path + ": " + words);
}

template <typename Function>
Function *find(llvm::sys::DynamicLibrary &library, const char *name) {
  return reinterpret_cast<Function *>(library.getAddressOfSymbol(name));
}

using Describe = const PassPluginInfo *();
using DescribeToMlir = PassPluginLibraryInfo();

/// What this Gradus is, or what a plug-in is made for.
std::string madeFor(const PassPluginInfo &info) {
  return (Twine("Gradus ") + info.version + " (headers " + info.headers +
          ") and LLVM " + info.llvm)
      .str();
}

llvm::Error checkVersions(StringRef path, const PassPluginInfo &info) {
  std::string found = madeFor(info), expected = madeFor(*passPluginInfo<>());
  if (found == expected)
    return llvm::Error::success();
  return refused(path, "is made for " + found + ", but this is " + expected +
                           "; build the plug-in again with the headers of this "
                           "Gradus");
}

/// MLIR would end the program where two passes have one name.
llvm::Error checkNames(StringRef path, ArrayRef<StringRef> names) {
  llvm::StringSet<> own;
  for (StringRef name : names)
    if (name.empty())
      return refused(path, "one of its passes has no name (getArgument)");
    else if (PassInfo::lookup(name) || !own.insert(name).second)
      return refused(path,
                     "its pass \"" + name + "\" has the name of another pass");
  return llvm::Error::success();
}

llvm::Error registerPlugin(StringRef path, llvm::sys::DynamicLibrary &library) {
  auto *toMlir = find<DescribeToMlir>(library, "mlirGetPassPluginInfo");
  auto *describe = find<Describe>(library, "gradusPassPlugin");
  if (!toMlir)
    return refused(path, "is no plug-in of passes: it has no "
                         "mlirGetPassPluginInfo, which "
                         "GRADUS_PASS_PLUGIN(MyPass) makes "
                         "(passes/pass_plugin.h)");
  if (!describe)
    return refused(path, "does not say which Gradus it is made for; "
                         "GRADUS_PASS_PLUGIN(MyPass) does "
                         "(passes/pass_plugin.h)");
  const PassPluginInfo &info = *describe();
  if (llvm::Error error = checkVersions(path, info))
    return error;
  PassPluginLibraryInfo mlirs = toMlir();
  if (mlirs.apiVersion != MLIR_PLUGIN_API_VERSION)
    return refused(path, "has version " + Twine(mlirs.apiVersion) +
                             " of MLIR's interface of plug-ins, expected " +
                             Twine(MLIR_PLUGIN_API_VERSION));
  SmallVector<StringRef> names;
  StringRef(info.passes).split(names, ' ');
  if (llvm::Error error = checkNames(path, names))
    return error;
  mlirs.registerPassRegistryCallbacks();
  for (StringRef name : names)
    loaded().passes.push_back(name.str());
  return llvm::Error::success();
}

} // namespace

llvm::Error gradus::loadPassPlugin(StringRef path) {
  // The loader looks for a name without a folder elsewhere.
  SmallString<128> whole(path);
  if (!llvm::sys::fs::exists(path))
    return refused(path, "there is no such file");
  if (std::error_code error = llvm::sys::fs::real_path(path, whole))
    return refused(path, error.message());
  if (loaded().paths.contains(whole))
    return llvm::Error::success();
  std::string words;
  auto library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(whole.c_str(), &words);
  if (!library.isValid())
    return refused(path, "cannot be loaded: " + words);
  if (llvm::Error error = registerPlugin(path, library))
    return error;
  loaded().paths.insert(whole);
  return llvm::Error::success();
}

std::vector<std::string> gradus::pluginPasses() { return loaded().passes; }
