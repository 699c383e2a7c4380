#include "tuner/engines/kube_watch.h"

#include <utility>

#include "core/posix/real_clock.h"
#include "core/posix/threads.h"
#include "tuner/engines/kube_objects.h"

namespace tune {
namespace {

constexpr int kForbidden = 403;
constexpr Duration kStreamLasts = Seconds(1);

Value Map() { return Value::MakeMap(); }

void Copy(const Value& from, std::string_view path, Value& to) {
  const Value* const field = KubeField(from, path);
  if (field != nullptr) to.Set(path.substr(path.rfind('.') + 1), *field);
}

// Without what nobody reads, which is most of it.
Value Essence(const Value& object) {
  Value metadata = Map(), spec = Map(), essence = Map();
  for (const char* const path : {"metadata.name", "metadata.labels", "metadata.creationTimestamp",
                                 "metadata.deletionTimestamp"}) {
    Copy(object, path, metadata);
  }
  Copy(object, "spec.suspend", spec);
  essence.Set("metadata", std::move(metadata));
  essence.Set("spec", std::move(spec));
  Copy(object, "status", essence);
  return essence;
}

}  // namespace

void KubeMirror::Reset(const KubeList& list) {
  objects_.clear();
  for (const Value& object : list.items) Keep(object);
  version_ = list.version;
}

bool KubeMirror::Take(const Value& event) {
  const std::string type = KubeText(event, "type");
  const Value* const object = KubeField(event, "object");
  const std::string version = KubeText(event, "object.metadata.resourceVersion");
  if (object == nullptr || version.empty() || type == "ERROR") return false;
  if (type == "ADDED" || type == "MODIFIED") {
    Keep(*object);
  } else if (type == "DELETED") {
    objects_.erase(KubeText(*object, "metadata.name"));
  } else if (type != "BOOKMARK") {
    return false;
  }
  version_ = version;
  return true;
}

void KubeMirror::Keep(const Value& object) {
  objects_[KubeText(object, "metadata.name")] = Essence(object);
}

std::vector<Value> KubeMirror::items() const {
  std::vector<Value> items;
  items.reserve(objects_.size());
  for (const auto& [name, object] : objects_) items.push_back(object);
  return items;
}

Result<std::vector<Value>> KubeWatch::Items(KubeApi& api, const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    if (goes_on_) return mirror_.items();
  }
  End();
  TUNE_ASSIGN_OR_RETURN(const KubeList list, api.List(path_, stop));
  const std::lock_guard lock(mutex_);
  mirror_.Reset(list);
  if (!is_forbidden_ && !list.version.empty()) {
    goes_on_ = true;
    thread_ = BeginThread<std::jthread>([this](const std::stop_token& over) { Follow(over); });
  }
  return mirror_.items();
}

// The server ends a stream now and then; the next one goes on from there.
void KubeWatch::Follow(const std::stop_token& stop) {
  const Result<std::unique_ptr<KubeApi>> api = make_();
  bool goes_on = api.ok();
  while (goes_on && !stop.stop_requested()) {
    std::string version;
    {
      const std::lock_guard lock(mutex_);
      version = mirror_.version();
    }
    bool is_known = true, has_come = false;
    const Instant begun = RealClock().Now();
    const Result<int> ended = (*api)->Watch(
        path_, version,
        [&](const Value& event) {
          const std::lock_guard lock(mutex_);
          is_known = mirror_.Take(event);
          has_come = true;
          return is_known;
        },
        stop);
    // One that is cut off at once, by a proxy, would be asked for again and again.
    const bool has_lasted = has_come || RealClock().Now() >= begun + kStreamLasts;
    goes_on = ended.ok() && *ended == 200 && is_known && has_lasted;
    if (ended.ok() && *ended == kForbidden) {
      const std::lock_guard lock(mutex_);
      is_forbidden_ = true;
    }
  }
  const std::lock_guard lock(mutex_);
  goes_on_ = false;
}

void KubeWatch::End() { thread_.reset(); }

}  // namespace tune
