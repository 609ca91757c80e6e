// Enumerations of the plan dialect.

#ifndef GRADUS_PLAN_ENUMS_TD
#define GRADUS_PLAN_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Split : I32EnumAttr<"Split", "how a kernel's work is divided into items", [
    I32EnumAttrCase<"serial", 0>, I32EnumAttrCase<"rows", 1>,
    I32EnumAttrCase<"flat", 2>]> {
  let cppNamespace = "::gradus::plan";
  let genSpecializedAttr = 0;
}

def WinogradKind : I32EnumAttr<"WinogradKind", "what a Winograd convolution computes", [
    I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"input_gradient", 1>,
    I32EnumAttrCase<"weight_gradient", 2>]> {
  let cppNamespace = "::gradus::plan";
  let genSpecializedAttr = 0;
}

#endif
