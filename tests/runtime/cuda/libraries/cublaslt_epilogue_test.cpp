// Epilogues by cuBLASLt's numbers and names.

#include "runtime/cuda/libraries/cublaslt_epilogue.h"

#include <gtest/gtest.h>

using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::cublaslt;
using gradus::artifact::Activation;

TEST(CublasLtEpilogue, IsWhatAFormAsksFor) {
  auto nameOf = [](Activation activation, bool hasBias, bool hasGeluInput) {
    MatmulForm form;
    form.activation = activation;
    form.hasBias = hasBias;
    form.hasGeluInput = hasGeluInput;
    return nameOfEpilogue(epilogueOf(form));
  };
  EXPECT_EQ(nameOf(Activation::none, false, false), "");
  EXPECT_EQ(nameOf(Activation::none, true, false), "BIAS");
  EXPECT_EQ(nameOf(Activation::relu, false, false), "RELU");
  EXPECT_EQ(nameOf(Activation::relu, true, false), "RELU_BIAS");
  EXPECT_EQ(nameOf(Activation::gelu_tanh, false, false), "GELU");
  EXPECT_EQ(nameOf(Activation::gelu_tanh, true, false), "GELU_BIAS");
  EXPECT_EQ(nameOf(Activation::gelu_tanh, false, true), "GELU_AUX");
  EXPECT_EQ(nameOf(Activation::gelu_tanh, true, true), "GELU_AUX_BIAS");
  EXPECT_EQ(nameOf(Activation::gelu_tanh_gradient, false, true), "DGELU");
  MatmulForm sums;
  sums.summed = Summed::a;
  EXPECT_EQ(nameOfEpilogue(epilogueOf(sums)), "BGRADA");
  sums.summed = Summed::b;
  EXPECT_EQ(nameOfEpilogue(epilogueOf(sums)), "BGRADB");
}

/// cublasLtEpilogue_t: GELU_AUX_BIAS is GELU_AUX | BIAS.
TEST(CublasLtEpilogue, JoinsABiasAsABit) {
  MatmulForm form;
  form.hasBias = form.hasGeluInput = true;
  form.activation = Activation::gelu_tanh;
  EXPECT_EQ(epilogueOf(form), 164u);
  form.activation = Activation::none;
  EXPECT_EQ(epilogueOf(form), 4u);
}
