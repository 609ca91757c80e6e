// What the usual kinds of kernels need of a GPU's registers, at sizes of real
// models: none spills, and none needs more than it did when it was listed.

#include "tests/codegen/compiled_run.h"
#include "tests/codegen/nests/needs_cuda_toolkit.h"
#include "tests/codegen/program_text.h"

#include "codegen/compile.h"
#include "codegen/gpu/object.h"

using namespace gradus;

namespace {

/// A step or a graph that is kernels of this kind, and what the largest of them
/// has for each architecture.
struct Kind {
  std::string name, program;
  int64_t registers[3]; // sm_80, sm_90, sm_100
};

const std::vector<std::string> kArchitectures = {"sm_80", "sm_90", "sm_100"};

std::string tensor(const std::string &shape, const std::string &type = "f32") {
  return "tensor<" + shape + type + ">";
}

/// A graph of one line of inputs, `%y` of some type at its end.
std::string graph(const std::string &inputs, const std::string &type,
                  const std::string &ops) {
  return "gradus.program @kind {\ngradus.graph @predict(" + inputs +
         ") -> (y: " + type + ") {\n" + ops + "gradus.return %y : " + type +
         "\n}\n}\n";
}

std::string reduce(const std::string &axes, const std::string &to) {
  std::string from = tensor("8192x1024x");
  return graph("%x: " + from, tensor(to),
               "%y = gradus.reduce sum %x axes [" + axes + "] : " + from +
                   " -> " + tensor(to) + "\n");
}

std::string elementwise(const std::string &type) {
  std::string all = tensor("1048577x", type);
  return graph("%a: " + all + ", %b: " + all, all,
               "%s = arith.addf %a, %b : " + all +
                   "\n%y = math.tanh %s : " + all + "\n");
}

std::string transpose(const std::string &type) {
  std::string from = tensor("4096x1024x", type),
              to = tensor("1024x4096x", type);
  return graph("%x: " + from, to,
               "%y = gradus.transpose %x perm [1, 0] : " + from + " -> " + to +
                   "\n");
}

std::string state(const std::string &name, const std::string &type,
                  const std::string &role = "parameter") {
  return "gradus.state @" + name + " : " + type + " {role = #gradus.role<" +
         role + ">, init = #gradus.init<constant, 1.0 : f64>}\n";
}

std::string read(const std::string &name, const std::string &type) {
  return "%" + name + " = gradus.read @" + name + " : " + type + "\n";
}

/// A step with AdamW; `precision` is "f32" or "bf16".
std::string step(const std::string &loss, const std::string &precision,
                 const std::string &states, const std::string &inputs,
                 const std::string &type, const std::string &ops) {
  return "gradus.program @kind attributes {recipe = {precision = \"" +
         precision +
         "\", optimizer = {type = \"adamw\", learning_rate = 1.0e-3, betas = "
         "[9.0e-1, 9.99e-1], epsilon = 1.0e-8, weight_decay = 1.0e-2}, loss = "
         "{output = \"y\", " +
         loss + "}}} {\n" + states + "gradus.graph @predict(" + inputs +
         ") -> (y: " + type + ") {\n" + ops + "gradus.return %y : " + type +
         "\n}\n}\n";
}

const std::string kSquares = "type = \"mse\"",
                  kCrossEntropy =
                      "type = \"softmax_cross_entropy\", class_axis = 1 : i64";

/// Rows of columns: a state in f32; behind a product, whose results are, in
/// bf16.
struct Rows {
  std::string type, states, reads;

  Rows(const std::string &precision, int64_t rows, int64_t columns) {
    std::string m = std::to_string(rows) + "x",
                n = std::to_string(columns) + "x";
    type = tensor(m + n);
    if (precision == "f32") {
      states = state("w", type);
      reads = read("w", type);
      return;
    }
    std::string x = tensor(m + "64x"), y = tensor(n + "64x");
    states = state("x", x) + state("v", y);
    reads = read("x", x) + read("v", y) +
            "%w = gradus.matmul %x, %v transposed : " + x + ", " + y + " -> " +
            type + "\n";
  }
};

std::string layerNorm(const std::string &precision) {
  Rows rows(precision, 8192, 768);
  std::string line = tensor("768x");
  return step(kSquares, precision,
              rows.states + state("scale", line) + state("bias", line), "",
              rows.type,
              rows.reads + read("scale", line) + read("bias", line) +
                  "%y = gradus.layer_norm %w, %scale plus %bias {epsilon = "
                  "1.0e-5 : f64} : " +
                  rows.type + ", " + line + ", " + line + "\n");
}

std::string batchNorm() {
  std::string all = tensor("64x128x28x28x"), line = tensor("128x");
  return step(kSquares, "f32",
              state("w", all) + state("scale", line) + state("bias", line) +
                  state("mean", line, "buffer") +
                  state("variance", line, "buffer"),
              "", all,
              read("w", all) + read("scale", line) + read("bias", line) +
                  read("mean", line) + read("variance", line) +
                  "%y = gradus.batch_norm %w, %scale, %bias mean %mean "
                  "variance %variance epsilon 1.0e-5 momentum 0.9 : " +
                  all + ", " + line + "\n");
}

std::string crossEntropy(const std::string &precision) {
  Rows rows(precision, 1024, 50257);
  return step(kCrossEntropy, precision, rows.states, "", rows.type,
              rows.reads + "%y = math.absf %w : " + rows.type + "\n");
}

std::string embedding() {
  std::string table = tensor("50257x768x"), ids = tensor("1024x", "i64"),
              rows = tensor("1024x768x");
  return step(kSquares, "f32", state("w", table), "%ids: " + ids, rows,
              read("w", table) + "%y = gradus.gather %w at %ids axis 0 : " +
                  table + ", " + ids + " -> " + rows + "\n");
}

/// Tensors of many sizes in one launch.
std::string optimizer() {
  std::string states, reads;
  for (int i = 0; i < 5; ++i) {
    std::string n = std::to_string(i),
                type = tensor("1000x" + std::to_string(10 * i + 7) + "x");
    states += state("w" + n, type);
    reads += read("w" + n, type) + "%r" + n + " = gradus.reduce sum %w" + n +
             " axes [1] : " + type + " -> " + tensor("1000x") + "\n";
  }
  for (int i = 1; i < 5; ++i)
    reads += "%t" + std::to_string(i) + " = arith.addf " +
             (i == 1 ? "%r0" : "%t" + std::to_string(i - 1)) + ", %r" +
             std::to_string(i) + " : " + tensor("1000x") + "\n";
  return step(kSquares, "f32", states, "", tensor("1000x"),
              reads + "%y = arith.negf %t4 : " + tensor("1000x") + "\n");
}

std::string softmax() {
  std::string all = tensor("8192x1024x");
  return graph("%x: " + all, all,
               "%y = gradus.softmax %x axis 1 : " + all + "\n");
}

std::vector<Kind> kinds() {
  return {
      {"elementwise_f32", elementwise("f32"), {48, 48, 48}},
      {"elementwise_bf16", elementwise("bf16"), {56, 56, 56}},
      {"row_sums", reduce("1", "8192x"), {26, 27, 27}},
      {"column_sums", reduce("0", "1024x"), {38, 40, 40}},
      {"whole_sum", reduce("0, 1", ""), {75, 76, 76}},
      {"transpose_f32", transpose("f32"), {30, 32, 32}},
      {"transpose_bf16", transpose("bf16"), {32, 34, 34}},
      {"softmax", softmax(), {56, 62, 62}},
      {"cross_entropy_f32", crossEntropy("f32"), {54, 56, 56}},
      {"cross_entropy_bf16", crossEntropy("bf16"), {106, 110, 110}},
      {"layer_norm_f32", layerNorm("f32"), {86, 88, 88}},
      {"layer_norm_bf16", layerNorm("bf16"), {106, 110, 110}},
      {"batch_norm", batchNorm(), {88, 90, 90}},
      {"adamw", optimizer(), {44, 45, 45}},
      {"embedding", embedding(), {82, 85, 85}},
  };
}

void PrintTo(const Kind &kind, std::ostream *out) { *out << kind.name; }

class GpuRegisters : public ::testing::TestWithParam<Kind> {};

} // namespace

TEST_P(GpuRegisters, AreAsManyAsListed) {
  NEEDS_CUDA_TOOLKIT();
  ProgramText text(GetParam().program);
  DeviceModel model = llvm::cantFail(findTarget("cuda")).model;
  ASSERT_TRUE(mlir::succeeded(runStages(*text.module, "", model)));
  std::vector<plan::KernelOp> kernels;
  text.module->walk([&](plan::KernelOp kernel) { kernels.push_back(kernel); });
  ASSERT_FALSE(kernels.empty());
  GpuCode code = llvm::cantFail(emitGpu(kernels, text.context));
  auto cubins = emitCubins(code, kArchitectures, llvm::cantFail(cudaToolkit()),
                           KernelCache());
  ASSERT_TRUE(bool(cubins)) << llvm::toString(cubins.takeError());
  for (auto [cubin, listed] : llvm::zip_equal(*cubins, GetParam().registers)) {
    int64_t most = 0;
    for (const KernelUse &use : cubin.kernels()) {
      EXPECT_EQ(use.spilled, 0) << cubin.architecture << ": " << use.name;
      EXPECT_EQ(use.stack, 0) << cubin.architecture << ": " << use.name;
      most = std::max(most, use.registers);
    }
    EXPECT_LE(most, listed) << cubin.architecture;
  }
}

INSTANTIATE_TEST_SUITE_P(Listed, GpuRegisters, ::testing::ValuesIn(kinds()),
                         [](const auto &info) { return info.param.name; });
