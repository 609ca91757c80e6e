// Names that several parts of Gradus agree on: of graphs, tensors and states in
// programs, artifacts and checkpoints (docs/contracts.md). Every folder may
// include this file, which includes nothing.
#pragma once

namespace gradus::well_known {

//===-- graphs ------------------------------------------------------------===//

inline constexpr char kTrain[] = "train";       // one step
inline constexpr char kEvaluate[] = "evaluate"; // loss and metrics
inline constexpr char kPredict[] = "predict";   // the model
/// Evaluates with averages of the weights.
inline constexpr char kEvaluateAveraged[] = "evaluate_ema";
/// Computes states of role `copy` from others.
inline constexpr char kRoundWeights[] = "round_weights";

//===-- inputs and outputs ------------------------------------------------===//

inline constexpr char kLabel[] = "label"; // unless the recipe names another
inline constexpr char kLoss[] = "loss";

//===-- states ------------------------------------------------------------===//

/// Numbers of the recipe that training sets when it starts, unless the recipe
/// says them: the length of the run.
inline constexpr char kUpdates[] = "schedule.updates";
inline constexpr char kUpdatesPerEpoch[] = "schedule.updates_per_epoch";
/// Their values where steps run, or are shown, without a training.
inline constexpr double kAssumedUpdates = 1000, kAssumedUpdatesPerEpoch = 100;

inline constexpr char kStep[] = "step"; // counts steps
/// Counts the steps that updated parameters, where some are skipped.
inline constexpr char kAcceptedSteps[] = "accepted_steps";
inline constexpr char kSkippedSteps[] = "skipped_steps";
inline constexpr char kLossScale[] = "loss_scale";
/// The place of a process among those that train together, from 0 on, and how
/// many there are; states of the role `place`.
inline constexpr char kRank[] = "distribution.rank";
inline constexpr char kRanks[] = "distribution.ranks";
/// The turn of a process that computes t logical ranks one after the other. It
/// counts from t - 1 to 2 t - 2, and so tells t, too. A state of the role
/// `place`.
inline constexpr char kTurn[] = "distribution.turn";
/// Begins the names of states that each rank has of its own for good, such as
/// what it has not sent yet: a checkpoint has those of all ranks. (Others that
/// differ between ranks do so only until an update has been made.)
inline constexpr char kLasting[] = "kept/";
/// Ends the name of the state that a normalized layer is multiplied by.
inline constexpr char kMultiplier[] = ".multiplier";

} // namespace gradus::well_known
