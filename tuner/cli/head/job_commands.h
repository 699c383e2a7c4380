// `tune jobs`, `tune wait NAME…`, and what tune submit does after it has submitted a job: look at
// jobs until they are over.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct JobsOptions {
  std::string db_path;
  bool open_only = false;         // Those that are not over.
  std::vector<std::string> tags;  // Those that have all of them, as of tune list.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int JobsCommand(const JobsOptions& options, const Clock& clock, std::ostream& out,
                std::ostream& err);

struct WaitOptions {
  std::string db_path;
  std::vector<std::string> names;
};

// Until all are over. Returns 0 if all SUCCEEDED, else what the first of them that did not ended
// with: its program's exit status, 3 where that did not run to its end; 130 when `wait` says so.
int WaitCommand(const WaitOptions& options, const Clock& clock, const WaitFunction& wait,
                std::ostream& out, std::ostream& err);

inline constexpr int kExitLeft = 130;  // `wait` said so.

// Whether a job of the database is called so.
bool NamesJob(const std::string& db_path, const std::string& name);

// What its program prints goes to `out` until it is over; the exit status is as of WaitCommand.
int FollowJob(const std::string& db_path, const std::string& name, const Clock& clock,
              const WaitFunction& wait, std::ostream& out, std::ostream& err);

}  // namespace tune
