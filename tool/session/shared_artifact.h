// Makes sure that ranks have one artifact and one state before they run.

#pragma once

#include "tool/session/ranks.h"
#include "tool/session/session_options.h"
#include "training/data/batch_samples.h"
#include "training/training_record.h"

namespace gradus::cli {

/// The options of a rank: its share of the host's cores, and for others than
/// the first no file of a state, as they get the first one's.
SessionOptions optionsOfRank(SessionOptions options, const Ranks &ranks);

/// The record of a training that a checkpoint has, as read by the first rank;
/// nothing if it has none, or `checkpoint` is empty.
std::optional<training::TrainingRecord>
sharedRecord(const Ranks &ranks, const std::string &checkpoint);

/// The batches of a step that a rank computes, of all that there are: those of
/// its logical ranks, where the artifact has such.
data::Deal dealOf(const Ranks &ranks, const runtime::Session &session);

/// The ranks for people: "8 logical ranks on 2 processes on host"; empty for a
/// process that is one alone.
std::string ranksText(const Ranks &ranks, const runtime::Session &session);

/// Refuses an artifact that was compiled to train on one process, or on another
/// number of ranks.
void checkTrainsOnRanks(const Ranks &ranks, const runtime::Session &session);
/// Notes on stderr that AdaSum combines nothing, as all ranks are one group.
void noteOneGroup(const Ranks &ranks, const runtime::Session &session);

/// Refuses ranks that have different artifacts or run different plans of one,
/// with words that name the rank and the first fact that differs. Then gives
/// all ranks the states of rank 0.
void shareArtifact(const Ranks &ranks, runtime::Session &session);

} // namespace gradus::cli
