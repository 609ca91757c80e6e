// The program in an artifact: the model's graph after what changes the model,
// as MLIR bytecode, from which `gradus compile` makes plans for other targets.
//
// The bytecode has our own form of attributes and types. They are text, as
// MLIR's readers of their binary forms trust what they read; only elements of
// tensors are bytes, whose number is checked. Initial values are those of the
// weights section, under the names of states. The recipe is in the header.
#pragma once

#include "ir/gradus.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace gradus {

/// The compiler that can read what this one writes: "gradus 0.1.0 (MLIR
/// 22.1.8)".
std::string compilerName();

struct ProgramSection {
  std::vector<char> bytes;
  /// The states whose values are left to the weights section.
  std::vector<std::pair<std::string, mlir::ElementsAttr>> values;
};

/// Writes the module that holds the program, without the recipe and the places
/// in files. The same program gives the same bytes.
ProgramSection writeProgram(ProgramOp program);

/// Whether the program, after more passes, starts from the same values, so that
/// the weights section has them.
bool hasValues(ProgramOp program, const ProgramSection &section);

/// Returns the initial value of a state of this type; null if there is none.
using ValueOfState = llvm::function_ref<mlir::ElementsAttr(
    llvm::StringRef name, mlir::RankedTensorType type)>;

/// Reads a program without a recipe. Any bytes give a valid module with one
/// program, or an error in words. It is that of the machine, by its kind
/// (std::errc), where there is no process in which to try MLIR's reader.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readProgram(llvm::ArrayRef<char> bytes, mlir::MLIRContext &context,
            ValueOfState values);

} // namespace gradus
