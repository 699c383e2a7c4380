#include "trial_runner/bucket/s3_settings.h"

#include <cstdlib>

#include "core/posix/read_bytes.h"

namespace tune {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::string HomeFile(const AwsSurroundings& surroundings, const char* variable,
                     const std::string& name) {
  std::string path = surroundings.variable(variable);
  const std::string home = surroundings.variable("HOME");
  if (path.starts_with("~/")) path = home + path.substr(1);
  if (path.empty() && !home.empty()) path = home + "/.aws/" + name;
  return path.empty() ? "" : surroundings.file(path);
}

std::string FirstOf(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return "";
}

std::string At(const std::map<std::string, std::string>& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? "" : found->second;
}

// endpoint_url of `[services NAME]`, which the profile names, for S3, or of the profile.
std::string EndpointOfProfile(const AwsFile& config, const S3Settings& settings) {
  const auto services = config.find("services " + At(settings.of_profile, "services"));
  const std::string of_service =
      services == config.end() ? "" : At(services->second, "s3.endpoint_url");
  return FirstOf({of_service, At(settings.of_profile, "endpoint_url")});
}

}  // namespace

AwsSurroundings RealAwsSurroundings() {
  return {[](const char* variable) {
            const char* const text = std::getenv(variable);
            return std::string(text == nullptr ? "" : text);
          },
          [](const std::string& path) { return ReadBytes(path); }};
}

AwsFile ParseAwsFile(std::string_view text) {
  AwsFile file;
  std::map<std::string, std::string>* section = nullptr;
  std::string outer;  // Of "s3 =" and the indented lines below it.
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view trimmed = Trimmed(line);
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;
    if (trimmed.front() == '[') {
      std::string name(Trimmed(trimmed.substr(1, trimmed.find(']') - 1)));
      if (name.starts_with("profile ")) {
        name = std::string(Trimmed(std::string_view(name).substr(8)));
      }
      section = &file[name];
      outer.clear();
      continue;
    }
    const size_t equals = trimmed.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name(Trimmed(trimmed.substr(0, equals)));
    const std::string value(Trimmed(trimmed.substr(equals + 1)));
    const bool is_inner = (line.front() == ' ' || line.front() == '\t') && !outer.empty();
    if (!is_inner) outer = value.empty() ? name : "";
    (*section)[is_inner ? outer + "." + name : name] = value;
  }
  return file;
}

Result<S3Settings> ReadS3Settings(const AwsSurroundings& surroundings) {
  const AwsFile config = ParseAwsFile(HomeFile(surroundings, "AWS_CONFIG_FILE", "config"));
  const AwsFile keys =
      ParseAwsFile(HomeFile(surroundings, "AWS_SHARED_CREDENTIALS_FILE", "credentials"));
  const auto& variable = surroundings.variable;
  S3Settings settings;
  const std::string named = FirstOf({variable("AWS_PROFILE"), variable("AWS_DEFAULT_PROFILE")});
  settings.profile = FirstOf({named, "default"});
  if (!named.empty() && !config.contains(named) && !keys.contains(named)) {
    return InvalidArgument("AWS_PROFILE: read '" + named +
                           "', expected a profile of ~/.aws/config or ~/.aws/credentials");
  }
  if (const auto found = config.find(settings.profile); found != config.end()) {
    settings.of_profile = found->second;
  }
  if (const auto found = keys.find(settings.profile); found != keys.end()) {
    for (const auto& [name, value] : found->second) settings.of_profile[name] = value;
  }
  settings.region = FirstOf({variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"),
                             At(settings.of_profile, "region"), "us-east-1"});
  std::string from = "endpoint_url of the profile '" + settings.profile + "'";
  if (variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != "true") {
    for (const char* const name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
      if (!settings.endpoint.empty() || variable(name).empty()) continue;
      settings.endpoint = variable(name);
      from = name;
    }
    if (settings.endpoint.empty()) settings.endpoint = EndpointOfProfile(config, settings);
  }
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const bool is_address = settings.endpoint.empty() || settings.endpoint.starts_with("http://") ||
                          settings.endpoint.starts_with("https://");
  if (!is_address) {
    return InvalidArgument(from + ": read '" + settings.endpoint +
                           "', expected http://HOST:PORT or https://HOST");
  }
  const std::string style = At(settings.of_profile, "s3.addressing_style");
  settings.is_virtual_host = style == "virtual" || (style != "path" && settings.endpoint.empty());
  settings.ca_file = FirstOf({variable("AWS_CA_BUNDLE"), At(settings.of_profile, "ca_bundle")});
  return settings;
}

}  // namespace tune
