// A trial process without a worker: the test itself speaks the protocol of trial_protocol.h to it.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/check.h"
#include "trial_runner/worker/trial_process.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

class DrivenTrial {
 public:
  // `program`: "tune_trial".
  explicit DrivenTrial(const std::string& program) {
    const char* const folder = std::getenv("TUNE_BIN_DIR");
    TUNE_CHECK(folder != nullptr);
    Result<TrialProcess> process = StartTrialProcess({std::string(folder) + "/" + program, 1, {}});
    TUNE_CHECK(process.ok());
    process_ = *std::move(process);
  }
  ~DrivenTrial() { Kill(); }
  DrivenTrial(const DrivenTrial&) = delete;
  DrivenTrial& operator=(const DrivenTrial&) = delete;

  int pid() const { return process_.pid; }
  int socket() const { return process_.socket.get(); }  // Readable when it has said something.

  // SIGKILL; returns when it is gone.
  void Kill() {
    if (process_.pid == 0) return;
    kill(process_.pid, SIGKILL);
    waitpid(process_.pid, nullptr, 0);
    process_.pid = 0;
  }

  // What it has printed and written out since the last call.
  std::string Printed() {
    std::string printed;
    char buffer[65536];
    for (ssize_t count = 1; count > 0;) {
      count = read(process_.output.get(), buffer, sizeof buffer);
      if (count > 0) printed.append(buffer, static_cast<size_t>(count));
    }
    return printed;
  }

  void Signal(int signal) { kill(process_.pid, signal); }
  // Waits for its end: 128 + signal when one ended it.
  int Wait() {
    int status = 0;
    TUNE_CHECK(waitpid(std::exchange(process_.pid, 0), &status, 0) > 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  void Start(const SweepInfo& sweep, const StartAttempt& start, const WorkPlace& place = {}) {
    Say(EncodeStart(sweep, start, {}, place));
  }
  void Answer(ReportAnswer answer) { Say(EncodeAnswer(answer)); }

  // The same of one lane of several.
  void StartLane(const SweepInfo& sweep, const StartAttempt& start, int64_t lane) {
    Say(EncodeStart(sweep, start, {}, {}, lane));
  }
  void AnswerLane(ReportAnswer answer, int64_t lane) { Say(EncodeAnswer(answer, lane)); }
  void EndLane(int64_t lane) { Say(EncodeLeave(/*at_once=*/true, lane)); }

  // What it says next; nothing when it closes its end, or says nothing for a minute.
  std::optional<FromTrial> Listen() {
    const std::optional<std::string> line = NextLine();
    if (!line) return std::nullopt;
    Result<FromTrial> message = ParseFromTrial(*line);
    TUNE_CHECK(message.ok());
    return *std::move(message);
  }
  // The next message, of whatever lane; there must be one.
  OfLane<FromTrial> ExpectOfLane() {
    const std::optional<std::string> line = NextLine();
    TUNE_CHECK(line);
    Result<OfLane<FromTrial>> message = ParseFromLane(*line);
    TUNE_CHECK(message.ok());
    return *std::move(message);
  }
  // The next message, which must be one of this kind.
  template <typename T>
  T Expect() {
    std::optional<FromTrial> message = Listen();
    if (message && !std::holds_alternative<T>(*message)) {
      const auto* const end = std::get_if<TrialEnd>(&*message);
      std::fprintf(stderr, "%s\n", end != nullptr ? end->error.c_str() : "a report came");
    }
    TUNE_CHECK(message && std::holds_alternative<T>(*message));
    return std::get<T>(*std::move(message));
  }

 private:
  std::optional<std::string> NextLine() {
    while (true) {
      const size_t end = inbox_.find('\n');
      if (end != std::string::npos) {
        std::string line = inbox_.substr(0, end);
        inbox_.erase(0, end + 1);
        return line;
      }
      pollfd ready = {process_.socket.get(), POLLIN, 0};
      if (poll(&ready, 1, 60'000) <= 0) return std::nullopt;
      char buffer[65536];
      const ssize_t count = recv(process_.socket.get(), buffer, sizeof buffer, 0);
      if (count <= 0) return std::nullopt;
      inbox_.append(buffer, static_cast<size_t>(count));
    }
  }

  void Say(const std::string& line) {
    TUNE_CHECK(send(process_.socket.get(), line.data(), line.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(line.size()));
  }

  TrialProcess process_;
  std::string inbox_;
};

}  // namespace tune
