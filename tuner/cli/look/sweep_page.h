// The page of a sweep for the time that it runs (`tune run --ui`): `tune ui --act` as a process
// beside the tuner. Nothing of it ends a sweep or makes its loop wait; what goes wrong is said.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/posix/child_process.h"
#include "core/posix/file_descriptor.h"
#include "core/time.h"
#include "tuner/cli/look/page_place.h"

namespace tune {

class SweepPage {
 public:
  // Serves nothing until Start.
  SweepPage() = default;

  // `program_dir`: where tune_cli is. `key_file`: keeps its key over starts; empty: none does.
  void Start(const std::string& program_dir, const std::string& db_path, const PagePlace& place,
             Instant now, const std::string& key_file = "");
  // What there is to say since the last call: its address, or why there is no page. Does not wait.
  std::vector<std::string> TakeLines();
  // False while its address is still to come, ten seconds at most.
  bool is_settled(Instant now) const;
  bool is_running() const { return process_ != nullptr; }
  // Ends it, when clients have had a moment to see how the sweep ended.
  void End() { process_.reset(); }

 private:
  std::unique_ptr<ChildProcess> process_;
  FileDescriptor output_;
  std::string read_;  // A line that has not ended.
  std::vector<std::string> lines_;
  Instant settled_at_;
  bool is_settled_ = true;
};

}  // namespace tune
