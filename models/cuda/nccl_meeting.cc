#include "models/cuda/nccl_meeting.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tune::models::cuda {
namespace {

using Bytes = std::vector<uint8_t>;

// What each rank says, in the order of ranks: each brings zeros in the others' places.
Result<std::vector<Bytes>> TellEachOther(AllReduce& ranks, const Bytes& mine) {
  const size_t size = mine.size(), world_size = static_cast<size_t>(ranks.world_size());
  std::vector<double> numbers(size * world_size);
  const size_t place = size * static_cast<size_t>(ranks.rank());
  std::copy(mine.begin(), mine.end(), numbers.begin() + static_cast<ptrdiff_t>(place));
  TUNE_RETURN_IF_ERROR(ranks.Sum(std::span<double>(numbers)));
  std::vector<Bytes> said(world_size, Bytes(size));
  for (size_t i = 0; i < numbers.size(); ++i) {
    said[i / size][i % size] = static_cast<uint8_t>(numbers[i]);
  }
  return said;
}

// Whether all ranks succeeded, of which none knows more of another.
Status AllSucceed(AllReduce& ranks, const Status& mine, const char* what) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<Bytes> said,
                        TellEachOther(ranks, {static_cast<uint8_t>(mine.ok() ? 1 : 0)}));
  if (!mine.ok()) return FailedPrecondition(mine.message());
  for (size_t rank = 0; rank < said.size(); ++rank) {
    if (said[rank][0] != 0) continue;
    return FailedPrecondition("rank " + std::to_string(rank) + " " + what);
  }
  return OkStatus();
}

Status HaveDevicesOfTheirOwn(AllReduce& ranks, const DeviceUuid& device) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<Bytes> devices,
                        TellEachOther(ranks, Bytes(device.begin(), device.end())));
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    const auto first = std::find(devices.begin(), devices.end(), devices[rank]);
    const auto other = static_cast<size_t>(first - devices.begin());
    if (other == rank) continue;
    return FailedPrecondition("ranks " + std::to_string(other) + " and " + std::to_string(rank) +
                              " share a device");
  }
  return OkStatus();
}

// The first rank's.
Result<Nccl::Id> AgreedId(AllReduce& ranks, const Nccl& nccl) {
  Nccl::Id id = {};
  Status made;
  if (ranks.rank() == 0) {
    Result<Nccl::Id> mine = nccl.NewId();
    made = mine.status();
    if (mine.ok()) id = *mine;
  }
  TUNE_RETURN_IF_ERROR(AllSucceed(ranks, made, "cannot begin with NCCL; its log says why"));
  TUNE_ASSIGN_OR_RETURN(const std::vector<Bytes> said,
                        TellEachOther(ranks, Bytes(id.begin(), id.end())));
  std::copy(said.front().begin(), said.front().end(), id.begin());
  return id;
}

}  // namespace

Result<std::unique_ptr<Nccl>> MeetByNccl(AllReduce& ranks, const DeviceUuid& device) {
  Result<std::unique_ptr<Nccl>> nccl = Nccl::Load();
  TUNE_RETURN_IF_ERROR(AllSucceed(ranks, nccl.status(), "has no NCCL"));
  TUNE_RETURN_IF_ERROR(HaveDevicesOfTheirOwn(ranks, device));
  TUNE_ASSIGN_OR_RETURN(const Nccl::Id id, AgreedId(ranks, **nccl));
  const Status connected = (*nccl)->Connect(id, ranks.rank(), ranks.world_size());
  TUNE_RETURN_IF_ERROR(AllSucceed(ranks, connected, "cannot connect by NCCL; its log says why"));
  return nccl;
}

}  // namespace tune::models::cuda
