// What a program that runs trials links: takes attempts from its worker and reports back, over the
// socket that the worker left as file descriptor 3 (trial_protocol.h).
//
//   int main() {
//     TrialSession session;
//     while (std::optional<TrialStart> start = session.Next()) session.End(Run(*start, session));
//   }
//
// When the worker is gone, or says what cannot be understood, there is nobody left to tell: each
// call then ends the process at once, with status 1.
//
// SIGTERM ends it as it does any program, unless reported iterations would be lost, which no
// checkpoint holds yet: then it is put off until one was reported, or the attempt ends. The worker
// does not wait for that longer than the grace time.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trial_runner/messages.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

class TrialSession {
 public:
  // Takes the socket, closed again when this program starts others. A program that was not started
  // by a worker has none: it says so on standard error and exits with status 2.
  TrialSession();

  // Waits for the next attempt; nothing: there will be none, end with status 0. The first attempt's
  // devices become CUDA_VISIBLE_DEVICES. Its memory limit, if it has one, is this process's from
  // now on (RLIMIT_DATA: what is allocated, not what is read from files; it is printed).
  std::optional<TrialStart> Next();
  // The next report shall have a checkpoint: the trial may be paused there, or SIGTERM was put off,
  // and the process ends after it.
  bool ShallSave() const;
  // Waits until the report is durable and decided. After kStop or kRefused the attempt shall end,
  // after kContinue or kSave it goes on. A final report leaves nothing to decide: it is sent, not
  // waited for, and answered kStop.
  ReportAnswer Report(const tune::Report& report);
  void End(const TrialEnd& end);

  // From now on a failed `new`, in any thread, ends the attempt as out_of_memory, and the process
  // with it. What allocates by other means throws std::bad_alloc: to be caught, and ended with
  // OutOfMemory(). `advice`: what a person could change; may be empty.
  void EndWhenOutOfMemory(std::string advice);
  TrialEnd OutOfMemory() const;

 private:
  void LimitMemory(int64_t bytes);
  void PutOffSigterm();
  void TakeSigterm();
  void Send(std::string_view text);
  std::optional<std::string> ReadLine();

  std::string inbox_;
  size_t line_start_ = 0;
  bool is_sigterm_put_off_ = false;
  bool is_save_wanted_ = false;     // By the tuner, of the next report.
  int64_t memory_limit_bytes_ = 0;  // 0: none.
  std::string advice_;              // When there is no memory.
};

}  // namespace tune
