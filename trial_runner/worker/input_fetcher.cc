#include "trial_runner/worker/input_fetcher.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "core/hash.h"
#include "core/posix/durable_file.h"
#include "core/posix/kept_folders.h"
#include "core/posix/plain_file.h"
#include "core/posix/private_folder.h"
#include "core/posix/real_clock.h"
#include "trial_runner/bucket/bucket_data.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/worker/transfers.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// Between two lines about what is on its way: it doubles.
constexpr Duration kProgressPause = Seconds(2);
constexpr Duration kProgressPauseMax = Seconds(64);

std::string Megabytes(int64_t bytes) { return std::to_string((bytes + 500'000) / 1'000'000); }

// One input on its way.
class InputFetch {
 public:
  InputFetch(const CommandInput& input, const std::string& cache,
             const std::function<void(std::string)>& on_wait)
      : input_(input), cache_(cache), on_wait_(on_wait) {}

  Result<BroughtData> Run(const std::stop_token& stop) {
    for (TransferPauses pauses(stop);;) {
      Result<BroughtData> brought = Try(stop);
      if (brought.ok()) return brought;
      const StatusCode code = brought.status().code();
      const bool is_of_machine =
          code == StatusCode::kResourceExhausted || code == StatusCode::kInternal ||
          code == StatusCode::kInvalidArgument || code == StatusCode::kFailedPrecondition;
      if (is_of_machine) return brought;
      if (!stop.stop_requested()) Tell(brought.status().message());
      if (!pauses.Wait()) return Unavailable("the worker needs it no longer");
    }
  }

 private:
  Result<BroughtData> Try(const std::stop_token& stop) {
    if (client_ == nullptr) {
      TUNE_ASSIGN_OR_RETURN(client_, S3Client::Make(input_.from.bucket));
      client_->SetOnTrouble([this](const Status& failed) { Tell(failed.message()); });
    }
    next_ = RealClock().Now() + kProgressPause;
    pause_ = kProgressPause;
    const DataNews news{
        [this](const DataProgress& progress) { OnProgress(progress); },
        [this](const std::string& line) { Tell(input_.from.ToUrl() + ": " + line); }};
    return BringData(*client_, input_.from.key, cache_, news, stop);
  }

  // Never by two threads at once (DataNews).
  void OnProgress(const DataProgress& progress) {
    const Instant now = RealClock().Now();
    if (now < next_ || progress.files == progress.files_in_all) return;
    pause_ = std::min(pause_ + pause_, kProgressPauseMax);
    next_ = now + pause_;
    Tell(input_.from.ToUrl() + ": " + std::to_string(progress.files) + " of " +
         Counted(progress.files_in_all, "file") + ", " + Megabytes(progress.bytes) + " of " +
         Megabytes(progress.bytes_in_all) + " MB");
  }

  void Tell(const std::string& text) const { on_wait_(text); }

  const CommandInput& input_;
  const std::string& cache_;
  const std::function<void(std::string)>& on_wait_;
  std::shared_ptr<S3Client> client_;
  Instant next_;
  Duration pause_;
};

// In one step, so that a program never sees none: workers of a machine may share the folder.
Status MakeLink(const std::string& to, const std::string& path) {
  TUNE_RETURN_IF_ERROR(MakeFolder(fs::path(path).parent_path()));
  const std::string beside = path + "." + HashToHex(DrawEntropy());
  if (symlink(to.c_str(), beside.c_str()) != 0) return ErrnoStatus("make", beside);
  if (rename(beside.c_str(), path.c_str()) == 0) return OkStatus();
  const Status failed = ErrnoStatus("make", path);
  unlink(beside.c_str());
  return failed;
}

}  // namespace

Result<FetchedInputs> FetchInputs(const std::vector<CommandInput>& inputs, const std::string& cache,
                                  std::vector<FileDescriptor>& held,
                                  const std::function<void(std::string)>& on_wait,
                                  const std::stop_token& stop) {
  FetchedInputs fetched;
  std::vector<std::pair<std::string, std::string>> links;
  std::string all;
  for (const CommandInput& input : inputs) {
    TUNE_ASSIGN_OR_RETURN(BroughtData brought, InputFetch(input, cache, on_wait).Run(stop));
    links.emplace_back(input.to, brought.path);
    all += brought.path + '\0' + input.to + '\0';
    fetched.seen.push_back(std::move(brought.seen));
    held.push_back(std::move(brought.hold));
  }
  // Other data have another folder: what a program reads does not change while it runs.
  const std::string parent = cache + "/inputs";
  const std::string& folder = fetched.folder = parent + "/" + HashToHex(Xxh64(all));
  TUNE_RETURN_IF_ERROR(MakePrivateFolder(parent));
  std::optional<FileDescriptor> hold;
  while (!hold) {  // It may just be removed, as what nobody uses.
    TUNE_RETURN_IF_ERROR(MakeFolder(folder));
    TUNE_ASSIGN_OR_RETURN(hold, HoldFolder(folder));
  }
  held.push_back(*std::move(hold));
  for (const auto& [name, path] : links) {
    TUNE_RETURN_IF_ERROR(MakeLink(path, folder + "/" + name));
  }
  return fetched;
}

}  // namespace tune
