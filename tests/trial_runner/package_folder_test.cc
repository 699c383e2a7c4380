// Folders packed and named: what is sent of a folder, and what never is.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/posix/nameless_file.h"
#include "tests/trial_runner/package_world.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/packed_folder.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(PackageFolder, IsNamedByItsContentAlone) {
  const PackageName name = Name();
  EXPECT_EQ(name.sha256.size(), 64u);
  fs::copy(folder_ / "from", folder_ / "copy",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  EXPECT_EQ(*NameFolder(folder_ / "copy", kAnyBytes), name);
  chmod(From("train.py").c_str(), 0664);
  EXPECT_EQ(Name(), name);

  chmod(From("train.py").c_str(), 0600);
  EXPECT_NE(Name(), name) << "other users could read it elsewhere";
  chmod(From("train.py").c_str(), 0755);
  EXPECT_NE(Name(), name);
  chmod(From("train.py").c_str(), 0644);
  Write("train.py", "print(2)\n");
  EXPECT_NE(Name(), name);
  Write("train.py", "print(1)\n");
  EXPECT_EQ(Name(), name);
  Write(NonceFile("0123"), "0123");
  EXPECT_EQ(Name(), name) << "a worker asks whether it is the tuner's folder";
  fs::create_directory(From("new"));
  EXPECT_NE(Name(), name);
}

TEST_F(PackageFolder, HasTheTextThatItsNameStandsFor) {
  const std::string text = Text();
  Sha256 hash;
  hash.Add(text);
  EXPECT_EQ((PackageName{hash.Finish(), static_cast<int64_t>(text.size())}), Name());
  EXPECT_TRUE(ParsePackage(text).ok());
}

// The name is part of what is kept on disks: it shall not change. It is that of
// printf 'tune-package 1\ne' | sha256sum.
TEST_F(PackageFolder, OfAnEmptyFolderIsAlwaysTheSame) {
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(NameFolder(folder_ / "empty", kAnyBytes)->sha256,
            "ef8d580f540f9cdd53553c2bd8c884991ad67aaa7e0169051d0c1be89ac5995e");
}

TEST_F(PackageFolder, LeavesOutWhatASweepWritesThere) {
  const PackageName name = Name();
  fs::create_directories(From("tune.artifacts/sweep/0"));
  Write("tune.artifacts/sweep/0/log", "text");
  Write("tune.db-wal", "");
  Write("tune.db-shm", "");
  std::string database("SQLite format 3\0", 16);
  database.resize(4096);
  Write("tune.db", database);
  EXPECT_EQ(Name(), name) << "one that is in use";
  fs::remove(From("tune.db-wal"));
  EXPECT_NE(Name(), name) << "somebody else's";
  Write("tune.db", database.replace(68, 4, "tune"));
  fs::remove(From("tune.db-shm"));
  EXPECT_EQ(Name(), name);
  fs::create_directories(From("sub/__pycache__"));
  fs::create_directories(From(".git/objects"));
  mkfifo(From("pipe").c_str(), 0600);
  Write(".tune-k3x_9w2a.json", "{}");
  EXPECT_EQ(Name(), name);

  // By its content, whatever it is called; and its artifacts, whatever became of it.
  Write("sub/sweeps.sqlite3", database);
  Write("sub/sweeps.sqlite3.lock", "{}");
  fs::create_directories(From("sub/sweeps.artifacts/tls"));
  Write("sub/sweeps.artifacts/tls/identity.pem", "keys");
  fs::create_directories(folder_ / "elsewhere.artifacts/tls");
  fs::create_symlink(folder_ / "elsewhere.artifacts", From("linked.artifacts"));
  fs::remove(From("tune.db"));
  EXPECT_EQ(Name(), name);
}

// One of openssl genpkey, of its first bytes alone.
constexpr char kKey[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIAabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP\n"
    "-----END PRIVATE KEY-----\n";

TEST_F(PackageFolder, IsNotPackedWithAPrivateKeyInIt) {
  const auto refusal = [this] {
    return PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path())).status();
  };
  Write("sub/id", std::string("Bag Attributes\r\n") + kKey);
  EXPECT_EQ(refusal().message(),
            (folder_ / "from") +
                ": sub/id holds a private key, which would be sent to every worker that joins; "
                "move it out of the folder, or list it in the folder's .tuneignore");
  EXPECT_TRUE(NameFolder(folder_ / "from", kAnyBytes).ok()) << "nothing is sent";
  // Beyond the first piece that is read, and across two of them.
  for (const size_t at : {size_t{300'000}, (256u << 10) - std::string(kKey).size() / 2}) {
    Write("sub/id", std::string(at, 'x') + "\n" + kKey);
    EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key")) << at;
  }
  // As the file of a cloud account has it.
  std::string in_json = kKey;
  for (size_t at = 0; (at = in_json.find('\n', at)) != std::string::npos;) {
    in_json.replace(at, 1, "\\n");
  }
  Write("sub/id", "{\"private_key\": \"" + in_json + "\"}");
  EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key"));
  // Indented, commented out, joined by a program.
  for (const auto& [before, after] :
       {std::pair("    ", ""), {"\t", "\t"}, {"# ", ""}, {"'", "\\n' +"}, {"(\"", "\\n\""}}) {
    std::string text;
    for (std::string_view rest = kKey; !rest.empty();) {
      const size_t end = rest.find('\n');
      text += before + std::string(rest.substr(0, end)) + after + "\n";
      rest.remove_prefix(end + 1);
    }
    Write("sub/id", text);
    EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key")) << text;
  }
  // A binary one, as openssl pkey -outform DER writes it, of RSA, EC and others; and PuTTY's.
  for (const std::string& der :
       {std::string("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70", 12),
        std::string("\x30\x82\x04\xa4\x02\x01\x00\x02\x82\x01\x01\x00", 12),
        std::string("\x30\x77\x02\x01\x01\x04\x20\x55", 8)}) {
    Write("sub/id", der + std::string(100, 'k'));
    EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key"));
  }
  Write("sub/id", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n");
  EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key"));
  // A password protects these: openssl pkcs8 -topk8 (today's and the older ways), openssl pkcs12.
  for (const std::string_view der :
       {"\x30\x81\x9b\x30\x57\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d",
        "\x30\x5e\x30\x1c\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x03",
        "\x30\x82\x03\x0f\x02\x01\x03\x30\x82\x02\xc5\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07"
        "\x01"}) {
    Write("sub/id", std::string(der) + std::string(100, 'k'));
    EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key"));
  }
  // As the clipboard of Windows writes a file, of age, and of JSON Web Keys, with the parts far
  // apart.
  std::string utf16 = "\xff\xfe";
  for (const char c : std::string_view(kKey)) utf16 += {c, '\0'};
  const std::string body(43, 'B');
  for (const std::string& text :
       {utf16, "# public key: age1\nAGE-SECRET-KEY-1" + std::string(58, 'Q') + "\n",
        R"({"crv": "P-256", "d": ")" + body + R"(", "kty": "EC"})",
        R"({"kty":"RSA","n":")" + std::string(300'000, 'n') + R"(","d":")" + body + "\"}"}) {
    Write("sub/id", text);
    EXPECT_THAT(refusal().message(), HasSubstr("sub/id holds a private key")) << text.substr(0, 80);
  }
  for (const std::string& text :
       {std::string(R"({"kty": "RSA", "n": "AQAB", "e": "AQAB"})"), R"({"d": ")" + body + "\"}",
        std::string("AGE-SECRET-KEY-1 is what keys begin with"),
        std::string("if text.startswith(b'PuTTY-User-Key-File-'): refuse(text)"),
        std::string(
            "\x30\x82\x03\x0f\x30\x82\x02\xc5\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01")}) {
    Write("sub/id", text);
    EXPECT_TRUE(refusal().ok()) << refusal().message();
  }
  Write("sub/id", "tune1_short, and a certificate: \x30\x82\x04\xa4\x30\x82");
  EXPECT_TRUE(refusal().ok()) << refusal().message();
  // A text that speaks of keys is none.
  Write("sub/id",
        "if line == '-----BEGIN PRIVATE KEY-----':\n  return '-----END PRIVATE KEY-----'");
  EXPECT_TRUE(refusal().ok()) << refusal().message();
  Write("sub/id", kKey);
  Write(".tuneignore", "id\n");
  EXPECT_TRUE(refusal().ok()) << refusal().message();
}

TEST_F(PackageFolder, IsPackedWithoutFilesThatHoldAJoinToken) {
  const PackageName name = Name();
  const std::string line = "tune worker --connect a:1 --join tune1_" + std::string(80, 'a') + "\n";
  // Also across two of the pieces that are read.
  for (const size_t at : {size_t{10}, (256u << 10) - line.size() / 2}) {
    Write("sub/sweep.log", std::string(at, 'x') + line + "sweep food11\n");
    EXPECT_EQ(Name(), name) << at;
    const auto packed = PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path()));
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    EXPECT_EQ(packed->name(), name);
    EXPECT_THAT(packed->with_token(), ElementsAre("sub/sweep.log"));
  }
}

TEST_F(PackageFolder, TellsOfFilesThatByTheirNamesHoldCredentials) {
  for (const char* const name : {".env", "sub/.aws/credentials", "my.env", "sub/.netrc"}) {
    fs::create_directories(fs::path(From(name)).parent_path());
    Write(name, "x\n");
  }
  const auto packed = PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path()));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_THAT(packed->with_credentials(),
              ElementsAre(".env", "sub/.aws/credentials", "sub/.netrc"));
}

TEST_F(PackageFolder, IsPackedWithoutTheOutputOfThisProcess) {
  const PackageName name = Name();
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    Write("sweep.log", "sweep food11");
    EXPECT_NE(Name(), name) << "another file";
    const int before = dup(fd);
    const int file = open(From("sweep.log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    dup2(file, fd);
    const PackageName as_output = Name();
    dup2(before, fd);
    close(file);
    close(before);
    EXPECT_EQ(as_output, name) << fd;
  }
}

// SQLite's locks are such: with them gone, another program takes a living database for nobody's.
TEST_F(PackageFolder, TakesNoLocksFromThisProcess) {
  for (const char* const name : {"tune.db", "tune.db-shm"}) {
    Write(name, std::string(200, 'x'));
    const std::string path = From(name);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    ASSERT_EQ(fcntl(fd, F_SETLK, &lock), 0);
    Text();
    Name();
    const pid_t child = fork();
    if (child == 0) {
      struct flock question = lock;
      const int other = open(path.c_str(), O_RDWR | O_CLOEXEC);
      _exit(fcntl(other, F_GETLK, &question) == 0 && question.l_type != F_UNLCK ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << name << " is locked no more";
    close(fd);
  }
}

TEST_F(PackageFolder, IsNotPackedWithTheValueOfASecret) {
  Write("space.yaml", "trainable: {env: {HF_TOKEN: hf_abcdefgh}}");
  const auto packed = PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path()),
                                         {{"SHORT_KEY", "train"}, {"HF_TOKEN", "hf_abcdefgh"}});
  EXPECT_THAT(packed.status().message(), HasSubstr("space.yaml holds the value of HF_TOKEN"));
}

TEST_F(PackageFolder, IsNotPackedWithASecretInANameOrALink) {
  const std::vector<Secret> secrets = {{"HF_TOKEN", "hf_abcdefgh"}};
  const auto refusal = [&] {
    return PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path()), secrets)
        .status()
        .message();
  };
  EXPECT_EQ(refusal(), "");
  Write("run-hf_abcdefgh.txt", "text");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("holds the value of HF_TOKEN"),
                               ::testing::Not(HasSubstr("hf_abcdefgh"))));
  fs::remove(From("run-hf_abcdefgh.txt"));
  fs::create_directories(From("hf_abcdefgh"));
  EXPECT_THAT(refusal(), HasSubstr("holds the value of HF_TOKEN"));
  fs::remove(From("hf_abcdefgh"));
  fs::create_symlink("/data/hf_abcdefgh/x", From("data"));
  EXPECT_THAT(refusal(), HasSubstr("holds the value of HF_TOKEN"));
}

TEST_F(PackageFolder, LeavesOutWhatItsIgnoreFileLists) {
  Write(".tuneignore", "data\n*.log\n");
  const PackageName name = Name();
  Write("a.log", "text");
  fs::create_directories(From("sub/data"));
  Write("sub/data/x", "text");
  EXPECT_EQ(Name(), name);
  Write(".tuneignore", "!x\n");
  EXPECT_THAT(NameFolder(folder_ / "from", kAnyBytes).status().message(),
              HasSubstr("/from: .tuneignore: line 1: "));
}

TEST_F(PackageFolder, IsRefusedBeyondTheLimitWithWhatCanBeDone) {
  const int64_t bytes = Name().bytes;
  EXPECT_TRUE(NameFolder(folder_ / "from", bytes).ok());
  const Status beyond = NameFolder(folder_ / "from", bytes - 1).status();
  EXPECT_EQ(beyond.code(), StatusCode::kFailedPrecondition);
  Write("large", "");
  fs::resize_file(From("large"), kAnyBytes);
  const Result<PackedFolder> packed =
      PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path()));
  EXPECT_THAT(packed.status().message(),
              HasSubstr("/from: it holds more than 536870912 bytes, too much to be sent to workers "
                        "of other machines; list what"));
  EXPECT_THAT(packed.status().message(),
              HasSubstr("its largest are large 512 MiB, sub 10 bytes, train.py 9 bytes"));
}

TEST_F(PackageFolder, IsRefusedWhereItIsNotThereOrCannotBeRead) {
  EXPECT_EQ(NameFolder(folder_ / "gone", kAnyBytes).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(NameFolder(From("train.py"), kAnyBytes).status().code(), StatusCode::kNotFound);
  if (geteuid() == 0) return;  // Reads all.
  chmod(From("train.py").c_str(), 0);
  EXPECT_EQ(NameFolder(folder_ / "from", kAnyBytes).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tune
