// Products by cuBLASLt: what a stub of it is asked for, and, where the library
// is at hand, that it takes what we describe.

#include "runtime/cuda/libraries/cublaslt.h"

#include "tests/runtime/cuda/library_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using gradus::artifact::Activation;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using testing::HasSubstr;

namespace {

struct Stub : test::LibraryStub {
  Stub() : LibraryStub("GRADUS_CUBLASLT_LIBRARY", "stub_cublaslt") {
    serve(cublaslt::openSession(), serveMatmuls);
  }
};

LibraryCommandT linear(DType dtype, DType result) {
  return commandOf(LibraryOp::matmul,
                   {tensorOf(dtype, {32, 768}), tensorOf(dtype, {768, 10}),
                    tensorOf(result, {1, 10})},
                   {tensorOf(result, {32, 10})});
}

} // namespace

TEST_F(Stub, MultipliesTheOtherWayAround) {
  auto call = prepare(linear(DType::bf16, DType::f32), 1 << 20);
  // f32 sums, the weights first, a bias at a multiple of 64, all buffers too,
  // sums that meet in any way as the result is f32.
  EXPECT_STREQ(written(), "matmul computes 68, scales 0\n"
                          "matrix of 14: 10x768 lead 10\n"
                          "matrix of 14: 768x32 lead 768\n"
                          "matrix of 0: 10x32 lead 10\n"
                          "find for 3: 0, 4: 0, 7: 4, 8: 64 with 1: 1048576, "
                          "3: 7, 5: 64, 6: 64, 7: 64, 8: 64\n");
  EXPECT_EQ(call->scratchBytes(), 65536u);
  CallAddresses addresses{{100, 200, 300}, {400}, 500};
  ASSERT_TRUE(
      call->enqueue(reinterpret_cast<Stream>(uintptr_t{7}), addresses).ok());
  EXPECT_STREQ(written(), "multiply 1 200 100 + 0 400 into 400 by 65536 with "
                          "65536 at 500 on 7, 3: 0, 4: 0, 7: 4, 8: 300\n");
  EXPECT_TRUE(server->warmsUp());
}

TEST_F(Stub, HasEpiloguesOfBiasAndActivation) {
  LibraryCommandT command = linear(DType::f16, DType::f16);
  activationOf(command) = Activation::relu;
  prepare(command, 0);
  // Parts of a sum are not rounded to f16 before they meet.
  EXPECT_THAT(written(), HasSubstr("7: 6, 8: 64 with 1: 0, 3: 2,"));
  activationOf(command) = Activation::gelu_tanh;
  prepare(command, 0);
  EXPECT_THAT(written(), HasSubstr("7: 36, 8: 64 with"));
  command.inputs.pop_back();
  prepare(command, 0);
  EXPECT_THAT(written(), HasSubstr("find for 3: 0, 4: 0, 7: 32 with"));
  activationOf(command) = Activation::none;
  prepare(command, 0);
  EXPECT_THAT(written(), HasSubstr("find for 3: 0, 4: 0, 7: 1 with"));
}

/// What gelu is of lies in rows as long as the result's, at addresses of its
/// own.
TEST_F(Stub, KeepsWhatGeluIsOfAndReadsItAgain) {
  auto matrix = tensorOf(DType::bf16, {32, 16});
  LibraryCommandT command = commandOf(LibraryOp::matmul,
                                      {tensorOf(DType::bf16, {32, 768}),
                                       tensorOf(DType::bf16, {768, 16}),
                                       tensorOf(DType::bf16, {1, 16})},
                                      {matrix, matrix});
  activationOf(command) = Activation::gelu_tanh;
  auto call = prepare(command, 0);
  EXPECT_THAT(written(), HasSubstr("find for 3: 0, 4: 0, 7: 164, 8: 64, 11: "
                                   "64, 12: 16 with"));
  ASSERT_TRUE(call->enqueue(nullptr, {{1, 2, 3}, {4, 5}, 0}).ok());
  EXPECT_THAT(written(), HasSubstr("7: 164, 8: 3, 11: 5, 12: 16\n"));

  command = commandOf(LibraryOp::matmul,
                      {tensorOf(DType::bf16, {32, 768}),
                       tensorOf(DType::bf16, {768, 16}), matrix},
                      {matrix});
  activationOf(command) = Activation::gelu_tanh_gradient;
  call = prepare(command, 0);
  EXPECT_THAT(written(),
              HasSubstr("find for 3: 0, 4: 0, 7: 192, 11: 64, 12: 16 with"));
  ASSERT_TRUE(call->enqueue(nullptr, {{1, 2, 3}, {4}, 0}).ok());
  EXPECT_THAT(written(), HasSubstr("7: 192, 11: 3, 12: 16\n"));
}

/// The weights are a, as the product is the other way around.
TEST_F(Stub, SumsAnOperandWhereABiasWouldLie) {
  for (auto [dims, epilogue] :
       {std::pair(std::vector<int64_t>{1, 10}, "256"), {{32, 1}, "512"}}) {
    auto call = prepare(
        commandOf(LibraryOp::matmul,
                  {tensorOf(DType::bf16, {32, 768}, {1, 32}),
                   tensorOf(DType::bf16, {768, 10})},
                  {tensorOf(DType::f32, {32, 10}), tensorOf(DType::f32, dims)}),
        0);
    EXPECT_THAT(written(), HasSubstr(std::string("find for 3: 0, 4: 1, 7: ") +
                                     epilogue + ", 8: 64 with"));
    ASSERT_TRUE(call->enqueue(nullptr, {{1, 2}, {3, 4}, 0}).ok());
    EXPECT_THAT(written(),
                HasSubstr(std::string("7: ") + epilogue + ", 8: 4\n"));
  }
}

TEST_F(Stub, SaysTheBatchOfEachMatrix) {
  prepare(commandOf(LibraryOp::matmul,
                    {tensorOf(DType::f32, {4, 8, 2}, {16, 1, 8}),
                     tensorOf(DType::f32, {4, 2, 8})},
                    {tensorOf(DType::f32, {4, 8, 8})}),
          0);
  std::string words = written();
  EXPECT_THAT(words, HasSubstr("matrix of 0: 8x2 lead 8\nmatrix has 5: 4\n"
                               "matrix has 6: 16\n"));
  EXPECT_THAT(words, HasSubstr("matrix of 0: 8x8 lead 8\nmatrix has 5: 4\n"
                               "matrix has 6: 64\n"));
  EXPECT_THAT(words, HasSubstr("find for 3: 0, 4: 1, 7: 1"));
}

TEST_F(Stub, TakesTheFirstAlgorithmThatFitsTheScratch) {
  EXPECT_EQ(prepare(linear(DType::f32, DType::f32), 5000)->scratchBytes(),
            4096u);
  // Where none fits, the one that needs least.
  EXPECT_EQ(prepare(linear(DType::f32, DType::f32), 10)->scratchBytes(), 1000u);
}

TEST_F(Stub, SaysWhichEpilogueItHasNoAlgorithmFor) {
  auto lackOf = [&](const LibraryCommandT &command) {
    auto lack = server->lackOf(*PackedCommand(command));
    EXPECT_TRUE(lack.ok()) << lack.status();
    return lack.ok() ? *lack : "";
  };
  LibraryCommandT command = linear(DType::bf16, DType::bf16);
  activationOf(command) = Activation::relu;
  EXPECT_EQ(lackOf(command), "");
  Environment lacks("GRADUS_STUB_LACKS", "6");
  EXPECT_EQ(lackOf(command), "cuBLASLt has no algorithm with RELU_BIAS");
  EXPECT_EQ(wordsOf(command), "cuBLASLt has no algorithm for a product of 32 x "
                              "768 x 10 elements of bf16 into bf16 with its "
                              "epilogue 6");
  activationOf(command) = Activation::none;
  EXPECT_EQ(lackOf(command), "");
}

TEST_F(Stub, TakesAnAlgorithmByItsText) {
  PackedCommand command(linear(DType::f32, DType::f32));
  auto all = server->algorithms(*command, 5000);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->library, "cublaslt 130100");
  ASSERT_EQ(all->texts.size(), 2u);
  EXPECT_EQ(all->texts[1], "00000000000003e8" + std::string(112, '0'));
  auto call = server->prepareWith(all->texts[1], *command, 5000);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ((*call)->scratchBytes(), 1000u);
  EXPECT_EQ((*call)->algorithm(), all->texts[1]);
}

TEST_F(Stub, RefusesAlgorithmsThatDoNotServe) {
  PackedCommand command(linear(DType::f32, DType::f32));
  auto wordsOf = [&](const std::string &text) {
    return server->prepareWith(text, *command, 5000).status().message();
  };
  EXPECT_EQ(wordsOf("eng3"), "algorithm 'eng3' of cuBLASLt is not 128 digits");
  EXPECT_THAT(wordsOf(std::string(128, 'x')), HasSubstr("is not 128 digits"));
  // One that the library would compute by, and does not name; one that needs
  // more scratch; and the first with one byte changed.
  for (const std::string &text :
       {std::string(128, '1'), "0000000000010000" + std::string(112, '0'),
        "0000000000001000" + std::string(111, '0') + "1"}) {
    EXPECT_EQ(wordsOf(text), "algorithm " + text +
                                 " is none that cuBLASLt names for this "
                                 "product with 5000 bytes of scratch");
  }
}

TEST_F(Stub, LeavesWithTheLastThatHoldsIt) {
  auto call = prepare(linear(DType::f32, DType::f32), 0);
  written();
  server = nullptr;
  EXPECT_STREQ(written(), "");
  call = nullptr;
  EXPECT_STREQ(written(), "destroy\n");
}

/// No card is needed to describe a product.
TEST(CublasLt, TakesOurDescriptions) {
  auto library = cublaslt::load();
  if (!library.ok())
    GTEST_SKIP() << library.status();
  LibraryCommandT commands[] = {
      linear(DType::bf16, DType::bf16), linear(DType::f32, DType::f32),
      commandOf(LibraryOp::matmul,
                {tensorOf(DType::f16, {4, 8, 2}, {16, 1, 8}),
                 tensorOf(DType::f16, {4, 2, 8})},
                {tensorOf(DType::f32, {4, 8, 8})})};
  activationOf(commands[0]) = Activation::gelu_tanh;
  for (const LibraryCommandT &command : commands) {
    auto form = matmulFormOf(*PackedCommand(command));
    ASSERT_TRUE(form.ok()) << form.status();
    auto description = cublaslt::describe(*library, *form);
    EXPECT_TRUE(description.ok()) << description.status();
  }
  // Choosing does need one.
  auto server = serveMatmuls(std::make_shared<cublaslt::Session>(*library));
  auto call = server->prepare(*PackedCommand(commands[0]), 0);
  EXPECT_THAT(call.status().message(),
              HasSubstr("(CUBLAS_STATUS_NOT_INITIALIZED 1)"));
}
