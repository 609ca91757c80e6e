// The recipe: one JSON file that says how a model is to be trained.
//
// Reading checks every key, type and range, fills in all defaults and applies
// `--set` overrides. All mistakes are reported together, one line each, by the
// key's path: `optimizer.learning_rte: unknown key; did you mean
// "learning_rate"?`. Keys are declared beside what reads them and joined
// in frontends/recipe/fields.cpp.

#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::recipe {

struct Recipe {
  /// The whole recipe with all defaults filled in, in the order of the table:
  /// the same recipe gives the same text.
  std::string json;
  /// Notes for the user about keys that have no effect.
  std::vector<std::string> remarks;

  // Keys that a model's importer reads.
  std::map<std::string, int64_t> dims;       // `inputs.dims`
  std::vector<std::string> trainable, fixed; // patterns of parameter names
};

/// One setting over the recipe's, and what its errors call it.
struct Override {
  Override(const char *setting) : Override(std::string(setting)) {}
  Override(std::string setting)
      : setting(std::move(setting)), origin("--set " + this->setting) {}
  Override(std::string setting, std::string origin)
      : setting(std::move(setting)), origin(std::move(origin)) {}

  std::string setting; // `path.to.key=value`, the value JSON or plain text
  std::string origin;  // "--dim batch=32"
};
using Overrides = std::vector<Override>;

/// Reads a recipe file; an empty path reads the defaults. Errors begin with the
/// path, or with the override that they come from.
absl::StatusOr<Recipe> readFile(const std::string &path,
                                const Overrides &overrides = {});

/// The same for text in memory; `name` stands in front of errors.
absl::StatusOr<Recipe> read(std::string_view text, std::string_view name,
                            const Overrides &overrides = {});

/// JSON schema (draft 2020-12) of all keys.
std::string schema();

/// The recipe as the attribute `recipe` of a gradus.program: numbers are f64 or
/// i64 attributes, a null key is left out.
mlir::DictionaryAttr toAttribute(const Recipe &recipe,
                                 mlir::MLIRContext &context);

/// The way back, for a program that brought its recipe along: the JSON of the
/// attribute's keys alone, since defaults depend on `compat` and other keys.
std::string toJson(mlir::DictionaryAttr attribute);

} // namespace gradus::recipe
