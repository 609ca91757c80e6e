// LLVM IR to machine code to a flat blob that needs no linker and no loader.
#pragma once

#include "codegen/cpu_target.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace gradus {

/// LLVM's machine for a target; x86 alone is initialised.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
targetMachine(const CpuTarget &target);

/// A blob of code and constants with the offsets of the functions asked for.
struct Blob {
  std::vector<char> bytes;
  std::vector<uint64_t> entries; // one a name
};

/// An object file in memory.
using ObjectBytes = llvm::SmallVector<char, 0>;

/// Optimises and compiles a module.
llvm::Expected<ObjectBytes> compileToObject(llvm::Module &module,
                                            llvm::TargetMachine &machine);

/// Objects that may call each other's functions, one after the other. It is an
/// error if the code refers to anything outside of them: that is how a stray
/// library call is noticed.
llvm::Expected<Blob> joinObjects(llvm::ArrayRef<ObjectBytes> objects,
                                 llvm::ArrayRef<std::string> names);

/// The blob of one module.
llvm::Expected<Blob> compileToBlob(llvm::Module &module,
                                   llvm::TargetMachine &machine,
                                   llvm::ArrayRef<std::string> names);

} // namespace gradus
