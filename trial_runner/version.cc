#include "trial_runner/version.h"

namespace tune {

const char kProgramVersion[] = TUNE_VERSION;

}  // namespace tune
