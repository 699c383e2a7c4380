// tune_trial_food11: runs trials of the built-in trainable `food11`. The one trial program that
// links the classifier and OpenCV, which takes 40 ms to start: a worker starts it ahead of need.
#include "core/posix/environment.h"
#include "core/posix/process_limits.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/food11_lanes.h"
#include "trial_runner/worker/lane_session.h"

namespace tune {
namespace {

int Main() {
  LaneSession session;
  session.EndWhenOutOfMemory("a smaller batch_size or image_size needs less");
  Food11Lanes({EnvironmentText("FOOD11_DATA_DIR"), UserCacheFolder()}, session).Run();
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  tune::MeetLimits();
  return tune::AnswerVersion(argc, argv) ? 0 : tune::Main();
}
