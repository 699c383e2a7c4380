#include "tuner/cli/run/local_worker.h"

#include <utility>
#include <vector>

namespace tune {
namespace {

constexpr Duration kGoodbyePatience = Seconds(1);

}  // namespace

Status LocalWorkerKeeper::Start() {
  const WorkerCapacity& capacity = options_.capacity;
  if (capacity.cpu_milli == 0 && capacity.devices.empty()) return OkStatus();
  std::vector<std::string> arguments = {"--connect",
                                        options_.address,
                                        "--local",
                                        "--cpus",
                                        std::to_string(capacity.cpu_milli / kWholeMilli),
                                        "--gpus",
                                        std::to_string(capacity.devices.size())};
  if (!options_.prewarm.empty()) {
    arguments.insert(arguments.end(), {"--prewarm", options_.prewarm});
  }
  TUNE_ASSIGN_OR_RETURN(worker_,
                        ChildProcess::Start(options_.program_dir + "/tune_worker", arguments,
                                            {"TUNE_LOCAL_SECRET=" + options_.secret}));
  return OkStatus();
}

Result<std::string> LocalWorkerKeeper::Look(Instant now, int64_t report_count,
                                            std::optional<WorkerId> leased) {
  if (worker_ == nullptr) return std::string();
  if (!joined_ && leased && (!before_ || *before_ < *leased)) joined_ = leased;
  if (joined_ && leased != joined_ && !given_up_at_) given_up_at_ = now;
  const bool is_given_up = given_up_at_ && now >= *given_up_at_ + kGoodbyePatience;
  if (!worker_->HasEnded() && !is_given_up) return std::string();
  const bool is_unfit = given_up_at_ && worker_->HasEnded() && worker_->exit_status() == 1;
  const std::string ending =
      worker_->HasEnded() ? "ended with " + worker_->ending() : "was given up and is killed";
  worker_.reset();
  given_up_at_.reset();
  if (joined_) before_ = std::exchange(joined_, std::nullopt);
  if (is_unfit) return FailedPrecondition("the local worker cannot run these trials");
  if (!restarts_.MayRestart(now, report_count)) {
    return Internal("the local worker " + ending + ", the " +
                    std::to_string(restarts_.end_count()) + "th time without a report between");
  }
  TUNE_RETURN_IF_ERROR(Start());
  return "the local worker " + ending + "; started another one";
}

}  // namespace tune
