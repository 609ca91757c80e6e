// States that are updated in the tiles of their gradients' matmuls get the bits
// that a launch of its own writes, at whole and ragged tiles, after sums in
// parts, and on any number of threads.

#include "codegen/targets/target.h"
#include "tests/codegen/kernels/winograd_cases.h"

using namespace gradus;
using namespace gradus::test;

namespace {

struct Case {
  int64_t rows, terms, columns;
  std::string of = "bf16";

  bool isOfBf16() const { return of == "bf16"; }
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.rows << " x " << c.terms << " x " << c.columns;
}

/// A step that moves a weight by momentum, and keeps a copy of it in 16 bits;
/// another matmul reads the weight or its copy. The step that returns the
/// gradient updates in a launch of its own.
std::string programOf(const Case &c, bool returnsGradient) {
  std::string x = typeOf({c.terms, c.rows}, c.of),
              y = typeOf({c.terms, c.columns}, c.of),
              wide = typeOf({c.rows, c.columns}, "f32"),
              narrow = typeOf({c.rows, c.columns}, "bf16"),
              sums = typeOf({c.terms, c.columns}, "f32"),
              read = c.isOfBf16() ? "%copy : " + x + ", " + narrow
                                  : "%w : " + x + ", " + wide;
  auto state = [](const std::string &name, const std::string &type) {
    return "gradus.state @" + name + " : " + type +
           " {role = #gradus.role<buffer>, init = #gradus.init<zeros>}\n";
  };
  return "gradus.program @p {\n" + state("w", wide) + state("m", wide) +
         state("copy", narrow) + "gradus.graph @g(%x: " + x + ", %y: " + y +
         ", %rate: tensor<f32>) -> (z: " + sums +
         (returnsGradient ? ", g: " + wide : "") +
         ") {\n%w = gradus.read @w : " + wide +
         "\n%m = gradus.read @m : " + wide +
         "\n%copy = gradus.read @copy : " + narrow +
         "\n%g = gradus.matmul %x transposed, %y : " + x + ", " + y + " -> " +
         wide + "\n%z = gradus.matmul %x, " + read + " -> " + sums +
         "\n%rates = gradus.broadcast %rate dims [] : "
         "tensor<f32> -> " +
         wide + "\n%kept = arith.mulf %m, %rates : " + wide +
         "\n%sum = arith.addf %kept, %g : " + wide +
         "\n%square = arith.mulf %sum, %sum : " + wide +
         "\n%larger = arith.addf %square, %rates : " + wide +
         "\n%root = math.sqrt %larger : " + wide +
         "\n%move = arith.divf %sum, %root : " + wide +
         "\n%next = arith.subf %w, %move : " + wide +
         "\n%short = arith.truncf %next : " + wide + " to " + narrow +
         "\ngradus.write @w, %next : " + wide +
         "\ngradus.write @m, %sum : " + wide +
         "\ngradus.write @copy, %short : " + narrow + "\ngradus.return %z" +
         (returnsGradient ? ", %g : " + sums + ", " + wide : " : " + sums) +
         "\n}\n}\n";
}

/// The states and the matmul's result after two steps from the same states.
NamedTensors steps(const std::vector<char> &bytes, const Case &c, int threads) {
  runtime::SessionOptions options;
  options.threads = threads;
  Compiled compiled(bytes, options);
  if (!compiled.ok())
    return {};
  for (auto [name, element, seed] :
       {std::tuple("w", "f32", 1u), {"m", "f32", 2u}, {"copy", "bf16", 3u}})
    compiled.setState(name, normal({c.rows, c.columns}, element, seed));
  HostTensor rate;
  rate.floats = {0.5};
  NamedTensors inputs = {{"x", normal({c.terms, c.rows}, c.of, 4)},
                         {"y", normal({c.terms, c.columns}, c.of, 5)},
                         {"rate", rate}};
  compiled.run("g", inputs);
  NamedTensors found = compiled.run("g", inputs);
  found.merge(compiled.states());
  return found;
}

/// Whether a command of an artifact has this name.
bool names(const std::vector<char> &artifact, std::string_view name) {
  return std::string_view(artifact.data(), artifact.size()).find(name) !=
         std::string_view::npos;
}

class UpdateInTiles : public ::testing::TestWithParam<Case> {};

// Each has the 50 MFLOP of which a library's call is worth it.
const Case cases[] = {
    {320, 256, 320}, // whole tiles
    {333, 262, 290}, // ragged ones of rows and columns
    {66, 6454, 65},  // sums in parts
    {70, 9300, 64},  {333, 262, 290, "f32"}, {66, 2101, 193, "f32"},
};

} // namespace

TEST_P(UpdateInTiles, WritesTheBitsOfALaunchOfItsOwn) {
  const Case &c = GetParam();
  std::vector<char> apart = artifactOf(programOf(c, /*returnsGradient=*/true)),
                    joined = artifactOf(programOf(c, false));
  const std::string label =
      c.isOfBf16() ? "matmul_of_pairs+update" : "matmul+update";
  EXPECT_FALSE(names(apart, label));
  EXPECT_EQ(names(joined, label),
            llvm::cantFail(findTarget("cpu")).model.lowerToKernels.matmuls);
  NamedTensors expected = steps(apart, c, 2);
  for (int threads : {1, 2, 5}) {
    NamedTensors found = steps(joined, c, threads);
    for (const char *name : {"w", "m", "copy", "z"})
      EXPECT_EQ(found[name].floats, expected[name].floats)
          << name << ", " << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UpdateInTiles, ::testing::ValuesIn(cases));
