// The interfaces that passes ask of an op. A pass that asks an interface covers
// tomorrow's ops today; see docs/add_an_op.md.

#ifndef GRADUS_INTERFACES_TD
#define GRADUS_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Differentiable : OpInterface<"Differentiable"> {
  let description = [{
    An op with a gradient rule. The rules stand in `ir/ops/gradients.cpp`; arith and
    math ops get theirs there too, as external models.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<[{
      Returns the gradient of each operand, given the gradient of each result;
      a null value means zero (and for an operand that has no gradient, such as
      labels, always). A null result gradient means zero; at least one is not
      null.
    }], "::llvm::SmallVector<::mlir::Value>", "pullback",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultGradients)>,
  ];
}

def ParameterUpdate : OpInterface<"ParameterUpdate"> {
  let description = [{
    The hinge of a training step: consumes one parameter's gradient. Passes that
    edit gradients look for this interface, so they work for every optimizer.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<"Returns the name of the state that is updated.",
      "::llvm::StringRef", "getParameterName">,
    InterfaceMethod<"Returns the use of the gradient, for reading or replacing.",
      "::mlir::OpOperand &", "getGradientUse">,
  ];
}

def ElementwiseInterface : OpInterface<"Elementwise"> {
  let description = [{
    Each result element depends on the operand elements at the same position
    alone. `buildScalar` gives the same computation on scalars, of which fusion
    makes kernels. All operands and results have one shape.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<"Builds the computation on scalars with arith and math ops.",
      "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$scalars)>,
  ];
}

def Evaluable : OpInterface<"Evaluable"> {
  let description = [{
    An op that the reference evaluator (`ir/evaluator/evaluator.h`) can run: floats in
    f64, integers in i64. The oracle of gradient checks, constant folding of
    shape arithmetic and `gradus verify`.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<"Computes the results, or fails with an error on the op.",
      "::mlir::FailureOr<::llvm::SmallVector<::gradus::HostTensor>>", "evaluate",
      (ins "::llvm::ArrayRef<::gradus::HostTensor>":$operands)>,
  ];
}

def SummingInterface : OpInterface<"Summing"> {
  let description = [{
    An op whose results are sums of many terms. Bounds of rounding and the
    statistics of a program ask it for numbers that shapes do not tell.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<"Returns how many terms the longest sum of a result has.",
      "int64_t", "getSummedTerms">,
    InterfaceMethod<"Returns the floating-point operations of all results.",
      "int64_t", "getFlops">,
  ];
}

def CollectiveInterface : OpInterface<"Collective"> {
  let description = [{
    An op that all ranks of a run compute together, in the order of the program.
    It writes the resource Communicator, so passes keep it, once and in order.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<"Returns the axis of ranks along which it works.",
      "::llvm::StringRef", "getAxis">,
    InterfaceMethod<[{
      Returns how many bytes one of `ranks` ranks sends, the average of all.
    }], "double", "getSentBytes", (ins "int64_t":$ranks)>,
    InterfaceMethod<[{
      Whether it and another one, none of whose operands needs its results, may
      be one op with the operands of both.
    }], "bool", "mayJoin", (ins "::mlir::Operation *":$other)>,
  ];
}

def Decomposable : OpInterface<"Decomposable"> {
  let description = [{
    A composite op that can be written as smaller ones, which then fuse with
    their neighbours.
  }];
  let cppNamespace = "::gradus";
  let methods = [
    InterfaceMethod<"Builds the smaller ops and returns the results' values.",
      "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<"Whether code generation serves this one better as it is.",
      "bool", "staysWhole", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return false;">,
  ];
}

#endif
