#include "tests/standin_cuda/device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

namespace standin_cuda {
namespace {

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void Allow(const Device& device, int protection) {
  if (device.arena == 0) return;
  if (mprotect(reinterpret_cast<void*>(device.arena), device.arena_end - device.arena,
               protection) != 0) {
    Die("mprotect failed");
  }
}

bool IsIn(const std::map<std::uintptr_t, size_t>& allocations, const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  auto found = allocations.upper_bound(begin);
  if (found == allocations.begin()) return false;
  --found;
  return begin + bytes <= found->first + found->second;
}

bool MayRun(const Work& work) {
  return std::all_of(work.after.begin(), work.after.end(),
                     [](const WorkPointer& before) { return before->is_done; }) &&
         (work.is_ready == nullptr || work.is_ready());
}

}  // namespace

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "standin_cuda: %s\n", what);
  std::abort();
}

Device::Device()
    : random(Setting("TUNE_STANDIN_CUDA_SEED", 1)),
      bytes(Setting("TUNE_STANDIN_CUDA_BYTES", uint64_t{2} << 30)) {}

Device& TheDevice() {
  static Device& device = *new Device();
  return device;
}

thread_local int device_of_thread = 0;

// ---- memory

size_t InPages(size_t bytes) { return (bytes + PageBytes() - 1) / PageBytes() * PageBytes(); }

MemoryOpen::MemoryOpen(const Device& device) : device_(device) {
  Allow(device_, PROT_READ | PROT_WRITE);
}
MemoryOpen::~MemoryOpen() { Allow(device_, PROT_NONE); }

bool IsOnDevice(const Device& device, const void* data, size_t bytes) {
  return IsIn(device.allocations, data, bytes);
}
bool IsPinned(const Device& device, const void* data, size_t bytes) {
  return IsIn(device.pinned, data, bytes);
}

std::uintptr_t FindRoom(Device& device, size_t bytes) {
  if (device.arena == 0) {
    const size_t size = 2 * InPages(device.bytes);
    void* const mapped =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) Die("there are no addresses for the device's memory");
    device.arena = reinterpret_cast<std::uintptr_t>(mapped);
    device.arena_end = device.arena + size;
  }
  std::uintptr_t begin = device.arena;
  for (const auto& [taken_begin, taken_bytes] : device.allocations) {
    if (taken_begin - begin >= bytes) break;
    begin = taken_begin + InPages(taken_bytes);
  }
  return device.arena_end - begin >= bytes ? begin : 0;
}

void CheckParameters(const Device& device, const void* parameters, size_t bytes) {
  for (size_t i = 0; i + sizeof(std::uintptr_t) <= bytes; i += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(parameters) + i, sizeof word);
    const auto* const address = reinterpret_cast<const void*>(word);
    if (word >= device.arena && word < device.arena_end) {
      if (!IsOnDevice(device, address, 0)) {
        Die("a kernel was given memory of the device that is not allocated");
      }
      continue;
    }
#if !defined(STANDIN_IS_SANITIZED)  // A sanitizer's own memory is where small numbers point.
    // What is no pointer is hardly ever where the host has memory.
    if (word >> 32 == 0 || word >> 47 != 0 || IsPinned(device, address, 0)) continue;
    void* const page = reinterpret_cast<void*>(word / PageBytes() * PageBytes());
    if (msync(page, PageBytes(), MS_ASYNC) == 0) Die("a kernel was given memory of the host");
#endif
  }
}

// ---- when it happens

bool RunOne(Device& device) {
  std::vector<size_t> able;
  for (size_t i = 0; i < device.waiting.size(); ++i) {
    if (MayRun(*device.waiting[i])) able.push_back(i);
  }
  if (able.empty()) return false;
  const size_t drawn = able[device.Draw(able.size())];
  const WorkPointer work = device.waiting[drawn];
  device.waiting.erase(device.waiting.begin() + static_cast<std::ptrdiff_t>(drawn));
  work->run();
  work->is_done = true;
  work->run = nullptr;
  work->after.clear();
  device.asked.notify_all();
  return true;
}

bool IsDone(const Tail& tail) {
  return std::all_of(tail.begin(), tail.end(),
                     [](const WorkPointer& work) { return work->is_done; });
}

Tail AllAsked(const Device& device) {
  Tail asked;
  std::copy_if(device.waiting.begin(), device.waiting.end(), std::back_inserter(asked),
               [](const WorkPointer& work) { return work->device == device_of_thread; });
  return asked;
}

void RunUntilDone(Device& device, Lock& lock, const Tail& tail) {
  while (!IsDone(tail)) {
    {
      const MemoryOpen open(device);
      while (!IsDone(tail) && RunOne(device)) {
      }
    }
    // Another thread may have to ask for something first: of NCCL's sums.
    if (!IsDone(tail)) device.asked.wait(lock);
  }
}

void RunSome(Device& device) {
  if (device.Draw(16) != 0) return;
  const MemoryOpen open(device);
  for (size_t count = device.Draw(16); count > 0 && RunOne(device);) --count;
}

// ---- captures

bool IsForbidden(const Device& device) {
  bool is_forbidden = false;
  for (const cudaStream_t stream : device.streams) {
    if (stream->capture == nullptr || stream->capture->thread != std::this_thread::get_id())
      continue;
    stream->capture->is_valid = false;
    is_forbidden = true;
  }
  return is_forbidden;
}

void Join(Tail& tail, const Tail& others) {
  for (const WorkPointer& work : others) {
    if (!work->is_done && std::find(tail.begin(), tail.end(), work) == tail.end()) {
      tail.push_back(work);
    }
  }
}

bool IsKnown(const Device& device, cudaStream_t stream) {
  return stream != nullptr && device.streams.contains(stream);
}

cudaError_t Add(Device& device, cudaStream_t stream, std::function<void()> run,
                std::function<bool()> is_ready) {
  if (!IsKnown(device, stream)) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr && !stream->capture->is_valid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  auto work = std::make_shared<Work>();
  work->run = std::move(run);
  work->is_ready = std::move(is_ready);
  work->after = std::exchange(stream->tail, {work});
  work->device = stream->device;
  if (stream->capture != nullptr) {
    stream->capture->works.push_back(std::move(work));
    return cudaSuccess;
  }
  device.waiting.push_back(std::move(work));
  device.asked.notify_all();
  RunSome(device);
  return cudaSuccess;
}

bool IsJoined(const Capture& capture, const Tail& end) {
  std::set<WorkPointer> before(end.begin(), end.end());
  for (auto work = capture.works.rbegin(); work != capture.works.rend(); ++work) {
    if (!before.contains(*work)) return false;
    before.insert((*work)->after.begin(), (*work)->after.end());
  }
  return true;
}

}  // namespace standin_cuda
