#include "trial_runner/worker/notice_watch.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/posix/threads.h"

namespace tune {
namespace {

constexpr Duration kLookPause = Seconds(1);
constexpr std::chrono::seconds kEndPatience(1);

}  // namespace

struct NoticeWatch::State {
  std::unique_ptr<NoticeSource> source;  // Of the thread alone.
  Listener listener;
  std::stop_source stop;

  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;

  // Whether there is no more to look for.
  bool TakeLook(const NoticeLook& look, bool& is_in_trouble) {
    const std::lock_guard lock(mutex);
    if (stop.stop_requested()) return true;
    if (!look.ok()) {
      if (!std::exchange(is_in_trouble, true)) {
        listener.complain("--notice: " + look.status().message() + "; it is asked again and again");
      }
      return false;
    }
    if (std::exchange(is_in_trouble, false))
      listener.complain("--notice: the source answers again");
    if (*look) listener.tell(**look);
    return look->has_value();
  }

  void Run() {
    bool is_in_trouble = false;
    while (!TakeLook(source->Look(stop.get_token()), is_in_trouble)) {
      WaitUnlessStopped(kLookPause, stop.get_token());
    }
    const std::lock_guard lock(mutex);
    has_ended = true;
    changed.notify_all();
  }
};

NoticeWatch::NoticeWatch(std::unique_ptr<NoticeSource> source, Listener listener)
    : state_(std::make_shared<State>()) {
  state_->source = std::move(source);
  state_->listener = std::move(listener);
  BeginThread([state = state_] { state->Run(); }).detach();
}

NoticeWatch::~NoticeWatch() {
  std::unique_lock lock(state_->mutex);
  state_->stop.request_stop();
  state_->changed.wait_for(lock, kEndPatience, [this] { return state_->has_ended; });
}

}  // namespace tune
