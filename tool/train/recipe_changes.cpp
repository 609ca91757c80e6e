// Recipes are compared key by key; a list counts as one value.

#include "tool/train/recipe_changes.h"

#include "messages/json_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

using nlohmann::json;

namespace gradus::cli {

json recipeOfRun(json recipe) {
  // `boost` has been replaced by other keys.
  for (const char *key : {"seed", "passes", "metrics", "memory_limit", "boost"})
    recipe.erase(key);
  // The scale itself is a state.
  if (auto scale = recipe.find("loss_scale");
      scale != recipe.end() && scale->is_object())
    scale->erase("initial");
  // The hash of the basis says whether it is another one.
  if (auto reduction = recipe.find("dim_reduce");
      reduction != recipe.end() && reduction->is_object())
    reduction->erase("basis");
  if (auto inputs = recipe.find("inputs");
      inputs != recipe.end() && inputs->is_object())
    inputs->erase("normalize");
  return recipe;
}

/// The sizes that a recipe gives to the model's dims; null if it has none.
static json *dimsOf(json &recipe) {
  json *at = &recipe;
  for (const char *key : {"inputs", "dims"}) {
    if (!at->is_object() || !at->contains(key))
      return nullptr;
    at = &(*at)[key];
  }
  return at->is_object() ? at : nullptr;
}

/// Whether a dim may be the batch: it has that size, or no size is stated.
static bool mayBeBatch(const json *dims, const std::string &name,
                       int64_t batch) {
  return !dims || !dims->contains(name) || (*dims)[name] == batch;
}

void leaveOutBatch(json &before, int64_t batchBefore, json &now,
                   int64_t batchNow) {
  json *dimsBefore = dimsOf(before), *dimsNow = dimsOf(now);
  std::set<std::string> names;
  for (const json *dims : {dimsBefore, dimsNow})
    if (dims)
      for (const auto &[name, size] : dims->items())
        names.insert(name);
  for (const std::string &name : names)
    if (mayBeBatch(dimsBefore, name, batchBefore) &&
        mayBeBatch(dimsNow, name, batchNow))
      for (json *dims : {dimsBefore, dimsNow})
        if (dims)
          dims->erase(name);
}

/// Moves a position in UTF-8 to the start of its letter.
static size_t startOfLetter(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (text[at] & 0xc0) == 0x80)
    --at;
  return at;
}

/// At most 80 bytes of a text, from a position on.
static std::string shown(const std::string &text, size_t from) {
  constexpr size_t kMost = 80;
  size_t begin = startOfLetter(text, from);
  size_t end = startOfLetter(text, std::min(begin + kMost, text.size()));
  return absl::StrCat(begin > 0 ? "..." : "", text.substr(begin, end - begin),
                      end < text.size() ? "..." : "");
}

/// "1, now 2"; of long values the part where they differ.
static std::string bothShown(const json &before, const json &now) {
  constexpr size_t kSame = 30; // bytes before the difference
  std::string one = jsonText(before), other = jsonText(now);
  size_t differs = std::ranges::mismatch(one, other).in1 - one.begin();
  size_t from = differs > 2 * kSame ? differs - kSame : 0;
  return absl::StrCat(shown(one, from), ", now ", shown(other, from));
}

/// Whether a method's key has the value of a method that is off.
static bool isOff(const json &value) {
  return value.is_null() || value == false;
}

constexpr char kPlugins[] = "plugins";

/// Whether a path is that of a whole method: a key of the recipe, or of a
/// plug-in.
static bool isMethod(std::string_view path) {
  if (path.starts_with(absl::StrCat(kPlugins, ".")))
    path.remove_prefix(sizeof(kPlugins));
  return !path.empty() && path != "inputs" && path != kPlugins &&
         path.find('.') == path.npos;
}

static void compare(const std::string &path, const json &before,
                    const json &now, std::vector<std::string> &changes) {
  if (!before.is_object() || !now.is_object()) {
    if (before != now && !(isMethod(path) && isOff(before) && isOff(now)))
      changes.push_back(absl::StrCat(path, " ", bothShown(before, now)));
    return;
  }
  std::set<std::string> keys;
  for (const json *recipe : {&before, &now})
    for (const auto &[key, value] : recipe->items())
      keys.insert(key);
  // A key of a method that one side lacks is of another version of Gradus, or
  // of another `type`, which is compared itself.
  for (const std::string &key : keys)
    if (!isMethod(path) || (before.contains(key) && now.contains(key)))
      compare(path.empty() ? key : absl::StrCat(path, ".", key),
              before.value(key, json()), now.value(key, json()), changes);
}

std::string recipeChanges(const json &before, const json &now) {
  constexpr size_t kMost = 8;
  std::vector<std::string> changes;
  json one = before, other = now;
  for (json *recipe : {&one, &other}) // Without plug-ins they say nothing.
    if (recipe->is_object())
      recipe->emplace(kPlugins, json::object());
  compare("", one, other, changes);
  size_t all = changes.size();
  changes.resize(std::min(all, kMost));
  std::string text = absl::StrJoin(changes, "; ");
  return all > kMost ? absl::StrCat(text, "; and ", all - kMost, " more keys")
                     : text;
}

} // namespace gradus::cli
