// What a Kubernetes API server has of one kind: listed once, then watched, so that thousands of
// objects cost no more than what changes of them.
//
// Source: the Kubernetes API, "Efficient detection of changes" (resourceVersion, bookmarks, 410).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "tuner/engines/kube_api.h"

namespace tune {

// The objects by their names. Of each, what kube_objects.h reads.
//
// Thread rule: one thread at a time.
class KubeMirror {
 public:
  void Reset(const KubeList& list);
  // {"type": ..., "object": ...}; false: it is none, or the server says that what was known is too
  // old to go on from.
  bool Take(const Value& event);

  const std::string& version() const { return version_; }  // To go on from.
  std::vector<Value> items() const;

 private:
  void Keep(const Value& object);

  std::string version_;
  std::map<std::string, Value> objects_;
};

// Thread rule: one thread; it has one of its own.
class KubeWatch {
 public:
  using ApiMaker = std::function<Result<std::unique_ptr<KubeApi>>()>;

  // `path`: of a list, with its selector. `make`: for the connection on which changes come.
  KubeWatch(std::string path, ApiMaker make) : path_(std::move(path)), make_(std::move(make)) {}
  ~KubeWatch() { End(); }
  KubeWatch(const KubeWatch&) = delete;
  KubeWatch& operator=(const KubeWatch&) = delete;

  // As the watch knows it, as long as it goes on; else listed by `api`, and watched from there on.
  // Where watching is forbidden it is listed each time.
  Result<std::vector<Value>> Items(KubeApi& api, const std::stop_token& stop);

 private:
  void Follow(const std::stop_token& stop);
  void End();

  const std::string path_;
  const ApiMaker make_;
  std::mutex mutex_;  // Over those below.
  KubeMirror mirror_;
  bool goes_on_ = false;
  bool is_forbidden_ = false;
  std::optional<std::jthread> thread_;  // The caller's.
};

}  // namespace tune
