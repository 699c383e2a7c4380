#include "tuner/engines/slurm_engine.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>

#include "core/posix/read_bytes.h"
#include "core/utf8.h"
#include "trial_runner/command_text.h"
#include "tuner/engines/program_call.h"

namespace tune {
namespace {

constexpr int64_t kArrayMax = 1000;  // Slurm's own default of MaxArraySize is 1001.
constexpr Duration kSlurmPatience = Seconds(60);
constexpr size_t kIdsMax = 2000;  // Of one scancel.

int64_t NumberIn(std::string_view digits) {
  int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || number > 1'000'000'000'000) return -1;
    number = number * 10 + (c - '0');
  }
  return digits.empty() ? -1 : number;
}

std::string LogPath(const SlurmPlaces& places, const std::string& prefix, int64_t first,
                    const std::string& task) {
  return places.folder + "/" + prefix + std::to_string(first) + "_" + task + ".log";
}

// Slurm reads %j and the like in the name of a log: a folder's own % is doubled.
std::string WithDoubledPercents(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '%' ? 2 : 1, c);
  return doubled;
}

class SlurmEngine final : public Engine {
 public:
  SlurmEngine(const PoolSpec& pool, SlurmPlaces places, std::string prefix)
      : pool_(pool), places_(std::move(places)), prefix_(std::move(prefix)) {}

  std::vector<Status> Ask(const std::vector<std::string>& names,
                          const WorkerInvitation& invitation) override {
    std::vector<Status> answers;
    for (size_t begin = 0; begin < names.size();) {
      const int64_t first = NumberIn(std::string_view(names[begin]).substr(prefix_.size()));
      int64_t count = 1;
      const auto is_next = [&](size_t at) {
        return at < names.size() &&
               NumberIn(std::string_view(names[at]).substr(prefix_.size())) == first + count;
      };
      while (count < kArrayMax && is_next(begin + static_cast<size_t>(count))) ++count;
      const Status asked = Submit(first, count, invitation);
      for (int64_t i = 0; i < count; ++i) answers.push_back(asked);
      begin += static_cast<size_t>(count);
    }
    return answers;
  }

  Result<std::vector<Machine>> List() override {
    ProgramCall call;
    call.words = {"squeue", "--me", "--noheader", "--array", "--format=%j|%K|%t|%r|%i"};
    call.patience = kSlurmPatience;
    const Result<CallAnswer> answer = CallProgram(call, is_cancelled_);
    if (!answer.ok()) return answer.status();
    if (!answer->is_good()) return Unavailable(answer->Reason());
    std::vector<Machine> machines;
    ids_.clear();
    for (SlurmJob& job : ParseSqueue(answer->out, prefix_)) {
      ids_[job.machine.name] = job.id;
      machines.push_back(std::move(job.machine));
    }
    return machines;
  }

  Status GiveBack(const std::vector<std::string>& names) override {
    const bool is_any_unknown = std::any_of(
        names.begin(), names.end(), [this](const auto& name) { return !ids_.contains(name); });
    if (is_any_unknown) TUNE_RETURN_IF_ERROR(List().status());
    std::vector<std::string> ids;
    for (const std::string& name : names) {
      const auto found = ids_.find(name);
      if (found != ids_.end()) ids.push_back(found->second);
    }
    for (size_t begin = 0; begin < ids.size(); begin += kIdsMax) {
      ProgramCall call;
      call.words = {"scancel", "--quiet"};
      const size_t end = std::min(begin + kIdsMax, ids.size());
      call.words.insert(call.words.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                        ids.begin() + static_cast<std::ptrdiff_t>(end));
      call.patience = kSlurmPatience;
      const Result<CallAnswer> answer = CallProgram(call, is_cancelled_);
      if (!answer.ok()) return answer.status();
      // A job that has ended meanwhile is no error.
      if (!answer->is_good() && answer->err.find("Invalid job id") == std::string::npos &&
          answer->err.find("already completing") == std::string::npos) {
        return Unavailable(answer->Reason());
      }
    }
    return OkStatus();
  }

  std::string LogTail(const std::string& name) override {
    const auto found = first_of_.find(name);
    if (found == first_of_.end()) return "";
    const int64_t task = NumberIn(std::string_view(name).substr(prefix_.size())) - found->second;
    const std::string text =
        ReadBytes(LogPath(places_, prefix_, found->second, std::to_string(task)));
    constexpr size_t kTail = 2000;
    return text.substr(text.size() - std::min(text.size(), kTail));
  }

  void CallOff() override { is_called_off_ = true; }
  void Cancel() override { is_cancelled_ = is_called_off_ = true; }

 private:
  Status Submit(int64_t first, int64_t count, const WorkerInvitation& invitation) {
    ProgramCall call;
    call.words = SbatchWords(pool_, places_, prefix_, first, count);
    call.input = SbatchScript(pool_, places_, prefix_, first, invitation);
    call.patience = kSlurmPatience;
    call.folder = places_.folder;
    for (int64_t i = 0; i < count; ++i) first_of_[prefix_ + std::to_string(first + i)] = first;
    const Result<CallAnswer> answer = CallProgram(call, is_called_off_);
    if (!answer.ok()) return answer.status();
    return answer->is_good() ? OkStatus() : SbatchRefusal(answer->Reason());
  }

  const PoolSpec pool_;
  const SlurmPlaces places_;
  const std::string prefix_;
  std::map<std::string, std::string> ids_;   // As squeue told last.
  std::map<std::string, int64_t> first_of_;  // The first number of its array.
  std::atomic<bool> is_called_off_ = false;
  std::atomic<bool> is_cancelled_ = false;
};

}  // namespace

std::vector<std::string> SbatchWords(const PoolSpec& pool, const SlurmPlaces& places,
                                     const std::string& prefix, int64_t first, int64_t count) {
  const SlurmPoolSpec& slurm = *pool.slurm;
  SlurmPlaces in_pattern = places;
  in_pattern.folder = WithDoubledPercents(places.folder);
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--job-name=" + prefix + std::to_string(first),
                                    "--array=0-" + std::to_string(count - 1),
                                    "--no-requeue",  // We give its trials to others.
                                    "--signal=B:USR1@60",
                                    "--nodes=1",
                                    "--ntasks=1",
                                    "--cpus-per-task=" + std::to_string(*pool.worker.cpus),
                                    "--output=" + LogPath(in_pattern, prefix, first, "%a"),
                                    "--comment=" + places.comment};
  if (*pool.worker.gpus > 0) words.push_back("--gres=gpu:" + std::to_string(*pool.worker.gpus));
  if (pool.worker.memory_bytes > 0) {
    constexpr int64_t kMiB = 1 << 20;
    words.push_back("--mem=" + std::to_string((pool.worker.memory_bytes + kMiB - 1) / kMiB) + "M");
  }
  if (!slurm.partition.empty()) words.push_back("--partition=" + slurm.partition);
  if (!slurm.account.empty()) words.push_back("--account=" + slurm.account);
  if (!slurm.qos.empty()) words.push_back("--qos=" + slurm.qos);
  if (slurm.time) {
    words.push_back("--time=" + std::to_string((slurm.time->us + 59'999'999) / 60'000'000));
  }
  words.insert(words.end(), slurm.options.begin(), slurm.options.end());
  return words;
}

// USR1 comes a minute before the job's end, TERM where the job is cancelled or preempted: both mean
// save and leave.
std::string SbatchScript(const PoolSpec& pool, const SlurmPlaces& places, const std::string& prefix,
                         int64_t first, const WorkerInvitation& invitation) {
  const std::string& own = pool.slurm->programs;
  const std::string programs = own.empty() ? places.program_dir : own;
  return "#!/bin/sh\n"
         "name=" +
         prefix + "$((" + std::to_string(first) +
         " + SLURM_ARRAY_TASK_ID))\n"
         "TUNE_JOIN=$(cat " +
         InSingleQuotes(invitation.token_path) +
         ") || exit 1\n"
         "export TUNE_JOIN\n" +
         InSingleQuotes(programs + "/tune_worker") + " --connect " +
         InSingleQuotes(invitation.connect) + " --name \"$name\" --cpus " +
         std::to_string(*pool.worker.cpus) + " --gpus " + std::to_string(*pool.worker.gpus) +
         " &\n"
         "worker=$!\n"
         "unset TUNE_JOIN\n"
         "trap 'kill -TERM $worker' USR1 TERM\n"
         "while :; do\n"
         "  wait $worker\n"
         "  status=$?\n"
         "  kill -0 $worker 2>/dev/null || exit $status\n"
         "done\n";
}

std::vector<SlurmJob> ParseSqueue(std::string_view text, std::string_view prefix) {
  std::vector<SlurmJob> jobs;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    std::vector<std::string_view> fields;
    for (size_t i = 0; i < 4; ++i) {
      const size_t bar = line.find('|');
      if (bar == std::string_view::npos) break;
      fields.push_back(line.substr(0, bar));
      line.remove_prefix(bar + 1);
    }
    fields.push_back(line.substr(0, line.find_last_not_of(" \r") + 1));
    if (fields.size() != 5 || !fields[0].starts_with(prefix)) continue;
    const int64_t first = NumberIn(fields[0].substr(prefix.size()));
    const int64_t task = NumberIn(fields[1]);
    if (first < 0 || task < 0) continue;
    const std::string_view state = fields[2];
    SlurmJob job;
    job.id = std::string(fields[4]);
    job.machine.name = std::string(prefix) + std::to_string(first + task);
    job.machine.state = state == "PD" || state == "CF" ? MachineState::kPending
                        : state == "R" || state == "S" ? MachineState::kRunning
                        : state == "CG"                ? MachineState::kRunning
                                                       : MachineState::kEnded;
    const std::string reason = Printable(fields[3]);
    if (reason != "None") job.machine.reason = reason;
    if (job.machine.state == MachineState::kEnded && job.machine.reason.empty()) {
      job.machine.reason = "Slurm says " + Printable(state);
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Status SbatchRefusal(const std::string& reason) {
  const auto says = [&reason](const char* what) {
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) ==
             std::tolower(static_cast<unsigned char>(b));
    };
    const std::string_view word = what;
    return std::search(reason.begin(), reason.end(), word.begin(), word.end(), same) !=
           reason.end();
  };
  for (const char* const silent : {"Unable to contact", "timed out", "Zero Bytes", "refused"}) {
    if (says(silent)) return Unavailable(reason);
  }
  for (const char* const quota : {"limit", "quota", "MaxSubmit", "MaxJobs"}) {
    if (says(quota)) return ResourceExhausted(reason);
  }
  return FailedPrecondition(reason);
}

std::unique_ptr<Engine> MakeSlurmEngine(const PoolSpec& pool, const SlurmPlaces& places,
                                        const std::string& prefix) {
  return std::make_unique<SlurmEngine>(pool, places, prefix);
}

}  // namespace tune
