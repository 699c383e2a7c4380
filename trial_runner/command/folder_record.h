// Which files several trials wrote, and whose metric files they are: what the attempts that run in
// one working folder know of each other, of whatever sweep. A pure state machine; shared_folder.h
// keeps it in a file and looks at the folder.
//
// Nobody tells who writes a file. But a change that is found when an attempt begins or ends was
// made by one of those that ran since the look before. When no trial is left that can have made all
// changes of a file, several did. So a file of one trial is never taken for a shared one; a shared
// one may be missed, as where all trials of a sweep run at once.
//
// Trials that run one after the other, as limits: {max_concurrent: 1} has them, each read what they
// wrote: of their files nothing is told.
//
// A file that only grew is a log, to which all may add: that is no change here.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"

namespace tune {

struct FolderMember {
  std::string trial;    // Its artifact folder, which no other trial has: <sweep>/<number>.
  std::string sweep;    // The folder above, of all its trials.
  int64_t process = 0;  // That runs it.
  std::vector<std::string> metric_files;  // Absolute.
};

// As a look at the folder found it.
struct SeenFile {
  std::string name;  // Below the folder.
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t modified_ns = 0;
  bool has_only_grown = false;  // Since the record's `bytes` and `tail`.
  std::string tail;             // Tells whether the end at `bytes` is still the same.
};

class FolderRecord {
 public:
  struct File {
    uint64_t inode = 0;
    int64_t bytes = 0;
    int64_t modified_ns = 0;
    std::string tail;
    std::set<std::string> writers;  // Trials that may have made all changes.
    std::set<std::string> sweeps;   // Whose trials may have; empty: those of several did.
    bool is_shared = false;
    std::set<std::string> told;  // Sweeps that were told so.
  };
  struct MetricFile {
    std::string content;  // A hash.
    std::string trial;    // That had its value from it.
    std::string config;   // A hash.
  };

  FolderRecord() = default;
  explicit FolderRecord(int64_t begun_ns) : begun_ns_(begun_ns) {}
  static Result<FolderRecord> Parse(const std::string& text);
  std::string Encode() const;

  // Changes before this time (of the files' clock, ns since 1970) are nobody's.
  int64_t begun_ns() const { return begun_ns_; }
  // Whether the record is about another time: nobody runs here, and this sweep never did.
  bool IsOver(const FolderMember& next) const;
  // There are too many files to look at; from now on nothing is known of them.
  void GiveUp();
  bool has_given_up() const { return has_given_up_; }
  // Of the monotonic clock: a look before it would cost the trials too much.
  int64_t next_look_ns() const { return next_look_ns_; }
  void DelayLook(int64_t until_ns) { next_look_ns_ = until_ns; }

  const std::map<std::string, File>& files() const { return files_; }
  // Processes that run trials here.
  std::set<int64_t> processes() const;

  // All that changed since the last look. Call it before OnBegin and after OnEnd and OnGone.
  void OnLook(const std::vector<SeenFile>& changed);
  void OnBegin(const FolderMember& member);
  void OnEnd(const std::string& trial);
  // A process is gone, and did not say that its trial ended.
  void OnGone(int64_t process);

  // Files that several trials wrote, that may be this sweep's, and of which it was not told yet.
  std::vector<std::string> TakeShared(const std::string& sweep);
  // A trial that has run beside this trial's attempt and has a metric file in common: the file and
  // the folder of that trial's sweep, which may be the same.
  struct Rival {
    std::string file;
    std::string sweep;
  };
  std::optional<Rival> RivalOf(const std::string& trial) const;

  // The trial had its value from this file. The trial of another configuration that had its value
  // from the same bytes; empty: none did.
  std::string OnMetricFile(const std::string& file, const MetricFile& read);

 private:
  struct Running {
    FolderMember member;
    std::optional<Rival> rival;
  };

  int64_t begun_ns_ = 0;
  int64_t next_look_ns_ = 0;
  bool has_given_up_ = false;
  bool has_run_side_by_side_ = false;  // Two trials or more.
  std::set<std::string> sweeps_;
  std::map<std::string, Running> running_;  // By trial.
  std::set<std::string> ended_;             // Since the last look.
  std::map<std::string, File> files_;
  std::map<std::string, MetricFile> metric_files_;
};

}  // namespace tune
