// Looks whether the program of a running sweep is changed under it: the files that its provenance
// names, by their times first, then by what is in them.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "tuner/experiment_spec.h"
#include "tuner/provenance.h"

namespace tune {

class ProgramWatch {
 public:
  // `spec` outlives it, and is looked at as it stands then: a resume may name another folder.
  // `began`: of the sweep; `known`: the differences that it knows of.
  ProgramWatch(const ExperimentSpec& spec, const std::string& began,
               std::vector<std::string> known);

  // The differences from the beginning, where they are others than before. Looks seldom.
  std::optional<std::vector<std::string>> Look(Instant now);

 private:
  // What tells cheaply that a file was written: inode, size, time.
  std::string Stamps() const;

  const ExperimentSpec& spec_;
  std::optional<Provenance> began_;  // Nothing: it cannot be read.
  std::vector<std::string> known_;
  std::string stamps_;
  std::optional<Instant> looked_at_;
};

}  // namespace tune
