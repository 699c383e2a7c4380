// `tune submit SPACE` and `tune submit -- PROGRAM`: a sweep or a job for the head that holds the
// database.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tuner/cli/head/job_spec.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/run/run_command.h"
#include "tuner/http/http_client.h"

namespace tune {

struct SubmitOptions {
  std::vector<std::string> words;  // A space file, or a program with its arguments.
  RunOptions run;                  // Of both: db_path, name, priority and the like.
  JobOptions job;                  // Of a program: resources and the like.
  bool no_wait = false;            // A job's name is printed, and it is left alone.
  std::string again;               // The earlier one that is submitted again, with run's settings.
  std::string id;                  // The same id again is the same sweep or job; empty: drawn.
  std::optional<HttpPlace> head;   // Elsewhere; nothing: that of run.db_path.
};

// What can be checked here is checked as tune run does, and the working folder is packed, if other
// machines may need it; then the head stores and begins it. A sweep's name goes to `out`; a job is
// followed there until it is over, or `wait` says so. Returns the exit status: of a job that was
// followed its program's own; 2, it is refused and nothing was changed; 1, there is no head, or it
// did not answer.
int SubmitCommand(const SubmitOptions& options, const Clock& clock, const WaitFunction& wait,
                  std::ostream& out, std::ostream& err);

// `tune run` on a head elsewhere: the sweep is submitted and watched until it is over. Returns the
// exit status that it would have had here; 130 after Ctrl-C, which leaves it running. `width`: of
// the terminal, 0: none.
int RunOnHead(const RunOptions& run, const HttpPlace& place, int width, const Clock& clock,
              const WaitFunction& wait, std::ostream& out, std::ostream& err);

}  // namespace tune
