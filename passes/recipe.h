// Access by text to the recipe of a program, for optimizers, schedules, groups
// and losses; methods read settings (recipe/settings.h). Errors name the key
// (`recipe: optimizer.betas is ...`).
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// One object of the recipe, such as `loss`, with its path for errors. Reads
/// of a missing key give the default; of one of the wrong kind, an error at
/// the program and the default.
class RecipeObject {
public:
  RecipeObject(ProgramOp program, mlir::DictionaryAttr values, std::string path)
      : program(program), values(values), path(std::move(path)) {}

  /// The keys that are there.
  llvm::SmallVector<std::string> keys() const;
  /// Whether the key is there and not null (a unit attribute).
  bool has(llvm::StringRef key) const;
  double number(llvm::StringRef key, double otherwise) const;
  int64_t integer(llvm::StringRef key, int64_t otherwise) const;
  bool flag(llvm::StringRef key, bool otherwise) const;
  std::string text(llvm::StringRef key, llvm::StringRef otherwise) const;
  llvm::SmallVector<double> numbers(llvm::StringRef key,
                                    llvm::ArrayRef<double> otherwise) const;
  llvm::SmallVector<std::string>
  texts(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> otherwise) const;
  /// The object under the key; empty if there is none.
  RecipeObject object(llvm::StringRef key) const;
  /// The objects of a list; empty if there is none.
  std::vector<RecipeObject> objects(llvm::StringRef key) const;

  /// An error at the program that opens with `recipe: <path>.<key> `.
  mlir::InFlightDiagnostic error(llvm::StringRef key) const;
  mlir::InFlightDiagnostic warning(llvm::StringRef key) const;

private:
  mlir::Attribute find(llvm::StringRef key) const;
  std::string pathOf(llvm::StringRef key) const;

  ProgramOp program;
  mlir::DictionaryAttr values; // null: no keys
  std::string path;
};

/// Notices errors while it lives, and lets them pass on. A pass that reads the
/// recipe has failed where there was one, though the read gave a default.
class ErrorWatch {
public:
  explicit ErrorWatch(mlir::MLIRContext *context);
  bool sawError() const { return saw; }

private:
  bool saw = false;
  mlir::ScopedDiagnosticHandler handler;
};

/// The whole recipe of a program; empty if it has none.
RecipeObject recipeOf(ProgramOp program);

/// The candidates in order of likeness to `name`, nearest first, for errors.
std::string nearestFirst(llvm::StringRef name,
                         llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace gradus
