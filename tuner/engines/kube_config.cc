#include "tuner/engines/kube_config.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <span>

#include "core/base64.h"
#include "core/hash.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/read_bytes.h"
#include "tuner/engines/program_call.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kExecPatience = Seconds(60);
// A token whose end nobody told is asked for again after this.
constexpr Duration kUntold = Seconds(600);
constexpr Duration kBeforeEnd = Seconds(60);

std::string TextOf(const Value* map, std::string_view key) {
  const Value* const value = map != nullptr && map->is_map() ? map->Find(key) : nullptr;
  return value != nullptr && value->is_string() ? value->AsString() : "";
}

// The `inner` of the entry of `list` with that name; null: there is none.
const Value* Named(const Value& document, std::string_view list, const std::string& name,
                   std::string_view inner) {
  const Value* const entries = document.Find(list);
  if (entries == nullptr || !entries->is_list()) return nullptr;
  for (const Value& entry : entries->AsList()) {
    if (TextOf(&entry, "name") == name) return entry.Find(inner);
  }
  return nullptr;
}

struct KubeFile {
  Value document;
  std::string path;
};

std::string NamesOf(const std::vector<KubeFile>& files, std::string_view list) {
  std::string names;
  for (const KubeFile& file : files) {
    const Value* const entries = file.document.Find(list);
    if (entries == nullptr || !entries->is_list()) continue;
    for (const Value& entry : entries->AsList()) {
      names += (names.empty() ? "" : ", ") + TextOf(&entry, "name");
    }
  }
  return names.empty() ? "none" : names;
}

// Several files are one, as kubectl has it: of two that have the same, the first one counts.
class Reader {
 public:
  Reader(std::vector<KubeFile> files, const std::string& folder)
      : files_(std::move(files)), folder_(folder) {}

  Result<KubeAccess> Read(std::string context) {
    for (const KubeFile& file : files_) {
      if (context.empty()) context = TextOf(&file.document, "current-context");
    }
    if (context.empty()) {
      return Wrong("current-context: is missing; name one of its contexts with context: (it has " +
                   NamesOf(files_, "contexts") + ")");
    }
    const Value* const chosen = Find("contexts", context, "context");
    if (chosen == nullptr) {
      return Wrong("contexts: there is no '" + context + "'; it has " +
                   NamesOf(files_, "contexts"));
    }
    KubeAccess access;
    access.name_space = TextOf(chosen, "namespace");
    TUNE_RETURN_IF_ERROR(ReadCluster(TextOf(chosen, "cluster"), access));
    TUNE_RETURN_IF_ERROR(ReadUser(TextOf(chosen, "user"), access));
    return access;
  }

 private:
  Status Wrong(const std::string& what) const {
    std::string where;
    for (const KubeFile& file : files_) {
      if (at_ == nullptr || at_ == &file) where += (where.empty() ? "" : ":") + file.path;
    }
    return InvalidArgument(where + ": " + what);
  }

  // As Named, in the first file that has it; that one is `at_` then.
  const Value* Find(std::string_view list, const std::string& name, std::string_view inner) {
    for (const KubeFile& file : files_) {
      at_ = &file;
      if (const Value* const found = Named(file.document, list, name, inner)) return found;
    }
    at_ = nullptr;
    return nullptr;
  }

  Status ReadCluster(const std::string& name, KubeAccess& access) {
    const Value* const cluster = Find("clusters", name, "cluster");
    if (cluster == nullptr) {
      return Wrong("clusters: there is no '" + name + "'; it has " + NamesOf(files_, "clusters"));
    }
    access.server = TextOf(cluster, "server");
    while (access.server.ends_with('/')) access.server.pop_back();
    if (!access.server.starts_with("https://") && !access.server.starts_with("http://")) {
      return Wrong("clusters." + name + ".server: read '" + access.server +
                   "', expected an address such as https://10.0.0.1:6443");
    }
    if (const Value* const blind = cluster->Find("insecure-skip-tls-verify");
        blind != nullptr && *blind == Value(true)) {
      return Wrong("clusters." + name +
                   ".insecure-skip-tls-verify: anybody could be that server, and would get the "
                   "token with which workers join; expected certificate-authority in its place");
    }
    return File(*cluster, "certificate-authority", access.ca_file);
  }

  Status ReadUser(const std::string& name, KubeAccess& access) {
    const Value* const user = Find("users", name, "user");
    if (user == nullptr) {
      return Wrong("users: there is no '" + name + "'; it has " + NamesOf(files_, "users"));
    }
    if (!user->is_map()) return OkStatus();
    access.token = TextOf(user, "token");
    access.token_file = Absolute(TextOf(user, "tokenFile"));
    TUNE_RETURN_IF_ERROR(File(*user, "client-certificate", access.certificate_file));
    TUNE_RETURN_IF_ERROR(File(*user, "client-key", access.key_file));
    for (const char* const other : {"username", "auth-provider"}) {
      if (user->Find(other) == nullptr) continue;
      return Wrong("users." + name + "." + other +
                   ": Kubernetes knows that no more; expected token, client-certificate or exec");
    }
    const Value* const exec = user->Find("exec");
    return exec == nullptr ? OkStatus() : ReadExec(name, *exec, access.exec.emplace());
  }

  Status ReadExec(const std::string& name, const Value& exec, KubeExec& out) {
    const std::string command = TextOf(&exec, "command");
    if (command.empty()) return Wrong("users." + name + ".exec.command: is missing");
    // A name with a folder in it begins where the file lies.
    out.words = {command.find('/') == std::string::npos ? command : Absolute(command)};
    out.api_version = TextOf(&exec, "apiVersion");
    if (const Value* const arguments = exec.Find("args");
        arguments != nullptr && arguments->is_list()) {
      for (const Value& one : arguments->AsList()) {
        if (!one.is_string()) return Wrong("users." + name + ".exec.args: expected texts");
        out.words.push_back(one.AsString());
      }
    }
    if (const Value* const set = exec.Find("env"); set != nullptr && set->is_list()) {
      for (const Value& one : set->AsList()) {
        out.environment.push_back(TextOf(&one, "name") + "=" + TextOf(&one, "value"));
      }
    }
    return OkStatus();
  }

  // Paths begin where the file lies.
  std::string Absolute(const std::string& path) const {
    return path.empty() ? ""
                        : (fs::path(at_->path).parent_path() / path).lexically_normal().string();
  }

  // `key`: names a file, or `key`-data holds it.
  Status File(const Value& map, const std::string& key, std::string& path) {
    path = Absolute(TextOf(&map, key));
    const std::string data = TextOf(&map, key + "-data");
    if (data.empty()) return OkStatus();
    const std::optional<std::string> bytes = DecodeBase64(data, Base64::kPadded);
    if (!bytes) return Wrong(key + "-data: expected base64");
    path = folder_ + "/" + key + "-" + HashToHex(Xxh64(*bytes)) + ".pem";
    const FileDescriptor file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) return ErrnoStatus("write", path);
    return WriteAll(file.get(), std::as_bytes(std::span(*bytes)), path);
  }

  const std::vector<KubeFile> files_;
  const std::string& folder_;
  const KubeFile* at_ = nullptr;  // Where the last thing lies that was looked for; null: nowhere.
};

// As every pod finds it.
std::optional<KubeAccess> InCluster(const std::string& account) {
  const std::string host = EnvironmentText("KUBERNETES_SERVICE_HOST");
  const std::string port = EnvironmentText("KUBERNETES_SERVICE_PORT");
  std::error_code error;
  if (host.empty() || port.empty() || !fs::exists(account + "/token", error)) return std::nullopt;
  KubeAccess access;
  const bool is_v6 = host.find(':') != std::string::npos;
  access.server = "https://" + (is_v6 ? "[" + host + "]" : host) + ":" + port;
  access.token_file = account + "/token";
  access.ca_file = account + "/ca.crt";
  access.name_space = ReadBytes(account + "/namespace");
  return access;
}

// "2026-11-29T08:00:00Z"; nothing: it is no such text.
std::optional<Instant> ReadTime(const std::string& text) {
  std::tm parts = {};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return std::nullopt;
  return Instant{static_cast<int64_t>(timegm(&parts)) * 1'000'000};
}

Result<KubeFile> ParseKubeFile(std::string_view text, const std::string& path) {
  Result<Value> document = ParseYaml(text);
  if (!document.ok()) return InFile(path, document.status());
  if (document->is_null()) document = Value::MakeMap();  // An empty file names nothing.
  if (!document->is_map()) return InvalidArgument(path + ": is no kubeconfig; expected a map");
  return KubeFile{*std::move(document), path};
}

// "a:b"; those that are not there are passed over, where another one is.
std::vector<std::string> PathsIn(const std::string& list) {
  std::vector<std::string> paths;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) paths.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto is_there = [](const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
  };
  if (std::any_of(paths.begin(), paths.end(), is_there))
    std::erase_if(paths, std::not_fn(is_there));
  return paths;
}

}  // namespace

Result<KubeAccess> ReadKubeConfig(std::string_view text, const std::string& file,
                                  const std::string& context, const std::string& folder) {
  TUNE_ASSIGN_OR_RETURN(KubeFile read, ParseKubeFile(text, file));
  std::vector<KubeFile> files;
  files.push_back(std::move(read));
  return Reader(std::move(files), folder).Read(context);
}

Result<KubeAccess> FindKubeAccess(const std::string& kubeconfig, const std::string& context,
                                  const std::string& folder, const std::string& account) {
  std::vector<std::string> paths = {kubeconfig};
  if (kubeconfig.empty()) paths = PathsIn(EnvironmentText("KUBECONFIG"));
  if (paths.empty()) {
    const std::string usual = EnvironmentText("HOME") + "/.kube/config";
    std::error_code error;
    if (fs::exists(usual, error)) paths.push_back(usual);
  }
  if (paths.empty()) {
    if (std::optional<KubeAccess> own = InCluster(account)) return *std::move(own);
    return InvalidArgument(
        "no Kubernetes is known here: expected kubeconfig: FILE, KUBECONFIG, ~/.kube/config, or "
        "the service account of a pod");
  }
  std::vector<KubeFile> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::file_size(path, error) == 0 && !error) {
      files.push_back({Value::MakeMap(), path});
      continue;
    }
    TUNE_ASSIGN_OR_RETURN(const std::string text, ReadDocumentText(path, "a kubeconfig"));
    TUNE_ASSIGN_OR_RETURN(KubeFile file, ParseKubeFile(text, path));
    files.push_back(std::move(file));
  }
  return Reader(std::move(files), folder).Read(context);
}

Result<std::string> KubeToken::Get(Instant now, const std::atomic<bool>& is_cancelled) {
  if (!access_.token_file.empty()) {
    std::string token = ReadBytes(access_.token_file);
    while (token.ends_with('\n')) token.pop_back();
    if (!token.empty()) return token;
    return Unavailable("cannot read " + access_.token_file);
  }
  if (!access_.exec) return access_.token;
  if (!given_.empty() && now + kBeforeEnd < expires_) return given_;
  TUNE_ASSIGN_OR_RETURN(const std::string text, Ask(is_cancelled));
  const Result<Value> answer = ParseJson(text);
  const Value* const status = answer.ok() && answer->is_map() ? answer->Find("status") : nullptr;
  std::string token = TextOf(status, "token");
  if (token.empty()) {
    return FailedPrecondition(access_.exec->words[0] +
                              ": gave no token; expected an ExecCredential with status.token");
  }
  expires_ = ReadTime(TextOf(status, "expirationTimestamp")).value_or(now + kUntold);
  given_ = token;
  return token;
}

Result<std::string> KubeToken::Ask(const std::atomic<bool>& is_cancelled) {
  ProgramCall call;
  call.words = access_.exec->words;
  call.environment = access_.exec->environment;
  Value about = Value::MakeMap();
  about.Set("kind", "ExecCredential");
  about.Set("apiVersion", access_.exec->api_version);
  Value spec = Value::MakeMap();
  spec.Set("interactive", false);
  about.Set("spec", std::move(spec));
  call.environment.push_back("KUBERNETES_EXEC_INFO=" + ToJson(about));
  call.patience = kExecPatience;
  TUNE_ASSIGN_OR_RETURN(const CallAnswer answer, CallProgram(call, is_cancelled));
  if (answer.is_good()) return answer.out;
  return FailedPrecondition(call.words[0] + ": " + answer.Reason());
}

}  // namespace tune
