// A folder of images: FOLDER/CLASS/..., where the sorted names of the classes
// count as labels 0, 1, ...; or images alone, without labels.

#include "training/data/formats.h"
#include "training/data/image_file.h"

#include "runtime/names.h"
#include "runtime/status.h"
#include "runtime/well_known.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <filesystem>
#include <map>

using namespace gradus::runtime;

namespace fs = std::filesystem;

namespace gradus::data {
namespace {

using Paths = std::vector<std::string>;

runtime::Status unreadable(const fs::path &path, std::error_code error) {
  return invalid(path.string(), ": cannot be read: ", error.message());
}

bool isHidden(const fs::directory_entry &entry) {
  return entry.path().filename().string().starts_with('.');
}

/// Counts files of classes that are not images, by extension.
using OtherFiles = std::map<std::string, int64_t>;

/// Returns the sorted images in a folder, and with `deep` in its subfolders.
/// Hidden files are skipped: macOS writes ._a.jpg beside a.jpg. Other files are
/// counted in `others`.
runtime::StatusOr<Paths> imagesIn(const fs::path &folder, bool deep,
                                  OtherFiles &others) {
  Paths images;
  std::error_code error;
  fs::recursive_directory_iterator entry(
      folder, fs::directory_options::follow_directory_symlink, error);
  for (; !error && entry != fs::end(entry); entry.increment(error)) {
    std::error_code none;
    bool isFolder = entry->is_directory(none), hidden = isHidden(*entry);
    if (isFolder && (!deep || hidden))
      entry.disable_recursion_pending();
    if (isFolder || hidden)
      continue;
    if (hasImageName(entry->path().string()))
      images.push_back(entry->path().string());
    else
      ++others[asUtf8(entry->path().extension().string())];
  }
  if (error)
    return unreadable(folder, error);
  std::sort(images.begin(), images.end());
  return images;
}

runtime::StatusOr<std::vector<fs::path>> foldersIn(const fs::path &folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::end(entry); entry.increment(error)) {
    std::error_code none;
    if (!isHidden(*entry) && entry->is_directory(none))
      folders.push_back(entry->path());
  }
  if (error)
    return unreadable(folder, error);
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// The name of a folder or file as valid UTF-8, which a checkpoint can keep.
std::string nameOf(const fs::path &path) {
  return asUtf8(path.filename().string());
}

Column ofImages(Paths paths, const std::string &name) {
  Column column{name, {DType::u8, {int64_t(paths.size())}}, {}, nullptr};
  column.meaning = Meaning::files;
  column.files = std::make_shared<const Paths>(std::move(paths));
  return column;
}

Column ofLabels(std::vector<int64_t> labels,
                const std::vector<fs::path> &classes) {
  auto owner = std::make_shared<const std::vector<int64_t>>(std::move(labels));
  Column column{well_known::kLabel,
                {DType::i64, {int64_t(owner->size())}},
                {reinterpret_cast<const uint8_t *>(owner->data()),
                 owner->size() * sizeof(int64_t)},
                owner};
  Paths names;
  for (const fs::path &folder : classes)
    names.push_back(nameOf(folder));
  column.classes = std::make_shared<const Paths>(std::move(names));
  return column;
}

/// Reports images beside the class folders, which may be a mistake.
std::string remarkOnLoose(const Paths &loose) {
  if (loose.empty())
    return "";
  return inWords(loose.size(),
                 " images beside the folders of classes are not "
                 "taken, such as ",
                 nameOf(loose.front()));
}

/// Returns "8 files of other kinds (.webp)".
std::string remarkOn(const OtherFiles &others) {
  constexpr size_t kMostNamed = 4;
  int64_t count = 0;
  std::vector<std::string> kinds;
  for (const auto &[kind, files] : others) {
    count += files;
    kinds.push_back(kind.empty() ? "without an extension" : kind);
  }
  if (count == 0)
    return "";
  if (kinds.size() > kMostNamed) {
    kinds.resize(kMostNamed);
    kinds.push_back("...");
  }
  return absl::StrCat(
      count, count == 1 ? " file of another kind (" : " files of other kinds (",
      absl::StrJoin(kinds, ", "), ")");
}

/// Returns "; it has 8 files of other kinds (.webp)".
std::string butHas(const OtherFiles &others) {
  std::string words = remarkOn(others);
  return words.empty() ? "" : "; it has " + words;
}

/// Reports skipped files: those without a class, and those of other kinds.
std::string remarkOn(const Paths &loose, const OtherFiles &others) {
  std::string words = remarkOnLoose(loose), kinds = remarkOn(others);
  if (kinds.empty())
    return words;
  return absl::StrCat(words, words.empty() ? "" : "; ", kinds, " left out");
}

} // namespace

runtime::StatusOr<std::vector<Column>>
readImageFolder(const std::string &path, const std::string &name) {
  GRADUS_ASSIGN(std::vector<fs::path> classes, foldersIn(path));
  OtherFiles others;
  if (classes.empty()) {
    GRADUS_ASSIGN(Paths images, imagesIn(path, false, others));
    if (images.empty())
      return invalid(path,
                     ": has no images (.png, .jpg, .jpeg) and no folders of "
                     "them",
                     butHas(others));
    Column column = ofImages(std::move(images), name);
    column.remark = remarkOn({}, others);
    return std::vector<Column>{std::move(column)};
  }
  OtherFiles unclassed; // files like read-me texts, not reported
  GRADUS_ASSIGN(Paths loose, imagesIn(path, false, unclassed));
  Paths all;
  std::vector<int64_t> labels;
  for (size_t i = 0; i < classes.size(); ++i) {
    OtherFiles own;
    GRADUS_ASSIGN(Paths images, imagesIn(classes[i], true, own));
    if (images.empty())
      return invalid(path, ": its folder '", nameOf(classes[i]),
                     "', a class, has no images (.png, .jpg, .jpeg)",
                     butHas(own));
    for (const auto &[kind, files] : own)
      others[kind] += files;
    all.insert(all.end(), images.begin(), images.end());
    labels.resize(all.size(), i);
  }
  Column images = ofImages(std::move(all), name);
  images.remark = remarkOn(loose, others);
  return std::vector<Column>{std::move(images),
                             ofLabels(std::move(labels), classes)};
}

} // namespace gradus::data
