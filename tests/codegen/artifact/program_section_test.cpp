#include "codegen/artifact/program_section.h"

#include "tests/codegen/program_text.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"

#include <random>

using namespace gradus;
using namespace mlir;

namespace {

const char *const model = R"(
module @m {
gradus.program @net attributes {recipe = {seed = 1 : i64}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>} loc("w")
  gradus.state @far : tensor<2xf32> {role = #gradus.role<parameter>, value = dense_resource<far> : tensor<2xf32>}
  gradus.state @b : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 0.3 : f64>}
  gradus.graph @predict(%x loc("x"): tensor<4x2xf32>, %keep: tensor<4x3xi1>) -> (y: tensor<4x3xf32>) {
    %w = gradus.read @w : tensor<2x3xf32>
    %b = gradus.read @b : tensor<3xf32>
    %0 = gradus.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32> loc("/fc/MatMul"("net.py":3:4))
    %1 = gradus.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32> loc(fused["/fc/Add", "\0A\"odd\""])
    %mask = arith.constant dense<[[true, false, true], [false, false, true], [true, true, true], [false, true, false]]> : tensor<4x3xi1>
    %2 = arith.andi %mask, %keep : tensor<4x3xi1>
    %3 = arith.addf %0, %1 : tensor<4x3xf32> loc("/fc/Add")
    %none = arith.constant dense<0xFFC00000> : tensor<4x3xf32>
    %y = arith.select %2, %3, %none : tensor<4x3xi1>, tensor<4x3xf32>
    gradus.return %y : tensor<4x3xf32>
  }
}
}
{-# dialect_resources: { builtin: { far: "0x040000000000803F00004040" } } #-})";

/// Gives back the values that were left out.
struct Weights {
  ProgramSection section;

  ElementsAttr operator()(StringRef name, RankedTensorType type) const {
    for (const auto &[own, value] : section.values)
      if (own == name && value.getShapedType() == type)
        return value;
    return {};
  }
};

/// Reads in the context of the values.
llvm::Expected<OwningOpRef<ModuleOp>> readBack(const ProgramSection &section,
                                               MLIRContext &context) {
  Weights weights{section};
  return readProgram(section.bytes, context, weights);
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

bool holds(const std::vector<char> &bytes, StringRef text) {
  return StringRef(bytes.data(), bytes.size()).contains(text);
}

} // namespace

TEST(ProgramSection, IsReadAsItWasWritten) {
  ProgramText text(model);
  ProgramSection section = writeProgram(text.program());
  auto module = readBack(section, text.context);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  ProgramOp program = *(*module)->getOps<ProgramOp>().begin();
  EXPECT_FALSE(program.getRecipeAttr());
  EXPECT_TRUE(text.program().getRecipeAttr());
  EXPECT_TRUE(hasValues(program, section));
  // The same but for the recipe and the places in files.
  EXPECT_EQ(writeProgram(program).bytes, section.bytes);
  text.program().removeRecipeAttr();
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FileLineColLoc place) -> Attribute {
    return UnknownLoc::get(place.getContext());
  });
  replacer.recursivelyReplaceElementsIn(*text.module, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/true);
  EXPECT_EQ(textOf(**module), textOf(*text.module));
}

TEST(ProgramSection, NamesNodesAndNoFiles) {
  ProgramText text(model);
  std::vector<char> bytes = writeProgram(text.program()).bytes;
  EXPECT_TRUE(holds(bytes, "/fc/MatMul"));
  EXPECT_FALSE(holds(bytes, "net.py"));
  EXPECT_FALSE(holds(bytes, "mlir_source"));
}

TEST(ProgramSection, LeavesValuesToTheWeights) {
  ProgramText text(model);
  ProgramSection section = writeProgram(text.program());
  ASSERT_EQ(section.values.size(), 2u);
  EXPECT_EQ(section.values[0].first, "w");
  EXPECT_EQ(section.values[1].first, "far");
  // 1.0, 2.0, 3.0 as they lie in memory
  EXPECT_FALSE(holds(section.bytes, StringRef("\0\0\x80\x3f\0\0\0\x40", 8)));
  auto module =
      readProgram(section.bytes, text.context,
                  [](StringRef, RankedTensorType) { return ElementsAttr(); });
  ASSERT_FALSE(bool(module));
  EXPECT_EQ(llvm::toString(module.takeError()),
            "the weights have no values of type 'tensor<2x3xf32>' for state "
            "\"w\"");
}

TEST(ProgramSection, ChangedValuesAreNotThoseOfTheWeights) {
  ProgramText text(model);
  ProgramSection section = writeProgram(text.program());
  StateOp w = text.program().getState("w");
  w.setValueAttr(DenseElementsAttr::get(
      cast<ShapedType>(w.getType()),
      ArrayRef<float>({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 7.0f})));
  EXPECT_FALSE(hasValues(text.program(), section));
  w.erase();
  EXPECT_FALSE(hasValues(text.program(), section));
}

TEST(ProgramSection, IsRefusedInWords) {
  ProgramText text(model);
  auto refused = [&](std::vector<char> bytes) {
    ProgramSection section = writeProgram(text.program());
    section.bytes = std::move(bytes);
    auto module = readBack(section, text.context);
    return module ? "" : llvm::toString(module.takeError());
  };
  EXPECT_EQ(refused({}), "it is not whole MLIR bytecode");
  EXPECT_EQ(refused({'m', 'o', 'd', 'u', 'l', 'e'}),
            "it is not whole MLIR bytecode");
  std::vector<char> cut = writeProgram(text.program()).bytes;
  cut.resize(cut.size() / 2);
  EXPECT_NE(refused(cut), "");
}

// A type with a sign bit where a size was, an element too few, an op of other
// operands: each is an error, or another program that is as valid as the first.
TEST(ProgramSection, ForgedBytesAreRefusedOrHarmless) {
  ProgramText text(model);
  const ProgramSection whole = writeProgram(text.program());
  std::mt19937 random(1);
  int refused = 0, read = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    ProgramSection forged = whole;
    for (int change = 0, most = 1 + random() % 3; change < most; ++change) {
      size_t at = random() % forged.bytes.size();
      if (random() % 8 == 0)
        forged.bytes.erase(forged.bytes.begin() + at);
      else if (random() % 8 == 0)
        forged.bytes.insert(forged.bytes.begin() + at, random() % 256);
      else if (random() % 2)
        forged.bytes[at] ^= 1 << random() % 8;
      else
        forged.bytes[at] = random() % 256;
    }
    auto module = readBack(forged, text.context);
    if (module) {
      ++read;
      EXPECT_TRUE(succeeded(verify(**module)));
      writeProgram(*(*module)->getOps<ProgramOp>().begin());
    } else {
      ++refused;
      EXPECT_NE(llvm::toString(module.takeError()), "");
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 10);
}
