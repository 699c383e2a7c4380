#include "tuner/cli/head/cluster_leftovers.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "core/json.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/cluster_changes.h"
#include "tuner/cli/head/cluster_lines.h"
#include "tuner/cli/head/cluster_state.h"
#include "tuner/cli/words/complain.h"
#include "tuner/engines/engine_desk.h"
#include "tuner/engines/pool_book.h"

namespace tune {
int GiveBackLeftovers(const ClusterOptions& options, const ClusterSpec& cluster, const Clock& clock,
                      const WaitFunction& wait, std::ostream& out, std::ostream& err) {
  // Where the file is gone, no head can hold it.
  const bool is_there = access(cluster.path.c_str(), F_OK) == 0;
  const Result<FileDescriptor> lock =
      is_there ? LockClusterFile(cluster.path) : Result<FileDescriptor>(FileDescriptor());
  if (!lock.ok()) return Complain(lock.status(), err);
  Result<ClusterState> state = ClusterState::Open(ArtifactsDirOf(options.db_path), cluster);
  if (state.status().code() == StatusCode::kNotFound) {
    out << "the cluster " << cluster.name << " is down" << std::endl;
    return 0;
  }
  if (!state.ok()) return Complain(state.status(), err);
  PoolBook book(cluster, state->Prefix());
  const Instant begun = clock.Now();
  if (!state->pools().is_null()) {
    if (const Status s = book.Restore(state->pools(), begun); !s.ok()) return Complain(s, err);
  }
  book.Close(/*at_once=*/true);
  EngineDesk desk(MakeEngines(cluster, *state, options.program_dir), {}, clock, [] {});
  ClusterChanges changes(err);
  for (;;) {
    desk.Report(book);
    const Instant now = clock.Now();
    const PoolOrders orders = book.Look({}, {}, now);
    if (orders.is_changed) {
      if (const Status kept = state->Keep(book.Encode()); !kept.ok()) return Complain(kept, err);
    }
    desk.Order(orders);
    if (book.IsEmpty()) break;
    const Result<Value> told = ParseJson(EncodeCluster(cluster, cluster.path, book, now));
    if (!told.ok()) return Complain(told.status(), err);
    changes.Show(*told);
    if (TellUnreached(*told, err)) return 1;
    if (now >= begun + options.patience) {
      err << "tune: not all workers are gone within " << FormatDuration(options.patience) << "\n";
      TellWhatIsLeft(*told, options.width, err);
      return 1;
    }
    if (!wait(kClusterLooksEvery)) return kClusterLeft;
  }
  if (const Status kept = state->Keep(Value()); !kept.ok()) return Complain(kept, err);
  out << "the cluster " << cluster.name << " is down: the engines have nothing left of it"
      << std::endl;
  return 0;
}

}  // namespace tune
