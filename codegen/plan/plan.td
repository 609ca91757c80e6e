// The plan dialect, into which codegen lowers a graph: nests (loop nests over
// tensors), kernels (nests over buffers), and the commands that run them.

#ifndef GRADUS_PLAN_TD
#define GRADUS_PLAN_TD

include "ir/dialect.td"
include "ir/communicator.td"
include "codegen/plan/plan_enums.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::gradus::plan";
  let summary = "Loop nests, kernels and commands: the form in which a step runs";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultAttributePrinterParser = 1;
}

class PlanOp<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def TensorOrBuffer : AnyTypeOf<[AnyRankedTensor, MemRefOf<[AnyType]>]>;
def Buffer : MemRefOf<[AnyType]>;

def NestOp : PlanOp<"nest", [AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Map, reduce, map over a static iteration domain";
  let description = [{
    The domain has the dimensions `parallel` (d0 .. dp-1) followed by `reduced`
    (dp ..). For every parallel point,

    1. for every reduced point the arguments of the `map` region are one element
       of each of `map_inputs` (read at `map_input_maps`, over all dimensions);
       it yields values, which are combined over the reduced points by `combine`
       (sum, max, min; one entry per value; starting from the identity);
    2. the arguments of the `then` region are the combined values followed by
       one element of each of `then_inputs` (read at `then_input_maps`, over the
       parallel dimensions); it yields the values for the outputs (at
       `output_maps`, over the parallel dimensions). Those that the region does
       not use are only asked for: a CPU gets them into a cache while it sums,
       and their maps may lead behind the end of the buffer.

    Without reduced dimensions there is no `map` region and all inputs are
    `then_inputs`: an elementwise nest. `guards` (one entry per input, map inputs
    first; an integer set over the same dimensions, or unit) give the points at
    which an input is read: elsewhere its element is 0. Guards express padding.
    Every output element is written exactly once, except in the padding of rows
    by `pad-rows`, which is never read. On tensors the outputs are results;
    inside a kernel they are the buffers `outs`.

    `label` says in a few words what it computes: fusion joins labels
    (`matmul+add+tanh`), and commands are named by them. A nest that only moves
    elements has none. A nest that is `kept` is a copy that no contraction makes
    while it reads.

    Scalars inside the regions are `arith` and `math` ops and `plan.index`; the
    regions see no value from outside. A nest on tensors has no side effect.

    Example (a dense layer with bias and relu; a row of it):

    ```mlir
    %y = plan.nest parallel [32, 10] reduced [84]
        ins(%x, %w : tensor<32x84xf32>, tensor<10x84xf32>) with(%b : tensor<10xf32>)
        attributes {map_input_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>],
                    then_input_maps = [affine_map<(m, n) -> (n)>],
                    output_maps = [affine_map<(m, n) -> (m, n)>],
                    guards = [unit, unit, unit], combine = [#gradus<reduction sum>]}
        map {
        ^bb0(%a: f32, %c: f32):
          %p = arith.mulf %a, %c : f32
          plan.yield %p : f32
        } then {
        ^bb0(%sum: f32, %bias: f32):
          %z = arith.addf %sum, %bias : f32
          %zero = arith.constant 0.0 : f32
          %r = arith.maximumf %z, %zero : f32
          plan.yield %r : f32
        } -> tensor<32x10xf32>
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$parallel,
                       DenseI64ArrayAttr:$reduced,
                       Variadic<TensorOrBuffer>:$map_inputs,
                       Variadic<TensorOrBuffer>:$then_inputs,
                       Variadic<Buffer>:$outs,
                       AffineMapArrayAttr:$map_input_maps,
                       AffineMapArrayAttr:$then_input_maps,
                       AffineMapArrayAttr:$output_maps,
                       ArrayAttr:$guards,
                       TypedArrayAttrBase<ReductionAttr, "reductions">:$combine,
                       OptionalAttr<StrAttr>:$label, UnitAttr:$kept);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$map, SizedRegion<1>:$then);
  let assemblyFormat = [{
    `parallel` $parallel `reduced` $reduced
    (`ins` `(` $map_inputs^ `:` type($map_inputs) `)`)?
    (`with` `(` $then_inputs^ `:` type($then_inputs) `)`)?
    (`outs` `(` $outs^ `:` type($outs) `)`)?
    attr-dict-with-keyword `map` $map `then` $then (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumDims() { return getParallel().size() + getReduced().size(); }
    bool isElementwise() { return getReduced().empty(); }
    /// Extents of all dimensions, parallel ones first.
    ::llvm::SmallVector<int64_t> getExtents();
    /// Map and guard (null set = everywhere) of input i, map inputs first.
    ::mlir::AffineMap getInputMap(unsigned i);
    ::mlir::IntegerSet getGuard(unsigned i);
    ::mlir::AffineMap getOutputMap(unsigned i);
    /// Whether `then` does not use its input i, so that it is only asked for.
    bool isAsked(unsigned i) {
      return getThen().getArgument(getCombine().size() + i).use_empty();
    }
  }];
}

def YieldOp : PlanOp<"yield", [Pure, Terminator]> {
  let summary = "Ends a region of a nest with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def IndexOp : PlanOp<"index", [Pure]> {
  let summary = "The current position along one dimension of the nest, as i64";
  let arguments = (ins I64Attr:$dim);
  let results = (outs I64:$result);
  let assemblyFormat = "$dim attr-dict";
}

def DotPairsOp : PlanOp<"dot_pairs", [Pure]> {
  let summary = "The sum of the products of two pairs of bf16, in f32";
  let description = [{
    `low a * low b + high a * high b`, where the lower 16 bits of an operand are
    one number and the higher ones the other. A sum over it adds both products
    to what is summed already, first the higher ones, each with one rounding, as
    AVX-512 BF16's vdpbf16ps does. Other targets have the op in tests and by
    gradus-opt alone: two multiply-adds, of two roundings each without FMA.

    Example (a row of a matmul over 64 numbers, 32 pairs):

    ```mlir
    %y = plan.nest parallel [10] reduced [32] ins(%x, %w : tensor<32xi32>, tensor<32x10xi32>)
        attributes {map_input_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>],
                    then_input_maps = [], output_maps = [affine_map<(n) -> (n)>],
                    guards = [unit, unit], combine = [#gradus<reduction sum>]}
        map {
        ^bb0(%a: i32, %b: i32):
          %p = plan.dot_pairs %a, %b
          plan.yield %p : f32
        } then {
        ^bb0(%sum: f32):
          plan.yield %sum : f32
        } -> tensor<10xf32>
    ```
  }];
  let arguments = (ins I32:$a, I32:$b);
  let results = (outs F32:$result);
  let assemblyFormat = "$a `,` $b attr-dict";
}

// Gathers and sums at indices that are known only at run time.
class IndexedOp<string mnemonic> : PlanOp<mnemonic, [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins TensorOrBuffer:$source, TensorOrBuffer:$indices, Optional<Buffer>:$out,
                       I64Attr:$axis, I64Attr:$batch_dims);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = "$source `at` $indices (`into` $out^)? `axis` $axis `batch` $batch_dims attr-dict `:` type($source) `,` type($indices) (`,` type($out)^)? (`->` type($result)^)?";
  let extraClassDeclaration = [{
    /// The tensor or buffer that is written.
    ::mlir::ShapedType getOutType();
  }];
}

def TakeOp : IndexedOp<"take"> {
  let summary = "A gather, on tensors or buffers";
  let description = [{
    `gradus.gather` as a command: in a kernel over rows, item r is the r-th
    slice of the result, which has the dimensions after the indices'.

    Example:

    ```mlir
    %y = plan.take %table at %token axis 0 batch 0 : tensor<100x16xf32>, tensor<4x8xi64> -> tensor<4x8x16xf32>
    ```
  }];
}

def AddAtOp : IndexedOp<"add_at"> {
  let summary = "A scatter_add, on tensors or buffers";
  let description = [{
    `gradus.scatter_add` as a command: in a kernel over rows, item r is the r-th
    slice of the result, so each element is summed by one thread, in order.

    Example:

    ```mlir
    %dtable = plan.add_at %dy at %token axis 0 batch 0 : tensor<4x8x16xf32>, tensor<4x8xi64> -> tensor<100x16xf32>
    ```
  }];
}

def SplitAttr : EnumAttr<Plan_Dialect, Split, "split">;

def KernelOp : PlanOp<"kernel", [Symbol, IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "Nests over buffers, run in order: one entry point of machine code";
  let description = [{
    Arguments are memrefs: `inputs` of them are read, the others are written
    (an output may share the memory of an input if `plan.launch` allows it).
    The body contains `plan.scratch`, `plan.nest`, `plan.loop`, `plan.take` and
    `plan.add_at` ops. An entry point is
    `void k(void **buffers, int64 begin, int64 end)` over work items:

    - `serial`: one item, all nests over their whole domain.
    - `rows`: item i is index i of dimension d0 of every nest, whose extent is
      `items`; for each item all nests run in order. Nests see the same
      d0-slices, so no item accesses what another one writes.
    - `flat`: every nest is elementwise over one dimension of dynamic extent
      (kDynamic) and items are elements; all maps are identities (or constant
      maps, for rank-0 buffers); the code serves any size.

    A kernel is emitted once, however often it is launched.

    A kernel that `multiplies` sums products of matrices in tiles of registers,
    as those of matmuls, attention, recurrent steps and Winograd's algorithm do:
    its expected time follows from what it counts
    (codegen/plan/kernel_work.h). One that `writes_once` writes each element of
    its result exactly once, when it is complete: `update-in-tiles` looks for
    these.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       I64Attr:$inputs, SplitAttr:$split, I64Attr:$items,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       UnitAttr:$multiplies, UnitAttr:$writes_once);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def ScratchOp : PlanOp<"scratch"> {
  let summary = "Small memory of a kernel, private to an item (on the stack of a CPU, shared memory of a GPU block)";
  let results = (outs MemRefOf<[AnyType]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def PairsOp : PlanOp<"pairs", [Pure]> {
  let summary = "A buffer of 16-bit numbers of a kernel, seen as pairs of neighbours, on CPUs alone";
  let description = [{
    The same memory. Each element is an i32 that has two neighbours along the
    last dimension, whose size is even, the first of them in its lower bits.
  }];
  let arguments = (ins Buffer:$source);
  let results = (outs MemRefOf<[I32]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def LoopOp : PlanOp<"loop", [SingleBlock, NoTerminator]> {
  let summary = "Runs its nests once for each position in a range of a dimension";
  let description = [{
    Its parent is a kernel over `rows`, whose items then run one at a time, or
    another loop. For nests inside n loops dimension 0 is the item, and
    dimensions 1 to n are the positions of the loops, from the outermost on.

    `first` and `end` are maps of the item and the positions of outer loops:
    positions run from the largest result of `first` up to, but excluding, the
    smallest of `end`. So a block with a causal mask can skip masked keys.

    With `at` it runs its nests once, for the position that stands in this buffer
    of integers at the index `first`, and that is less than `end`. So a nest can
    read and write where an earlier one has found something. CPUs alone have it.

    Example (in a kernel with 4 items of 10 numbers, which it doubles):

    ```mlir
    plan.loop from affine_map<(item) -> (0)> to affine_map<(item) -> (2, item)> {
      plan.nest parallel [4, 2, 5] reduced [] with(%x : memref<4x10xf32>) outs(%y : memref<4x10xf32>)
          attributes {map_input_maps = [], then_input_maps = [affine_map<(item, part, i) -> (item, part * 5 + i)>],
                      output_maps = [affine_map<(item, part, i) -> (item, part * 5 + i)>],
                      guards = [unit], combine = []}
          map {} then {
          ^bb0(%a: f32):
            %sum = arith.addf %a, %a : f32
            plan.yield %sum : f32
          }
    }
    ```
  }];
  let arguments = (ins AffineMapAttr:$first, AffineMapAttr:$end, Optional<Buffer>:$at);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`from` $first `to` $end (`at` $at^ `:` type($at))? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def EndOp : PlanOp<"end", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a kernel";
  let assemblyFormat = "attr-dict";
}

def CommandInterface : OpInterface<"Command"> {
  let description = [{
    An op that is one command of a plan. It reads its operands and writes its
    results, whole, and nothing else. Liveness, schedule, memory plan,
    recomputation, the forming of kernels and the writer of the artifact ask
    this interface, so that they cover a further kind of command
    (docs/add_a_command.md).
  }];
  let cppNamespace = "::gradus::plan";
  let methods = [
    InterfaceMethod<"Returns the bytes of scratch that it needs while it runs.",
      "int64_t", "getScratchBytes", (ins), "", [{ return 0; }]>,
    InterfaceMethod<[{
      Returns the operand whose memory a result may take over if that dies here,
      or -1.
    }], "int64_t", "getInplaceOperand", (ins "unsigned":$result), "",
      [{ return -1; }]>,
    InterfaceMethod<[{
      Whether a second run writes the same bits and does nothing else, so that
      recomputation may ask for one.
    }], "bool", "mayRunTwice", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
      Writes it as a command of the artifact: makes its table and adds it
      (codegen/artifact/command_writer.h).
    }], "void", "write", (ins "::gradus::CommandWriter &":$writer)>,
  ];
}

def LaunchOp : PlanOp<"launch", [Pure,
    DeclareOpInterfaceMethods<CommandInterface, ["getInplaceOperand"]>]> {
  let summary = "Runs a kernel on values";
  let description = [{
    One or more segments: segment s has the operands and results
    `s * (kernel inputs) ..` and `s * (kernel outputs) ..` and `items[s]` work
    items. `inplace[r]` is the operand (index into the operands) whose memory
    result r may reuse, or -1; memory planning decides.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$operands,
                       DenseI64ArrayAttr:$items, I64Attr:$grain,
                       DenseI64ArrayAttr:$inplace,
                       DefaultValuedAttr<I64Attr, "0">:$flops,
                       OptionalAttr<StrAttr>:$label);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kernel `(` $operands `)` `items` $items `grain` $grain `inplace` $inplace attr-dict `:` functional-type($operands, results)";
}

def LibraryOp : PlanOp<"library", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<CommandInterface, ["getScratchBytes"]>]> {
  let summary = "A call of a vendor library (oneDNN on CPU)";
  let description = [{
    `call` is an op of the artifact's union `LibraryOp` (runtime/artifact.fbs),
    which says what operands and results it has, and `config` has what its table
    holds: `activation` of `matmul` and `convolution`, `strides`, `dilations`,
    `pads_begin` and `pads_end` of convolutions, `scale` and `causal` of
    attention. `layouts` gives each operand and then each result a layout:
    `{dims, strides, padded_dims, inner_blocks, inner_axes}` (i64 arrays).
    `scratch` bytes are needed while it runs. `epilogue` may name the kernel
    that computes the epilogue of a `matmul` if the GPU's library has no
    algorithm for both at once.
  }];
  let hasVerifier = 1;
  let arguments = (ins StrAttr:$call, Variadic<AnyRankedTensor>:$operands,
                       DictionaryAttr:$config, DictArrayAttr:$layouts,
                       DefaultValuedAttr<I64Attr, "0">:$scratch,
                       DefaultValuedAttr<I64Attr, "0">:$flops,
                       OptionalAttr<StrAttr>:$label,
                       OptionalAttr<FlatSymbolRefAttr>:$epilogue);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$call `(` $operands `)` `config` $config `layouts` $layouts attr-dict `:` functional-type($operands, results)";
}

def SelectOp : PlanOp<"select", [Pure,
    DeclareOpInterfaceMethods<CommandInterface, ["getScratchBytes"]>]> {
  let summary = "Selects the elements that are largest by their absolute value";
  let description = [{
    The results are those of `gradus.select_largest`. The runtime has its code,
    on CPUs alone: it counts digits of magnitudes, those of `parts` parts of the
    input apart.

    Example:

    ```mlir
    %indices, %values = plan.select %x : tensor<1000xf32> -> tensor<10xi32>, tensor<10xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Optional<AnyRankedTensor>:$threshold);
  let results = (outs AnyRankedTensor:$indices, AnyRankedTensor:$values);
  let assemblyFormat = "$input (`from` $threshold^)? attr-dict `:` type($input) (`from` type($threshold)^)? `->` type($indices) `,` type($values)";
  let extraClassDeclaration = [{
    /// The parts that are counted apart, and the bits of a digit: more of both
    /// where many elements are worth large tables.
    int64_t getParts();
    int64_t getDigitBits();
    /// The elements of a part that may be listed before it is decided.
    int64_t getListed();
  }];
}

def WinogradTensor : StaticTensorOf<RankedTensorOf<[F32, BF16]>>;
def WinogradKindAttr : EnumAttr<Plan_Dialect, WinogradKind, "winograd_kind">;

def WinogradOp : PlanOp<"winograd", [Pure]> {
  let summary = "A 3x3 convolution, or a gradient of it, by Winograd's algorithm";
  let description = [{
    The convolution has windows of 3x3, stride 1, dilation 1, one group, and
    `pads` zeros before the rows and before the columns of its input; shapes say
    how many there are behind. Activations have blocked channels,
    `[N, C/16, H, W, 16]`, weights are plain, `[K, C, 3, 3]`. Sums are over tiles
    of `tile` by `tile` outputs, whose inputs and weights are transformed: of 4,
    F(4x4, 3x3), with a quarter of the multiplications and about four times the
    rounding errors; of 2, F(2x2, 3x3), with 4/9 and hardly more errors.
    Tensors are f32 or bf16, each by itself: all arithmetic and all sums are f32,
    and a result of bf16 is rounded once, behind its activation.

    - `forward`: `x`, the weights and perhaps a bias, `[K]`, to `y`, on which an
      `activation` is applied: relu, tanh, sigmoid, gelu_erf or gelu_tanh.
    - `input_gradient`: the gradient of `y` and the weights to that of `x`.
    - `weight_gradient`: `x` and the gradient of `y` to that of the weights.

    `lower-to-kernels` makes launches, whose scratch has to fit a thread's stack.

    Example:

    ```mlir
    %y = plan.winograd forward %x, %w bias %b pads [1, 1] {activation = "relu"}
        : tensor<8x2x14x14x16xf32>, tensor<64x32x3x3xf32>, tensor<64xf32> -> tensor<8x4x14x14x16xf32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins WinogradKindAttr:$kind, WinogradTensor:$source, WinogradTensor:$other,
                       Optional<WinogradTensor>:$bias, DenseI64ArrayAttr:$pads,
                       OptionalAttr<StrAttr>:$activation,
                       DefaultValuedAttr<I64Attr, "4">:$tile);
  let results = (outs WinogradTensor:$result);
  let assemblyFormat = "$kind $source `,` $other (`bias` $bias^)? `pads` $pads attr-dict `:` type($source) `,` type($other) (`,` type($bias)^)? `->` type($result)";
}

def Token : TensorOf<[I8]>;

class CollectiveOp<string mnemonic, list<string> methods>
    : PlanOp<mnemonic, [MemoryEffects<[MemWrite<Communicator>]>,
    DeclareOpInterfaceMethods<CommandInterface, methods>]>;

def StartOp : CollectiveOp<"start", ["mayRunTwice"]> {
  let summary = "Begins the sum of its operands over the ranks";
  let description = [{
    The operands are summed in their own memory, so nothing else reads them
    before or after `plan.finish` of the same `number`, which takes the token
    and the operands again. Numbers count the sums of a graph in the order in
    which they begin; `schedule` sets them. `groups` and `parts` are those of
    `gradus.all_reduce`. The operands of one start lie one after the other in
    memory, as far as they are in the arena.

    The start and the finish of a `border` sum nothing, as they are along an axis
    on which a process is alone: `form-kernels` removes them.

    Example:

    ```mlir
    %token = plan.start %g number 0 : tensor<4xf32> -> tensor<0xi8>
    %sum = plan.finish %token, %g number 0 : tensor<0xi8>, tensor<4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I64Attr:$number,
                       OptionalAttr<GroupsAttr>:$groups,
                       OptionalAttr<PartsAttr>:$parts, UnitAttr:$border);
  let results = (outs Token:$token);
  let assemblyFormat = "$operands `number` $number attr-dict `:` type($operands) `->` type($token)";
}

def FinishOp : CollectiveOp<"finish", ["mayRunTwice", "getInplaceOperand"]> {
  let summary = "Waits for a sum over the ranks that plan.start began";
  let description = [{
    The results are in the memory of the operands where these die here.

    Example:

    ```mlir
    %token = plan.start %g number 0 : tensor<4xf32> -> tensor<0xi8>
    %sum = plan.finish %token, %g number 0 : tensor<0xi8>, tensor<4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Token:$token, Variadic<AnyRankedTensor>:$begun, I64Attr:$number,
                       UnitAttr:$border);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$token `,` $begun `number` $number attr-dict `:` type($token) `,` type($begun) `->` type($results)";
}

#endif
