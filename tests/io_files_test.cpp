// io_files_test.cpp - positioned reads and writes, atomic files, streams, byte order.
#include "catch.hpp"
#include "core/error.hpp"
#include "core/pages.hpp"
#include "io/byte_swap.hpp"
#include "io/disk_space.hpp"
#include "io/input_file.hpp"
#include "io/output.hpp"
#include "io/parallel_chunks.hpp"
#include "io/spill_space.hpp"
#include "io/stop_event.hpp"
#include "io/temporary_files.hpp"
#include "resource_limit.hpp"
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::byte> pattern(size_t bytes) {
  std::vector<std::byte> data(bytes);
  uint32_t state = 1;
  for (std::byte& byte : data) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return data;
}

/// Like ==, which compares byte by byte. With all these buffers, == would take more than half of the tests'
/// time.
bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Evicts a file from the page cache, so that a read must go to the disk.
void make_cold(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY));
  ::fsync(file.get());
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

/// Lets user 65534 read and write, and gives the group no rights. As in <linux/posix_acl_xattr.h>: the
/// version, then the tag, rights and id of each entry.
struct AccessList {
  struct Entry {
    uint16_t tag;
    uint16_t rights;
    uint32_t id;
  };
  uint32_t version = 2;
  Entry entries[5] = {{1, 6, ~0u}, {2, 6, 65'534}, {4, 0, ~0u}, {16, 6, ~0u}, {32, 0, ~0u}};
};

/// Runs body() in a child process as a user without rights. Returns what the Error said, if there was one.
/// Only root can do this.
template <class Body>
std::string as_nobody(
    Body body, const std::function<void()>& meanwhile = [] {}) {
  constexpr uid_t nobody = 65'534;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(3);
    try {
      body();
    } catch (const std::exception& error) {
      (void)!::write(ends[1], error.what(), std::strlen(error.what()));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  meanwhile();
  std::string told;
  char part[256];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof(part))) > 0;)
    told.append(part, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return told;
}

void wait_for(const std::string& path) {
  for (int time = 0; time < 10'000 && !std::filesystem::exists(path); ++time) ::usleep(1000);
}

/// The mode of a file after the 5 bytes that it had were replaced.
mode_t replaced_mode(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK(status.st_size == 3);
  return status.st_mode & 07777;
}

void replace(const std::string& path, bool anonymous = true) {
  const auto output = open_output(path, {.overwrite = true, .allow_anonymous = anonymous});
  output->write_at(0, pattern(3));
  commit(*output);
}

}  // namespace

TEST_CASE("a read past or through the page cache gives the same bytes at every alignment") {
  const TemporaryFolder folder(Medium::disk);
  const auto data = pattern((5u << 20) + 77);
  write_file(folder / "in", data);
  std::vector<std::byte> memory(data.size() + io_alignment);
  const InputFile file(folder / "in");
  CHECK(file.size() == data.size());
  for (const bool is_cold : {true, false})
    for (const uint64_t offset : {0, 1, 128, 4096, 4100})
      for (const size_t shift : {0, 8, 128})
        for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{300'000}, data.size() - 5000}) {
          if (is_cold) make_cold(folder / "in");
          const std::span<std::byte> to = std::span(memory).subspan(shift, bytes);
          std::memset(memory.data(), 0xee, memory.size());
          file.read_at(offset, to);
          INFO("cold " << is_cold << " offset " << offset << " shift " << shift << " bytes " << bytes);
          REQUIRE(are_equal(to, std::span(data).subspan(offset, bytes)));
          REQUIRE(memory[shift + bytes] == std::byte{0xee});
        }
  CHECK_THROWS_WITH(file.read_at(data.size() - 10, std::span(memory).first(11)), ContainsSubstring("shrank"));
  file.check_unchanged();
}

TEST_CASE("a file may be replaced only while nobody has changed it, or its name") {
  const TemporaryFolder folder;
  write_file(folder / "in", pattern(5'000));
  {
    const InputFile file(folder / "in");
    file.check_replaceable();
    write_file(folder / "other", pattern(5'000));
    std::filesystem::rename(folder / "other", folder / "in");
    file.check_unchanged();  // the opened file is still whole
    CHECK_THROWS_WITH(file.check_replaceable(), ContainsSubstring("was replaced while it was being read"));
  }
  {
    const InputFile file(folder / "in");
    std::ofstream(folder / "in", std::ios::app) << "more";
    CHECK_THROWS_WITH(file.check_replaceable(), ContainsSubstring("changed while it was being read"));
  }
  // rsync and touch -r do this.
  const InputFile file(folder / "in");
  const auto time = std::filesystem::last_write_time(folder / "in");
  write_file(folder / "in", std::vector<std::byte>(5'004));
  std::filesystem::last_write_time(folder / "in", time);
  file.check_unchanged();
  CHECK_THROWS_WITH(file.check_replaceable(), ContainsSubstring("changed while it was being read"));
}

TEST_CASE("a change right after a file was opened to be replaced is noticed, however soon") {
  const TemporaryFolder folder(Medium::disk);
  write_file(folder / "in", pattern(5'000));
  for (int turn = 0; turn < 20; ++turn) {
    const FileDescriptor writer(::open((folder / "in").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(writer.get(), "x", 1, 7) == 1);
    const InputFile file(folder / "in", InputUse::to_replace);
    REQUIRE(::pwrite(writer.get(), "y", 1, 7) == 1);
    CHECK_THROWS_WITH(file.check_replaceable(), ContainsSubstring("changed while it was being read"));
  }
}

TEST_CASE("what a mapping stores is noticed, also in a page that it has changed before") {
  const TemporaryFolder folder(Medium::disk);
  if (!folder.notes_mappings()) {
    WARN("skipped: the system does not note such changes here");
    return;
  }
  write_file(folder / "in", pattern(5'000));
  const FileDescriptor writer(::open((folder / "in").c_str(), O_RDWR | O_CLOEXEC));
  void* const view = ::mmap(nullptr, 5'000, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  REQUIRE(view != MAP_FAILED);
  auto* const bytes = static_cast<volatile char*>(view);
  bytes[0] = 1;
  const InputFile file(folder / "in", InputUse::to_replace);
  file.check_replaceable();
  bytes[0] = 2;
  ::munmap(view, 5'000);
  CHECK_THROWS_WITH(file.check_replaceable(), ContainsSubstring("changed while it was being read"));
}

TEST_CASE("of several outputs none gets its name if one cannot") {
  for (const bool anonymous : {true, false}) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "gone");
    write_file(folder / "kept", pattern(10));
    const auto first = open_output(folder / "kept", {.overwrite = true, .allow_anonymous = anonymous});
    const auto second = open_output(folder / "gone/out", {.allow_anonymous = anonymous});
    for (Output* output : {first.get(), second.get()}) output->write_at(0, pattern(3));
    std::filesystem::rename(folder / "gone", folder / "elsewhere");
    Output* const both[] = {first.get(), second.get()};
    CHECK_THROWS_WITH(commit(both), ContainsSubstring("gone/out: cannot give the file its name"));
    CHECK(read_file(folder / "kept") == pattern(10));
  }
}

TEST_CASE("who may not read all inputs may not read what is made of them") {
  const TemporaryFolder folder;
  write_file(folder / "public", pattern(10));
  write_file(folder / "secret", pattern(10));
  using std::filesystem::perms;
  std::filesystem::permissions(folder / "public", perms{0644});
  std::filesystem::permissions(folder / "secret", perms{0600});
  const InputFile open_to_all(folder / "public");
  const InputFile closed(folder / "secret");
  commit(*open_output(folder / "out", {.input = &open_to_all, .others = {&closed}}));
  CHECK(std::filesystem::status(folder / "out").permissions() == perms{0600});
  if (::geteuid() == 0) {
    // Neither of the two groups has rights that other users do not have.
    std::filesystem::permissions(folder / "secret", perms{0664});
    REQUIRE(::chown((folder / "secret").c_str(), 0, 23'456) == 0);
    const InputFile of_others(folder / "secret");
    commit(*open_output(folder / "both", {.input = &open_to_all, .others = {&of_others}}));
    CHECK(std::filesystem::status(folder / "both").permissions() == perms{0644});
    std::filesystem::permissions(folder / "secret", perms{0660});
    const InputFile closed_to_others(folder / "secret");
    commit(*open_output(folder / "one", {.input = &closed_to_others, .others = {&open_to_all}}));
    CHECK(std::filesystem::status(folder / "one").permissions() == perms{0600});
  }
  // A list says more than the mode, which may only be the list's mask.
  const AccessList list;
  if (::setxattr((folder / "public").c_str(), "system.posix_acl_access", &list, sizeof(list), 0) != 0) {
    WARN("skipped: the file system has no access control lists");
    return;
  }
  const InputFile listed(folder / "public");
  commit(*open_output(folder / "new", {.input = &listed}));
  CHECK(std::filesystem::status(folder / "new").permissions() == perms{0600});
}

TEST_CASE("an error of the first read is not taken for an empty file") {
  CHECK_THROWS_WITH(InputFile("/proc/self/mem"), ContainsSubstring("cannot read at byte 0"));
}

TEST_CASE("a file that hides its size is refused, an empty one is not") {
  const TemporaryFolder folder;
  write_file(folder / "empty", {});
  CHECK(InputFile(folder / "empty").size() == 0);
  CHECK_THROWS_WITH(InputFile("/proc/self/stat"), ContainsSubstring("does not tell its size"));
}

TEST_CASE("a file that says it is longer than it is has not shrunk") {
  const std::string name = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (!std::filesystem::exists(name)) {
    WARN("skipped: there is no " + name);
    return;
  }
  const InputFile file(name);
  std::vector<std::byte> all(file.size());
  CHECK_THROWS_WITH(file.read_at(0, all), ContainsSubstring("its size says 4096"));
}

TEST_CASE("writes by several threads at every alignment make the file they should, on disk and in memory") {
  const auto data = pattern(3'000'008);
  for (const Medium medium : {Medium::disk, Medium::memory})
    for (const size_t header : {0, 8, 128, 5000})
      for (const size_t chunk_bytes : {size_t{1000}, size_t{1} << 17, size_t{1} << 20}) {
        const TemporaryFolder folder(medium);
        const auto output = open_output(folder / "out");
        output->reserve(header + data.size());
        const std::vector<std::byte> first(header, std::byte{0x11});
        output->write_at(0, first);
        parallel_chunks(3, make_grid(header, data.size(), 8, chunk_bytes), [&](uint32_t, const Chunk& chunk) {
          output->write_at(header + chunk.first_byte, std::span(data).subspan(chunk.first_byte, chunk.bytes));
        });
        CHECK(folder.names().empty());
        commit(*output);
        auto expected = first;
        expected.insert(expected.end(), data.begin(), data.end());
        CHECK(folder.names() == std::vector<std::string>{"out"});
        CHECK(are_equal(read_file(folder / "out"), expected));
      }
}

TEST_CASE("an output that is not committed leaves nothing") {
  for (const bool anonymous : {true, false}) {
    const TemporaryFolder folder;
    {
      const auto output = open_output(folder / "out", {.allow_anonymous = anonymous});
      output->reserve(1000);
      output->write_at(0, pattern(1000));
      CHECK(folder.names().size() == (anonymous ? 0 : 1));
    }
    CHECK(folder.names().empty());
  }
}

TEST_CASE("an output that is on the disk has no name yet, and leaves nothing without one") {
  for (const bool anonymous : {true, false}) {
    const TemporaryFolder folder;
    write_file(folder / "out", pattern(5));
    {
      const auto output = open_output(folder / "out", {.overwrite = true, .allow_anonymous = anonymous});
      output->reserve(3);
      output->write_at(0, pattern(3));
      output->sync();
      CHECK(read_file(folder / "out").size() == 5);
    }
    CHECK(folder.names() == std::vector<std::string>{"out"});
    CHECK(read_file(folder / "out").size() == 5);
  }
}

TEST_CASE("a replaced file keeps its owner and its group") {
  if (::geteuid() != 0) {
    WARN("skipped: only root may give a file to somebody else");
    return;
  }
  const TemporaryFolder folder;
  write_file(folder / "out", pattern(5));
  REQUIRE(::chown((folder / "out").c_str(), 12'345, 23'456) == 0);
  REQUIRE(::chmod((folder / "out").c_str(), 0640) == 0);
  const auto output = open_output(folder / "out", {.overwrite = true});
  output->write_at(0, pattern(3));
  commit(*output);
  struct stat status {};
  REQUIRE(::stat((folder / "out").c_str(), &status) == 0);
  CHECK(status.st_size == 3);
  CHECK(status.st_uid == 12'345);
  CHECK(status.st_gid == 23'456);
  CHECK((status.st_mode & 07777) == 0640);
}

TEST_CASE("who replaces a file of a group that is not theirs gives its rights to nobody") {
  if (::geteuid() != 0) {
    WARN("skipped: only root may give a file to somebody else");
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  write_file(folder / "out", pattern(5));
  REQUIRE(::chown((folder / "out").c_str(), 65'534, 0) == 0);
  REQUIRE(::chmod((folder / "out").c_str(), 0664) == 0);
  CHECK(as_nobody([&] { replace(folder / "out"); }).empty());
  CHECK(replaced_mode(folder / "out") == 0644);
  REQUIRE(::chmod((folder / "out").c_str(), 0640) == 0);
  CHECK(as_nobody([&] { replace(folder / "out"); }).empty());
  CHECK(replaced_mode(folder / "out") == 0640);  // the file belongs to nobody's own group by now
}

TEST_CASE("a new file that gets another group than its inputs have gives that group no rights of theirs") {
  if (::geteuid() != 0) {
    WARN("skipped: only root may give a file to somebody else");
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(::chown(folder.path().c_str(), 0, 23'456) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 02755) == 0);  // new files get the group of this folder
  const auto mode_made_of = [&](mode_t input_mode, gid_t group, bool anonymous) {
    write_file(folder / "in", pattern(3));
    ::removexattr((folder / "in").c_str(), "system.posix_acl_access");
    REQUIRE(::chown((folder / "in").c_str(), 0, group) == 0);
    REQUIRE(::chmod((folder / "in").c_str(), input_mode) == 0);
    const InputFile input(folder / "in");
    const std::string out = folder / "out";
    commit(*open_output(out, {.input = &input, .allow_anonymous = anonymous}));
    const auto mode = static_cast<mode_t>(std::filesystem::status(out).permissions());
    std::filesystem::remove(out);
    std::filesystem::remove(folder / "in");
    return mode;
  };
  const mode_t umask_before = ::umask(0);
  for (const bool anonymous : {true, false}) {
    CHECK(mode_made_of(0660, 23'456, anonymous) == 0660);
    CHECK(mode_made_of(0660, 0, anonymous) == 0600);
    CHECK(mode_made_of(0664, 0, anonymous) == 0644);
    CHECK(mode_made_of(0604, 0, anonymous) == 0600);
    CHECK(mode_made_of(0755, 0, anonymous) == 0755);
  }
  // Users whom the directory lets read new files get no rights either.
  AccessList list;
  list.entries[4].rights = 4;  // others
  if (::setxattr(folder.path().c_str(), "system.posix_acl_default", &list, sizeof(list), 0) == 0) {
    for (const bool anonymous : {true, false}) {
      CHECK(mode_made_of(0660, 23'456, anonymous) == 0600);
      CHECK(mode_made_of(0664, 23'456, anonymous) == 0644);
    }
  }
  ::umask(umask_before);
}

TEST_CASE("an output that has a hidden name while it is written is its owner's alone") {
  const TemporaryFolder folder;
  write_file(folder / "out", pattern(5));
  REQUIRE(::chmod((folder / "out").c_str(), 0644) == 0);
  for (const char* name : {"out", "new"}) {
    const auto output = open_output(folder / name, {.overwrite = true, .allow_anonymous = false});
    for (const std::string& hidden : folder.names())
      if (hidden.starts_with(".sweepsort"))
        CHECK(std::filesystem::status(folder / hidden).permissions() == std::filesystem::perms{0600});
    output->write_at(0, pattern(3));
    commit(*output);
    CHECK(std::filesystem::status(folder / name).permissions() == std::filesystem::perms{0644});
  }
}

TEST_CASE("a replaced file keeps its access control list") {
  const AccessList list;
  const char* const attribute = "system.posix_acl_access";
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  for (const bool anonymous : {true, false}) {
    // A file that has no list does not get the list that the folder gives to new files.
    write_file(out, pattern(5));
    REQUIRE(::chmod(out.c_str(), 0640) == 0);
    ::setxattr(folder.path().c_str(), "system.posix_acl_default", &list, sizeof(list), 0);
    replace(out, anonymous);
    CHECK(replaced_mode(out) == 0640);
    CHECK(::getxattr(out.c_str(), attribute, nullptr, 0) < 0);
    ::removexattr(folder.path().c_str(), "system.posix_acl_default");
    write_file(out, pattern(5));
    if (::setxattr(out.c_str(), attribute, &list, sizeof(list), 0) != 0) {
      WARN("skipped: no access control lists here");
      return;
    }
    replace(out, anonymous);
    CHECK(replaced_mode(out) == 0660);
    AccessList found;
    CHECK(::getxattr(out.c_str(), attribute, &found, sizeof(found)) == sizeof(found));
    CHECK(std::memcmp(&found, &list, sizeof(list)) == 0);
    std::filesystem::remove(out);
  }
}

TEST_CASE(
    "a file that nobody but its owner may replace is refused before the work, and before a name is given") {
  if (::geteuid() != 0) {
    WARN("skipped: only root may give a file to somebody else");
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
  write_file(folder / "out", pattern(5));
  REQUIRE(::chmod((folder / "out").c_str(), 0666) == 0);
  for (const bool anonymous : {true, false})
    CHECK_THAT(as_nobody([&] { replace(folder / "out", anonymous); }),
               ContainsSubstring("out: belongs to another user, who alone may replace it in this directory"));
  // A file that appears while the other user works.
  const std::string told = as_nobody(
      [&] {
        const auto output = open_output(folder / "new", {.overwrite = true});
        write_file(folder / "opened", {});
        wait_for(folder / "new");
        output->check_name();
      },
      [&] {
        wait_for(folder / "opened");
        write_file(folder / "new", pattern(5));
      });
  CHECK_THAT(told, ContainsSubstring("new: belongs to another user"));
  CHECK(read_file(folder / "out").size() == 5);
}

TEST_CASE("space beyond any file's length is refused, not wrapped around") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(open_output(folder / "out")->reserve(~uint64_t{0}), ContainsSubstring("File too large"));
}

TEST_CASE("a temporary file that cannot be made says why, with a name or without") {
  const TemporaryFolder folder;
  for (const bool anonymous : {true, false}) {
    // Looked at only when there are descriptors again, which UBSan wants to look at an object's type.
    std::exception_ptr failure;
    try {
      const ResourceLimit none(RLIMIT_NOFILE, 0);
      const SpillFile file(folder.path(), Caching::bypass, anonymous);
    } catch (...) {
      failure = std::current_exception();
    }
    REQUIRE(failure);
    CHECK_THROWS_WITH(std::rethrow_exception(failure), ContainsSubstring("Too many open files"));
  }
}

TEST_CASE("what is written over the stripes of several directories is read back, in any pieces") {
  const auto data = pattern(1'000'003);
  for (const auto& [directories, max_file_bytes] : {std::pair<size_t, uint64_t>{1, 1 << 30},
                                                    {2, 1 << 30},
                                                    {3, 1 << 30},
                                                    {1, 1 << 16},
                                                    {2, 12 * io_alignment}}) {
    const std::vector<TemporaryFolder> folders(directories);
    std::vector<std::string> paths;
    for (const TemporaryFolder& folder : folders) paths.push_back(folder.path());
    SpillSpace space(paths, 8 * io_alignment, Caching::bypass, directories != 2, max_file_bytes);
    space.reserve(500'000);
    space.reserve(data.size());
    CHECK(space.bytes() == data.size());
    for (size_t at = 0; at < data.size(); at += 70'001)
      space.write_at(at, std::span(data).subspan(at, std::min<size_t>(70'001, data.size() - at)));
    std::vector<std::byte> back(data.size());
    for (size_t at = 0; at < data.size(); at += 90'017)
      space.read_at(at, std::span(back).subspan(at, std::min<size_t>(90'017, data.size() - at)));
    CHECK(are_equal(back, data));
    // No stripe lies in two files: the last byte of the space is the last byte of one of them.
    std::vector<std::byte> beyond(1);
    CHECK_THROWS_WITH(space.read_at(data.size(), beyond), ContainsSubstring("the file ends at byte"));
    for (const TemporaryFolder& folder : folders) CHECK(folder.names().empty());
  }
}

TEST_CASE("a name of 255 bytes can be written and replaced") {
  for (const bool anonymous : {true, false}) {
    const TemporaryFolder folder;
    const std::string name(255, 'n');
    for (int time = 0; time < 2; ++time) {
      const auto output = open_output(folder / name, {.overwrite = true, .allow_anonymous = anonymous});
      output->reserve(3);
      output->write_at(0, pattern(3));
      commit(*output);
    }
    CHECK(folder.names() == std::vector<std::string>{name});
  }
}

TEST_CASE("eight writers of one output leave one whole file") {
  const TemporaryFolder folder;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < 8; ++writer)
    writers.emplace_back([&folder, writer] {
      const std::vector<std::byte> data(10'000, static_cast<std::byte>(writer));
      for (int time = 0; time < 50; ++time) {
        const auto output =
            open_output(folder / "out", {.overwrite = true, .allow_anonymous = writer % 2 == 0});
        output->reserve(data.size());
        output->write_at(0, data);
        commit(*output);
      }
    });
  writers.clear();
  const auto left = read_file(folder / "out");
  CHECK(left.size() == 10'000);
  CHECK(std::ranges::count(left, left[0]) == 10'000);
  CHECK(folder.names() == std::vector<std::string>{"out"});
}

TEST_CASE("a terminal is neither read nor written") {
  const FileDescriptor master(::posix_openpt(O_RDWR | O_NOCTTY));
  REQUIRE(master);
  REQUIRE(::grantpt(master.get()) == 0);
  REQUIRE(::unlockpt(master.get()) == 0);
  const std::string terminal = ::ptsname(master.get());
  CHECK_THROWS_WITH(InputFile(terminal), ContainsSubstring("is a terminal"));
  CHECK_THROWS_WITH(open_output(terminal), ContainsSubstring("is a terminal"));
}

TEST_CASE("a stream written out of order is an error of ours, not a wrong file") {
  const auto output = open_output("/dev/null");
  CHECK(output->is_sequential());
  output->write_at(0, pattern(10));
  CHECK_THROWS_WITH(output->write_at(20, pattern(10)), ContainsSubstring("out of order"));
}

TEST_CASE("a write that waits for a pipe's reader can be told to stop") {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const FileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader);
  const auto output = open_output(path, {.overwrite = true});
  const auto more_than_it_holds = pattern(4u << 20);
  std::thread other([&] {
    // Waits until the writer waits; before that, the pipe takes more.
    int held = -1;
    for (int before = -2; held != before || held == 0;) {
      before = held;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (::ioctl(reader.get(), FIONREAD, &held) != 0) break;
    }
    output->stop();
  });
  CHECK_THROWS_AS(output->write_at(0, more_than_it_holds), Stopped);
  other.join();
}

TEST_CASE("the names in the table are unlinked, and forgotten when kept") {
  const TemporaryFolder folder;
  {
    TemporaryName temporary(folder.path());
    TemporaryName kept(folder.path());
    for (TemporaryName* name : {&temporary, &kept}) CHECK(name->open(0600));
    CHECK(folder.names().size() == 2);
    kept.step([&] { return ::rename(kept.path().c_str(), (folder / "kept").c_str()) != 0; });
  }
  CHECK(folder.names() == std::vector<std::string>{"kept"});
}

TEST_CASE("what removes temporary files waits for those that are being made, and no more are made then") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<bool> has_begun = false;
    std::thread maker([&] {
      TemporaryName first(folder.path());
      first.step([&] {
        has_begun = true;
        ::usleep(50'000);
        write_file(first.path(), pattern(1));
        return true;
      });
      TemporaryName second(folder.path());
      ::usleep(50'000);
      (void)second.open(0600);
      ::_exit(3);
    });
    while (!has_begun) ::usleep(100);
    remove_temporary_files();
    const size_t left = folder.names().size();
    ::usleep(200'000);
    ::_exit(left == 0 && folder.names().empty() ? 0 : 4);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("where names cannot be removed no temporary file gets one") {
  const TemporaryFolder folder;
  const auto set_append_only = [&](bool on) {
    const FileDescriptor directory(::open(folder.path().c_str(), O_RDONLY));
    int flags = on ? FS_APPEND_FL : 0;
    return ::ioctl(directory.get(), FS_IOC_SETFLAGS, &flags) == 0;
  };
  if (!set_append_only(true)) {
    WARN("skipped: no chattr +a here");
    return;
  }
  CHECK_THROWS_WITH(open_output(folder / "out", {.allow_anonymous = false}),
                    ContainsSubstring("does not allow a temporary file"));
  CHECK_THROWS_WITH(SpillFile(folder.path(), Caching::bypass, false),
                    ContainsSubstring("Operation not permitted"));
  set_append_only(false);
  CHECK(folder.names().empty());
}

TEST_CASE("byte order is reversed key by key, and twice is nothing") {
  for (const size_t width : {1, 2, 4, 8}) {
    const auto data = pattern(8 * 37);
    auto swapped = data;
    swap_key_bytes(swapped, width);
    for (size_t i = 0; i < data.size(); ++i)
      REQUIRE(swapped[i] == data[i / width * width + (width - 1 - i % width)]);
    swap_key_bytes(swapped, width);
    CHECK(swapped == data);
  }
}

TEST_CASE("a pipe that is read or written holds as much as the system lets it") {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const FileDescriptor both(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(both);
  // The limit can be changed. Also, an earlier test or user may have used up what one user may have of it.
  const int wanted = ::fcntl(both.get(), F_SETPIPE_SZ, 1 << 20) == 1 << 20 ? 1 << 20 : 0;
  for (const bool reads : {true, false}) {
    (void)::fcntl(both.get(), F_SETPIPE_SZ, 1 << 16);
    if (reads)
      const InputFile input(path);
    else
      (void)open_output(path, {.overwrite = true});
    CHECK(::fcntl(both.get(), F_GETPIPE_SZ) >= wanted);
  }
}

TEST_CASE("a file system is asked once for all that is needed on it, and named if it has less") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "directory");
  constexpr uint64_t much = uint64_t{1} << 62;
  CHECK(lacking_space({}).empty());
  CHECK(lacking_space(std::vector<SpaceNeed>{{"a", folder.path(), 1}, {"b", folder.path(), 1}}).empty());
  const std::vector<SpaceNeed> needs{{"a", folder / "directory", much}, {"b", folder.path(), much}};
  const std::vector<std::string> lines = lacking_space(needs);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("a, b: 8.0 EiB will be needed there, but only "));
  CHECK(lacking_space(std::vector<SpaceNeed>{{"a", "/nowhere/to/be/found", much}}).empty());
}
