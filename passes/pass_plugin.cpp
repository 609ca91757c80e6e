// Loads plug-ins. Before any code runs whose data may have another layout,
// plain types tell which versions of Gradus and LLVM a library was built for.

#include "passes/pass_plugin.h"

#include "passes/passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace gradus;

namespace {

struct Loaded {
  llvm::StringSet<> paths;
  std::vector<std::string> passes;
  std::vector<PluginKey> keys;
};

/// Never destroyed: keys have functions of libraries that end earlier.
Loaded &loaded() {
  static Loaded &all = *new Loaded;
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

/// Describes this Gradus, or the one that a plug-in was built for.
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

/// Refuses duplicate names, at which MLIR would abort.
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

bool isKeyName(StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isLower(c) || llvm::isDigit(c) || c == '_';
  });
}

bool isJson(std::string_view text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(StringRef(text));
  if (!value)
    llvm::consumeError(value.takeError());
  return bool(value);
}

/// Whether a field has what its kind needs: the elements of a list, choices.
bool isWhole(const recipe::Field &field) {
  bool hasElements =
      field.kind == recipe::Kind::list || field.kind == recipe::Kind::named;
  bool hasChoices =
      field.kind == recipe::Kind::choice || field.kind == recipe::Kind::variant;
  return (!hasElements || !field.fields.empty()) &&
         (!hasChoices || !field.choices.empty());
}

/// The first field whose default is no JSON, or that lacks what its kind needs;
/// null where there is none.
const recipe::Field *badDefault(const recipe::Field &field) {
  bool isGood = isJson(field.fallback) && isWhole(field);
  for (const recipe::FallbackUnder &other : field.elsewhere)
    isGood &= isJson(other.fallback);
  if (!isGood)
    return &field;
  for (const recipe::Field &inner : field.fields)
    if (const recipe::Field *bad = badDefault(inner))
      return bad;
  for (const recipe::Choice &choice : field.choices)
    for (const recipe::Field &inner : choice.fields)
      if (const recipe::Field *bad = badDefault(inner))
        return bad;
  return nullptr;
}

llvm::Error checkKey(StringRef path, const PluginKey &key,
                     const llvm::StringSet<> &taken) {
  StringRef name = key.field.key;
  std::string its = ("its key \"" + name + "\" ").str();
  if (!isKeyName(name))
    return refused(path, its + "should have a name of a-z, 0-9 and _");
  if (taken.contains(name))
    return refused(path, its + "has the name of another key");
  if (key.field.kind != recipe::Kind::object || !key.field.nullable())
    return refused(path, its + "should be an object that is null by default");
  for (const PluginKey::Part &part : key.parts)
    if (!llvm::is_contained(trainingStages(), part.stage))
      return refused(path, its + "is for stage \"" + part.stage +
                               "\"; there are " +
                               llvm::join(trainingStages(), ", "));
  if (const recipe::Field *bad = badDefault(key.field))
    return refused(
        path, its + "has \"" + StringRef(bad->key) +
                  "\", whose default is no JSON: " + StringRef(bad->fallback));
  return llvm::Error::success();
}

llvm::Error addKeys(StringRef path, const std::vector<PluginKey> &keys,
                    ArrayRef<StringRef> ownKeys) {
  llvm::StringSet<> taken;
  taken.insert(ownKeys.begin(), ownKeys.end());
  for (const PluginKey &key : loaded().keys)
    taken.insert(StringRef(key.field.key));
  for (const PluginKey &key : keys) {
    if (llvm::Error error = checkKey(path, key, taken))
      return error;
    taken.insert(StringRef(key.field.key));
  }
  loaded().keys.insert(loaded().keys.end(), keys.begin(), keys.end());
  return llvm::Error::success();
}

llvm::Error registerPlugin(StringRef path, llvm::sys::DynamicLibrary &library,
                           ArrayRef<StringRef> ownKeys) {
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
  if (llvm::Error error = addKeys(path, info.keys(), ownKeys))
    return error;
  mlirs.registerPassRegistryCallbacks();
  for (StringRef name : names)
    loaded().passes.push_back(name.str());
  return llvm::Error::success();
}

} // namespace

llvm::Error gradus::loadPassPlugin(StringRef path, ArrayRef<StringRef> taken) {
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
  if (llvm::Error error = registerPlugin(path, library, taken))
    return error;
  loaded().paths.insert(whole);
  return llvm::Error::success();
}

void gradus::addPart(std::vector<PluginKey> &keys, const recipe::Field &field,
                     PluginKey::Part part) {
  auto key = llvm::find_if(
      keys, [&](const PluginKey &key) { return key.field.key == field.key; });
  if (key == keys.end())
    key = keys.insert(key, PluginKey{field, {}});
  key->parts.push_back(std::move(part));
}

std::vector<std::string> gradus::pluginPasses() { return loaded().passes; }

const std::vector<PluginKey> &gradus::pluginKeys() { return loaded().keys; }
