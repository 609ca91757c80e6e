// The gradus dialect: graphs of tensors, their state, and the interfaces that
// passes ask instead of op names. Ops stand in *_ops.td by family.

#ifndef GRADUS_DIALECT_TD
#define GRADUS_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Gradus_Dialect : Dialect {
  let name = "gradus";
  let cppNamespace = "::gradus";
  let summary = "Whole training steps as graphs of tensors over named state";
  let description = [{
    A `gradus.program` holds named states and graphs. A graph is a function of
    values: every read sees the value at entry, a write is seen at exit, and a
    state is written at most once. Composite ops (convolution, matmul, losses)
    stay whole while a whole kernel serves them best; plain elementwise work is
    `arith` and `math` on tensors.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

class GradusOp<string mnemonic, list<Trait> traits = []>
    : Op<Gradus_Dialect, mnemonic, traits>;

// Every shape is known when a program is compiled.
class StaticTensorOf<Type tensor>
    : Type<And<[tensor.predicate, HasStaticShapePred]>,
           "static " # tensor.summary, "::mlir::RankedTensorType">;

def AnyStaticTensor : StaticTensorOf<AnyRankedTensor>;
def FloatTensor : StaticTensorOf<RankedTensorOf<[AnyFloat]>>;
def PositionTensor : StaticTensorOf<RankedTensorOf<[I32]>>;
def IntegerTensor : StaticTensorOf<RankedTensorOf<[AnySignlessInteger]>>;
def LabelTensor : StaticTensorOf<RankedTensorOf<[I32, I64]>>;
def NumericTensor : StaticTensorOf<RankedTensorOf<[AnyFloat, AnySignlessInteger]>>;
def BooleanScalar
    : Type<TensorRankOf<[I1], [0]>.predicate, "tensor<i1>", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI1Type())">;

def Role : I32EnumAttr<"Role", "what a state is for", [
    I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"buffer", 1>,
    I32EnumAttrCase<"slot", 2>, I32EnumAttrCase<"counter", 3>,
    I32EnumAttrCase<"hyperparameter", 4>, I32EnumAttrCase<"seed", 5>,
    I32EnumAttrCase<"place", 7>, // numbered as in runtime/artifact.fbs
    I32EnumAttrCase<"scratch", 8>]> {
  let cppNamespace = "::gradus";
  let genSpecializedAttr = 0;
}
def RoleAttr : EnumAttr<Gradus_Dialect, Role, "role"> {
  let assemblyFormat = "`<` $value `>`";
}

def Initializer : I32EnumAttr<"Initializer", "how a state starts", [
    I32EnumAttrCase<"zeros", 0>, I32EnumAttrCase<"constant", 1>,
    I32EnumAttrCase<"kaiming_uniform", 2>, I32EnumAttrCase<"xavier_uniform", 3>,
    I32EnumAttrCase<"normal", 4>, I32EnumAttrCase<"uniform", 5>]> {
  let cppNamespace = "::gradus";
  let genSpecializedAttr = 0;
}

/// The initial value of a state: a rule and its number (the constant, the
/// standard deviation, the half-width of the interval, or the gain of
/// kaiming/xavier).
def InitAttr : AttrDef<Gradus_Dialect, "Init"> {
  let mnemonic = "init";
  let parameters = (ins EnumParameter<Initializer>:$rule,
                        OptionalParameter<"::mlir::FloatAttr">:$value);
  let assemblyFormat = "`<` $rule (`,` $value^)? `>`";
}

def Reduction : I32EnumAttr<"Reduction", "how values are combined", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>,
    I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"mean", 3>]> {
  let cppNamespace = "::gradus";
  let genSpecializedAttr = 0;
}
def ReductionAttr : EnumAttr<Gradus_Dialect, Reduction, "reduction">;

def InGroup : I32EnumAttr<"InGroup", "what ranks of one group make", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>]> {
  let cppNamespace = "::gradus";
  let genSpecializedAttr = 0;
}
def AcrossGroups : I32EnumAttr<"AcrossGroups", "what groups of ranks make", [
    I32EnumAttrCase<"nothing", 0>, // numbered as in runtime/artifact.fbs
    I32EnumAttrCase<"adasum", 1>, I32EnumAttrCase<"adasum_of_all", 2>,
    I32EnumAttrCase<"gather", 3>]> {
  let cppNamespace = "::gradus";
  let genSpecializedAttr = 0;
}

/// Two levels of ranks: `within` neighbours, or with 0 those of a host, are a
/// group, which makes its sum or mean; the groups make nothing of these, or
/// their AdaSum, of each tensor by itself or of all as one vector, or they lay
/// them one behind the other. `epsilon` is what each group adds to a dot
/// product.
def GroupsAttr : AttrDef<Gradus_Dialect, "Groups"> {
  let mnemonic = "groups";
  let parameters = (ins "int64_t":$within, EnumParameter<InGroup>:$inside,
                        EnumParameter<AcrossGroups>:$across,
                        "::mlir::FloatAttr":$epsilon);
  let assemblyFormat = "`<` `within` $within $inside `across` $across `epsilon` $epsilon `>`";
}

def HalfOfReduce : I32EnumAttr<"HalfOfReduce", "which half of an all-reduce", [
    I32EnumAttrCase<"scatter", 0>, I32EnumAttrCase<"gather", 1>]> {
  let cppNamespace = "::gradus";
  let genSpecializedAttr = 0;
}

/// The first half of an all-reduce, after which each of `ranks` ranks has its
/// part of the sums, or the second, which gives all ranks the parts of all. Parts
/// are equal, and have a multiple of `unit` elements.
def PartsAttr : AttrDef<Gradus_Dialect, "Parts"> {
  let mnemonic = "parts";
  let parameters = (ins EnumParameter<HalfOfReduce>:$half, "int64_t":$ranks,
                        "int64_t":$unit);
  let assemblyFormat = "`<` $half `ranks` $ranks `unit` $unit `>`";
}

#endif
