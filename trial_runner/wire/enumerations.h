// Our enumerations and the protocol's, one beside the other.
#pragma once

#include <utility>

#include "proto/tune/v1/tune.pb.h"
#include "trial_runner/messages.h"

namespace tune {

inline constexpr std::pair<Outcome, v1::Outcome> kOutcomes[] = {
    {Outcome::kCompleted, v1::OUTCOME_COMPLETED},
    {Outcome::kStopped, v1::OUTCOME_STOPPED},
    {Outcome::kCrashed, v1::OUTCOME_CRASHED},
    {Outcome::kKilled, v1::OUTCOME_KILLED},
    {Outcome::kOutOfMemory, v1::OUTCOME_OUT_OF_MEMORY},
    {Outcome::kDeviceOutOfMemory, v1::OUTCOME_DEVICE_OUT_OF_MEMORY},
    {Outcome::kHung, v1::OUTCOME_HUNG},
    {Outcome::kLost, v1::OUTCOME_LOST},
    {Outcome::kPreempted, v1::OUTCOME_PREEMPTED},
    {Outcome::kBadConfig, v1::OUTCOME_BAD_CONFIG},
};

inline constexpr std::pair<ReportAnswer, v1::ReportAnswer> kAnswers[] = {
    {ReportAnswer::kContinue, v1::REPORT_ANSWER_CONTINUE},
    {ReportAnswer::kSave, v1::REPORT_ANSWER_SAVE},
    {ReportAnswer::kStop, v1::REPORT_ANSWER_STOP},
    {ReportAnswer::kRefused, v1::REPORT_ANSWER_REFUSED},
};

inline constexpr std::pair<EndDetail, v1::EndDetail> kDetails[] = {
    {EndDetail::kNone, v1::END_DETAIL_NONE},
    {EndDetail::kBadCheckpoint, v1::END_DETAIL_BAD_CHECKPOINT},
    {EndDetail::kDiskFull, v1::END_DETAIL_DISK_FULL},
    {EndDetail::kOwnDiskFull, v1::END_DETAIL_OWN_DISK_FULL},
    {EndDetail::kRankLost, v1::END_DETAIL_RANK_LOST},
    {EndDetail::kUnfitMachine, v1::END_DETAIL_UNFIT_MACHINE},
    {EndDetail::kAbsentPath, v1::END_DETAIL_ABSENT_PATH},
};

}  // namespace tune
