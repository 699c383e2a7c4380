// The workers of a simulated head, and the connections between: what is sent arrives later, in
// order, on its connection alone.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/sim/head_swarm.h"
#include "tests/sim/head_worker.h"
#include "trial_runner/worker_link.h"

namespace tune::sim {

class HeadPool {
 public:
  // The head's side of its connections.
  struct Head {
    std::function<bool()> is_alive;
    std::function<WorkerId()> new_worker;  // For one that says Hello.
    std::function<void(WorkerId, std::variant<FromWorker, WorkerDisconnected>)> arrived;
  };

  HeadPool(const HeadSwarm& swarm, const HeadWorker::IterationsOf& iterations_of, Head head,
           Happenings& happenings, Trace& trace, uint64_t seed);

  // Workers of other machines are there before the head is.
  void Begin();
  // The head lives, with a worker of its own where the swarm has one.
  void BeginLocal();
  void Send(WorkerId worker, std::vector<ToWorker> messages);
  void Close(WorkerId worker);
  // The head is gone: so are all connections, and its own worker.
  void DropAll();

  // ---- faults; each of a worker that is drawn

  void KillOne();
  void CutOne();
  void MakeOneUnfit();
  std::optional<WorkerId> OneToDrain();
  void EndFaults();

 private:
  struct Station {
    int64_t number = 0;
    std::unique_ptr<HeadWorker> worker;
    int64_t connection = 0;  // The present one's number; what is under way on others is lost.
    std::optional<WorkerId> id;
    Instant up_until, down_until;
    bool is_start_due = false;
  };

  Station& Any() { return *stations_[random_.NextBelow(stations_.size())]; }
  Duration Pause(double mean_s) { return Seconds(mean_s * random_.NextUniform(0.1, 2.0)); }
  void Start(Station& station, Duration wait);
  void Connect(Station& station);
  void Deliver(Station& station, Instant& until, Happenings::Act act);
  void Arrived(Station& station, FromWorker message);
  void Break(Station& station);
  void Drop(Station& station);

  const HeadSwarm& swarm_;
  const Head head_;
  Happenings& happenings_;
  Trace& trace_;
  KeyedRandom random_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::map<WorkerId, Station*> workers_;
};

}  // namespace tune::sim
