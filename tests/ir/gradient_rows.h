// The ops that have a gradient rule, each on some shapes: what
// gradients_test.cpp checks against differences and end_to_end/ops_test.cpp
// against compiled code.
#pragma once

#include "graphs.h"

#include "llvm/ADT/StringExtras.h"

namespace gradus::testing {

struct Row {
  const char *inputs;
  const char *statement;
  Range range = {};

  /// `dialect.name` of the statement's op.
  std::string op() const {
    llvm::StringRef text = llvm::StringRef(statement).split('=').second.ltrim();
    return text.take_until(llvm::isSpace).str();
  }
};

inline const Range positive = {0.3, 3};
inline const Range negative = {-3, -0.3};
inline const Range small = {-0.9, 0.9};
inline const Range aboveOne = {1.2, 4};
inline const Range tenClasses = {-2, 2, 10};
inline const Range definite = {-0.5, 0.5, 2, 3};

// clang-format off
inline const Row rows[] = {
    {"%x: tensor<2x6xf64>", "%y = gradus.reshape %x : tensor<2x6xf64> -> tensor<3x4xf64>"},
    {"%x: tensor<f64>", "%y = gradus.reshape %x : tensor<f64> -> tensor<1x1xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.transpose %x perm [2, 0, 1] : tensor<2x3x4xf64> -> tensor<4x2x3xf64>"},
    {"%x: tensor<5x1x2x3xf64>", "%y = gradus.transpose %x perm [0, 3, 2, 1] : tensor<5x1x2x3xf64> -> tensor<5x3x2x1xf64>"},
    {"%x: tensor<3xf64>", "%y = gradus.broadcast %x dims [1] : tensor<3xf64> -> tensor<2x3x4xf64>"},
    {"%x: tensor<f64>", "%y = gradus.broadcast %x dims [] : tensor<f64> -> tensor<2x3xf64>"},
    {"%x: tensor<2x1x3xf64>", "%y = gradus.broadcast %x dims [0, 2, 3] : tensor<2x1x3xf64> -> tensor<2x4x5x3xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce sum %x axes [1] : tensor<2x3x4xf64> -> tensor<2x4xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce mean %x axes [0, 2] : tensor<2x3x4xf64> -> tensor<3xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce max %x axes [2] : tensor<2x3x4xf64> -> tensor<2x3xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce min %x axes [0, 1, 2] : tensor<2x3x4xf64> -> tensor<f64>"},
    {"%x: tensor<17xf64>", "%y = gradus.reduce sum %x axes [0] : tensor<17xf64> -> tensor<f64>"},
    {"%x: tensor<3x1x5x2xf64>", "%y = gradus.reduce max %x axes [1, 2] : tensor<3x1x5x2xf64> -> tensor<3x2xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<4x5xf64>", "%y = gradus.matmul %a, %b : tensor<3x4xf64>, tensor<4x5xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<4x3xf64>, %b: tensor<4x5xf64>", "%y = gradus.matmul %a transposed, %b : tensor<4x3xf64>, tensor<4x5xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<5x4xf64>", "%y = gradus.matmul %a, %b transposed : tensor<3x4xf64>, tensor<5x4xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<4x3xf64>, %b: tensor<5x4xf64>", "%y = gradus.matmul %a transposed, %b transposed : tensor<4x3xf64>, tensor<5x4xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<2x2x4x3xf64>, %b: tensor<2x2x5x4xf64>", "%y = gradus.matmul %a transposed, %b transposed : tensor<2x2x4x3xf64>, tensor<2x2x5x4xf64> -> tensor<2x2x3x5xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.relu %x : tensor<3x4xf64>"},
    {"%x: tensor<2x5x3x3xf64>", "%y = gradus.relu %x : tensor<2x5x3x3xf64>"},
    {"%x: tensor<f64>", "%y = gradus.relu %x : tensor<f64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.sigmoid %x : tensor<3x4xf64>"},
    {"%x: tensor<2x1x17xf64>", "%y = gradus.sigmoid %x : tensor<2x1x17xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.gelu %x : tensor<3x4xf64>"},
    {"%x: tensor<2x5x3x3xf64>", "%y = gradus.gelu %x : tensor<2x5x3x3xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.gelu %x tanh : tensor<3x4xf64>"},
    {"%x: tensor<17xf64>", "%y = gradus.gelu %x tanh : tensor<17xf64>"},
    {"%x: tensor<17xf64>", "%y = gradus.stop_gradient %x passing_to %x : tensor<17xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.stop_gradient %x passing_to %x : tensor<2x3x4xf64>"},

    {"%x: tensor<5x6xf64>", "%y = gradus.slice %x starts [1, 0] steps [1, 2] : tensor<5x6xf64> -> tensor<3x3xf64>"},
    {"%x: tensor<5x6xf64>", "%y = gradus.slice %x starts [4, 5] steps [-2, -3] : tensor<5x6xf64> -> tensor<3x2xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.slice %x starts [1, 0, 2] steps [1, 1, 1] : tensor<2x3x4xf64> -> tensor<1x3x2xf64>"},
    {"%x: tensor<2x3xf64>", "%y = gradus.pad %x low [1, 0] high [0, 2] interior [0, 0] : tensor<2x3xf64> -> tensor<3x5xf64>"},
    {"%x: tensor<2x3xf64>", "%y = gradus.pad %x low [0, 1] high [1, 0] interior [2, 1] {value = -2.0 : f64} : tensor<2x3xf64> -> tensor<5x6xf64>"},
    {"%x: tensor<1x3x5xf64>", "%y = gradus.pad %x low [2, 0, 1] high [0, 1, 0] interior [0, 0, 0] : tensor<1x3x5xf64> -> tensor<3x4x6xf64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x1xf64>, %c: tensor<2x4xf64>", "%y = gradus.concatenate %a, %b, %c axis 1 : tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x4xf64> -> tensor<2x8xf64>"},
    {"%a: tensor<1x3xf64>, %b: tensor<2x3xf64>", "%y = gradus.concatenate %a, %b, %a, %a, %a, %a, %a, %a, %a, %b axis 0 : tensor<1x3xf64>, tensor<2x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<2x3xf64> -> tensor<12x3xf64>"},
    {"%x: tensor<10x19xf64>, %i: tensor<4x3xi64>", "%y = gradus.gather %x at %i axis 0 : tensor<10x19xf64>, tensor<4x3xi64> -> tensor<4x3x19xf64>", tenClasses},
    {"%x: tensor<2x10x3xf64>, %i: tensor<4xi32>", "%y = gradus.gather %x at %i axis 1 : tensor<2x10x3xf64>, tensor<4xi32> -> tensor<2x4x3xf64>", tenClasses},
    {"%x: tensor<2x3x10xf64>, %i: tensor<2x4xi64>", "%y = gradus.gather %x at %i axis 2 batch 1 : tensor<2x3x10xf64>, tensor<2x4xi64> -> tensor<2x3x4xf64>", tenClasses},
    {"%g: tensor<4x3x19xf64>, %i: tensor<4x3xi64>", "%y = gradus.scatter_add %g at %i axis 0 : tensor<4x3x19xf64>, tensor<4x3xi64> -> tensor<10x19xf64>", tenClasses},
    {"%g: tensor<2x3x4xf64>, %i: tensor<2x4xi64>", "%y = gradus.scatter_add %g at %i axis 2 batch 1 : tensor<2x3x4xf64>, tensor<2x4xi64> -> tensor<2x3x7xf64>", tenClasses},

    {"%h: tensor<4xf64>, %x: tensor<5x4xf64>, %w: tensor<4xf64>",
     "%y, %all = gradus.scan 5 carry(%h : tensor<4xf64>) over(%x : tensor<5x4xf64>) with(%w : tensor<4xf64>) body {\n"
     "^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>, %c: tensor<4xf64>):\n"
     "  %p = arith.mulf %a, %c : tensor<4xf64>\n  %q = arith.addf %p, %b : tensor<4xf64>\n  %t = math.tanh %q : tensor<4xf64>\n"
     "  gradus.yield %t, %t : tensor<4xf64>, tensor<4xf64>\n} -> tensor<4xf64>, tensor<5x4xf64>"},
    {"%h: tensor<12x3xf64>, %x: tensor<3x12x6xf64>, %w: tensor<6x3xf64>, %b: tensor<3xf64>",
     "%y, %z, %all = gradus.scan 3 reverse carry(%h, %h : tensor<12x3xf64>, tensor<12x3xf64>) over(%x : tensor<3x12x6xf64>) with(%w, %b : tensor<6x3xf64>, tensor<3xf64>) body {\n"
     "^bb0(%h0: tensor<12x3xf64>, %h1: tensor<12x3xf64>, %s: tensor<12x6xf64>, %w0: tensor<6x3xf64>, %b0: tensor<3xf64>):\n"
     "  %p = gradus.matmul %h0, %w0 transposed : tensor<12x3xf64>, tensor<6x3xf64> -> tensor<12x6xf64>\n  %q = arith.addf %p, %s : tensor<12x6xf64>\n"
     "  %i = gradus.slice %q starts [0, 0] steps [1, 1] : tensor<12x6xf64> -> tensor<12x3xf64>\n"
     "  %j = gradus.slice %q starts [0, 3] steps [1, 1] : tensor<12x6xf64> -> tensor<12x3xf64>\n"
     "  %k = gradus.sigmoid %i : tensor<12x3xf64>\n  %l = math.tanh %j : tensor<12x3xf64>\n  %m = arith.mulf %k, %l : tensor<12x3xf64>\n"
     "  %n = gradus.broadcast %b0 dims [1] : tensor<3xf64> -> tensor<12x3xf64>\n  %o = arith.addf %m, %n : tensor<12x3xf64>\n"
     "  gradus.yield %o, %h0, %h1 : tensor<12x3xf64>, tensor<12x3xf64>, tensor<12x3xf64>\n} -> tensor<12x3xf64>, tensor<12x3xf64>, tensor<3x12x3xf64>"},
    {"%x: tensor<3x2xf64>, %w: tensor<2x2xf64>",
     "%all = gradus.scan 3 over(%x : tensor<3x2xf64>) with(%w : tensor<2x2xf64>) body {\n"
     "^bb0(%a: tensor<2xf64>, %c: tensor<2x2xf64>):\n"
     "  %p = gradus.reshape %a : tensor<2xf64> -> tensor<1x2xf64>\n  %q = gradus.matmul %p, %c : tensor<1x2xf64>, tensor<2x2xf64> -> tensor<1x2xf64>\n"
     "  gradus.yield %q : tensor<1x2xf64>\n} -> tensor<3x1x2xf64>"},

    {"%x: tensor<3x5xf64>", "%y = gradus.softmax %x axis 1 : tensor<3x5xf64>"},
    {"%x: tensor<3x5x2xf64>", "%y = gradus.softmax %x axis 1 : tensor<3x5x2xf64>"},
    {"%x: tensor<3x5xf64>", "%y = gradus.softmax log %x axis 0 : tensor<3x5xf64>"},
    {"%q: tensor<2x2x3x4xf64>, %k: tensor<2x2x3x4xf64>, %v: tensor<2x2x3x4xf64>", "%y, %l:2 = gradus.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>) -> (tensor<2x2x3x4xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>)"},
    {"%q: tensor<1x2x5x2xf64>, %k: tensor<1x2x4x2xf64>, %v: tensor<1x2x4x3xf64>", "%y, %l:2 = gradus.attention %q, %k, %v causal {scale = 0.5 : f64} : (tensor<1x2x5x2xf64>, tensor<1x2x4x2xf64>, tensor<1x2x4x3xf64>) -> (tensor<1x2x5x3xf64>, tensor<1x2x5xf64>, tensor<1x2x5xf64>)"},
    {"%q: tensor<2x2x3x2xf64>, %k: tensor<2x2x4x2xf64>, %v: tensor<2x2x4x3xf64>, %m: tensor<2x1x3x4xf64>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x2x3x2xf64>, tensor<2x2x4x2xf64>, tensor<2x2x4x3xf64>, tensor<2x1x3x4xf64>) -> (tensor<2x2x3x3xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>)"},
    {"%q: tensor<2x2x4x3xf64>, %k: tensor<2x2x4x3xf64>, %v: tensor<2x2x4x2xf64>, %m: tensor<1x2x1x4xf64>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m causal {scale = 0.5 : f64} : (tensor<2x2x4x3xf64>, tensor<2x2x4x3xf64>, tensor<2x2x4x2xf64>, tensor<1x2x1x4xf64>) -> (tensor<2x2x4x2xf64>, tensor<2x2x4xf64>, tensor<2x2x4xf64>)"},
    {"%q: tensor<2x2x3x3xf64>, %k: tensor<2x2x4x3xf64>, %v: tensor<2x2x4x2xf64>, %m: tensor<2x1x1x4xi1>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x2x3x3xf64>, tensor<2x2x4x3xf64>, tensor<2x2x4x2xf64>, tensor<2x1x1x4xi1>) -> (tensor<2x2x3x2xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>)"},
    {"%q: tensor<2x2x3x4xf64>, %k: tensor<2x2x5x4xf64>, %v: tensor<2x2x5x3xf64>, %s: tensor<i64>", "%y, %l:2 = gradus.attention %q, %k, %v step %s {scale = 0.5 : f64, dropout = 0.4 : f64, stream = 1 : i64, seed = 3 : i64} : (tensor<2x2x3x4xf64>, tensor<2x2x5x4xf64>, tensor<2x2x5x3xf64>, tensor<i64>) -> (tensor<2x2x3x3xf64>, tensor<2x2x3xf64>, tensor<2x2x3xf64>)", tenClasses},
    {"%q: tensor<1x2x4x3xf64>, %k: tensor<1x2x4x3xf64>, %v: tensor<1x2x4x2xf64>, %m: tensor<1x2x1x4xf64>, %s: tensor<i64>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m step %s causal {scale = 0.5 : f64, dropout = 0.3 : f64} : (tensor<1x2x4x3xf64>, tensor<1x2x4x3xf64>, tensor<1x2x4x2xf64>, tensor<1x2x1x4xf64>, tensor<i64>) -> (tensor<1x2x4x2xf64>, tensor<1x2x4xf64>, tensor<1x2x4xf64>)", tenClasses},
    {"%x: tensor<5x5xf64>", "%y = gradus.inverse %x : tensor<5x5xf64>", definite},
    {"%x: tensor<2x3x3x3xf64>", "%y = gradus.inverse %x : tensor<2x3x3x3xf64>", definite},
    {"%x: tensor<1x1xf64>", "%y = gradus.inverse %x : tensor<1x1xf64>", definite},
    {"%x: tensor<3x6xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>", "%y = gradus.layer_norm %x, %s plus %b {epsilon = 1.0e-2 : f64} : tensor<3x6xf64>, tensor<6xf64>, tensor<6xf64>"},
    {"%x: tensor<2x3x4xf64>, %s: tensor<3x4xf64>", "%y = gradus.layer_norm %x, %s {epsilon = 1.0e-5 : f64} : tensor<2x3x4xf64>, tensor<3x4xf64>"},
    {"%x: tensor<2x3x17xf64>, %s: tensor<17xf64>", "%y = gradus.layer_norm rms %x, %s {epsilon = 1.0e-5 : f64} : tensor<2x3x17xf64>, tensor<17xf64>"},

    {"%x: tensor<3x4xf64>", "%y = gradus.clip %x from -1.0 to 0.5 : tensor<3x4xf64>"},
    {"%x: tensor<2x5x3x3xf64>", "%y = gradus.clip %x from -0.5 to 1.5 : tensor<2x5x3x3xf64>"},
    {"%x: tensor<17xf64>", "%y = gradus.clip %x from 0.0 to 6.0 : tensor<17xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.dropout %x ratio 0.5 : tensor<3x4xf64>"},
    {"%x: tensor<2x5x7xf64>", "%y = gradus.dropout %x ratio 0.25 : tensor<2x5x7xf64>"},
    {"%x: tensor<17xf64>", "%y = gradus.dropout %x ratio 0.0 : tensor<17xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.leaky_relu %x slope 0.1 : tensor<3x4xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.leaky_relu %x slope -0.5 : tensor<3x4xf64>"},
    {"%x: tensor<2x5x3x3xf64>", "%y = gradus.leaky_relu %x slope 0.01 : tensor<2x5x3x3xf64>"},
    {"%x: tensor<17xf64>", "%y = gradus.leaky_relu %x slope 1.5 : tensor<17xf64>"},
    {"%x: tensor<2x3x4x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64>", "%y = gradus.batch_norm %x, %s, %b mean %m variance %v epsilon 1.0e-3 : tensor<2x3x4x2xf64>, tensor<3xf64>", positive},
    {"%x: tensor<5x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64>", "%y = gradus.batch_norm %x, %s, %b mean %m variance %v epsilon 0.0 momentum 0.5 : tensor<5x3xf64>, tensor<3xf64>", positive},
    {"%x: tensor<2x3x4x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>", "%y, %m, %v = gradus.batch_norm_training %x, %s, %b epsilon 1.0e-2 : tensor<2x3x4x2xf64>, tensor<3xf64>"},
    {"%x: tensor<7x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>", "%y, %m, %v = gradus.batch_norm_training %x, %s, %b epsilon 1.0e-2 : tensor<7x2xf64>, tensor<2xf64>"},
    {"%x: tensor<1x16x3x3x2xf64>, %s: tensor<16xf64>, %b: tensor<16xf64>", "%y, %m, %v = gradus.batch_norm_training %x, %s, %b epsilon 1.0e-2 : tensor<1x16x3x3x2xf64>, tensor<16xf64>"},

    {"%x: tensor<2x4x5x6xf64>, %w: tensor<6x2x3x2xf64>", "%y = gradus.convolution %x, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf64>, tensor<6x2x3x2xf64> -> tensor<2x6x3x5xf64>"},
    {"%x: tensor<2x3x7xf64>, %w: tensor<4x3x3xf64>", "%y = gradus.convolution %x, %w strides [2] pads [1] to [1] dilations [1] : tensor<2x3x7xf64>, tensor<4x3x3xf64> -> tensor<2x4x4xf64>"},
    {"%x: tensor<1x2x3x4x3xf64>, %w: tensor<2x1x2x2x2xf64>", "%y = gradus.convolution %x, %w strides [1, 1, 1] pads [0, 1, 0] to [0, 0, 1] dilations [1, 1, 1] groups 2 : tensor<1x2x3x4x3xf64>, tensor<2x1x2x2x2xf64> -> tensor<1x2x2x4x3xf64>"},
    {"%g: tensor<2x6x3x5xf64>, %w: tensor<6x2x3x2xf64>", "%y = gradus.convolution_backward_data %g, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x6x3x5xf64>, tensor<6x2x3x2xf64> -> tensor<2x4x5x6xf64>"},
    {"%g: tensor<1x4x4xf64>, %w: tensor<4x3x3xf64>", "%y = gradus.convolution_backward_data %g, %w strides [2] pads [1] to [1] dilations [1] : tensor<1x4x4xf64>, tensor<4x3x3xf64> -> tensor<1x3x7xf64>"},
    {"%x: tensor<2x4x5x6xf64>, %g: tensor<2x6x3x5xf64>", "%y = gradus.convolution_backward_weights %x, %g strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf64>, tensor<2x6x3x5xf64> -> tensor<6x2x3x2xf64>"},
    {"%x: tensor<3x3x7xf64>, %g: tensor<3x4x4xf64>", "%y = gradus.convolution_backward_weights %x, %g strides [2] pads [1] to [1] dilations [1] : tensor<3x3x7xf64>, tensor<3x4x4xf64> -> tensor<4x3x3xf64>"},
    {"%x: tensor<2x3x6x5xf64>", "%y, %i = gradus.max_pool %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] : tensor<2x3x6x5xf64> -> tensor<2x3x3x5xf64>, tensor<2x3x3x5xi32>"},
    {"%x: tensor<2x2x8xf64>", "%y, %i = gradus.max_pool %x window [3] strides [1] pads [0] to [0] dilations [2] : tensor<2x2x8xf64> -> tensor<2x2x4xf64>, tensor<2x2x4xi32>"},
    {"%x: tensor<2x3x6x5xf64>", "%y = gradus.average_pool %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] : tensor<2x3x6x5xf64> -> tensor<2x3x3x5xf64>"},
    {"%x: tensor<2x3x6x5xf64>", "%y = gradus.average_pool %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] count_include_pad : tensor<2x3x6x5xf64> -> tensor<2x3x3x5xf64>"},
    {"%x: tensor<1x2x9xf64>", "%y = gradus.average_pool %x window [4] strides [3] pads [1] to [2] dilations [1] : tensor<1x2x9xf64> -> tensor<1x2x3xf64>"},
    {"%x: tensor<1x1x3x4x3xf64>", "%y = gradus.average_pool %x window [2, 2, 3] strides [1, 2, 1] pads [0, 0, 1] to [0, 0, 1] dilations [1, 1, 1] : tensor<1x1x3x4x3xf64> -> tensor<1x1x2x2x3xf64>"},
    {"%g: tensor<2x3x3x5xf64>", "%y = gradus.average_pool_backward %g window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] : tensor<2x3x3x5xf64> -> tensor<2x3x6x5xf64>"},
    {"%g: tensor<2x3x3x5xf64>", "%y = gradus.average_pool_backward %g window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] count_include_pad : tensor<2x3x3x5xf64> -> tensor<2x3x6x5xf64>"},
    {"%g: tensor<1x2x3xf64>", "%y = gradus.average_pool_backward %g window [4] strides [3] pads [1] to [2] dilations [1] : tensor<1x2x3xf64> -> tensor<1x2x9xf64>"},
    {"%x: tensor<6x10xf64>, %l: tensor<6xi64>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<6x10xf64>, tensor<6xi64> -> tensor<f64>", tenClasses},
    {"%x: tensor<6x10xf64>, %l: tensor<6xi32>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 {ignore_index = 3 : i64, label_smoothing = 0.1 : f64} : tensor<6x10xf64>, tensor<6xi32> -> tensor<f64>", {-2, 2, 4}},
    {"%x: tensor<2x10x3xf64>, %l: tensor<2x3xi64>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<2x10x3xf64>, tensor<2x3xi64> -> tensor<f64>", tenClasses},
    {"%x: tensor<10xf64>, %l: tensor<i64>", "%y = gradus.softmax_cross_entropy %x, %l axis 0 : tensor<10xf64>, tensor<i64> -> tensor<f64>", tenClasses},
    {"%p: tensor<4x3xf64>, %t: tensor<4x3xf64>", "%y = gradus.mean_squared_error %p, %t : tensor<4x3xf64>, tensor<4x3xf64> -> tensor<f64>"},
    {"%p: tensor<2x1x17xf64>, %t: tensor<2x1x17xf64>", "%y = gradus.mean_squared_error %p, %t : tensor<2x1x17xf64>, tensor<2x1x17xf64> -> tensor<f64>"},
    {"%p: tensor<f64>, %t: tensor<f64>", "%y = gradus.mean_squared_error %p, %t : tensor<f64>, tensor<f64> -> tensor<f64>"},

    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.addf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>, %b: tensor<3x1x7xf64>", "%y = arith.addf %a, %b : tensor<3x1x7xf64>"},
    {"%a: tensor<f64>, %b: tensor<f64>", "%y = arith.addf %a, %b : tensor<f64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.subf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<17xf64>, %b: tensor<17xf64>", "%y = arith.subf %a, %b : tensor<17xf64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.mulf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = arith.mulf %a, %a : tensor<2x3xf64>"},
    {"%a: tensor<2x5x3x3xf64>, %b: tensor<2x5x3x3xf64>", "%y = arith.mulf %a, %b : tensor<2x5x3x3xf64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.divf %a, %b : tensor<2x3xf64>", positive},
    {"%a: tensor<f64>, %b: tensor<f64>", "%y = arith.divf %a, %b : tensor<f64>", positive},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.remf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<17xf64>, %b: tensor<17xf64>", "%y = arith.remf %a, %b : tensor<17xf64>", positive},
    {"%a: tensor<3x1x7xf64>, %b: tensor<3x1x7xf64>", "%y = arith.remf %a, %b : tensor<3x1x7xf64>", negative},
    {"%a: tensor<2x3xf64>", "%y = arith.negf %a : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>", "%y = arith.negf %a : tensor<3x1x7xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.maximumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<3x1x7xf64>, %b: tensor<3x1x7xf64>", "%y = arith.maximumf %a, %b : tensor<3x1x7xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.minimumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<17xf64>, %b: tensor<17xf64>", "%y = arith.minimumf %a, %b : tensor<17xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.maxnumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<2x5x3x3xf64>, %b: tensor<2x5x3x3xf64>", "%y = arith.maxnumf %a, %b : tensor<2x5x3x3xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.minnumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<f64>, %b: tensor<f64>", "%y = arith.minnumf %a, %b : tensor<f64>"},
    {"%c: tensor<3x4xi1>, %a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.select %c, %a, %b : tensor<3x4xi1>, tensor<3x4xf64>"},
    {"%c: tensor<17xi1>, %a: tensor<17xf64>, %b: tensor<17xf64>", "%y = arith.select %c, %a, %b : tensor<17xi1>, tensor<17xf64>"},
    {"%a: tensor<5xf32>", "%y = arith.extf %a : tensor<5xf32> to tensor<5xf64>"},
    {"%a: tensor<3x1x7xf32>", "%y = arith.extf %a : tensor<3x1x7xf32> to tensor<3x1x7xf64>"},
    {"%a: tensor<5xf64>", "%y = arith.truncf %a : tensor<5xf64> to tensor<5xf32>"},
    {"%a: tensor<f64>", "%y = arith.truncf %a : tensor<f64> to tensor<f32>"},

    {"%a: tensor<2x3xf64>", "%y = math.absf %a : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>", "%y = math.absf %a : tensor<3x1x7xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.acos %a : tensor<2x3xf64>", small},
    {"%a: tensor<17xf64>", "%y = math.acos %a : tensor<17xf64>", small},
    {"%a: tensor<2x3xf64>", "%y = math.acosh %a : tensor<2x3xf64>", aboveOne},
    {"%a: tensor<2x5x3x3xf64>", "%y = math.acosh %a : tensor<2x5x3x3xf64>", aboveOne},
    {"%a: tensor<2x3xf64>", "%y = math.asin %a : tensor<2x3xf64>", small},
    {"%a: tensor<f64>", "%y = math.asin %a : tensor<f64>", small},
    {"%a: tensor<2x3xf64>", "%y = math.asinh %a : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>", "%y = math.asinh %a : tensor<3x1x7xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.atan %a : tensor<2x3xf64>"},
    {"%a: tensor<17xf64>", "%y = math.atan %a : tensor<17xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.atanh %a : tensor<2x3xf64>", small},
    {"%a: tensor<2x5x3x3xf64>", "%y = math.atanh %a : tensor<2x5x3x3xf64>", small},
    {"%a: tensor<2x3xf64>", "%y = math.cos %a : tensor<2x3xf64>"},
    {"%a: tensor<f64>", "%y = math.cos %a : tensor<f64>"},
    {"%a: tensor<2x3xf64>", "%y = math.erf %a : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>", "%y = math.erf %a : tensor<3x1x7xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.exp %a : tensor<2x3xf64>"},
    {"%a: tensor<17xf64>", "%y = math.exp %a : tensor<17xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.expm1 %a : tensor<2x3xf64>"},
    {"%a: tensor<2x5x3x3xf64>", "%y = math.expm1 %a : tensor<2x5x3x3xf64>"},
    {"%a: tensor<3xf64>, %b: tensor<3xf64>, %c: tensor<3xf64>", "%y = math.fma %a, %b, %c : tensor<3xf64>"},
    {"%a: tensor<3x1x7xf64>, %b: tensor<3x1x7xf64>, %c: tensor<3x1x7xf64>", "%y = math.fma %a, %b, %c : tensor<3x1x7xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.log %a : tensor<2x3xf64>", positive},
    {"%a: tensor<f64>", "%y = math.log %a : tensor<f64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.log1p %a : tensor<2x3xf64>", positive},
    {"%a: tensor<3x1x7xf64>", "%y = math.log1p %a : tensor<3x1x7xf64>", positive},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = math.powf %a, %b : tensor<2x3xf64>", positive},
    {"%a: tensor<17xf64>, %b: tensor<17xf64>", "%y = math.powf %a, %b : tensor<17xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.rsqrt %a : tensor<2x3xf64>", positive},
    {"%a: tensor<17xf64>", "%y = math.rsqrt %a : tensor<17xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.sin %a : tensor<2x3xf64>"},
    {"%a: tensor<2x5x3x3xf64>", "%y = math.sin %a : tensor<2x5x3x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.sqrt %a : tensor<2x3xf64>", positive},
    {"%a: tensor<f64>", "%y = math.sqrt %a : tensor<f64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.tanh %a : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>", "%y = math.tanh %a : tensor<3x1x7xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.tan %a : tensor<2x3xf64>"},
    {"%a: tensor<17xf64>", "%y = math.tan %a : tensor<17xf64>", small},
    {"%a: tensor<2x3xf64>", "%y = math.sinh %a : tensor<2x3xf64>"},
    {"%a: tensor<2x5x3x3xf64>", "%y = math.sinh %a : tensor<2x5x3x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.cosh %a : tensor<2x3xf64>"},
    {"%a: tensor<f64>", "%y = math.cosh %a : tensor<f64>"},
    {"%a: tensor<2x3xf64>", "%y = math.ceil %a : tensor<2x3xf64>"},
    {"%a: tensor<3x1x7xf64>", "%y = math.ceil %a : tensor<3x1x7xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.floor %a : tensor<2x3xf64>"},
    {"%a: tensor<17xf64>", "%y = math.floor %a : tensor<17xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.roundeven %a : tensor<2x3xf64>"},
    {"%a: tensor<2x5x3x3xf64>", "%y = math.roundeven %a : tensor<2x5x3x3xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.all_reduce %x : tensor<3x4xf64> -> tensor<3x4xf64>"},
    {"%x: tensor<17xf64>", "%y = gradus.all_reduce %x along \"rows\" : tensor<17xf64> -> tensor<17xf64>"},
};
// clang-format on

} // namespace gradus::testing
