// Compiles LLVM IR to a flat blob of machine code that needs no linker and no
// loader.
#pragma once

#include "codegen/cpu/target.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace gradus {

/// LLVM's target machine; only x86 is initialised.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
targetMachine(const CpuTarget &target);

/// A blob of code and constants with the offsets of the requested functions.
struct Blob {
  std::vector<char> bytes;
  std::vector<uint64_t> entries; // one a name
};

/// An object file in memory.
using ObjectBytes = llvm::SmallVector<char, 0>;

/// Optimises and compiles a module to an object file.
llvm::Expected<ObjectBytes> compileToObject(llvm::Module &module,
                                            llvm::TargetMachine &machine);

/// Joins objects that may call each other's functions, one after another. A
/// reference to any other symbol is an error, which detects unwanted library
/// calls.
llvm::Expected<Blob> joinObjects(llvm::ArrayRef<ObjectBytes> objects,
                                 llvm::ArrayRef<std::string> names);

/// Compiles one module to a blob.
llvm::Expected<Blob> compileToBlob(llvm::Module &module,
                                   llvm::TargetMachine &machine,
                                   llvm::ArrayRef<std::string> names);

} // namespace gradus
