// Library commands as a step runs them, recorded in a graph, beside plain loops
// of the host: by the vendor's libraries, where a card and they are at hand,
// and by the emulated card, which shows that the comparison works.

#include "runtime/cuda/card_libraries.h"
#include "runtime/cuda/cublaslt_library.h"
#include "runtime/cuda/cudnn_library.h"
#include "runtime/cuda/emulated_library.h"
#include "runtime/cuda/fake_driver.h"
#include "runtime/cuda/graph.h"

#include "run_op.h"
#include "tests/runtime/cuda/packed_command.h"

#include <cmath>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::Activation;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using gradus::artifact::LibraryTensorT;

namespace {

enum class Where { emulated, card };

//===-- operands ----------------------------------------------------------===//

using Lay = void (*)(LibraryTensorT &);
void asItIs(LibraryTensorT &) {}
void columnsFirst(LibraryTensorT &tensor) {
  tensor.strides = {1, tensor.dims[0]};
}
/// [n, h, t, d] as [n, t, h, d].
void headsInside(LibraryTensorT &tensor) {
  const Dims &dims = tensor.dims;
  tensor.strides = {dims[1] * dims[2] * dims[3], dims[3], dims[1] * dims[3], 1};
}

Operand operand(DType dtype, const Array &array, Lay lay = asItIs) {
  return operandOf(array, [&](LibraryTensorT &tensor) {
    tensor.dtype = dtype;
    lay(tensor);
  });
}
Operand some(DType dtype, Dims dims, unsigned seed, Lay lay = asItIs) {
  return operand(dtype, someArray(std::move(dims), seed), lay);
}
Operand empty(DType dtype, Dims dims, Lay lay = asItIs) {
  return operand(dtype, Array(std::move(dims)), lay);
}

double largestOf(const Array &array) {
  double largest = 0;
  for (double number : array.numbers)
    largest = std::max(largest, std::abs(number));
  return largest;
}

//===-- a card and its server ---------------------------------------------===//

class LibraryCalls : public testing::TestWithParam<Where> {
protected:
  static constexpr uint64_t kScratch = 64 << 20;

  void SetUp() override {
    if (GetParam() == Where::emulated)
      return open(std::make_unique<FakeDriver>());
    auto driver = systemDriver();
    if (!driver.ok())
      GTEST_SKIP() << driver.status();
    auto card = Card::open(**driver, 0);
    if (!card.ok())
      GTEST_SKIP() << card.status();
    card_ = *std::move(card);
    server_ = *cardLibraries(*card_);
    stream_ = *card_->createStream();
  }

  void open(std::unique_ptr<FakeDriver> fake) {
    fake_ = std::move(fake);
    card_ = *Card::open(fake_->driver(), 0);
    server_ = emulatedLibrary(fake_->driver());
    stream_ = *card_->createStream();
  }

  /// Why a library cannot serve here; empty where it can.
  std::string missing(const Status &loaded) const {
    return GetParam() == Where::card ? loaded.message() : "";
  }

  /// Runs a command on the card, twice, and by plain loops. What differs more
  /// than by this part of the largest number is wrong.
  void compare(LibraryCommandT command, std::vector<Operand *> inputs,
               std::vector<Operand *> outputs, double part) {
    std::vector<Operand> expected;
    std::vector<Operand *> places;
    for (Operand *output : outputs)
      expected.push_back(*output);
    for (Operand &each : expected)
      places.push_back(&each);
    Status computed = runOp(command, inputs, places);
    ASSERT_TRUE(computed.ok()) << computed;

    Status ran = run(std::move(command), inputs, outputs);
    ASSERT_TRUE(ran.ok()) << ran;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Array numbers = arrayOf(expected[i]);
      expectNear(arrayOf(*outputs[i]), numbers, part * largestOf(numbers));
    }
  }

private:
  Status run(LibraryCommandT command, const std::vector<Operand *> &inputs,
             const std::vector<Operand *> &outputs) {
    for (Operand *each : inputs)
      command.inputs.push_back(std::make_unique<LibraryTensorT>(each->tensor));
    for (Operand *each : outputs)
      command.outputs.push_back(std::make_unique<LibraryTensorT>(each->tensor));
    PackedCommand packed(command);
    GRADUS_ASSIGN(auto call, server_->prepare(*packed, kScratch));

    std::vector<Owned<DevicePointer>> memory;
    Node node;
    node.name = call->algorithm();
    CallAddresses addresses;
    for (Operand *each : inputs) {
      GRADUS_ASSIGN(DevicePointer address, place(*each, node, false, memory));
      addresses.inputs.push_back(address);
    }
    for (Operand *each : outputs) {
      GRADUS_ASSIGN(DevicePointer address, place(*each, node, true, memory));
      addresses.outputs.push_back(address);
    }
    if (uint64_t bytes = call->scratchBytes()) {
      GRADUS_ASSIGN(auto scratch, card_->allocate({"scratch", bytes}));
      addresses.scratch = scratch.get();
      node.accesses.push_back({scratch.get(), bytes, 1, true});
      memory.push_back(std::move(scratch));
    }
    if (server_->warmsUp())
      GRADUS_TRY(call->enqueue(stream_.get(), addresses));
    node.work = CaptureNode{
        [&](Stream stream) { return call->enqueue(stream, addresses); }};
    return runTwice(node, outputs, addresses);
  }

  StatusOr<DevicePointer> place(const Operand &operand, Node &node, bool writes,
                                std::vector<Owned<DevicePointer>> &memory) {
    size_t bytes = operand.bytes.size();
    GRADUS_ASSIGN(auto made, card_->allocate({"a tensor", bytes}));
    DevicePointer address = made.get();
    memory.push_back(std::move(made));
    node.accesses.push_back(
        {address, bytes, uint32_t(bytesOf(operand.tensor.dtype)), writes});
    GRADUS_TRY(tell(card_->driver().copyToDevice(address, operand.bytes.data(),
                                                 bytes, stream_.get())));
    GRADUS_TRY(card_->synchronize());
    return address;
  }

  Status runTwice(const Node &node, const std::vector<Operand *> &outputs,
                  const CallAddresses &addresses) {
    GRADUS_ASSIGN(StepGraph graph,
                  StepGraph::build(*card_, {&node, 1}, Order::bytes));
    std::vector<std::vector<uint8_t>> first;
    for (int i = 0; i < 2; ++i) {
      GRADUS_TRY(graph.launch(stream_.get()));
      GRADUS_TRY(card_->synchronize());
      for (size_t o = 0; o < outputs.size(); ++o)
        GRADUS_TRY(tell(card_->driver().copyToHost(
            outputs[o]->bytes.data(), addresses.outputs[o],
            outputs[o]->bytes.size(), stream_.get())));
      GRADUS_TRY(card_->synchronize());
      for (size_t o = 0; o < outputs.size(); ++o)
        if (i == 0)
          first.push_back(outputs[o]->bytes);
        else
          EXPECT_EQ(first[o], outputs[o]->bytes) << "the second time";
    }
    return Status();
  }

  Status tell(Result result) {
    return check(card_->driver(), result, "copying a tensor");
  }

  std::unique_ptr<FakeDriver> fake_;
  std::unique_ptr<Card> card_;
  std::unique_ptr<LibraryServer> server_;
  Owned<Stream> stream_;
};

//===-- commands ----------------------------------------------------------===//

LibraryCommandT commandOf(LibraryOp op) {
  LibraryCommandT command;
  command.op = op;
  return command;
}

/// Attention of bf16 and its gradients, all with heads inside.
struct Attention {
  Operand query, key, value, change, result, logsumexp;
  LibraryCommandT forward = commandOf(LibraryOp::attention),
                  backward = commandOf(LibraryOp::attention_backward);

  explicit Attention(bool isCausal) {
    Dims dims{2, 3, 64, 32};
    query = some(DType::bf16, dims, 1, headsInside);
    key = some(DType::bf16, dims, 2, headsInside);
    value = some(DType::bf16, dims, 3, headsInside);
    change = some(DType::bf16, dims, 4, headsInside);
    result = empty(DType::bf16, dims, headsInside);
    logsumexp = empty(DType::f32, {2, 3, 64, 1});
    for (LibraryCommandT *command : {&forward, &backward}) {
      command->scale = 0.25;
      command->causal = isCausal;
    }
  }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(On, LibraryCalls,
                         testing::Values(Where::emulated, Where::card),
                         [](const testing::TestParamInfo<Where> &where) {
                           return where.param == Where::emulated
                                      ? "EmulatedCard"
                                      : "Card";
                         });

TEST_P(LibraryCalls, Multiply) {
  if (std::string words = missing(cublaslt::load().status()); !words.empty())
    GTEST_SKIP() << words;
  Operand x = some(DType::bf16, {40, 96}, 1),
          w = some(DType::bf16, {96, 64}, 2, columnsFirst),
          bias = some(DType::bf16, {1, 64}, 3),
          y = empty(DType::bf16, {40, 64});
  LibraryCommandT command = commandOf(LibraryOp::matmul);
  for (Activation activation :
       {Activation::none, Activation::relu, Activation::gelu_tanh}) {
    command.activation = activation;
    compare(command, {&x, &w, &bias}, {&y}, 1.0 / 128);
  }
  command.activation = Activation::none;
  Operand wide = empty(DType::f32, {40, 64});
  compare(command, {&x, &w}, {&wide}, 1e-5);

  Operand a = some(DType::f32, {3, 24, 33}, 4),
          b = some(DType::f32, {3, 33, 20}, 5),
          one = some(DType::f32, {1, 33, 20}, 6),
          c = empty(DType::f32, {3, 24, 20});
  compare(command, {&a, &b}, {&c}, 1e-5);
  compare(command, {&a, &one}, {&c}, 1e-5);
}

TEST_P(LibraryCalls, Convolve) {
  if (std::string words = missing(cudnn::load().status()); !words.empty())
    GTEST_SKIP() << words;
  struct Form {
    DType dtype;
    Lay lay;
    double part;
  };
  for (const Form &form : {Form{DType::bf16, layChannelsLast, 1.0 / 128},
                           Form{DType::f32, asItIs, 1e-4}}) {
    Operand x = some(form.dtype, {4, 16, 11, 11}, 1, form.lay),
            w = some(form.dtype, {32, 16, 3, 3}, 2, form.lay),
            y = empty(form.dtype, {4, 32, 6, 6}, form.lay),
            dy = some(form.dtype, {4, 32, 6, 6}, 3, form.lay),
            dx = empty(form.dtype, {4, 16, 11, 11}, form.lay),
            dw = empty(form.dtype, {32, 16, 3, 3}, form.lay);
    auto command = [&](LibraryOp op) {
      LibraryCommandT made = commandOf(op);
      made.strides = {2, 2};
      made.pads_begin = made.pads_end = {1, 1};
      return made;
    };
    compare(command(LibraryOp::convolution), {&x, &w}, {&y}, form.part);
    compare(command(LibraryOp::convolution_backward_data), {&dy, &w}, {&dx},
            form.part);
    compare(command(LibraryOp::convolution_backward_weights), {&x, &dy}, {&dw},
            form.part);
  }
}

TEST_P(LibraryCalls, ConvolveInGroupsAndOtherAxes) {
  if (std::string words = missing(cudnn::load().status()); !words.empty())
    GTEST_SKIP() << words;
  struct Sizes {
    Dims x, w, y;
  };
  for (const Sizes &sizes :
       {Sizes{{2, 8, 10, 10}, {2, 6, 4, 3, 3}, {2, 12, 8, 8}},
        Sizes{{2, 8, 10, 10}, {8, 1, 1, 3, 3}, {2, 8, 8, 8}},
        Sizes{{2, 8, 20}, {12, 8, 5}, {2, 12, 16}},
        Sizes{{1, 4, 5, 6, 6}, {8, 4, 3, 3, 3}, {1, 8, 3, 4, 4}}}) {
    Operand x = some(DType::f32, sizes.x, 1), w = some(DType::f32, sizes.w, 2),
            y = empty(DType::f32, sizes.y), dy = some(DType::f32, sizes.y, 3),
            dx = empty(DType::f32, sizes.x), dw = empty(DType::f32, sizes.w);
    compare(commandOf(LibraryOp::convolution), {&x, &w}, {&y}, 1e-4);
    compare(commandOf(LibraryOp::convolution_backward_data), {&dy, &w}, {&dx},
            1e-4);
    compare(commandOf(LibraryOp::convolution_backward_weights), {&x, &dy},
            {&dw}, 1e-4);
  }
}

TEST_P(LibraryCalls, Attend) {
  if (std::string words = missing(cudnn::load().status()); !words.empty())
    GTEST_SKIP() << words;
  for (bool isCausal : {false, true}) {
    Attention attention(isCausal);
    auto &[query, key, value, change, result, logsumexp, forward, backward] =
        attention;
    compare(forward, {&query, &key, &value}, {&result, &logsumexp}, 1.0 / 64);
    Operand dq = empty(DType::bf16, query.tensor.dims, headsInside), dk = dq,
            dv = dq;
    compare(backward, {&query, &key, &value, &result, &change, &logsumexp},
            {&dq, &dk, &dv}, 1.0 / 64);
  }
}
