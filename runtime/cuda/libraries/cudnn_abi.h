// The types and numbers of cuDNN's backend interface that we use, as they are
// since cuDNN 9.0, declared here so that no toolkit is needed to build. A test
// compares them with cudnn_graph.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::runtime::cuda::cudnn {

/// cudnnStatus_t: the values that we distinguish.
enum class Code : int32_t {
  success = 0,
  notInitialized = 1001,
  partsOfOtherVersions = 1002,
  partNotLoaded = 1008,
  badParameter = 2000,
  notSupported = 3000,
  driverTooOld = 3005,
  archMismatch = 3007,
  prerequisiteMissing = 3008,
  partMissing = 3009,
  notCompiled = 4001,
  hostOutOfMemory = 4003,
  deviceOutOfMemory = 4004,
  executionFailed = 5000
};

/// cudnnBackendDescriptorType_t
enum class Kind : int32_t {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engineConfig = 3,
  heuristics = 4,
  executionPlan = 5,
  knobChoice = 7,
  convolutionForward = 10,
  convolutionBackwardFilter = 11,
  convolutionBackwardData = 12,
  pointwiseOperation = 13,
  operationGraph = 15,
  variantPack = 16,
  tensor = 17,
  matmul = 18,
  matmulOperation = 19,
  reduction = 21,
  reductionOperation = 22,
  reshapeOperation = 31,
  deviceProperties = 38
};

/// cudnnBackendAttributeName_t
enum class Attribute : int32_t {
  pointwiseMode = 0,
  pointwiseMath = 1,
  pointwiseAxis = 9,
  convolutionCompute = 100,
  convolutionMode = 101,
  convolutionDilations = 102,
  convolutionStrides = 103,
  convolutionPadsEnd = 104,
  convolutionPadsBegin = 105,
  convolutionAxes = 106,
  heuristicsMode = 200,
  heuristicsGraph = 201,
  heuristicsResults = 202,
  heuristicsDevice = 204,
  configEngine = 300,
  configKnobs = 302,
  configWorkspace = 303, // since 9.2
  planHandle = 400,
  planConfig = 401,
  planWorkspace = 402,
  planDevice = 407,
  knobType = 600,
  knobValue = 601,
  forwardAlpha = 700,
  forwardBeta = 701,
  forwardConvolution = 702,
  forwardWeights = 703,
  forwardSource = 704,
  forwardResult = 705,
  backwardDataAlpha = 706,
  backwardDataBeta = 707,
  backwardDataConvolution = 708,
  backwardDataWeights = 709,
  backwardDataResult = 710,
  backwardDataGradient = 711,
  backwardFilterAlpha = 712,
  backwardFilterBeta = 713,
  backwardFilterConvolution = 714,
  backwardFilterResult = 715,
  backwardFilterSource = 716,
  backwardFilterGradient = 717,
  pointwiseDescriptor = 750,
  pointwiseX = 751,
  pointwiseB = 752,
  pointwiseY = 753,
  pointwiseT = 758,
  graphHandle = 800,
  graphOperations = 801,
  tensorAlignment = 900,
  tensorType = 901,
  tensorDims = 902,
  tensorStrides = 903,
  tensorId = 906,
  tensorIsVirtual = 907,
  tensorIsValue = 908,
  packIds = 1000,
  packPointers = 1001,
  packWorkspace = 1003,
  engineGraph = 1300,
  engineIndex = 1301,
  engineNumericalNotes = 1303,
  engineDevice = 1307,
  matmulCompute = 1500,
  matmulA = 1520,
  matmulB = 1521,
  matmulC = 1522,
  matmulDescriptor = 1523,
  reductionOperator = 1600,
  reductionCompute = 1601,
  reductionX = 1610,
  reductionY = 1611,
  reductionDescriptor = 1612,
  reshapeX = 2200,
  reshapeY = 2201,
  deviceJson = 2702
};

/// cudnnBackendAttributeType_t
enum class ValueType : int32_t {
  handle = 0,
  dataType = 1,
  boolean = 2,
  int64 = 3,
  float32 = 4,
  pointer = 6,
  convolutionMode = 7,
  heuristicMode = 8,
  knobType = 9,
  numericalNote = 11,
  pointwiseMode = 14,
  descriptor = 15,
  reductionOperator = 18,
  character = 24
};

/// cudnnDataType_t
enum class DataType : int32_t {
  f32 = 0,
  f16 = 2,
  i32 = 4,
  bf16 = 9,
  boolean = 11
};

/// cudnnConvolutionMode_t, cudnnPointwiseMode_t, cudnnReduceTensorOp_t
enum class ConvolutionMode : int32_t { convolution = 0, crossCorrelation = 1 };
enum class PointwiseMode : int32_t {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  isAtLeast = 303,
  index = 501,
  select = 601
};
enum class ReductionOperator : int32_t { add = 0, greatest = 3 };

/// cudnnBackendHeurMode_t, cudnnBackendNumericalNote_t
enum class HeuristicMode : int32_t { instant = 0, fallback = 2, best = 3 };
enum class NumericalNote : int32_t {
  tensorCore = 0,
  inputsRounded = 1,
  sumsRounded = 2,
  fourier = 3,
  notDeterministic = 4,
  winogradOf6x6 = 7,
  winogradOf13x13 = 8
};

/// Upper bounds on the numerical notes and the knobs of an engine.
constexpr int64_t kMostNotes = 32, kMostKnobs = 128;

/// cudnnBackendKnobType_t: only passed on, as a number.
enum class KnobType : int32_t {};

using Handle = struct CudnnHandle *;
using RawDescriptor = void *;

} // namespace gradus::runtime::cuda::cudnn
