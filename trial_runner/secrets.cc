#include "trial_runner/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/utf8.h"
#include "trial_runner/command_text.h"

namespace tune {
namespace {

constexpr char kHidden[] = "***";

void ReplaceAll(const std::string& from, const std::string& to, std::string& text) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

int HexOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// `digits` hexadecimal ones at `at`; -1: they are none.
int64_t HexAt(std::string_view text, size_t at, size_t digits) {
  if (at + digits > text.size()) return -1;
  int64_t number = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (HexOf(text[i]) < 0) return -1;
    number = number * 16 + HexOf(text[i]);
  }
  return number;
}

// The bytes of `text` that write this byte with an escape: as an address does (RFC 3986, 2.1), or
// as JSON, Python and C do; 0: none.
size_t EscapedByte(std::string_view text, unsigned char wanted) {
  if (text.front() == '%') return HexAt(text, 1, 2) == wanted ? 3 : 0;
  if (text.front() != '\\' || text.size() < 2) return 0;
  constexpr std::string_view kNamed = "ntr0";
  constexpr std::string_view kMeant("\n\t\r\0", 4);
  const size_t named = kNamed.find(text[1]);
  if (named != std::string_view::npos) {
    return static_cast<unsigned char>(kMeant[named]) == wanted ? 2 : 0;
  }
  if (text[1] == 'x') return HexAt(text, 2, 2) == wanted ? 4 : 0;
  constexpr std::string_view kThemselves = "\\'\"/";
  const bool is_itself = kThemselves.find(text[1]) != std::string_view::npos;
  return is_itself && static_cast<unsigned char>(text[1]) == wanted ? 2 : 0;
}

// Of a character that is none of ASCII's: \xe9, \u00e9, \ud83d\ude00 or \U0001f600; 0: none.
size_t EscapedCharacter(std::string_view text, uint32_t wanted) {
  if (text.size() < 2 || text.front() != '\\') return 0;
  if (text[1] == 'x') return HexAt(text, 2, 2) == wanted ? 4 : 0;
  if (text[1] == 'U') return HexAt(text, 2, 8) == wanted ? 10 : 0;
  if (text[1] != 'u') return 0;
  if (wanted < 0x10000) return HexAt(text, 2, 4) == wanted ? 6 : 0;
  const uint32_t rest = wanted - 0x10000;
  const bool is_pair = HexAt(text, 2, 4) == (0xd800 | (rest >> 10)) && text.substr(6, 2) == "\\u" &&
                       HexAt(text, 8, 4) == (0xdc00 | (rest & 0x3ff));
  return is_pair ? 12 : 0;
}

// How far `text` begins as `value` does, however its characters are escaped, in letters of
// whichever case, and whether a blank is a plus: that differs from library to library.
struct Begun {
  size_t text_bytes = 0;
  size_t value_bytes = 0;
};
Begun BeginsAs(std::string_view text, std::string_view value) {
  Begun begun;
  while (begun.value_bytes < value.size() && begun.text_bytes < text.size()) {
    const std::string_view rest = text.substr(begun.text_bytes);
    const std::string_view wanted = value.substr(begun.value_bytes);
    const size_t character = Utf8CharacterBytes(wanted);
    size_t at = 0;
    const size_t escaped = character > 1 ? EscapedCharacter(rest, NextCodePoint(wanted, at)) : 0;
    if (escaped > 0) {
      begun.text_bytes += escaped;
      begun.value_bytes += character;
      continue;
    }
    const bool is_same =
        rest.front() == wanted.front() || (wanted.front() == ' ' && rest.front() == '+');
    const size_t as_byte = EscapedByte(rest, static_cast<unsigned char>(wanted.front()));
    if (as_byte == 0 && !is_same) break;
    begun.text_bytes += as_byte > 0 ? as_byte : 1;
    ++begun.value_bytes;
  }
  return begun;
}

// Messages are cut ("...") before anybody looks for secrets: so much of one is hidden, too, as it
// is at the end, and a longer beginning anywhere.
constexpr size_t kCutBytesMin = 6;
constexpr size_t kBeginningBytesMin = 16;

bool IsToBeHidden(const Begun& begun, std::string_view text, std::string_view value) {
  if (begun.value_bytes == value.size()) return true;
  if (std::isspace(static_cast<unsigned char>(value.front())) != 0) return false;
  if (begun.value_bytes >= kBeginningBytesMin) return true;
  const std::string_view behind = text.substr(begun.text_bytes);
  const bool is_cut = behind.empty() || behind.starts_with("...");
  return is_cut && begun.value_bytes >= kCutBytesMin;
}

void ReplaceEscaped(const std::string& value, const std::string& to, std::string& text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    const Begun begun = BeginsAs(rest, value);
    if (begun.value_bytes == 0 || !IsToBeHidden(begun, rest, value)) continue;
    text.replace(at, begun.text_bytes, to);
    at += to.size() - 1;
  }
}

// What base64 (RFC 4648) makes of `value` wherever it stands in what is encoded, as behind the
// user's name of an Authorization header: of the three ways to begin in a group of three bytes the
// letters that follow from it alone, in both alphabets.
std::vector<std::string> Base64FormsOf(std::string_view value) {
  constexpr size_t kBytesMin = 9;  // Of less, too few letters are left.
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::vector<std::string> forms;
  if (value.size() < kBytesMin) return forms;
  for (const std::string_view last : {"+/", "-_"}) {
    for (size_t before = 0; before < 3; ++before) {
      std::string letters;
      const size_t bits = value.size() * 8;
      // The first whole six bits behind those that are shared with what stands before.
      for (size_t bit = (6 - before * 8 % 6) % 6; bit + 6 <= bits; bit += 6) {
        unsigned six = 0;
        for (size_t i = bit; i < bit + 6; ++i) {
          six = six * 2 + ((static_cast<unsigned char>(value[i / 8]) >> (7 - i % 8)) & 1U);
        }
        letters += six < kLetters.size() ? kLetters[six] : last[six - kLetters.size()];
      }
      forms.push_back(std::move(letters));
    }
  }
  return forms;
}

// What stands between quotation marks where a shell is told it.
std::string InShellQuotes(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return text;
}

// As it may stand in what is printed: alone, without blanks at its ends, line by line, as JSON and
// Python write it, and in base64.
std::vector<std::string> FormsOf(const std::string& value) {
  constexpr size_t kLineBytesMin = 8;
  constexpr std::string_view kBlank = " \t\r\n";
  const auto trimmed = [&](std::string_view text) {
    const size_t first = std::min(text.find_first_not_of(kBlank), text.size());
    text.remove_prefix(first);
    return std::string(text.substr(0, text.find_last_not_of(kBlank) + 1));
  };
  std::vector<std::string> forms = {value, trimmed(value)};
  for (const std::string& form : {value, trimmed(value)}) {
    const std::string json = ToJson(Value(form));
    forms.push_back(json.substr(1, json.size() - 2));
    forms.push_back(InShellQuotes(form));
    for (std::string& letters : Base64FormsOf(form)) forms.push_back(std::move(letters));
  }
  for (size_t begin = 0; value.find('\n') != std::string::npos && begin < value.size();) {
    const size_t end = std::min(value.find('\n', begin), value.size());
    const std::string line = trimmed(std::string_view(value).substr(begin, end - begin));
    if (line.size() >= kLineBytesMin) forms.push_back(line);
    begin = end + 1;
  }
  for (std::string_view rest = value, password; !(password = SecretIn(rest)).empty();) {
    forms.emplace_back(password);
    for (std::string& letters : Base64FormsOf(password)) forms.push_back(std::move(letters));
    const size_t begin = static_cast<size_t>(password.data() - rest.data()) + password.size();
    rest.remove_prefix(std::min(rest.size(), begin + 1));  // With the mark that ends it.
  }
  // A longer one may have a shorter one in it.
  std::stable_sort(forms.begin(), forms.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return forms;
}

std::string ToUpper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

std::string_view PasswordOfAddress(std::string_view value) {
  const size_t authority = value.find("://");
  if (authority == std::string_view::npos) return {};
  std::string_view user = value.substr(authority + 3);
  user = user.substr(0, user.find_first_of("/?# "));
  const size_t at = user.rfind('@');
  const size_t colon = user.find(':');
  if (at == std::string_view::npos) return {};
  // https://TOKEN@github.com: no name is so long.
  constexpr size_t kTokenBytesMin = 20;
  if (colon >= at) return at >= kTokenBytesMin ? user.substr(0, at) : std::string_view();
  return user.substr(colon + 1, at - colon - 1);
}

// Of name=value, parted by ; as in a connection string, or by & behind an address's ?.
std::string_view SecretSetting(std::string_view value) {
  while (!value.empty()) {
    const size_t end = std::min(value.find_first_of(";&?"), value.size());
    const std::string_view setting = value.substr(0, end);
    const size_t equals = setting.find('=');
    if (equals != std::string_view::npos && equals + 1 < setting.size()) {
      std::string_view name = setting.substr(0, equals);
      name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
      const std::string upper = ToUpper(name);
      const bool is_named = NamesSecret(name) || upper == "PWD" || upper == "SIG" ||
                            upper == "SIGNATURE" || upper == "ACCOUNTKEY";
      if (is_named) return setting.substr(equals + 1);
    }
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return {};
}

// "password": "s3cret", as JSON and Python write a map.
std::string_view SecretMember(std::string_view value) {
  constexpr std::string_view kBlank = " \t\r\n";
  for (const char quote : {'"', '\''}) {
    const auto end_of = [&](size_t begin) {
      size_t at = begin;
      while (at < value.size() && value[at] != quote) at += value[at] == '\\' ? 2 : 1;
      return std::min(at, value.size());
    };
    for (size_t open = value.find(quote); open < value.size();) {
      const size_t close = end_of(open + 1);
      const size_t colon = std::min(value.find_first_not_of(kBlank, close + 1), value.size());
      const size_t begin = std::min(value.find_first_not_of(kBlank, colon + 1), value.size());
      const bool is_member = colon < value.size() && value[colon] == ':' && begin < value.size() &&
                             value[begin] == quote;
      if (is_member && NamesSecret(value.substr(open + 1, close - open - 1))) {
        const std::string_view found = value.substr(begin + 1, end_of(begin + 1) - begin - 1);
        if (!found.empty()) return found;
      }
      open = value.find(quote, close + 1);
    }
  }
  return {};
}

// "machine host login me password s3cret", as .netrc holds it.
std::string_view PasswordOfNetrc(std::string_view value) {
  constexpr std::string_view kBlank = " \t\r\n";
  constexpr std::string_view kWord = "password";
  if (value.find("machine") == std::string_view::npos &&
      value.find("login") == std::string_view::npos) {
    return {};
  }
  for (size_t at = 0; (at = value.find(kWord, at)) != std::string_view::npos; at += kWord.size()) {
    const bool begins = at > 0 && kBlank.find(value[at - 1]) != std::string_view::npos;
    const size_t end = at + kWord.size();
    if (!begins || end >= value.size() || kBlank.find(value[end]) == std::string_view::npos) {
      continue;
    }
    const size_t first = std::min(value.find_first_not_of(kBlank, end), value.size());
    return value.substr(first, value.find_first_of(kBlank, first) - first);
  }
  return {};
}

bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The PEM text of a private key, and what stands behind "Bearer".
std::string_view KeyOrBearer(std::string_view value) {
  constexpr std::string_view kBearer = "Bearer ";
  constexpr size_t kTokenBytesMin = 12;
  if (value.find("PRIVATE KEY-----") != std::string_view::npos) return value;
  const bool is_bearer = value.starts_with(kBearer) &&
                         value.size() >= kBearer.size() + kTokenBytesMin &&
                         value.find(' ', kBearer.size()) == std::string_view::npos;
  return is_bearer ? value.substr(kBearer.size()) : std::string_view();
}

// The whole value, where it begins as the keys of GitHub, GitLab, Hugging Face, OpenAI, Slack,
// Google, npm, PyPI, AWS, Stripe, Docker, NVIDIA, Grafana and age do and goes on as no word does,
// or is a JSON Web Token (RFC 7519).
std::string_view KeyOfAMaker(std::string_view value) {
  constexpr std::ptrdiff_t kRunMin = 12;  // "sk-learn-contrib-models" is no key.
  constexpr std::string_view kHook = "https://hooks.slack.com/services/";
  if (value.find_first_of(" \t\r\n{}") != std::string_view::npos) return {};
  if (value.starts_with(kHook) && value.size() > kHook.size()) return value;
  const bool has_two_dots = std::count(value.begin(), value.end(), '.') == 2;
  if (value.starts_with("eyJ") && has_two_dots) return value;
  for (const std::string_view beginning :
       {"ghp_",     "gho_",     "ghs_",     "github_pat_", "glpat-", "hf_",   "sk-",
        "xoxb-",    "xoxp-",    "AIza",     "npm_",        "pypi-",  "AKIA",  "ASIA",
        "sk_live_", "sk_test_", "rk_live_", "dckr_pat_",   "nvapi-", "glsa_", "AGE-SECRET-KEY-"}) {
    if (!value.starts_with(beginning)) continue;
    const auto rest = value.begin() + static_cast<std::ptrdiff_t>(beginning.size());
    const auto run = std::search_n(rest, value.end(), kRunMin, true,
                                   [](char c, bool is) { return IsLetterOrDigit(c) == is; });
    if (run != value.end()) return value;
  }
  return {};
}

// Of the variables under `env`, those whose text is a secret, by their name or by itself.
template <typename Document, typename Visit>
void ForEachSecretText(Document& document, Visit&& visit) {
  auto* const trainable = document.is_map() ? document.Find("trainable") : nullptr;
  auto* const env = trainable != nullptr && trainable->is_map() ? trainable->Find("env") : nullptr;
  if (env == nullptr || !env->is_map()) return;
  for (auto& variable : env->AsMap()) {
    if (!variable.value.is_string() || variable.value.AsString().empty()) continue;
    if (!NamesSecret(variable.key) && SecretIn(variable.value.AsString()).empty()) continue;
    visit(variable);
  }
}

}  // namespace

bool NamesSecret(std::string_view variable) {
  std::string name = ToUpper(variable);
  // GH_TOKEN_2 is one as GH_TOKEN is.
  while (!name.empty() && (std::isdigit(static_cast<unsigned char>(name.back())) != 0)) {
    name.pop_back();
    if (name.ends_with('_')) name.pop_back();
  }
  for (const char* const part : {"PASSWORD", "PASSWD", "SECRET_ACCESS_KEY"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  // accessToken and AWSSECRET, too; not MAX_TOKENS.
  for (const char* const end : {"TOKEN", "SECRET", "APIKEY", "ACCESSKEY", "PRIVKEY", "PRIVATEKEY",
                                "CONNECTION_STRING", "CONNECTIONSTRING"}) {
    if (name.ends_with(end)) return true;
  }
  constexpr std::array<std::string_view, 9> kWords = {"SECRETS",    "PASSPHRASE",  "PAT",
                                                      "CREDENTIAL", "CREDENTIALS", "AUTHORIZATION",
                                                      "COOKIE",     "BEARER",      "JWT"};
  const std::string last_word = name.substr(name.rfind('_') + 1);
  if (std::find(kWords.begin(), kWords.end(), last_word) != kWords.end()) return true;
  // PWD alone is a folder.
  return name.ends_with("_KEY") || name.ends_with("_PASS") || name.ends_with("_PWD") ||
         name.ends_with("_AUTH");
}

std::string_view SecretIn(std::string_view value) {
  for (const std::string_view found :
       {KeyOrBearer(value), PasswordOfAddress(value), SecretSetting(value), SecretMember(value),
        PasswordOfNetrc(value), KeyOfAMaker(value)}) {
    if (!found.empty()) return found;
  }
  return {};
}

std::string WithoutSecrets(std::string text, const std::vector<Secret>& secrets) {
  constexpr size_t kBytesToStandAlone = 4;  // A shorter one is a part of other words.
  for (const Secret& secret : secrets) {
    for (const std::string& value : {secret.value, InShellQuotes(secret.value)}) {
      ReplaceAll(secret.name + "=" + value, secret.name + "=" + kHidden, text);
    }
    for (const std::string& form : FormsOf(secret.value)) {
      if (form.size() < kBytesToStandAlone) continue;
      ReplaceAll(form, kHidden, text);
      ReplaceEscaped(form, kHidden, text);
    }
  }
  return text;
}

std::vector<Secret> TakeSecrets(Value& document) {
  std::vector<Secret> secrets;
  ForEachSecretText(document, [&](MapEntry& variable) {
    Value& value = variable.value;
    const CommandText text = CommandText::Parse(value.AsString());
    const Result<std::string> literal = text.Fill(Value::MakeMap());
    if (!literal.ok()) return;  // It has parameters.
    secrets.push_back({variable.key, *literal});
    const Place place = value.place;
    value = Value::MakeMap();
    value.place = place;
    value.Set("from_environment", true);
  });
  return secrets;
}

Status RefuseSecretsWithParameters(const Value& document) {
  Status status;
  ForEachSecretText(document, [&](const MapEntry& variable) {
    const std::string& value = variable.value.AsString();
    const bool is_named = NamesSecret(variable.key);
    const CommandText secret = CommandText::Parse(is_named ? value : SecretIn(value));
    const std::vector<std::string> parameters = CommandText::Parse(value).ParameterNames();
    if (!status.ok() || parameters.empty() || !secret.HasLiteral()) return;
    std::string shown = parameters[0];
    std::replace(shown.begin(), shown.end(), '/', '.');
    status = InvalidAt(
        variable.value.place,
        "trainable: env: " + variable.key + ": read a text that is a secret by " +
            (is_named ? "its name" : "what it looks like") + ", with {" + shown +
            "} in it, which would be stored with the rest; expected {from_environment: true} for "
            "the secret and a variable of its own for {" +
            shown + "}; {value: TEXT} says that it is no secret");
  });
  return status;
}

std::vector<std::string> VariablesFromEnvironment(const Value& trainable) {
  std::vector<std::string> names;
  const Value* const env = trainable.is_map() ? trainable.Find("env") : nullptr;
  if (env == nullptr || !env->is_map()) return names;
  for (const MapEntry& variable : env->AsMap()) {
    const Value* const from =
        variable.value.is_map() ? variable.value.Find("from_environment") : nullptr;
    if (from != nullptr && *from == Value(true)) names.push_back(variable.key);
  }
  return names;
}

std::vector<Secret> SecretsOf(const Value& trainable,
                              const std::function<std::string(const char*)>& environment) {
  std::vector<Secret> secrets;
  for (const std::string& name : VariablesFromEnvironment(trainable)) {
    if (std::string value = environment(name.c_str()); !value.empty()) {
      secrets.push_back({name, std::move(value)});
    }
  }
  return secrets;
}

std::string DescribeMissingVariable(const std::string& name) {
  return "trainable: env: " + name +
         " is not set in this environment, and its value is neither stored nor sent; set it (" +
         name + "=...) and start again";
}

}  // namespace tune
