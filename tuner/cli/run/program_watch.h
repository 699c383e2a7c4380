// Looks whether the program of a running sweep is changed under it, or its data in an object store:
// the files that its provenance names, by their times first, then by what is in them; what lies in
// the store whenever a worker comes, which fetches what is there by then.
//
// Thread rule: one thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
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
  // `worker_count`: of all that have ever come.
  std::optional<std::vector<std::string>> Look(Instant now, size_t worker_count);
  // Lines for a person, since the last call: what has changed in the store.
  std::vector<std::string> TakeNews() { return std::exchange(news_, {}); }

 private:
  // What a thread that waits for the store hands over.
  struct Listing {
    std::mutex mutex;
    std::optional<std::vector<DataState>> states;
    bool is_under_way = false;
  };

  bool LookAtFiles(Instant now);
  bool LookAtInputs(size_t worker_count);
  void List();
  // What tells cheaply that a file was written: inode, size, time.
  std::string Stamps() const;
  std::vector<std::string> Differences() const;

  const ExperimentSpec& spec_;
  std::optional<Provenance> began_;  // Nothing: it cannot be read.
  Provenance present_;               // As far as it was looked at.
  bool has_listed_ = false;          // The data in object stores.
  std::vector<std::string> known_, news_;
  std::string stamps_;
  std::optional<Instant> looked_at_;
  size_t worker_count_ = 0;  // When the data were listed last.
  Listing listing_;
  std::jthread lister_;
};

}  // namespace tune
