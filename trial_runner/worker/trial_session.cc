#include "trial_runner/worker/trial_session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace tune {
namespace {

constexpr int kSocket = 3;

[[noreturn]] void EndProcess(const char* why) {
  std::fprintf(stderr, "trial process: %s\n", why);
  std::fflush(nullptr);
  _exit(1);
}

// A process that was started before its devices were known has none chosen for it.
void ChooseDevices(const std::vector<DeviceSlice>& slices) {
  if (slices.empty()) return;
  std::string list;
  for (const DeviceSlice& slice : slices) {
    list += (list.empty() ? "" : ",") + std::to_string(slice.device);
  }
  setenv("CUDA_VISIBLE_DEVICES", list.c_str(), 1);
}

// SIGTERM came while it was put off, in whichever thread.
std::atomic<bool> is_told_to_end = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void HandleSigterm(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

// Made ahead, and never freed: when it is needed there is no memory for it.
std::string* out_of_memory_line = nullptr;

void SayOutOfMemory() {
  std::string_view text = *out_of_memory_line;
  while (!text.empty()) {
    const ssize_t count = send(kSocket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.remove_prefix(static_cast<size_t>(count));
  }
  _exit(1);
}

}  // namespace

void TrialSession::EndWhenOutOfMemory(std::string advice) {
  advice_ = std::move(advice);
  delete out_of_memory_line;
  out_of_memory_line = new std::string(EncodeEnd(OutOfMemory()));
  std::set_new_handler(SayOutOfMemory);
}

TrialEnd TrialSession::OutOfMemory() const {
  const std::string limit = std::to_string(memory_limit_bytes_);
  return {Outcome::kOutOfMemory,
          "no memory is left" +
              (memory_limit_bytes_ == 0
                   ? std::string(" on this machine")
                   : " of the " + limit + " bytes that a trial may have (resources.memory)") +
              (advice_.empty() ? "" : "; " + advice_)};
}

// The limit is the process's own: it needs no rights, is gone with it, and lets an allocation fail
// where it can be told from a crash.
void TrialSession::LimitMemory(int64_t bytes) {
  if (bytes == memory_limit_bytes_) return;
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = bytes == 0 ? limit.rlim_max : static_cast<rlim_t>(bytes);
  const bool is_set = setrlimit(RLIMIT_DATA, &limit) == 0;
  memory_limit_bytes_ = is_set ? bytes : 0;
  std::printf("memory limit: %lld bytes%s\n", static_cast<long long>(bytes),
              is_set ? "" : ", which could not be set: it is not enforced");
  if (out_of_memory_line != nullptr) EndWhenOutOfMemory(advice_);
}

TrialSession::TrialSession() {
  if (fcntl(kSocket, F_SETFD, FD_CLOEXEC) == 0) return;
  std::fprintf(stderr, "this program runs trials for tune_worker and is started by it alone\n");
  std::exit(2);
}

std::optional<TrialStart> TrialSession::Next() {
  const std::optional<std::string> line = ReadLine();
  if (!line) return std::nullopt;
  Result<ToTrial> message = ParseToTrial(*line);
  if (!message.ok()) EndProcess(message.status().message().c_str());
  auto* const start = std::get_if<TrialStart>(&*message);
  if (start == nullptr) EndProcess("expected a start, read an answer");
  ChooseDevices(start->slices);
  LimitMemory(start->memory_bytes);
  is_save_wanted_ = start->saves_first;
  return std::move(*start);
}

bool TrialSession::ShallSave() const { return is_save_wanted_ || is_told_to_end; }

void TrialSession::PutOffSigterm() {
  if (std::exchange(is_sigterm_put_off_, true)) return;
  HandleSigterm([](int) { is_told_to_end = true; });
}

// First the handler, then the look: so none is lost between the two.
void TrialSession::TakeSigterm() {
  if (!std::exchange(is_sigterm_put_off_, false)) return;
  HandleSigterm(SIG_DFL);
  if (!is_told_to_end) return;
  std::fflush(nullptr);
  raise(SIGTERM);
}

ReportAnswer TrialSession::Report(const tune::Report& report) {
  if (!report.has_checkpoint) PutOffSigterm();
  Send(EncodeReport(report));
  if (report.final) return ReportAnswer::kStop;
  const std::optional<std::string> line = ReadLine();
  if (!line) EndProcess("the worker is gone");
  const Result<ToTrial> message = ParseToTrial(*line);
  if (!message.ok()) EndProcess(message.status().message().c_str());
  const auto* const answer = std::get_if<ReportAnswer>(&*message);
  if (answer == nullptr) EndProcess("expected an answer, read a start");
  // One that shall stop tells of its end first.
  if (report.has_checkpoint && GoesOn(*answer)) TakeSigterm();
  is_save_wanted_ = *answer == ReportAnswer::kSave;
  return *answer;
}

void TrialSession::End(const TrialEnd& end) {
  // What the trial printed belongs to its log, not to the next one's.
  std::fflush(nullptr);
  Send(EncodeEnd(end));
  TakeSigterm();
}

void TrialSession::Send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(kSocket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) EndProcess("the worker is gone");
    text.remove_prefix(static_cast<size_t>(count));
  }
}

std::optional<std::string> TrialSession::ReadLine() {
  while (true) {
    const size_t end = inbox_.find('\n', line_start_);
    if (end != std::string::npos) {
      std::string line = inbox_.substr(line_start_, end - line_start_);
      line_start_ = end + 1;
      if (line_start_ == inbox_.size()) {
        inbox_.clear();
        line_start_ = 0;
      }
      return line;
    }
    char buffer[16 << 10];
    const ssize_t count = recv(kSocket, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    inbox_.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace tune
