// Where a Kubernetes API server is, and as whom it is spoken to: by a kubeconfig file, or as the
// service account of the pod in which this runs.
//
// Thread rule: one thread at a time.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

// A program that gives credentials (client-go's exec plugins, such as gke-gcloud-auth-plugin).
struct KubeExec {
  std::string api_version;
  std::vector<std::string> words;
  std::vector<std::string> environment;  // "NAME=value".
};

struct KubeAccess {
  std::string server;                      // "https://10.0.0.1:6443", without a last '/'.
  std::string name_space;                  // The one that was told with it; may be empty.
  std::string ca_file;                     // PEM; empty: the machine's authorities.
  std::string certificate_file, key_file;  // Of the client; both or none.
  std::string token;                       // Empty: none, or as the next two say.
  std::string token_file;                  // Read anew for each request: it is exchanged by others.
  std::optional<KubeExec> exec;
};

// Where each pod finds its service account.
inline constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// As kubectl looks for it: `kubeconfig`; where that is empty the files that KUBECONFIG names, then
// ~/.kube/config, then the pod's service account, in the folder `account`. `context`: of the file;
// empty: its current one. What the file holds itself (certificate-authority-data) is written into
// `folder`. Errors are one line with the file and the key.
Result<KubeAccess> FindKubeAccess(const std::string& kubeconfig, const std::string& context,
                                  const std::string& folder,
                                  const std::string& account = kServiceAccount);

// ---- parts of it

// The document of a kubeconfig file; paths in it begin at `base_dir`.
Result<KubeAccess> ReadKubeConfig(std::string_view text, const std::string& file,
                                  const std::string& context, const std::string& folder);

// The token to be sent now; empty: there is none to be sent. Keeps what a program has given until
// it expires, or is `refused`.
class KubeToken {
 public:
  explicit KubeToken(const KubeAccess& access) : access_(access) {}
  Result<std::string> Get(Instant now, const std::atomic<bool>& is_cancelled);
  void Refused() { given_.clear(); }

 private:
  Result<std::string> Ask(const std::atomic<bool>& is_cancelled);

  const KubeAccess& access_;
  std::string given_;
  Instant expires_;
};

}  // namespace tune
