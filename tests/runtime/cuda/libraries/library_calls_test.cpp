// Library commands as a step runs them, recorded in a graph, beside their
// definitions: by the vendor's libraries, where a card and they are at hand,
// and by the emulated card. Numbers have all digits of their types, so that
// operands which are rounded on the way, or sums which are, show.

#include "runtime/cuda/card_libraries.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/libraries/cublaslt_library.h"
#include "runtime/cuda/libraries/cudnn_library.h"
#include "runtime/emulated/emulated_library.h"

#include "tests/runtime/cuda/card_commands.h"
#include "tests/runtime/cuda/expected_outputs.h"
#include "tests/runtime/cuda/on_cards.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::Activation;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;

namespace {

using Bytes = std::vector<std::vector<uint8_t>>; // of each output

//===-- a card and its server ---------------------------------------------===//

class LibraryCalls : public OnCards {
protected:
  void SetUp() override {
    open();
    if (!card_)
      return;
    server_ =
        isEmulated() ? emulatedLibrary(fake_->driver()) : cardLibraries(*card_);
    stream_ = *card_->createStream();
  }

  /// Why a library cannot serve here; empty where it can.
  std::string missing(LibraryOp op) const {
    if (isEmulated())
      return "";
    return op == LibraryOp::matmul ? cublaslt::load().status().message()
                                   : cudnn::load().status().message();
  }

  void expectDefinition(const CardCommand &asked) {
    SCOPED_TRACE(asked.name + " of " + nameOf(asked.command.inputs[0]->dtype));
    std::vector<Operand> inputs = inputsOf(asked.command);
    auto ran = run(asked.command, inputs, /*launches=*/1);
    ASSERT_TRUE(ran.ok()) << ran.status();
    auto expected = expectedOf(asked.command, arraysOf(inputs));
    for (size_t i = 0; i < expected.size(); ++i) {
      Operand output{*asked.command.outputs[i], ran->front()[i]};
      EXPECT_EQ(wrongIn(arrayOf(output), expected[i]), "") << "output " << i;
      EXPECT_EQ(aroundNumbers(output),
                aroundNumbers({output.tensor, blank(output.tensor)}))
          << "output " << i << ": what lies between its numbers";
    }
  }

  /// In each launch of a graph, and of one that is prepared anew.
  void expectSameBits(const LibraryCommandT &command, unsigned binades) {
    std::vector<Operand> inputs = inputsOf(command, binades);
    auto ran = run(command, inputs, isEmulated() ? 2 : 8);
    ASSERT_TRUE(ran.ok()) << ran.status();
    auto again = run(command, inputs, 1);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_NE(ran->front()[0], blank(*command.outputs[0]));
    for (size_t i = 1; i < ran->size(); ++i)
      EXPECT_TRUE((*ran)[i] == (*ran)[0]) << "launch " << i;
    EXPECT_TRUE(again->front() == ran->front()) << "prepared anew";
  }

  /// What the outputs hold after each launch.
  StatusOr<std::vector<Bytes>> run(const LibraryCommandT &command,
                                   const std::vector<Operand> &inputs,
                                   int launches);

  StatusOr<std::unique_ptr<LibraryCall>> prepare(const LibraryCommandT &each) {
    return server_->prepare(*PackedCommand(each), kScratch);
  }

private:
  static constexpr uint64_t kScratch = 64 << 20;

  /// A block of memory that a node reads, or writes.
  StatusOr<DevicePointer> place(const std::vector<uint8_t> &bytes,
                                uint32_t unit, bool writes, Node &node);
  StatusOr<std::vector<Bytes>> launch(const Node &node, int launches,
                                      const std::vector<DevicePointer> &from,
                                      const Bytes &sizes);

  static std::vector<uint8_t>
  blank(const gradus::artifact::LibraryTensorT &of) {
    return std::vector<uint8_t>(layoutOf(of).bytes(), 0xFF);
  }
  /// All bytes, with zeros for the numbers.
  static std::vector<uint8_t> aroundNumbers(Operand operand) {
    forEachNumber(operand, [](const Dims &, auto &number) {
      number = std::remove_reference_t<decltype(number)>(0.0);
    });
    return operand.bytes;
  }
  Status tell(Result result) {
    return check(card_->driver(), result, "copying a tensor");
  }

  std::unique_ptr<LibraryServer> server_;
  Owned<Stream> stream_;
  std::vector<Owned<DevicePointer>> memory_;
};

StatusOr<std::vector<Bytes>>
LibraryCalls::run(const LibraryCommandT &command,
                  const std::vector<Operand> &inputs, int launches) {
  memory_.clear();
  PackedCommand packed(command);
  GRADUS_ASSIGN(auto call, server_->prepare(*packed, kScratch));
  Node node;
  node.name = call->algorithm();
  CallAddresses addresses;
  for (const Operand &input : inputs) {
    GRADUS_ASSIGN(
        DevicePointer address,
        place(input.bytes, uint32_t(bytesOf(input.tensor.dtype)), false, node));
    addresses.inputs.push_back(address);
  }
  Bytes blanks;
  for (const auto &output : command.outputs) {
    blanks.push_back(blank(*output));
    GRADUS_ASSIGN(
        DevicePointer address,
        place(blanks.back(), uint32_t(bytesOf(output->dtype)), true, node));
    addresses.outputs.push_back(address);
  }
  if (uint64_t bytes = call->scratchBytes()) {
    GRADUS_ASSIGN(addresses.scratch,
                  place(std::vector<uint8_t>(bytes), 1, true, node));
  }
  if (server_->warmsUp())
    GRADUS_TRY(call->enqueue(stream_.get(), addresses));
  node.work = CaptureNode{
      [&](Stream stream) { return call->enqueue(stream, addresses); }};
  return launch(node, launches, addresses.outputs, blanks);
}

StatusOr<DevicePointer> LibraryCalls::place(const std::vector<uint8_t> &bytes,
                                            uint32_t unit, bool writes,
                                            Node &node) {
  GRADUS_ASSIGN(auto made, card_->allocate({"a tensor", bytes.size()}));
  DevicePointer address = made.get();
  memory_.push_back(std::move(made));
  node.accesses.push_back({address, bytes.size(), unit, writes});
  GRADUS_TRY(tell(card_->driver().copyToDevice(address, bytes.data(),
                                               bytes.size(), stream_.get())));
  GRADUS_TRY(card_->synchronize());
  return address;
}

StatusOr<std::vector<Bytes>>
LibraryCalls::launch(const Node &node, int launches,
                     const std::vector<DevicePointer> &from,
                     const Bytes &sizes) {
  GRADUS_ASSIGN(StepGraph graph,
                StepGraph::build(*card_, {&node, 1}, Order::bytes));
  std::vector<Bytes> found;
  for (int i = 0; i < launches; ++i) {
    GRADUS_TRY(graph.launch(stream_.get()));
    GRADUS_TRY(card_->synchronize());
    found.push_back(sizes);
    for (size_t o = 0; o < from.size(); ++o)
      GRADUS_TRY(tell(card_->driver().copyToHost(
          found.back()[o].data(), from[o], sizes[o].size(), stream_.get())));
    GRADUS_TRY(card_->synchronize());
  }
  return found;
}

bool isNarrow(const LibraryCommandT &command) {
  return command.inputs[0]->dtype != DType::f32;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(On, LibraryCalls,
                         testing::Values(Where::emulated, Where::card),
                         nameOfPlace);

TEST_P(LibraryCalls, Multiply) {
  if (std::string words = missing(LibraryOp::matmul); !words.empty())
    GTEST_SKIP() << words;
  for (const CardCommand &each : products())
    expectDefinition(each);
}

TEST_P(LibraryCalls, MultiplyWithEpiloguesOfGradients) {
  if (std::string words = missing(LibraryOp::matmul); !words.empty())
    GTEST_SKIP() << words;
  for (const CardCommand &each : productsOfGradients())
    expectDefinition(each);
}

TEST_P(LibraryCalls, Convolve) {
  if (std::string words = missing(LibraryOp::convolution); !words.empty())
    GTEST_SKIP() << words;
  for (const CardCommand &each : convolutions())
    expectDefinition(each);
}

TEST_P(LibraryCalls, Attend) {
  if (std::string words = missing(LibraryOp::attention); !words.empty())
    GTEST_SKIP() << words;
  for (const CardCommand &each : attentions())
    expectDefinition(each);
}

TEST_P(LibraryCalls, RefuseWhatNoCardTakes) {
  for (const CardCommand &each : refusedCommands())
    if (missing(each.command.op.type).empty())
      EXPECT_EQ(prepare(each.command).status().message(), each.name);
}

//===-- the same bits -----------------------------------------------------===//

namespace {

/// Sums of 8192 products for few results, which are computed in parts.
CardCommand longProduct(DType dtype, DType result) {
  return productOf({.name = "long sums",
                    .dtype = dtype,
                    .source = {48, 8192},
                    .weights = {8192, 40},
                    .result = {48, 40},
                    .resultType = result});
}

} // namespace

/// Numbers are of very different sizes: sums in another order differ.
TEST_P(LibraryCalls, GiveProductsTheSameBits) {
  if (std::string words = missing(LibraryOp::matmul); !words.empty())
    GTEST_SKIP() << words;
  for (auto [dtype, result] : {std::pair(DType::f32, DType::f32),
                               {DType::bf16, DType::f32},
                               {DType::bf16, DType::bf16}})
    expectSameBits(longProduct(dtype, result).command, 20);
  // A source that is summed is transposed.
  for (std::vector<int64_t> sums : {std::vector<int64_t>{1, 40}, {48, 1}})
    for (DType dtype : {DType::f32, DType::bf16}) {
      LibraryCommandT command = longProduct(dtype, DType::f32).command;
      command.inputs[0]->strides = {1, 48};
      command.outputs.push_back(
          std::make_unique<gradus::artifact::LibraryTensorT>(
              tensorOf(DType::f32, sums)));
      expectSameBits(command, 20);
    }
}

TEST_P(LibraryCalls, GiveGradientsOfWeightsTheSameBits) {
  if (std::string words = missing(LibraryOp::convolution); !words.empty())
    GTEST_SKIP() << words;
  CardCommands commands;
  ConvolutionForm form{.name = "long sums",
                       .source = {8, 16, 34, 34},
                       .weights = {16, 16, 3, 3},
                       .result = {8, 16, 32, 32}};
  addConvolutions(form, DType::f32, /*isChannelsLast=*/false, commands);
  addConvolutions(form, DType::bf16, /*isChannelsLast=*/true, commands);
  for (const CardCommand &each : commands)
    if (each.command.op.type == LibraryOp::convolution_backward_weights)
      expectSameBits(each.command, 20);
}

TEST_P(LibraryCalls, GiveGradientsOfAttentionTheSameBits) {
  if (std::string words = missing(LibraryOp::attention); !words.empty())
    GTEST_SKIP() << words;
  CardCommands commands;
  addAttention(DType::bf16, 256, 256, /*isCausal=*/true, commands);
  expectSameBits(commands.back().command, 2);
}

//===-- what the comparisons see ------------------------------------------===//

/// As tensor cores take f32 where they may.
TEST(LibraryCallComparison, RefusesOperandsOfTf32) {
  size_t count = 0;
  for (const CardCommands &commands : {products(), convolutions()})
    for (const auto &[name, command] : commands) {
      if (isNarrow(command))
        continue;
      std::vector<Operand> operands = inputsOf(command);
      Arrays inputs = arraysOf(operands), less = inputs;
      for (size_t i = 0; i < 2; ++i)
        less[i] = rounded(inputs[i], 11);
      Expected expected = expectedOf(command, inputs)[0];
      EXPECT_EQ(wrongIn(expected.numbers, expected), "");
      EXPECT_NE(wrongIn(definitionOf(command, less)[0], expected), "") << name;
      ++count;
    }
  EXPECT_GT(count, 20u);
}

/// As long sums may meet where each part has an output's type.
TEST(LibraryCallComparison, RefusesSumsOfRoundedParts) {
  size_t count = 0;
  for (const auto &[name, command] : products()) {
    if (!isNarrow(command) || activationOf(command) != Activation::none)
      continue;
    std::vector<Operand> operands = inputsOf(command);
    Arrays inputs = arraysOf(operands), first = inputs, second = inputs;
    forEachIndex(first[0].dims, [&](const Dims &i) {
      bool isFirst = i.back() < first[0].dims.back() / 2;
      (isFirst ? second : first)[0].at(i) = 0;
    });
    if (inputs.size() > 2)
      second[2] = mapped(second[2], [](double) { return 0.0; });
    int digits = digitsOf(command.inputs[0]->dtype);
    Array sum = rounded(definitionOf(command, first)[0], digits),
          rest = rounded(definitionOf(command, second)[0], digits);
    for (size_t i = 0; i < sum.numbers.size(); ++i)
      sum.numbers[i] += rest.numbers[i];
    EXPECT_NE(wrongIn(sum, expectedOf(command, inputs)[0]), "") << name;
    ++count;
  }
  EXPECT_GT(count, 5u);
}

/// Of most results, where sums begin at their other end.
TEST(LibraryCallComparison, SeesTheOrderOfLongSums) {
  LibraryCommandT command = longProduct(DType::f32, DType::f32).command;
  std::vector<Operand> operands = inputsOf(command, 20);
  Arrays inputs = arraysOf(operands);
  const std::vector<double> &left = inputs[0].numbers,
                            &right = inputs[1].numbers;
  size_t rows = size_t(inputs[0].dims[0]), depth = size_t(inputs[0].dims[1]),
         columns = size_t(inputs[1].dims[1]), differ = 0;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      float forth = 0, back = 0;
      for (size_t k = 0, last = depth - 1; k < depth; ++k) {
        forth += float(left[i * depth + k] * right[k * columns + j]);
        back +=
            float(left[i * depth + last - k] * right[(last - k) * columns + j]);
      }
      differ += forth != back;
    }
  EXPECT_GT(differ, rows * columns * 9 / 10);
}
