#include "trial_runner/grpc/open_connections.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/posix/file_descriptor.h"

namespace tune {
namespace {

constexpr std::chrono::milliseconds kLookPause(50);

// A descriptor that somebody else closes: it is the same socket as long as its inode is.
// By its name here: whoever has it now may close it meanwhile, and what it is then is what is
// asked.
ino_t InodeOf(int fd) {
  struct stat info = {};
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return stat(name.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

// "10.0.0.7:41230" to "10.0.0.7".
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

}  // namespace

ListenerRoom RoomWithin(int64_t descriptor_limit) {
  constexpr int64_t kReserveMin = 48;
  // A handshake takes some milliseconds, and its state 100 KiB of memory.
  constexpr int64_t kStrangersMin = 4;
  constexpr int64_t kStrangersMax = 1024;
  const int64_t reserve = std::max(kReserveMin, descriptor_limit / 8);
  const int64_t usable = std::max<int64_t>(20, descriptor_limit - reserve);
  ListenerRoom room;
  room.silent_max = usable * 3 / 5;
  const int64_t handed_on = usable - room.silent_max;
  room.stranger_max = std::clamp(handed_on / 4, kStrangersMin, kStrangersMax);
  room.open_max = std::max(handed_on - room.stranger_max, kStrangersMin);
  room.open_of_one_max = std::min(room.open_max, std::max<int64_t>(4, handed_on / 2));
  return room;
}

OpenConnections::Room OpenConnections::Add(int fd, const Peer& peer) {
  const std::lock_guard lock(mutex_);
  if (const Room room = MakeRoom(peer.owner); room != Room::kTaken) return room;
  const uint64_t id = ++last_id_;
  open_.emplace(id, Open{fd, InodeOf(fd), peer});
  by_address_[peer.address] = id;
  ++count_of_[peer.owner];
  strangers_of_[peer.owner].insert(id);
  ++stranger_count_;
  return Room::kTaken;
}

int64_t OpenConnections::CountOf(const std::string& owner) const {
  const auto found = count_of_.find(owner);
  return found == count_of_.end() ? 0 : found->second;
}

bool OpenConnections::IsFull(const std::string& owner) const {
  return static_cast<int64_t>(open_.size()) >= room_.open_max ||
         stranger_count_ >= room_.stranger_max || CountOf(owner) >= room_.open_of_one_max;
}

// Requires mutex_.
OpenConnections::Room OpenConnections::MakeRoom(const std::string& owner) {
  while (!leaving_.empty() && InodeOf(leaving_.front().fd) != leaving_.front().inode) {
    leaving_.pop_front();
  }
  // One look at them all takes a while, and a crowd comes back at once.
  const Moment now = std::chrono::steady_clock::now();
  if (IsFull(owner) && now >= look_again_at_) {
    ForgetClosed();
    look_again_at_ = now + kLookPause;
  }
  while (IsFull(owner)) {
    const bool is_about_owner = CountOf(owner) >= room_.open_of_one_max;
    const auto own = strangers_of_.find(owner);
    std::optional<uint64_t> oldest;
    if (!is_about_owner) {
      oldest = OldestOfMost();
    } else if (own != strangers_of_.end()) {
      oldest = *own->second.begin();
    }
    if (!oldest && !is_about_owner) {
      Note("workers hold all " + std::to_string(open_.size()) +
           " connections that the limit of open files (ulimit -n) allows; more are closed");
    }
    if (!oldest) return Room::kNone;
    if (static_cast<int64_t>(leaving_.size()) >= room_.stranger_max) return Room::kLater;
    ShutDown(*oldest);
  }
  return Room::kTaken;
}

std::optional<uint64_t> OpenConnections::OldestOfMost() const {
  const auto most = std::max_element(
      strangers_of_.begin(), strangers_of_.end(), [](const auto& a, const auto& b) {
        return a.second.size() != b.second.size() ? a.second.size() < b.second.size()
                                                  : *a.second.begin() > *b.second.begin();
      });
  return most == strangers_of_.end() ? std::nullopt : std::optional(*most->second.begin());
}

// Its number may be another file's by now, and must not be while we act: so by a copy.
void OpenConnections::ShutDown(uint64_t id) {
  const Open open = open_.at(id);
  const FileDescriptor copy(fcntl(open.fd, F_DUPFD_CLOEXEC, 0));
  if (copy.is_open() && InodeOf(copy.get()) == open.inode) {
    const size_t count = strangers_of_.at(open.peer.owner).size();
    Note("a crowd of connections that do not join holds its places at the listener: " +
         std::to_string(stranger_count_) + ", " + std::to_string(count) + " of them from " +
         HostOf(open.peer.address) +
         "; the oldest of whoever has most are closed, workers still get in");
    shutdown(copy.get(), SHUT_RDWR);
    leaving_.push_back(open);
  }
  Forget(id);
}

void OpenConnections::Forget(uint64_t id) {
  const auto found = open_.find(id);
  const Open& open = found->second;
  if (const auto count = count_of_.find(open.peer.owner); --count->second == 0) {
    count_of_.erase(count);
  }
  if (!open.is_known) {
    const auto strangers = strangers_of_.find(open.peer.owner);
    strangers->second.erase(id);
    if (strangers->second.empty()) strangers_of_.erase(strangers);
    --stranger_count_;
  }
  const auto address = by_address_.find(open.peer.address);
  if (address != by_address_.end() && address->second == id) by_address_.erase(address);
  open_.erase(found);
}

void OpenConnections::ForgetClosed() {
  const auto is_closed = [](const Open& open) { return InodeOf(open.fd) != open.inode; };
  for (auto it = open_.begin(); it != open_.end();) {
    const auto [id, open] = *it++;
    if (is_closed(open)) Forget(id);
  }
  std::erase_if(leaving_, is_closed);
}

void OpenConnections::SetKnown(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return;
  Open& open = open_.at(found->second);
  if (std::exchange(open.is_known, true)) return;
  const auto strangers = strangers_of_.find(open.peer.owner);
  strangers->second.erase(found->second);
  if (strangers->second.empty()) strangers_of_.erase(strangers);
  --stranger_count_;
}

void OpenConnections::NoteSilentCrowd(int64_t count, const Peer& most, int64_t count_of_most) {
  const std::lock_guard lock(mutex_);
  Note("a crowd of connections that say nothing holds its places at the listener: " +
       std::to_string(count) + ", " + std::to_string(count_of_most) + " of them from " +
       HostOf(most.address) + "; the oldest of whoever has most are closed, workers still get in");
}

// Requires mutex_.
void OpenConnections::Note(std::string text) {
  if (!std::exchange(has_noted_, true)) notice_ = std::move(text);
}

std::optional<std::string> OpenConnections::TakeNotice() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notice_, std::nullopt);
}

}  // namespace tune
