#include "tuner/engines/engine_desk.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tune {

struct EngineDesk::Shared {
  std::mutex mutex;
  std::condition_variable has_calls;
  std::vector<News> news;
  bool is_ending = false;
};

struct EngineDesk::Place {
  std::unique_ptr<Engine> engine;
  std::deque<std::function<Done(Engine&)>> calls;  // Under the mutex.
  std::thread thread;
};

EngineDesk::EngineDesk(std::vector<std::unique_ptr<Engine>> engines, WorkerInvitation invitation,
                       const Clock& clock, std::function<void()> wake)
    : invitation_(std::move(invitation)),
      clock_(clock),
      wake_(std::move(wake)),
      shared_(std::make_unique<Shared>()) {
  for (std::unique_ptr<Engine>& engine : engines) {
    places_.push_back(std::make_unique<Place>());
    places_.back()->engine = std::move(engine);
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    places_[i]->thread = std::thread([this, i] { Work(i); });
  }
}

EngineDesk::~EngineDesk() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_ending = true;
  }
  shared_->has_calls.notify_all();
  for (const auto& place : places_) place->engine->Cancel();
  for (const auto& place : places_) place->thread.join();
}

void EngineDesk::Add(size_t pool, std::function<Done(Engine&)> call) {
  {
    const std::lock_guard lock(shared_->mutex);
    places_[pool]->calls.push_back(std::move(call));
  }
  shared_->has_calls.notify_all();
}

void EngineDesk::Order(const PoolOrders& orders) {
  if (orders.call_off) {
    for (const auto& place : places_) place->engine->CallOff();
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    if (const auto& names = orders.ask[i]; !names.empty()) {
      Add(i, [names, invitation = invitation_](Engine& engine) -> Done {
        return AskDone{names, engine.Ask(names, invitation)};
      });
    }
  }
  for (const auto& [pool, name] : orders.logs) {
    Add(pool, [name = name](Engine& engine) -> Done {
      return LogDone{name, engine.LogTail(name)};
    });
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    if (const auto& names = orders.give_back[i]; !names.empty()) {
      Add(i, [names](Engine& engine) -> Done {
        return GiveBackDone{names, engine.GiveBack(names)};
      });
    }
    if (orders.list[i]) {
      Add(i, [](Engine& engine) -> Done { return ListDone{engine.List()}; });
    }
  }
}

void EngineDesk::Work(size_t pool) {
  Place& place = *places_[pool];
  for (;;) {
    std::function<Done(Engine&)> call;
    {
      std::unique_lock lock(shared_->mutex);
      shared_->has_calls.wait(lock, [&] { return shared_->is_ending || !place.calls.empty(); });
      if (shared_->is_ending) return;
      call = std::move(place.calls.front());
      place.calls.pop_front();
    }
    Done done = call(*place.engine);
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->news.push_back({pool, clock_.Now(), std::move(done)});
    }
    wake_();
  }
}

void EngineDesk::Report(PoolBook& book) {
  std::vector<News> news;
  {
    const std::lock_guard lock(shared_->mutex);
    news = std::exchange(shared_->news, {});
  }
  for (const News& one : news) {
    if (const auto* const asked = std::get_if<AskDone>(&one.done)) {
      book.OnAsked(one.pool, asked->names, asked->answers, one.at);
    } else if (const auto* const listed = std::get_if<ListDone>(&one.done)) {
      book.OnListed(one.pool, listed->machines, one.at);
    } else if (const auto* const returned = std::get_if<GiveBackDone>(&one.done)) {
      book.OnGivenBack(one.pool, returned->names, returned->status, one.at);
    } else if (const auto* const log = std::get_if<LogDone>(&one.done)) {
      book.OnLog(one.pool, log->name, log->text, one.at);
    }
  }
}

}  // namespace tune
