// The way to a head from where somebody submits: by its database on this machine, or over HTTP.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "trial_runner/sweep_info.h"
#include "tuner/cli/head/job_commands.h"
#include "tuner/cli/head/submit_again.h"
#include "tuner/control/control_request.h"
#include "tuner/experiment_spec.h"
#include "tuner/http/http_client.h"

namespace tune {

class HeadLink {
 public:
  virtual ~HeadLink() = default;

  // kUnavailable: there is none that could be asked now, in one line for a person.
  virtual Status Find() = 0;
  // Whether its own machine is this one.
  virtual bool IsHere() const = 0;
  // Hands it the sweep's folder, if somebody may need that; the name is empty where nobody does.
  virtual Result<PackageName> HandOver(const ExperimentSpec& spec) = 0;
  // kNotFound: nothing was asked, nobody was there; kUnavailable: it may have been. Refusals are
  // the answer's status.
  virtual Result<ControlAnswer> Ask(ControlRequest request) = 0;
  // Submits what it has once more; the name that it got. Errors as SubmitAgain.
  virtual Result<std::string> Again(const AgainOptions& again) = 0;
  // Whether it is a job, of those that it has.
  virtual Result<bool> IsJob(const std::string& name) = 0;
  // Shows a job until it is over; returns the exit status (FollowJob).
  virtual int Follow(const std::string& job, std::ostream& out) = 0;
  // Watches a sweep as tune attach does, on a terminal of that width (0: none); returns that one's
  // exit status.
  virtual int Watch(const std::string& sweep, int width, std::ostream& out) = 0;
  // Whether something was asked that may have been done.
  virtual bool HasAsked() const = 0;
  // "tune attach train --db lab.db"
  virtual std::string Command(const std::string& verb, const std::string& sweep) const = 0;
};

// All outlive it. What there is to say goes to `err`.
struct LinkParts {
  const Clock& clock;
  const WaitFunction& wait;
  std::ostream& err;
};
std::unique_ptr<HeadLink> LinkToHeadOf(const std::string& db_path, const LinkParts& parts);
std::unique_ptr<HeadLink> LinkToHeadAt(const HttpPlace& place, const LinkParts& parts);

}  // namespace tune
