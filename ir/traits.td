// Traits: facts that an op of the dialect declares of itself in a word. Passes ask for a trait
// instead of a list of ops; ir/traits.h asks for arith and math as well.

#ifndef GRADUS_TRAITS_TD
#define GRADUS_TRAITS_TD

include "mlir/IR/OpBase.td"

class GradusTrait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::gradus";
}

// The result has elements of the operands, or a number that an attribute names,
// at positions that follow from the attributes alone.
def MovesElements : GradusTrait<"MovesElements">;

// The result has every element of the only operand, and no other.
def KeepsAllElements : GradusTrait<"KeepsAllElements">;

// The result is another name of the memory of the only operand, or of a part of
// it: no command computes it.
def NamesMemory : GradusTrait<"NamesMemory">;

// The results have numbers of the operands or of a state and are not rounded.
def ReturnsExactNumbers : GradusTrait<"ReturnsExactNumbers">;

// A first operand of 16 bits gives results of 16 bits that lose nothing, or no
// more than the rounding of the result.
def Keeps16Bits : GradusTrait<"Keeps16Bits">;

// Each element is computed in f32 of few elements of the first operand, and is
// worth 16 bits if they are. An elementwise op is so without the trait.
def ComputesOfFewElements : GradusTrait<"ComputesOfFewElements">;

// The op slides a window over [N, C, ...] and leaves channels apart.
def PoolsWindows : GradusTrait<"PoolsWindows">;

// An op that moves elements does not round them.
defvar moving = [MovesElements, ReturnsExactNumbers];
defvar movingAll = !listconcat(moving, [KeepsAllElements]);

#endif
