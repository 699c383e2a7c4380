#include "tuner/cli/words/version_text.h"

#include <unistd.h>

#include <filesystem>

#include "core/posix/processor_level.h"
#include "trial_runner/grpc/library_version.h"
#include "trial_runner/tls/library_version.h"
#include "trial_runner/version.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

std::string BuildText() {
  const std::string processor = TUNE_MARCH;
  return std::string(TUNE_BUILD_TYPE) + ", GCC " + __VERSION__ + ", for " +
         (processor.empty()       ? "any processor"
          : processor == "native" ? "the processor that it was built on"
                                  : processor);
}

std::string FeaturesText(const std::string& program_dir) {
  const std::string name = "tune_trial_food11";
  const std::string program = ProgramForProcessor(program_dir, name);
  if (access(program.c_str(), X_OK) != 0) return "no classifier food11 in this installation";
  std::string text = "food11";
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  if (folder != program_dir) text += " (kernels for " + folder.filename().string() + ")";
  return text + (TUNE_HAS_CUDA != 0 ? ", CUDA" : ", no CUDA");
}

}  // namespace

std::string VersionText(const std::string& program_dir) {
  return "tune " + std::string(kProgramVersion) + "\nbuild      " + BuildText() + "\nfeatures   " +
         FeaturesText(program_dir) + "\nlibraries  " + GrpcLibraryVersion() + ", " +
         SqliteLibraryVersion() + ", " + OpensslLibraryVersion();
}

}  // namespace tune
