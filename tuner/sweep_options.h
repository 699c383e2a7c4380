// What makes a sweep the one it is, from its beginning on.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>

#include "search/space.h"
#include "tuner/decision_version.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct ControllerOptions {
  ExperimentSpec spec;
  uint64_t seed = 0;
  SearchSpace space;
  std::string name;           // As stored: with its "-2".
  std::string artifact_root;  // <db stem>.artifacts/<name>, absolute.
  int64_t decision_version = kDecisionVersion;

  // Where its checkpoints are kept, below their trials' numbers: in artifact_root, or in an object
  // store.
  std::string bucket() const {
    return spec.checkpoint.storage.empty() ? "" : spec.checkpoint.storage + "/" + name;
  }
  std::string checkpoint_root() const {
    return spec.checkpoint.storage.empty() ? artifact_root : bucket();
  }
};

}  // namespace tune
