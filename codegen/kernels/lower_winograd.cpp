// Lowers convolutions by Winograd's algorithm to kernels. Transformed tiles and
// products are scratch of an item, which stays in a core's cache: planes of
// tiles by channels, and as many of tiles by outputs. Products are ordinary
// nests, one a plane.
//
// Loops and nests run over segments of tiles that are alike, so that no element
// has a guard: what lies in the padding is a zero that transforms know of, and
// outputs that do not exist are not written.

#include "codegen/kernels/lower_to_kernels.h"
#include "codegen/kernels/winograd_writer.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::WinogradKind;
using plan::WinogradOp;

namespace {

/// The weights of a window.
constexpr int64_t kWindow = kWinogradWindow * kWinogradWindow;

/// The facts of an op from which its kernels are made.
struct Convolution {
  WinogradSizes sizes;
  WinogradTiles tiles;
  bool rotatesWeights, hasBias;
  std::string activation;

  explicit Convolution(WinogradOp op)
      : sizes(winogradSizes(op)), tiles(sizes),
        rotatesWeights(op.getKind() == WinogradKind::input_gradient),
        hasBias(bool(op.getBias())),
        activation(op.getActivation().value_or("").str()) {}

  SmallVector<int64_t> transformedTiles() const {
    return {sizes.planes(),
            paddedPlane(tiles.tiles * paddedPlane(sizes.channels))};
  }
  SmallVector<int64_t> transformedWeights() const {
    return {sizes.outputs / tiles.block, sizes.planes(),
            paddedPlane(sizes.channels * tiles.block)};
  }
};

/// Builds the op of an activation, one of those that WinogradOp::verify knows.
Operation *activationOp(OpBuilder &b, Location loc, StringRef name, Value x) {
  if (name == "relu")
    return ReluOp::create(b, loc, x);
  if (name == "tanh")
    return math::TanhOp::create(b, loc, x);
  if (name == "sigmoid")
    return SigmoidOp::create(b, loc, x);
  if (name == "gelu_erf")
    return GeluOp::create(b, loc, x, /*tanh=*/false);
  if (name == "gelu_tanh")
    return GeluOp::create(b, loc, x, /*tanh=*/true);
  llvm_unreachable("an activation that the verifier refuses");
}

/// Applies an activation by its name.
Value activated(const Scalars &s, StringRef name, Value x) {
  if (name.empty())
    return x;
  // The op stands in a module of its own, for its context.
  OwningOpRef<ModuleOp> module = ModuleOp::create(s.loc);
  Block *block = module->getBody();
  auto type = RankedTensorType::get({}, x.getType());
  Value y = block->addArgument(type, s.loc);
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  return cast<Elementwise>(activationOp(builder, s.loc, name, y))
      .buildScalar(s.builder, x);
}

/// Builds the nests of one kernel.
class ConvolutionKernel : public WinogradWriter {
public:
  ConvolutionKernel(MLIRContext *context, const Convolution &of,
                    TypeRange operands, TypeRange results, int64_t items)
      : WinogradWriter(context, of.sizes, of.tiles, operands, results, items),
        of_(of) {}

  /// Weights to transformed ones; an item has a block of outputs.
  KernelOp weights() {
    Value rows = makeRows();
    loop(of_.sizes.channels / of_.tiles.run, {}, {}, [&](AffineExpr run) {
      transformWeights(
          operand(0), rows, run, [&](AffineExpr plane, AffineExpr place) {
            return At{result(0),
                      {item(), plane,
                       run * (of_.tiles.run * of_.tiles.block) + place}};
          });
    });
    return finished();
  }

  /// A source to transformed tiles; an item has some channels.
  KernelOp source() {
    transformSource(
        {operand(0), result(0), item(), item(), 1, of_.sizes.channels},
        constant(0), constant(0));
    return finished();
  }

  /// A source and transformed weights to outputs; an item has a block of tiles.
  KernelOp byTiles() {
    Value tiles = f32Scratch(of_.transformedTiles()), products = makeProducts();
    int64_t groups = of_.tiles.rowGroups;
    auto body = [&](AffineExpr images, AffineExpr rows) {
      transformSource({operand(0), tiles, constant(0), constant(0),
                       of_.sizes.channels / kWinogradLanes, of_.sizes.channels},
                      images, rows);
      loop(of_.sizes.outputs / of_.tiles.block, {}, {}, [&](AffineExpr block) {
        outputs(tiles, products, block, images, rows);
      });
    };
    if (of_.tiles.imageGroups == 1)
      body(constant(0), item());
    else if (groups == 1)
      body(item(), constant(0));
    else
      loop(of_.tiles.imageGroups, item().floorDiv(groups),
           item().floorDiv(groups) + 1,
           [&](AffineExpr images) { body(images, item() - images * groups); });
    return finished();
  }

  /// Transformed tiles and weights to outputs; an item has a block of outputs.
  KernelOp byOutputs() {
    Value own = f32Scratch({of_.sizes.planes(),
                            paddedPlane(of_.tiles.run * of_.tiles.block)}),
          rows = makeRows(), products = makeProducts();
    auto add = [&](AffineExpr run, bool adds) {
      transformWeights(operand(1), rows, run,
                       [&](AffineExpr plane, AffineExpr place) {
                         return At{own, {plane, place}};
                       });
      loop(of_.sizes.planes(), {}, {}, [&](AffineExpr plane) {
        multiply(operand(0), run, {own, {plane, weightAt(constant(0))}},
                 products, plane, adds);
      });
    };
    overRuns(add);
    transformProducts(products, item(), constant(0), constant(0));
    return finished();
  }

private:
  Value makeProducts() {
    return f32Scratch(
        {of_.sizes.planes(), paddedPlane(of_.tiles.tiles * of_.tiles.block)});
  }

  /// Memory for a run of the weights of a block, as they lie: a row has the
  /// windows of an output or, rotated, of a channel.
  Value makeRows() {
    int64_t rows = of_.tiles.block, windows = of_.tiles.run;
    if (of_.rotatesWeights)
      std::swap(rows, windows);
    return f32Scratch({rows, paddedPlane(windows * kWindow)});
  }

  /// The place, in a plane of transformed weights, of row x2 of a run of
  /// channels and of output x1 of a block.
  AffineExpr weightAt(AffineExpr run) {
    return (run * of_.tiles.run + x(2)) * of_.tiles.block + x(1);
  }

  void overRuns(llvm::function_ref<void(AffineExpr run, bool adds)> body);
  void transformWeights(
      Value weights, Value rows, AffineExpr run,
      llvm::function_ref<At(AffineExpr plane, AffineExpr place)> out);
  void multiply(Value tiles, AffineExpr run, const At &weights, Value products,
                AffineExpr plane, bool adds);
  void outputs(Value tiles, Value products, AffineExpr block, AffineExpr images,
               AffineExpr rows);
  void transformProducts(Value products, AffineExpr block, AffineExpr images,
                         AffineExpr rows);

  const Convolution &of_;
};

/// Calls `body` for each run of channels; all but the first add to what is
/// there.
void ConvolutionKernel::overRuns(
    llvm::function_ref<void(AffineExpr run, bool adds)> body) {
  body(constant(0), false);
  int64_t runs = of_.sizes.channels / of_.tiles.run;
  if (runs > 1)
    loop(runs, constant(1), {}, [&](AffineExpr run) { body(run, true); });
}

/// Transforms a run of the weights of the item's outputs. They are copied
/// before, in the order of memory: lanes are far apart in it, and would miss
/// the cache one after another.
void ConvolutionKernel::transformWeights(
    Value weights, Value rows, AffineExpr run,
    llvm::function_ref<At(AffineExpr, AffineExpr)> out) {
  int64_t block = of_.tiles.block, length = of_.tiles.run;
  AffineExpr output = item() * block, channel = run * length;
  SmallVector<int64_t> extents = {block, length};
  if (of_.rotatesWeights) {
    std::swap(output, channel);
    std::swap(extents[0], extents[1]);
  }
  llvm::append_values(extents, kWinogradWindow, kWinogradWindow);
  transform(
      extents, At{weights, {output + x(0), channel + x(1), x(2), x(3)}},
      At{rows,
         {x(0), (x(1) * kWinogradWindow + x(2)) * kWinogradWindow + x(3)}},
      [](const Scalars &, ValueRange values) {
        return SmallVector<Value>(values);
      });
  SmallVector<At> reads, outs;
  for (int64_t tap = 0; tap < kWindow; ++tap)
    if (of_.rotatesWeights)
      reads.push_back({rows, {x(0), x(1) * kWindow + (kWindow - 1 - tap)}});
    else
      reads.push_back({rows, {x(1), x(0) * kWindow + tap}});
  for (int64_t plane = 0; plane < of_.sizes.planes(); ++plane)
    outs.push_back(out(constant(plane), x(0) * block + x(1)));
  transform({length, block}, reads, outs,
            [&](const Scalars &s, ValueRange values) -> SmallVector<Value> {
              return winogradWeights(s, values, of_.sizes.tile);
            });
}

/// Multiplies all tiles by a run of channels of the weights in a plane.
void ConvolutionKernel::multiply(Value tiles, AffineExpr run, const At &weights,
                                 Value products, AffineExpr plane, bool adds) {
  At sum{products, {plane, x(0) * of_.tiles.block + x(1)}};
  At a{tiles,
       {plane,
        x(0) * paddedPlane(of_.sizes.channels) + run * of_.tiles.run + x(2)}};
  product(of_.tiles.tiles, of_.tiles.block, of_.tiles.run, a, weights,
          adds ? SmallVector<At>{sum} : SmallVector<At>(), sum,
          [](const Scalars &s, ValueRange values) {
            return values.size() > 1 ? s.add(values[0], values[1]) : values[0];
          });
}

/// Computes a block of the outputs of an item's tiles.
void ConvolutionKernel::outputs(Value tiles, Value products, AffineExpr block,
                                AffineExpr images, AffineExpr rows) {
  loop(of_.sizes.planes(), {}, {}, [&](AffineExpr plane) {
    overRuns([&](AffineExpr run, bool adds) {
      multiply(tiles, run, {operand(1), {block, plane, weightAt(run)}},
               products, plane, adds);
    });
  });
  transformProducts(products, block, images, rows);
}

/// Makes a block of outputs of products, and applies bias and activation.
void ConvolutionKernel::transformProducts(Value products, AffineExpr block,
                                          AffineExpr images, AffineExpr rows) {
  int64_t vectors = of_.tiles.block / kWinogradLanes;
  forParts(images, rows, [&](const TilePart &part) {
    AffineExpr vector = block * vectors + x(0);
    SmallVector<At> reads, outs;
    for (int64_t plane = 0; plane < of_.sizes.planes(); ++plane)
      reads.push_back({products,
                       {constant(plane), (part.tile + x(1)) * of_.tiles.block +
                                             x(0) * kWinogradLanes + x(2)}});
    if (of_.hasBias)
      reads.push_back({operand(2), {vector * kWinogradLanes + x(2)}});
    SmallVector<int64_t> kept;
    for (int64_t y = 0; y < part.row.outputs; ++y)
      for (int64_t z = 0; z < part.column.outputs; ++z) {
        kept.push_back(y * of_.sizes.tile + z);
        outs.push_back(
            {result(0),
             {part.image, vector, part.tileRow * of_.sizes.tile + y,
              (x(1) + part.column.first) * of_.sizes.tile + z, x(2)}});
      }
    transform({vectors, part.column.count(), kWinogradLanes}, reads, outs,
              [&](const Scalars &s, ValueRange values) {
                WinogradSquare all =
                    winogradOutput(s, values.take_front(of_.sizes.planes()));
                SmallVector<Value> found;
                for (int64_t number : kept) {
                  Value value = all[number];
                  if (of_.hasBias)
                    value = s.add(value, values[of_.sizes.planes()]);
                  found.push_back(activated(s, of_.activation, value));
                }
                return found;
              });
  });
}

//===-- launches ----------------------------------------------------------===//

std::string labelOf(WinogradOp op) {
  std::string label = nameOfWinograd(op);
  if (op.getKind() == WinogradKind::input_gradient)
    label += "_backward_data";
  if (op.getBias())
    label += "+bias";
  if (op.getActivation())
    label += "+" + op.getActivation()->str();
  return label;
}

} // namespace

SmallVector<Value> lowerToKernel(OpBuilder &builder, WinogradOp op,
                                 KernelTable &kernels) {
  if (op.getKind() == WinogradKind::weight_gradient)
    return lowerWinogradWeights(builder, op, kernels);
  Convolution of(op);
  const WinogradSizes &sizes = of.sizes;
  int64_t channels = sizes.channels / kWinogradLanes,
          blocks = sizes.outputs / of.tiles.block;
  auto code = [&](ValueRange operands, Type result, int64_t items) {
    return ConvolutionKernel(op.getContext(), of, operands.getTypes(), result,
                             items);
  };
  auto scratchOf = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  SmallVector<Value> operands = {op.getSource(), op.getOther()};
  if (of.tiles.byOutputs) {
    Type type = scratchOf(of.transformedTiles());
    operands[0] = launchWinograd(
        builder, op, kernels, code(operands[0], type, channels).source(),
        operands[0], type,
        sizes.tile * sizes.planes() * sizes.tiles() * sizes.channels,
        "winograd_tiles");
  } else {
    Type type = scratchOf(of.transformedWeights());
    operands[1] = launchWinograd(
        builder, op, kernels, code(operands[1], type, blocks).weights(),
        operands[1], type,
        (sizes.tile == 4 ? 81 : 35) * sizes.channels * sizes.outputs,
        "winograd_weights");
  }
  if (op.getBias())
    operands.push_back(op.getBias());
  ConvolutionKernel last = code(operands, op.getType(), of.tiles.items(sizes));
  return {launchWinograd(builder, op, kernels,
                         of.tiles.byOutputs ? last.byOutputs() : last.byTiles(),
                         operands, op.getType(), sizes.productFlops(),
                         labelOf(op))};
}

} // namespace gradus
