// Programs, their state, their graphs, and what connects the two.

#ifndef GRADUS_PROGRAM_OPS_TD
#define GRADUS_PROGRAM_OPS_TD

include "ir/dialect.td"
include "ir/interfaces.td"
include "ir/traits.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ProgramOp : GradusOp<"program", [
    IsolatedFromAbove, SymbolTable, Symbol, NoTerminator, SingleBlock,
    NoRegionArguments]> {
  let summary = "A model with its state, its graphs and its recipe";
  let description = [{
    Holds states, graphs and schedules. The attribute `recipe` is the recipe
    of docs/contracts.md as a dictionary; what it does not say has the default
    of its key.

    Example:

    ```mlir
    gradus.program @scale {
      gradus.state @factor : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 2.0 : f64>}
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %factor = gradus.read @factor : tensor<4xf32>
        %y = arith.mulf %x, %factor : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<DictionaryAttr>:$recipe);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1; // asks the RecipeCheck that is registered, if any
  let extraClassDeclaration = [{
    /// The graph or state of this name, or null.
    ::gradus::GraphOp getGraph(::llvm::StringRef name);
    ::gradus::StateOp getState(::llvm::StringRef name);
  }];
}

def StateOp : GradusOp<"state", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "A named tensor that outlives a step";
  let description = [{
    Parameters, buffers, optimizer slots (`<optimizer>/<slot>/<parameter>`),
    counters, hyperparameters and seeds. It starts as `init` says, or as
    `value`, the model's own weights. The ranks of a run have equal states, but
    for those that `differs_along` says to differ along an axis of ranks, as
    `["data"]`.

    Example:

    ```mlir
    gradus.program @states {
      gradus.state @fc.weight : tensor<10x84xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.state @fc.bias : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[0.5, -0.5]> : tensor<2xf32>}
      gradus.state @"sgd/momentum/fc.bias" : tensor<2xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<AnyStaticTensor>:$type,
                       RoleAttr:$role,
                       OptionalAttr<InitAttr>:$init,
                       OptionalAttr<ElementsAttr>:$value,
                       OptionalAttr<StrArrayAttr>:$differs_along);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def GraphOp : GradusOp<"graph", [
    HasParent<"ProgramOp">, IsolatedFromAbove, FunctionOpInterface,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A function of values: inputs and states in, outputs and states out";
  let description = [{
    Inputs and outputs carry names. `gradus.read` gives a state's value at
    entry, `gradus.write` and `gradus.update` say its value at exit. An input
    whose name is no identifier is written `%arg0 as "input.1"`.

    Example:

    ```mlir
    gradus.graph @add(%a: tensor<4xf32>, %arg0 as "the other": tensor<4xf32>) -> (sum: tensor<4xf32>) {
      %sum = arith.addf %a, %arg0 : tensor<4xf32>
      gradus.return %sum : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       StrArrayAttr:$input_names,
                       StrArrayAttr:$output_names,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the argument and result types.
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::StringRef getInputName(unsigned index) {
      return ::llvm::cast<::mlir::StringAttr>(getInputNames()[index]).getValue();
    }
    ::llvm::StringRef getOutputName(unsigned index) {
      return ::llvm::cast<::mlir::StringAttr>(getOutputNames()[index]).getValue();
    }
    /// The values that the graph returns.
    ::mlir::OperandRange getReturned();
    /// Appends an input or output; for outputs the value to return.
    ::mlir::BlockArgument addInput(::llvm::StringRef name, ::mlir::Type type,
                                   ::mlir::Location loc);
    void addOutput(::llvm::StringRef name, ::mlir::Value value);
  }];
}

def ReadOp : GradusOp<"read", [Pure, ReturnsExactNumbers, HasParent<"GraphOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A state's value at entry of the step";
  let description = [{
    A write in the same step does not change what is read: a read may stand
    anywhere in the graph, and two reads of a state are one.

    Example:

    ```mlir
    gradus.program @double {
      gradus.state @weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
      gradus.graph @predict() -> (twice: tensor<4xf32>) {
        %weight = gradus.read @weight : tensor<4xf32>
        %twice = arith.addf %weight, %weight : tensor<4xf32>
        gradus.return %twice : tensor<4xf32>
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs AnyStaticTensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def WriteOp : GradusOp<"write", [HasParent<"GraphOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A state's value at exit of the step";
  let description = [{
    A graph gives a state at most one new value.

    Example:

    ```mlir
    gradus.program @count {
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train() {
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %next = arith.addi %step, %one : tensor<i64>
        gradus.write @step, %next : tensor<i64>
        gradus.return
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, AnyStaticTensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}

def UpdateOp : GradusOp<"update", [
    HasParent<"GraphOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<ParameterUpdate>]> {
  let summary = "A parameter and its gradient: where autodiff ends and the optimizer begins";
  let description = [{
    Says that an optimizer moves `parameter` by `gradient`. Gradient methods
    rewrite the operand; `expand-optimizer` turns the op into arithmetic.

    Example:

    ```mlir
    gradus.program @learn {
      gradus.state @weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
      gradus.graph @train(%gradient: tensor<4xf32>) {
        gradus.update @weight, %gradient {learning_rate_factor = 10.0 : f64} : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter,
                       FloatTensor:$gradient,
                       OptionalAttr<StrAttr>:$group,
                       OptionalAttr<F64Attr>:$learning_rate_factor);
  let assemblyFormat = "$parameter `,` $gradient attr-dict `:` type($gradient)";
}

def FactorsOp : GradusOp<"factors", [
    HasParent<"GraphOp">, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A weight and the factors of its curvature: the second hinge, beside `update`";
  let description = [{
    Says that this step has measured the curvature of the loss over a layer's
    weight, as the Kronecker product of two second moments (Martens and Grosse,
    https://arxiv.org/abs/1503.05671): of what goes into the layer, and of the
    gradient of what comes out of it for each sample. Both are diagonal blocks
    `[groups B, b, b]`, as `gram` makes them; for an `embedding` that of the
    inputs is a vector, the part of the batch that reads each row. A side may be
    left out. Methods that scale or add up gradients rewrite the operands with
    them, `precondition` inverts them.

    `axes` are those of the weight that count inputs, in the order of their
    features; the others count outputs. `positions` is the number of times that
    a sample uses the weight, the places of a convolution's result. With
    `measured_only` what was inverted before remains in use.

    Example:

    ```mlir
    gradus.program @curved {
      gradus.state @weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
      gradus.graph @train_refresh(%x: tensor<32x4xf32>, %dy: tensor<32x8xf32>) {
        %a = gradus.gram %x axis 1 block 4 : tensor<32x4xf32> -> tensor<1x4x4xf32>
        %g = gradus.gram %dy axis 1 block 4 : tensor<32x8xf32> -> tensor<2x4x4xf32>
        gradus.factors @weight inputs %a outputs %g {kind = "dense", axes = array<i64: 1>} : tensor<1x4x4xf32>, tensor<2x4x4xf32>
        gradus.return
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter,
                       Optional<FloatTensor>:$inputs,
                       Optional<FloatTensor>:$outputs,
                       StrAttr:$kind,
                       DenseI64ArrayAttr:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$positions,
                       UnitAttr:$measured_only);
  let assemblyFormat = "$parameter (`inputs` $inputs^)? (`outputs` $outputs^)? attr-dict `:` type(operands)";
}

def ReturnOp : GradusOp<"return", [
    Pure, HasParent<"GraphOp">, Terminator]> {
  let summary = "Ends a graph with its outputs";
  let description = [{
    Its operands are the outputs of the graph, in order.

    Example:

    ```mlir
    gradus.graph @swap(%a: tensor<4xf32>, %b: tensor<2xi32>) -> (first: tensor<2xi32>, second: tensor<4xf32>) {
      gradus.return %b, %a : tensor<2xi32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticTensor>:$outputs);
  let assemblyFormat = "attr-dict ($outputs^ `:` type($outputs))?";
  let hasVerifier = 1;
}

def GuardOp : GradusOp<"guard", [
    HasParent<"GraphOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Lets a step change states only where a condition holds";
  let description = [{
    Where `condition` is false, every state of the graph keeps its value but
    those listed after `always`. `expand-guards` makes selections of it.

    Example:

    ```mlir
    gradus.program @learn {
      gradus.state @weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%gradient: tensor<4xf32>, %finite: tensor<i1>) {
        gradus.guard %finite always [@step]
        gradus.update @weight, %gradient : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
  let arguments = (ins BooleanScalar:$condition,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$always);
  let assemblyFormat = "$condition (`always` $always^)? attr-dict";
  let extraClassDeclaration = [{
    /// Whether the state may change in any case.
    bool exempts(::mlir::FlatSymbolRefAttr state);
  }];
}

def ScheduleOp : GradusOp<"schedule", [
    HasParent<"ProgramOp">, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Which variant of a graph runs at step k";
  let description = [{
    A pure function of the step counter: the last `gradus.variant` that has k
    among its steps runs, the first one otherwise. The counter is `@step`, or
    the state after `by`.

    Example:

    ```mlir
    gradus.program @alternate {
      gradus.graph @train() {
        gradus.return
      }
      gradus.graph @train_refresh() {
        gradus.return
      }
      gradus.schedule @train {
        gradus.variant @train
        gradus.variant @train_refresh every 100
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$graph,
                       OptionalAttr<FlatSymbolRefAttr>:$counter);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$graph (`by` $counter^)? attr-dict-with-keyword $body";
}

def VariantOp : GradusOp<"variant", [HasParent<"ScheduleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One variant of a scheduled graph and the steps it runs at";
  let description = [{
    It runs at the steps k with `k mod every = at`; 1 and 0 are the defaults.

    Example:

    ```mlir
    gradus.program @accumulate {
      gradus.state @accepted_steps : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train() {
        gradus.return
      }
      gradus.graph @train_accumulate() {
        gradus.return
      }
      gradus.schedule @train by @accepted_steps {
        gradus.variant @train_accumulate
        gradus.variant @train every 4 at 3
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$graph,
                       ConfinedAttr<DefaultValuedAttr<I64Attr, "1">, [IntPositive]>:$every,
                       ConfinedAttr<DefaultValuedAttr<I64Attr, "0">, [IntNonNegative]>:$at);
  let assemblyFormat = "$graph (`every` $every^ (`at` $at^)?)? attr-dict";
  let hasVerifier = 1;
}

#endif
