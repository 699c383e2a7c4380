// Where the things lie that `setup` makes, and by what it is known that they are there.
//
// A setup is kept for all sweeps of a machine's user that have the same commands, environment,
// folder and content of that folder: <cache>/setup/<hash of these>/, with the mark `done`, which is
// written last. Where there is no cache, or the content is not known, it is kept for its sweep. So
// is one that changed the folder itself: whether that still is as it was left, nobody knows. It
// says whose it is (`kept`), and another sweep makes its own in its own folder. A sweep's mark
// counts for the very folders that the setup has seen: where one of them was made anew (a worker
// copies a changed folder again), the setup is made again.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

class SetupPlace {
 public:
  // `folder`: where the program runs; `search_path`: its PATH.
  SetupPlace(const TrialStart& start, const std::vector<std::string>& commands,
             const std::string& folder, const std::string& search_path);

  // What is made belongs there: as the latest Ask has found.
  const std::string& folder() const { return folder_; }

  enum class Turn {
    kMade,  // By somebody, before.
    // By the caller: the others wait, as long as `hold` is open. What one that was broken off left
    // there is gone.
    kToMake,
    kWait,  // Another makes it, or uses what it made for its own sweep: ask again.
  };
  struct Claim {
    Turn turn = Turn::kWait;
    FileDescriptor hold;  // What was made stays as long as this is open.
  };
  Result<Claim> Ask();
  // All commands have ended well: that is durable when it returns. The claim goes on as that of one
  // who found it made. Of the setups that others may use too, and that nobody holds
  // (core/posix/kept_folders.h), the latest used stay.
  Status Finish(Claim& claim) const;

 private:
  void Choose();
  bool IsKeptByAnother() const;
  bool IsMarked() const;
  std::string SweepMark() const;
  Status Mark() const;

  const std::string working_folder_;
  const std::string content_;
  std::string mark_;           // What a mark says.
  std::string whose_;          // The sweep's.
  std::string shared_folder_;  // Empty: none can be.
  std::string own_folder_;
  std::string sweep_mark_file_;
  bool is_shared_ = false;  // `folder_`.
  std::string folder_;
};

}  // namespace tune
