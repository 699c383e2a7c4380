#include "tuner/cli/run/program_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/posix/threads.h"
#include "tuner/cli/run/gather_provenance.h"
#include "tuner/cli/run/input_check.h"

namespace tune {
namespace {

constexpr Duration kLookAtProgramEvery = Milliseconds(200);

constexpr char kOfInput[] = "data in s3://";  // DescribeProgramDifferences.
constexpr char kOfData[] = "data in ";

}  // namespace

ProgramWatch::ProgramWatch(const ExperimentSpec& spec, const std::string& began,
                           std::vector<std::string> known)
    : spec_(spec), known_(std::move(known)) {
  Result<Provenance> provenance = DecodeProvenance(began);
  if (!provenance.ok()) return;
  began_ = *std::move(provenance);
  if (began_->is_elsewhere) began_->files.clear();  // Not on this machine.
  present_ = *began_;
}

std::string ProgramWatch::Stamps() const {
  std::string stamps;
  for (const auto& [file, hash] : began_->files) {
    struct stat info = {};
    const std::filesystem::path path = std::filesystem::path(ProgramFolder(spec_)) / file;
    if (stat(path.c_str(), &info) != 0) {
      stamps += "-;";
      continue;
    }
    stamps += std::to_string(info.st_ino) + "," + std::to_string(info.st_size) + "," +
              std::to_string(info.st_mtim.tv_sec) + "," + std::to_string(info.st_mtim.tv_nsec) +
              ";";
  }
  return stamps;
}

bool ProgramWatch::LookAtFiles(Instant now) {
  if (began_->files.empty()) return false;
  if (looked_at_ && now < *looked_at_ + kLookAtProgramEvery) return false;
  looked_at_ = now;
  std::string stamps = Stamps();
  if (stamps == stamps_) return false;
  stamps_ = std::move(stamps);
  present_.files = GatherProgramFiles(spec_);
  return true;
}

bool ProgramWatch::LookAtInputs(size_t worker_count) {
  if (began_->inputs.empty()) return false;
  const std::lock_guard lock(listing_.mutex);
  if (worker_count > worker_count_ && !listing_.is_under_way) {
    worker_count_ = worker_count;
    List();
  }
  if (!listing_.states) return false;
  present_.inputs = *std::exchange(listing_.states, std::nullopt);
  has_listed_ = true;
  return true;
}

void ProgramWatch::List() {
  listing_.is_under_way = true;
  lister_ = BeginThread<std::jthread>([this, spec = spec_](const std::stop_token& stop) {
    std::vector<DataState> states = tune::LookAtInputs(spec, stop);
    const std::lock_guard lock(listing_.mutex);
    listing_.states = std::move(states);
    listing_.is_under_way = false;
  });
}

std::vector<std::string> ProgramWatch::Differences() const {
  std::vector<std::string> lines = DescribeProgramDifferences(*began_, present_);
  // A resume has looked at these.
  for (const std::string& line : known_) {
    const bool is_looked_at =
        !line.starts_with(kOfData) || (line.starts_with(kOfInput) && has_listed_);
    if (!is_looked_at && std::find(lines.begin(), lines.end(), line) == lines.end()) {
      lines.push_back(line);
    }
  }
  return lines;
}

std::optional<std::vector<std::string>> ProgramWatch::Look(Instant now, size_t worker_count) {
  if (!began_) return std::nullopt;
  const bool has_files = LookAtFiles(now);
  const bool has_inputs = LookAtInputs(worker_count);
  if (!has_files && !has_inputs) return std::nullopt;
  std::vector<std::string> differences = Differences();
  if (differences == known_) return std::nullopt;
  for (const std::string& line : differences) {
    const bool is_new = std::find(known_.begin(), known_.end(), line) == known_.end();
    if (is_new && line.starts_with(kOfInput)) {
      news_.push_back("warning: changed since the sweep began: " + line);
    }
  }
  known_ = differences;
  return differences;
}

}  // namespace tune
