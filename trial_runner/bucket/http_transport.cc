#include "trial_runner/bucket/http_transport.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "trial_runner/bucket/curl_library.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace tune {
namespace {

constexpr long kBufferBytes = 512 << 10;

// What happens to one exchange while it lasts.
struct Course {
  const CurlLibrary& curl;
  CURL* handle;
  const HttpExchange& exchange;
  const std::stop_token& stop;
  S3Reply reply;
  size_t sent = 0;
  bool is_too_long = false;
  curl_off_t moved = 0;
  std::chrono::steady_clock::time_point moved_at = std::chrono::steady_clock::now();
  bool was_quiet = false;
};

size_t OnSend(char* buffer, size_t size, size_t count, void* data) {
  auto& course = *static_cast<Course*>(data);
  const std::string_view left = course.exchange.body.substr(course.sent);
  const size_t bytes = std::min(size * count, left.size());
  std::memcpy(buffer, left.data(), bytes);
  course.sent += bytes;
  return bytes;
}

int OnRewind(void* data, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Course*>(data)->sent = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

size_t OnBody(char* bytes, size_t size, size_t count, void* data) {
  auto& course = *static_cast<Course*>(data);
  const std::string_view piece(bytes, size * count);
  long status = 0;
  course.curl.easy_getinfo(course.handle, CURLINFO_RESPONSE_CODE, &status);
  if (course.exchange.take && (status == 200 || status == 206)) {
    return course.exchange.take(piece) ? piece.size() : 0;
  }
  if (course.reply.body.size() + piece.size() > limits::kS3AnswerBytesMax) {
    course.is_too_long = true;
    return 0;
  }
  course.reply.body += piece;
  return piece.size();
}

// Of a key management service, or of a key that comes with each request; the store's own
// encryption (AES256) leaves ETags what they are. Amazon's names, and Google's.
bool IsOfEncryption(std::string_view name, std::string_view value) {
  if (name == "x-amz-server-side-encryption") return value.starts_with("aws:");
  return name == "x-amz-server-side-encryption-customer-algorithm" ||
         name.starts_with("x-goog-encryption-");
}

size_t OnHeader(char* bytes, size_t size, size_t count, void* data) {
  auto& reply = static_cast<Course*>(data)->reply;
  std::string_view line(bytes, size * count);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  line.remove_prefix(colon + 1);
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with('\r') || line.ends_with('\n')) line.remove_suffix(1);
  if (name == "etag") reply.etag = line;
  if (name == "date") reply.date = line;
  if (name == "server") reply.server = line;
  if (name == "retry-after") reply.retry_after_s = std::atoi(std::string(line).c_str());
  if (name == "x-amz-bucket-region") reply.region = line;
  reply.is_encrypted |= IsOfEncryption(name, line);
  return size * count;
}

// At least once a second.
int OnProgress(void* data, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up) {
  auto& course = *static_cast<Course*>(data);
  if (course.stop.stop_requested()) return 1;
  const auto now = std::chrono::steady_clock::now();
  if (std::exchange(course.moved, down + up) != down + up) course.moved_at = now;
  const std::chrono::microseconds quiet(course.exchange.quiet.us);
  if (course.exchange.on_quiet && now - course.moved_at >= quiet &&
      !std::exchange(course.was_quiet, true)) {
    course.exchange.on_quiet();
  }
  return 0;
}

std::string HostOf(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  return url.substr(0, url.find('/', begin + 3));
}

}  // namespace

class CurlTransport::Handle {
 public:
  explicit Handle(const CurlLibrary& curl) : curl_(curl), handle_(curl.easy_init()) {
    TUNE_CHECK(handle_ != nullptr);
  }
  ~Handle() { curl_.easy_cleanup(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  S3Reply Do(const HttpExchange& exchange, const HttpIdentity& identity,
             const std::stop_token& stop) {
    Course course{curl_, handle_, exchange, stop, {}};
    curl_.easy_reset(handle_);
    curl_slist* const headers = SetRequest(exchange, course);
    SetManner(exchange, identity, course);
    char error[CURL_ERROR_SIZE] = {};
    curl_.easy_setopt(handle_, CURLOPT_ERRORBUFFER, error);
    const CURLcode code = curl_.easy_perform(handle_);
    curl_.slist_free_all(headers);
    if (code == CURLE_OK) {
      long status = 0;
      curl_off_t bytes = -1;
      curl_.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
      curl_.easy_getinfo(handle_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
      course.reply.http_status = static_cast<int>(status);
      course.reply.content_bytes = static_cast<int64_t>(bytes);
    } else if (course.is_too_long) {
      course.reply.broken = HostOf(exchange.url) + " answered too much";
    } else {
      course.reply.broken =
          HostOf(exchange.url) + ": " +
          (error[0] != '\0' ? std::string(error) : std::string(curl_.easy_strerror(code)));
    }
    return std::move(course.reply);
  }

 private:
  curl_slist* SetRequest(const HttpExchange& exchange, Course& course) {
    curl_.easy_setopt(handle_, CURLOPT_URL, exchange.url.c_str());
    // It is signed as it stands there.
    curl_.easy_setopt(handle_, CURLOPT_PATH_AS_IS, 1L);
    curl_slist* headers = curl_.slist_append(nullptr, "Expect:");
    headers = curl_.slist_append(headers, "Accept:");
    headers = curl_.slist_append(headers, "Content-Type:");
    for (const auto& [name, value] : exchange.headers) {
      headers = curl_.slist_append(headers, (name + ": " + value).c_str());
    }
    curl_.easy_setopt(handle_, CURLOPT_HTTPHEADER, headers);
    const auto bytes = static_cast<curl_off_t>(exchange.body.size());
    if (exchange.method == "HEAD") {
      curl_.easy_setopt(handle_, CURLOPT_NOBODY, 1L);
    } else if (exchange.method == "PUT") {
      curl_.easy_setopt(handle_, CURLOPT_UPLOAD, 1L);
      curl_.easy_setopt(handle_, CURLOPT_INFILESIZE_LARGE, bytes);
      curl_.easy_setopt(handle_, CURLOPT_READFUNCTION, &OnSend);
      curl_.easy_setopt(handle_, CURLOPT_READDATA, &course);
      curl_.easy_setopt(handle_, CURLOPT_SEEKFUNCTION, &OnRewind);
      curl_.easy_setopt(handle_, CURLOPT_SEEKDATA, &course);
    } else if (exchange.method == "POST") {
      curl_.easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, bytes);
      curl_.easy_setopt(handle_, CURLOPT_POSTFIELDS, exchange.body.data());
    } else if (exchange.method != "GET") {
      curl_.easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
    }
    return headers;
  }

  void SetManner(const HttpExchange& exchange, const HttpIdentity& identity, Course& course) {
    curl_.easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_.easy_setopt(handle_, CURLOPT_BUFFERSIZE, kBufferBytes);
    curl_.easy_setopt(handle_, CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
    curl_.easy_setopt(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_.easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &OnBody);
    curl_.easy_setopt(handle_, CURLOPT_WRITEDATA, &course);
    curl_.easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &OnHeader);
    curl_.easy_setopt(handle_, CURLOPT_HEADERDATA, &course);
    curl_.easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
    curl_.easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, &OnProgress);
    curl_.easy_setopt(handle_, CURLOPT_XFERINFODATA, &course);
    const auto silence_ms = static_cast<long>(exchange.silence.us / 1000);
    curl_.easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS,
                      std::min(silence_ms, static_cast<long>(limits::kConnectMs)));
    curl_.easy_setopt(handle_, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_.easy_setopt(handle_, CURLOPT_LOW_SPEED_TIME, std::max(1L, silence_ms / 1000));
    if (exchange.is_local) curl_.easy_setopt(handle_, CURLOPT_NOPROXY, "*");
    const std::pair<CURLoption, const std::string*> files[] = {
        {CURLOPT_CAINFO, &identity.ca_file},
        {CURLOPT_SSLCERT, &identity.certificate_file},
        {CURLOPT_SSLKEY, &identity.key_file}};
    for (const auto& [option, file] : files) {
      if (!file->empty()) curl_.easy_setopt(handle_, option, file->c_str());
    }
  }

  const CurlLibrary& curl_;
  CURL* const handle_;
};

Result<std::unique_ptr<CurlTransport>> CurlTransport::Make(HttpIdentity identity) {
  TUNE_RETURN_IF_ERROR(LoadCurl().status());
  return std::unique_ptr<CurlTransport>(new CurlTransport(std::move(identity)));
}

CurlTransport::CurlTransport(HttpIdentity identity) : identity_(std::move(identity)) {}
CurlTransport::~CurlTransport() = default;

S3Reply CurlTransport::Do(const HttpExchange& exchange, const std::stop_token& stop) {
  std::unique_ptr<Handle> handle;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      handle = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (handle == nullptr) handle = std::make_unique<Handle>(**LoadCurl());
  S3Reply reply = handle->Do(exchange, identity_, stop);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(handle));
  return reply;
}

}  // namespace tune
