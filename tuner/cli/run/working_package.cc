#include "tuner/cli/run/working_package.h"

#include <filesystem>
#include <utility>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/nameless_file.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/working_folder.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/run/secret_environment.h"
#include "tuner/provenance.h"

namespace tune {

Result<WorkingPackage> PackWorkingFolder(const ExperimentSpec& spec, const std::string& db_path,
                                         bool listens, std::vector<Secret> secrets) {
  WorkingPackage package;
  const std::string folder = WorkingFolder(spec.trainable, spec.base_dir);
  if (folder.empty()) return package;
  if (!listens) {
    if (spec.trainable.Find("setup") == nullptr) return package;
    const Result<PackageName> name = NameFolder(folder, limits::kPackageBytesMax);
    if (name.ok()) package.name = *name;
    return package;
  }
  const std::string beside = std::filesystem::absolute(db_path).parent_path().string();
  TUNE_ASSIGN_OR_RETURN(FileDescriptor file, OpenNamelessFile(beside));
  for (Secret& secret : SecretsOf(spec.trainable, EnvironmentText)) {
    secrets.push_back(std::move(secret));
  }
  Result<PackedFolder> packed = PackedFolder::Pack(folder, std::move(file), secrets);
  if (packed.status().code() == StatusCode::kResourceExhausted) {
    return ResourceExhausted(beside + ": its disk has no room for a copy of " + folder +
                             ", which workers of other machines need");
  }
  if (!packed.ok()) return packed.status().At("trainable: working_dir");
  for (const std::string& path : packed->with_token()) {
    package.warnings.push_back(
        folder + "/" + path +
        " holds a join token and is not sent to workers; remove it, or list it in "
        "the folder's .tuneignore");
  }
  if (const std::vector<std::string>& files = packed->with_credentials(); !files.empty()) {
    std::string names;
    for (const std::string& path : files) names += (names.empty() ? "" : ", ") + path;
    package.warnings.push_back(names + " of " + folder + " may hold credentials and " +
                               (files.size() == 1 ? "is" : "are") +
                               " sent to every worker that joins; what programs do not need there "
                               "is listed in the folder's .tuneignore");
  }
  package.packed = std::make_shared<const PackedFolder>(*std::move(packed));
  package.name = package.packed->name();
  return package;
}

std::string PackagesDirOf(const std::string& db_path) {
  return ArtifactsDirOf(db_path) + "/" + kPackagesFolder;
}

Status CheckPackage(const std::string& db_path, const PackageName& package) {
  if (package.sha256.empty()) {
    return InvalidArgument(
        "package: is missing; a command that comes from another machine runs in "
        "a folder that comes with it (POST /api/v1/packages/SHA256)");
  }
  const std::string folder = PackagesDirOf(db_path);
  TUNE_RETURN_IF_ERROR(OpenKeptPackage(folder, package).status().At("package"));
  return SyncFolder(folder);
}

Status CheckFolderIsKept(const std::string& db_path, const StoredExperiment& experiment) {
  const Result<Provenance> began = DecodeProvenance(experiment.provenance);
  const bool needs_it = began.ok() && began->is_elsewhere && !began->package.sha256.empty();
  if (!needs_it || OpenKeptPackage(PackagesDirOf(db_path), began->package).ok()) return OkStatus();
  return FailedPrecondition("the folder of " + experiment.name +
                            ", which was submitted from another machine, is no longer kept; submit "
                            "it there again");
}

Status CheckFolderIsHere(const StoredExperiment& experiment) {
  const Result<Provenance> began = DecodeProvenance(experiment.provenance);
  if (!began.ok() || !began->is_elsewhere || began->package.sha256.empty()) return OkStatus();
  return FailedPrecondition(experiment.name +
                            " was submitted to a head from another machine, whose folder the head "
                            "keeps; start it (tune head), and resume it there");
}

}  // namespace tune
