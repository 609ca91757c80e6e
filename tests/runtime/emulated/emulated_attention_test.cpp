// Attention as library commands, compared with its definition; gradients with
// the slopes of it.

#include "tests/runtime/cuda/definitions.h"
#include "tests/runtime/cuda/packed_command.h"
#include "tests/runtime/cuda/run_op.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
namespace fb = gradus::artifact;

namespace {

struct Case {
  int64_t queries, keys;
  bool causal;
  double scale;
};
const Case kCases[] = {{5, 5, false, 0.5},
                       {5, 5, true, 0.5},
                       {3, 7, true, -1},
                       {7, 3, true, 2},
                       {1, 6, false, 1}};
constexpr int64_t kBatch = 2, kHeads = 2, kDepth = 3, kWidth = 4;

struct Given {
  explicit Given(const Case &made)
      : facts(made), q(someArray({kBatch, kHeads, made.queries, kDepth}, 1)),
        k(someArray({kBatch, kHeads, made.keys, kDepth}, 2)),
        v(someArray({kBatch, kHeads, made.keys, kWidth}, 3)) {
    compute();
  }

  void compute() {
    Arrays made = Attention{facts.scale, facts.causal}.forward(q, k, v);
    result = made[0];
    logsumexp = made[1];
  }
  fb::LibraryCommandT command(fb::LibraryOp op) const {
    fb::LibraryCommandT made;
    made.op = opOf(op);
    scoresOf(made).scale = facts.scale;
    scoresOf(made).causal = facts.causal;
    return made;
  }

  Case facts;
  Array q, k, v, result{{}}, logsumexp{{}};
};

/// [n, h, t, d] that lies as [n, t, h, d].
Operand headsInside(const Array &array) {
  return operandOf(array, [](fb::LibraryTensorT &tensor) {
    const Dims &dims = tensor.dims;
    tensor.strides = {dims[1] * dims[2] * dims[3], dims[3], dims[1] * dims[3],
                      1};
  });
}

} // namespace

TEST(EmulatedAttention, IsItsDefinition) {
  for (const Case &each : kCases) {
    Given attention(each);
    Operand query = headsInside(attention.q), key = headsInside(attention.k),
            value = operandOf(attention.v),
            result = headsInside(Array(attention.result.dims)),
            logsumexp = operandOf(Array(attention.logsumexp.dims));
    Status status = runOp(attention.command(fb::LibraryOp::attention),
                          {&query, &key, &value}, {&result, &logsumexp});
    ASSERT_TRUE(status.ok()) << status;
    expectNear(arrayOf(result), attention.result, 1e-5);
    expectNear(arrayOf(logsumexp), attention.logsumexp, 1e-5);
  }
}

TEST(EmulatedAttention, HasTheSlopesAsGradients) {
  for (const Case &each : kCases) {
    Given attention(each);
    Array gradient = someArray(attention.result.dims, 4);
    auto loss = [&] {
      attention.compute();
      return dot(gradient, attention.result);
    };
    Array *inputs[] = {&attention.q, &attention.k, &attention.v};
    std::vector<Array> expected;
    for (Array *input : inputs)
      expected.push_back(slopesOf(loss, *input));
    attention.compute();
    Operand query = operandOf(attention.q), key = headsInside(attention.k),
            value = headsInside(attention.v),
            result = operandOf(attention.result),
            changes = headsInside(gradient),
            logsumexp = operandOf(attention.logsumexp),
            toQuery = headsInside(Array(attention.q.dims)),
            toKey = operandOf(Array(attention.k.dims)),
            toValue = operandOf(Array(attention.v.dims));
    Operand *found[] = {&toQuery, &toKey, &toValue};
    Status status = runOp(attention.command(fb::LibraryOp::attention_backward),
                          {&query, &key, &value, &result, &changes, &logsumexp},
                          {&toQuery, &toKey, &toValue});
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < 3; ++i)
      expectNear(arrayOf(*found[i]), expected[i], 2e-5);
  }
}

// A size of 1 repeats, in the gradients as well.
TEST(EmulatedAttention, AddsAMaskToItsScores) {
  for (const Dims &dims :
       {Dims{2, 1, 3, 5}, {2, 1, 1, 5}, {1, 2, 3, 5}, {1, 1, 3, 5}}) {
    Array q = someArray({2, 2, 3, 3}, 1), k = someArray({2, 2, 5, 3}, 2),
          v = someArray({2, 2, 5, 4}, 3), mask = someArray(dims, 5),
          gradient = someArray({2, 2, 3, 4}, 4);
    Attention made{0.5, false, &mask};
    Arrays given = made.forward(q, k, v);
    Operand query = operandOf(q), key = operandOf(k), value = operandOf(v),
            added = operandOf(mask), changes = operandOf(gradient),
            result = operandOf(Array(given[0].dims)),
            logsumexp = operandOf(Array(given[1].dims));
    fb::LibraryCommandT command;
    command.op = opOf(fb::LibraryOp::attention);
    scoresOf(command).scale = 0.5;
    ASSERT_TRUE(
        runOp(command, {&query, &key, &value, &added}, {&result, &logsumexp})
            .ok());
    expectNear(arrayOf(result), given[0], 1e-5);
    expectNear(arrayOf(logsumexp), given[1], 1e-5);

    Array *inputs[] = {&q, &k, &v};
    Operand found[] = {operandOf(Array(q.dims)), operandOf(Array(k.dims)),
                       operandOf(Array(v.dims))};
    command.op = opOf(fb::LibraryOp::attention_backward);
    scoresOf(command).scale = 0.5;
    ASSERT_TRUE(
        runOp(command,
              {&query, &key, &value, &result, &changes, &logsumexp, &added},
              {&found[0], &found[1], &found[2]})
            .ok());
    auto loss = [&] { return dot(gradient, made.forward(q, k, v)[0]); };
    for (size_t i = 0; i < 3; ++i)
      expectNear(arrayOf(found[i]), slopesOf(loss, *inputs[i]), 2e-5);
  }
}

/// Scores that no exponential would hold.
TEST(EmulatedAttention, KeepsLargeScores) {
  Array large({1, 1, 2, 1}), v = someArray({1, 1, 2, 1}, 1);
  large.numbers = {30, 20};
  Operand query = operandOf(large), key = operandOf(large),
          value = operandOf(v), result = operandOf(Array({1, 1, 2, 1})),
          logsumexp = operandOf(Array({1, 1, 2, 1}));
  fb::LibraryCommandT command;
  command.op = opOf(fb::LibraryOp::attention);
  scoresOf(command).scale = 1;
  ASSERT_TRUE(
      runOp(command, {&query, &key, &value}, {&result, &logsumexp}).ok());
  EXPECT_NEAR(arrayOf(logsumexp).numbers[0], 900, 1e-3);
  EXPECT_NEAR(arrayOf(result).numbers[1], v.numbers[0], 1e-5);
}

TEST(EmulatedAttention, RefusesScoresThatNoMemoryHas) {
  constexpr int64_t kMany = int64_t{1} << 20;
  auto tensor = [](fb::DType dtype, int64_t width) {
    return tensorOf(dtype, {1, 1, kMany, width});
  };
  fb::LibraryCommandT command =
      commandOf(fb::LibraryOp::attention,
                {tensor(fb::DType::bf16, 8), tensor(fb::DType::bf16, 8),
                 tensor(fb::DType::bf16, 8)},
                {tensor(fb::DType::bf16, 8), tensor(fb::DType::f32, 1)});
  EXPECT_EQ(emulatedOp(*PackedCommand(command)).status().message(),
            "the emulated library keeps at most 1073741824 scores of "
            "attention, and these are 1048576 x 1048576");
}
