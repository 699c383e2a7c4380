// A library in the place of NVIDIA's libnccl.so.2, for tests: the calls that we use, with the
// names, layouts and values of NVIDIA's nccl.h. Its ranks are threads of one process and its
// numbers are in the host's memory: ncclAllReduce waits for all ranks and adds up in their order.
// Where there is a device in CUDA's place (tests/standin_cuda), they are in its memory, and what
// waits is the stream.
// What NCCL may refuse or do wrong with, it refuses: another type than float, another operation
// than the sum, sums that are not in place, no stream, ranks that ask for different counts.
//
//   standin_nccl_fail(call, rank, error)   `call` of that rank answers so from now on; "async":
//   what
//                                          ncclCommGetAsyncError tells; null: none any more
//   standin_nccl_open()                    communicators that were not ended
#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using ncclResult_t = int;
constexpr ncclResult_t ncclSuccess = 0;
constexpr ncclResult_t ncclInvalidArgument = 4;
constexpr ncclResult_t ncclInvalidUsage = 5;
constexpr ncclResult_t ncclRemoteError = 6;
constexpr int ncclFloat32 = 7;
constexpr int ncclSum = 0;

typedef struct {
  char internal[128];
} ncclUniqueId;

std::mutex mutex;
std::condition_variable changed;

struct Failure {
  std::string call;
  int rank = 0;
  ncclResult_t error = ncclSuccess;
};
Failure failure;

struct World {
  int size = 0;
  int joined = 0;
  // Of the sum that is under way.
  int asked = 0, left = 0;
  std::vector<float*> data;
  std::vector<size_t> counts;
  bool is_aborted = false;
};
std::map<std::string, World> worlds;
int ids = 0;
int open = 0;

struct ncclComm {
  std::string id;
  int rank;
};

ncclResult_t Answer(const char* call, int rank) {
  return failure.call == call && failure.rank == rank ? failure.error : ncclSuccess;
}

// All ranks' numbers where all want them.
void AddUp(World& world) {
  for (size_t i = 0; i < world.counts.front(); ++i) {
    float sum = 0;
    for (const float* data : world.data) sum += data[i];
    for (float* data : world.data) data[i] = sum;
  }
}

// ---- on the streams of tests/standin_cuda, where that is there

using Enqueue = int(void* stream, std::function<void()> work, std::function<bool()> is_ready);
Enqueue* FindEnqueue() {
  return reinterpret_cast<Enqueue*>(dlsym(RTLD_DEFAULT, "standin_cuda_enqueue"));
}

// The sum begins when the streams of all ranks have come to it.
ncclResult_t EnqueueSum(Enqueue& enqueue, const ncclComm& comm, float* data, size_t count,
                        void* stream) {
  World* const world = &worlds[comm.id];
  const auto rank = static_cast<size_t>(comm.rank);
  const auto is_ready = [world, rank, data, count, has_come = false]() mutable {
    const std::lock_guard lock(mutex);
    if (world->is_aborted) return true;
    if (!has_come && world->left > 0) return false;  // Some have still to leave the one before.
    if (!std::exchange(has_come, true)) {
      world->data[rank] = data;
      world->counts[rank] = count;
      if (++world->asked == world->size) {
        AddUp(*world);
        world->left = world->size;
      }
    }
    return world->left > 0;
  };
  const auto leave = [world] {
    const std::lock_guard lock(mutex);
    if (!world->is_aborted && --world->left == 0) world->asked = 0;
  };
  return enqueue(stream, leave, is_ready);
}

}  // namespace

extern "C" {

void standin_nccl_fail(const char* call, int rank, int error) {
  const std::lock_guard lock(mutex);
  failure = call == nullptr ? Failure{} : Failure{call, rank, error};
}

int standin_nccl_open() {
  const std::lock_guard lock(mutex);
  return open;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error"
                                   : "unhandled system error";
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(mutex);
  std::memset(id->internal, 0xab, sizeof id->internal);  // All bytes count, and none is a sign.
  id->internal[0] = static_cast<char>(++ids);
  return Answer("ncclGetUniqueId", 0);
}

ncclResult_t ncclCommInitRank(ncclComm** made, int size, ncclUniqueId id, int rank) {
  std::unique_lock lock(mutex);
  if (const ncclResult_t answer = Answer("ncclCommInitRank", rank)) return answer;
  const std::string key(id.internal, sizeof id.internal);
  if (key[0] == 0 || std::count(key.begin() + 1, key.end(), static_cast<char>(0xab)) != 127) {
    return ncclInvalidArgument;
  }
  World& world = worlds[key];
  world.size = size;
  world.data.resize(static_cast<size_t>(size));
  world.counts.resize(static_cast<size_t>(size));
  ++world.joined;
  changed.notify_all();
  // One that fails keeps nobody here: its failure is known.
  changed.wait(lock, [&] { return world.joined == size || failure.call == "ncclCommInitRank"; });
  ++open;
  *made = new ncclComm{key, rank};
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm* comm) {
  const std::lock_guard lock(mutex);
  worlds[comm->id].is_aborted = true;
  changed.notify_all();
  --open;
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm* comm, ncclResult_t* error) {
  const std::lock_guard lock(mutex);
  *error = Answer("async", comm->rank);
  return Answer("ncclCommGetAsyncError", comm->rank);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, int type, int operation,
                           ncclComm* comm, void* stream) {
  std::unique_lock lock(mutex);
  if (const ncclResult_t answer = Answer("ncclAllReduce", comm->rank)) return answer;
  if (type != ncclFloat32 || operation != ncclSum || from != to || stream == nullptr) {
    return ncclInvalidArgument;
  }
  if (Enqueue* const enqueue = FindEnqueue()) {
    const ncclComm of_rank = *comm;
    lock.unlock();
    return EnqueueSum(*enqueue, of_rank, static_cast<float*>(to), count, stream);
  }
  World& world = worlds[comm->id];
  changed.wait(lock, [&] { return world.left == 0; });  // The sum before this one.
  world.data[static_cast<size_t>(comm->rank)] = static_cast<float*>(to);
  world.counts[static_cast<size_t>(comm->rank)] = count;
  if (++world.asked == world.size) {
    const bool is_alike = std::count(world.counts.begin(), world.counts.end(), count) == world.size;
    if (is_alike) AddUp(world);
    world.left = is_alike ? world.size : -1;
    changed.notify_all();
  }
  changed.wait(lock, [&] { return world.left != 0 || world.is_aborted; });
  if (world.left <= 0) return ncclInvalidUsage;
  if (--world.left == 0) world.asked = 0;
  changed.notify_all();
  return ncclSuccess;
}
}
