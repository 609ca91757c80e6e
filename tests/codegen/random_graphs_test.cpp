// Random graphs keep what they compute through all passes to kernels: reshapes,
// transposes and reductions in every order, values read by many, states
// updated.

#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

using Shape = std::vector<int64_t>;

std::string text(const Shape &shape) {
  std::string type = "tensor<";
  for (int64_t extent : shape)
    type += std::to_string(extent) + "x";
  return type + "f32>";
}

std::string list(const std::vector<int64_t> &values) {
  std::string joined;
  for (int64_t value : values)
    joined += (joined.empty() ? "" : ", ") + std::to_string(value);
  return "[" + joined + "]";
}

/// Writes a program of one graph, op after op, from values it has so far.
class RandomGraph {
public:
  explicit RandomGraph(unsigned seed) : engine_(seed) {}

  std::string write(int ops) {
    const std::vector<Shape> given = {{4, 6},  {6, 4}, {4},
                                      {2, 12}, {},     {2, 3, 4}};
    for (const Shape &shape : given)
      addInput(shape);
    for (int i = 0; i < 3; ++i)
      addState(given[pick(given.size())]);
    while (ops-- > 0)
      addOp();
    return finish();
  }

private:
  struct Named {
    std::string name;
    Shape shape;
  };

  size_t pick(size_t count) { return engine_() % count; }
  const Named &any() { return values_[pick(values_.size())]; }

  void addInput(const Shape &shape) {
    std::string name = "%in" + std::to_string(values_.size());
    arguments_ += (arguments_.empty() ? "" : ", ") + name + ": " + text(shape);
    values_.push_back({name, shape});
  }

  void addState(const Shape &shape) {
    std::string name = "s" + std::to_string(states_.size());
    program_ += "gradus.state @" + name + " : " + text(shape) +
                " {role = #gradus.role<buffer>, init = #gradus.init<zeros>}\n";
    states_.push_back({name, shape});
    define("gradus.read @" + name + " : " + text(shape), shape);
  }

  void define(const std::string &op, const Shape &shape) {
    std::string name = "%v" + std::to_string(next_++);
    body_ += name + " = " + op + "\n";
    values_.push_back({name, shape});
  }

  void addOp() {
    using Maker = void (RandomGraph::*)();
    static const Maker makers[] = {
        &RandomGraph::addUnary,     &RandomGraph::addUnary,
        &RandomGraph::addBinary,    &RandomGraph::addBinary,
        &RandomGraph::addTranspose, &RandomGraph::addReshape,
        &RandomGraph::addReduce,    &RandomGraph::addBroadcast,
        &RandomGraph::addMatmul};
    (this->*makers[pick(std::size(makers))])();
  }

  void addUnary() {
    static const char *ops[] = {"math.tanh", "gradus.relu", "arith.negf",
                                "gradus.sigmoid"};
    Named x = any();
    define(std::string(ops[pick(4)]) + " " + x.name + " : " + text(x.shape),
           x.shape);
  }

  void addBinary() {
    static const char *ops[] = {"arith.addf", "arith.mulf", "arith.subf",
                                "arith.maximumf"};
    Named a = any(), b = any();
    if (a.shape == b.shape)
      define(std::string(ops[pick(4)]) + " " + a.name + ", " + b.name + " : " +
                 text(a.shape),
             a.shape);
  }

  void addTranspose() {
    Named x = any();
    std::vector<int64_t> order(x.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine_);
    Shape shape;
    for (int64_t d : order)
      shape.push_back(x.shape[d]);
    if (order.size() > 1)
      define("gradus.transpose " + x.name + " perm " + list(order) + " : " +
                 text(x.shape) + " -> " + text(shape),
             shape);
  }

  void addReshape() {
    static const std::vector<Shape> shapes = {{4, 6},    {24},   {2, 12},
                                              {2, 2, 6}, {6, 4}, {2, 3, 4},
                                              {4, 1, 6}, {4, 1}, {4}};
    Named x = any();
    const Shape &to = shapes[pick(shapes.size())];
    if (product(x.shape) == product(to))
      define("gradus.reshape " + x.name + " : " + text(x.shape) + " -> " +
                 text(to),
             to);
  }

  void addReduce() {
    static const char *kinds[] = {"sum", "max", "min", "mean"};
    Named x = any();
    if (x.shape.empty())
      return;
    std::vector<int64_t> axes;
    Shape shape;
    size_t first = pick(x.shape.size());
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (d == first || pick(2) == 0)
        axes.push_back(d);
      else
        shape.push_back(x.shape[d]);
    define(std::string("gradus.reduce ") + kinds[pick(4)] + " " + x.name +
               " axes " + list(axes) + " : " + text(x.shape) + " -> " +
               text(shape),
           shape);
  }

  void addBroadcast() {
    Named x = any();
    if (x.shape.size() > 1)
      return;
    static const std::vector<Shape> shapes = {{4, 6}, {6, 4}, {2, 3, 4}};
    const Shape &to = shapes[pick(shapes.size())];
    std::vector<int64_t> dims;
    if (!x.shape.empty()) {
      auto found = std::find(to.begin(), to.end(), x.shape[0]);
      if (found == to.end())
        return;
      dims = {found - to.begin()};
    }
    define("gradus.broadcast " + x.name + " dims " + list(dims) + " : " +
               text(x.shape) + " -> " + text(to),
           to);
  }

  void addMatmul() {
    Named a = any(), b = any();
    if (a.shape.size() == 2 && b.shape.size() == 2 && a.shape[1] == b.shape[0])
      define("gradus.matmul " + a.name + ", " + b.name + " : " + text(a.shape) +
                 ", " + text(b.shape) + " -> " + text({a.shape[0], b.shape[1]}),
             {a.shape[0], b.shape[1]});
  }

  /// Returns some values and writes some to states.
  std::string finish() {
    for (const Named &state : states_) {
      std::vector<Named> fitting;
      for (const Named &value : values_)
        if (value.shape == state.shape)
          fitting.push_back(value);
      body_ += "gradus.write @" + state.name + ", " + fitting.back().name +
               " : " + text(state.shape) + "\n";
    }
    std::string names, types, outputs;
    for (int i = 0; i < 4; ++i) {
      const Named &value =
          values_[values_.size() - 1 - pick(values_.size() / 2)];
      std::string comma = i ? ", " : "";
      names += comma + value.name;
      types += comma + text(value.shape);
      outputs += comma + "y" + std::to_string(i) + ": " + text(value.shape);
    }
    return "gradus.program @p {\n" + program_ + "gradus.graph @g(" +
           arguments_ + ") -> (" + outputs + ") {\n" + body_ +
           "gradus.return " + names + " : " + types + "\n}\n}\n";
  }

  std::mt19937 engine_;
  std::vector<Named> values_, states_;
  std::string program_, arguments_, body_;
  int next_ = 0;
};

void expectKept(const std::string &passes) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::string program = RandomGraph(seed).write(10 + seed / 2);
    PlanCheck(program, passes).expectSame();
    if (::testing::Test::HasFailure()) {
      FAIL() << "seed " << seed << ":\n" << program;
    }
  }
}

TEST(RandomGraphs, AreKeptByFusion) { expectKept("lower-to-nests,fuse"); }

TEST(RandomGraphs, AreKeptByFusionOfLittle) {
  expectKept("lower-to-nests,fuse{most-work=30}");
}

TEST(RandomGraphs, AreKeptAsOneKernel) {
  expectKept("lower-to-nests,fuse,form-kernels");
}

TEST(RandomGraphs, AreKeptAsManyKernels) {
  expectKept("lower-to-nests,fuse,form-kernels{tiny-work=0 small-work=0}");
}

TEST(RandomGraphs, AreKeptWithSmallKernels) {
  expectKept("lower-to-nests,fuse,form-kernels{tiny-work=0 small-work=100}");
}

} // namespace
