// tune_trial_food11: runs trials of the built-in trainable `food11`. The one trial program that
// links the classifier and OpenCV, which takes 40 ms to start: a worker starts it ahead of need.
#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/posix/environment.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/food11_trainable.h"
#include "trial_runner/worker/trial_session.h"

namespace tune {
namespace {

int Main() {
  TrialSession session;
  session.EndWhenOutOfMemory("a smaller batch_size or image_size needs less");
  Food11Trainable food11({EnvironmentText("FOOD11_DATA_DIR"), UserCacheFolder()});
  while (const std::optional<TrialStart> start = session.Next()) {
    try {
      session.End(food11.Run(*start, session));
    } catch (const std::bad_alloc&) {
      session.End(session.OutOfMemory());
    }
  }
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::AnswerVersion(argc, argv) ? 0 : tune::Main(); }
