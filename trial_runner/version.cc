#include "trial_runner/version.h"

#include <cstdio>
#include <string_view>

namespace tune {

const char kProgramVersion[] = TUNE_VERSION;

bool AnswerVersion(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--version") return false;
  std::puts(kProgramVersion);
  return true;
}

}  // namespace tune
