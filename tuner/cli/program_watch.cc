#include "tuner/cli/program_watch.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "tuner/cli/gather_provenance.h"

namespace tune {
namespace {

constexpr Duration kLookAtProgramEvery = Milliseconds(200);

}  // namespace

ProgramWatch::ProgramWatch(const ExperimentSpec& spec, const std::string& began,
                           std::vector<std::string> known)
    : spec_(spec), known_(std::move(known)) {
  Result<Provenance> provenance = DecodeProvenance(began);
  if (provenance.ok()) began_ = *std::move(provenance);
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

std::optional<std::vector<std::string>> ProgramWatch::Look(Instant now) {
  if (!began_ || began_->files.empty()) return std::nullopt;
  if (looked_at_ && now < *looked_at_ + kLookAtProgramEvery) return std::nullopt;
  looked_at_ = now;
  std::string stamps = Stamps();
  if (stamps == stamps_) return std::nullopt;
  stamps_ = std::move(stamps);
  Provenance present = *began_;
  present.files = GatherProgramFiles(spec_);
  std::vector<std::string> differences = DescribeProgramDifferences(*began_, present);
  if (differences == known_) return std::nullopt;
  known_ = differences;
  return differences;
}

}  // namespace tune
