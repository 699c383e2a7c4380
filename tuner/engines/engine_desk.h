// Calls engines, each on a thread of its own, so that one that takes long holds nobody up; what
// came of each call waits until it is taken.
//
// Thread rule: one thread, but for `wake`, which is called on the engines' threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/engines/engine.h"
#include "tuner/engines/pool_book.h"

namespace tune {

class EngineDesk {
 public:
  // One engine for each pool. `clock` must outlive it.
  EngineDesk(std::vector<std::unique_ptr<Engine>> engines, WorkerInvitation invitation,
             const Clock& clock, std::function<void()> wake);
  // Calls that go on are cancelled; what waits is not called any more.
  ~EngineDesk();
  EngineDesk(const EngineDesk&) = delete;
  EngineDesk& operator=(const EngineDesk&) = delete;

  // Puts them behind those of before, pool by pool.
  void Order(const PoolOrders& orders);
  // Tells the book what came of calls since the last time.
  void Report(PoolBook& book);

 private:
  struct Place;
  struct AskDone {
    std::vector<std::string> names;
    std::vector<Status> answers;
  };
  struct ListDone {
    Result<std::vector<Machine>> machines;
  };
  struct GiveBackDone {
    std::vector<std::string> names;
    Status status;
  };
  struct LogDone {
    std::string name;
    std::string text;
  };
  using Done = std::variant<AskDone, ListDone, GiveBackDone, LogDone>;
  struct News {
    size_t pool = 0;
    Instant at;
    Done done;
  };

  void Add(size_t pool, std::function<Done(Engine&)> call);
  void Work(size_t pool);

  const WorkerInvitation invitation_;
  const Clock& clock_;
  const std::function<void()> wake_;
  struct Shared;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace tune
