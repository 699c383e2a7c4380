// How a worker's process ends.
//
// Thread rule: constants.
#pragma once

namespace tune {

// Exit status of a local worker whose tuner closed its connection; 1: it cannot run the trials.
inline constexpr int kTunerLostStatus = 3;

}  // namespace tune
