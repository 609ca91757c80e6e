// Computes epilogues; a bias is a bit that is added to the others.

#include "runtime/cuda/libraries/cublaslt_epilogue.h"

namespace gradus::runtime::cuda::cublaslt {

static Epilogue activationOf(const MatmulForm &form) {
  switch (form.activation) {
  case artifact::Activation::relu:
    return Epilogue::relu;
  case artifact::Activation::gelu_tanh:
    return form.hasGeluInput ? Epilogue::geluKept : Epilogue::gelu;
  case artifact::Activation::gelu_tanh_gradient:
    return Epilogue::geluSlope;
  default:
    return Epilogue::none;
  }
}

uint32_t epilogueOf(const MatmulForm &form) {
  if (form.summed != Summed::none)
    return uint32_t(form.summed == Summed::a ? Epilogue::sumOfA
                                             : Epilogue::sumOfB);
  Epilogue activation = activationOf(form);
  if (!form.hasBias)
    return uint32_t(activation);
  return uint32_t(Epilogue::bias) |
         (activation == Epilogue::none ? 0 : uint32_t(activation));
}

std::string nameOfEpilogue(uint32_t epilogue) {
  bool hasBias = epilogue & uint32_t(Epilogue::bias);
  std::string name;
  switch (Epilogue(epilogue & ~uint32_t(Epilogue::bias))) {
  case Epilogue::relu:
    name = "RELU";
    break;
  case Epilogue::gelu:
    name = "GELU";
    break;
  case Epilogue::geluKept:
    name = "GELU_AUX";
    break;
  case Epilogue::geluSlope:
    name = "DGELU";
    break;
  case Epilogue::sumOfA:
    return "BGRADA";
  case Epilogue::sumOfB:
    return "BGRADB";
  default:
    break;
  }
  return name + (hasBias ? name.empty() ? "BIAS" : "_BIAS" : "");
}

} // namespace gradus::runtime::cuda::cublaslt
