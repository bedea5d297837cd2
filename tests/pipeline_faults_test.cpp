// pipeline_faults_test.cpp - whatever goes wrong, the old output stays, nothing is left behind, and the
// reason is reported.
#include "catch.hpp"
#include "io/file_descriptor.hpp"
#include "io/spill_file.hpp"
#include "io/system_error.hpp"
#include "oracle.hpp"
#include "sort_file_fixture.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A folder with an input of 1000 keys and an old output. After the test both must be unchanged.
class Scene {
 public:
  Scene() {
    write_keys(folder / "in.u32", keys);
    write_keys(folder / "out", old);
  }
  void require_untouched() const {
    CHECK(read_keys<uint32_t>(folder / "in.u32") == keys);
    CHECK(read_keys<uint32_t>(folder / "out") == old);
    CHECK(folder.names() == std::vector<std::string>{"in.u32", "out"});
  }

  TemporaryFolder folder;
  std::vector<uint32_t> keys = random_keys<uint32_t>(1000);
  std::vector<uint32_t> old = {3, 1, 2};
};

/// What sort_file reports as wrong; fails the test if it reports nothing.
std::string message_of(const SortEnvironment& environment, const std::string& input,
                       const std::string& output, const SortFileOptions& options = {.overwrite = true}) {
  try {
    sort_file_with(environment, input, output, options);
  } catch (const Error& error) {
    return error.what() + std::string(" | hint: ") + error.hint();
  }
  FAIL("no error: " << input << " -> " << output);
  return {};
}

/// A GPU with this fault, which is the automatic choice. No GPU pays for 1000 keys, and the choice by size
/// has tests of its own.
SortEnvironment on_gpu(Fault fault) {
  SortEnvironment environment = with_gpu(plain_environment(), fault);
  environment.choose = [](const KeysToSort&, const AskStatus&, uint32_t, const WhereOptions&) {
    return BackendDecision{BackendChoice::cuda, "the test says so"};
  };
  return environment;
}

/// Runs f in a child process and returns its wait status; Catch must not see what happens there.
int in_child(const std::function<void()>& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 0;
    try {
      f();
    } catch (const Error&) {
      code = 2;
    } catch (...) {
      code = 3;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE(
    "a backend that drops, doubles, flips or misplaces a key is caught before the output gets its name") {
  for (const bool anonymous : {true, false})
    for (const Fault fault :
         {Fault::drops_key, Fault::doubles_key, Fault::flips_bit, Fault::swaps_neighbours})
      for (const size_t chunk_bytes : {size_t{8}, size_t{256}, size_t{1} << 20}) {
        const Scene scene;
        SortEnvironment environment = plain_environment(chunk_bytes, fault);
        environment.allow_anonymous = anonymous;
        CHECK_THAT(message_of(environment, scene.folder / "in.u32", scene.folder / "out"),
                   ContainsSubstring("the result was discarded"));
        CHECK_THAT(message_of(environment, scene.folder / "in.u32", scene.folder / "new"),
                   ContainsSubstring("the result was discarded"));
        CHECK_THAT(message_of(environment, scene.folder / "in.u32", "", {.in_place = true}),
                   ContainsSubstring("the result was discarded"));
        scene.require_untouched();
      }
}

TEST_CASE("keys that are misplaced where two chunks or two pieces of one chunk meet are caught") {
  const TemporaryFolder folder;
  const std::string in = folder / "in.u32";
  write_keys(in, random_keys<uint32_t>(1000));
  CHECK_THAT(message_of(plain_environment(256, Fault::swaps_chunks), in, folder / "out"),
             ContainsSubstring("not in order; the result was discarded"));
  // The middle of these keys is where the first piece of 128 KiB ends.
  write_keys(in, random_keys<uint32_t>(2 * ((128u << 10) / 4 - 1)));
  CHECK_THAT(message_of(plain_environment(1 << 20, Fault::swaps_neighbours), in, folder / "out"),
             ContainsSubstring("not in order; the result was discarded"));
  CHECK(folder.names() == std::vector<std::string>{"in.u32"});
}

TEST_CASE("without verification a faulty backend gets through, so it is verification that catches it") {
  const Scene scene;
  sort_file_with(plain_environment(64, Fault::swaps_neighbours), scene.folder / "in.u32",
                 scene.folder / "out", {.overwrite = true, .verify = false});
  CHECK(
      oracle::judge_order<uint32_t>(read_keys<uint32_t>(scene.folder / "out"), Order::ascending).has_value());
}

TEST_CASE("the referee sees what differs, and the output does not get its name") {
  const Scene scene;
  for (const Fault fault :
       {Fault::drops_key, Fault::doubles_key, Fault::flips_bit, Fault::swaps_neighbours}) {
    const SortReport report =
        sort_file_with(plain_environment(64, fault), scene.folder / "in.u32", scene.folder / "out",
                       {.overwrite = true, .verify = false, .referee = Referee::thrust});
    CHECK(report.referee_agrees == false);
    scene.require_untouched();
  }
}

TEMPLATE_TEST_CASE("the referee agrees with a right sort of every type in both orders", "", uint8_t, int8_t,
                   uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  const TemporaryFolder folder;
  write_keys(folder / "in", random_keys<TestType>(3000));
  for (const Order order : {Order::ascending, Order::descending}) {
    const SortReport report = sort_file_with(plain_environment(512), folder / "in", folder / "out",
                                             {.file = {.type = key_type_of<TestType>()},
                                              .order = order,
                                              .overwrite = true,
                                              .referee = Referee::thrust});
    CHECK(report.referee_agrees == true);
    CHECK(report.verified);
  }
}

TEST_CASE("a GPU that fails or lies in any phase is replaced by the CPU, with a line in the log") {
  for (const Fault fault : {Fault::fails_to_begin, Fault::fails_to_sort, Fault::fails_to_get,
                            Fault::drops_key, Fault::swaps_neighbours}) {
    const Scene scene;
    const SortEnvironment environment = on_gpu(fault);
    std::string log;
    const SortReport report =
        sort_file_with(environment, scene.folder / "in.u32", scene.folder / "out",
                       {.overwrite = true, .log = [&](const std::string& line) { log += line + "\n"; }});
    CHECK(report.backend == "cpu");
    CHECK_THAT(report.backend_why, ContainsSubstring("the GPU failed"));
    CHECK_THAT(log, ContainsSubstring("starting again on the CPU"));
    oracle::require_sorted<uint32_t>(scene.keys, read_keys<uint32_t>(scene.folder / "out"));
  }
}

TEST_CASE("a full disk is no GPU's failure: nobody sorts once more") {
  const Scene scene;
  SortEnvironment environment = on_gpu(Fault::none);
  environment.make_cuda = [](int) -> std::unique_ptr<Backend> {
    throw system_error("spilled", "write", ENOSPC);
  };
  std::string log;
  CHECK_THROWS_WITH(
      sort_file_with(environment, scene.folder / "in.u32", scene.folder / "out",
                     {.overwrite = true, .log = [&](const std::string& line) { log += line + "\n"; }}),
      ContainsSubstring("spilled: cannot write: No space left on device"));
  CHECK_THAT(log, ContainsSubstring("backend cuda") && !ContainsSubstring("the CPU"));
  scene.require_untouched();
  CHECK_THROWS_AS(SpillFile("/dev/null", Caching::bypass, true), FileError);
}

TEST_CASE("a GPU that leaves the process no descriptors is replaced by the CPU") {
  const Scene scene;
  SortEnvironment environment = on_gpu(Fault::none);
  environment.make_cuda = [](int) -> std::unique_ptr<Backend> { throw system_error("in", "open", EMFILE); };
  CHECK(sort_file_with(environment, scene.folder / "in.u32", scene.folder / "out", {.overwrite = true})
            .backend == "cpu");
}

TEST_CASE("whoever takes notes hears of a GPU that failed there, and not once more in the log") {
  const Scene scene;
  std::string log, notes;
  sort_file_with(on_gpu(Fault::fails_to_sort), scene.folder / "in.u32", scene.folder / "out",
                 {.overwrite = true,
                  .log = [&](const std::string& line) { log += line + "\n"; },
                  .note = [&](const std::string& line) { notes += line + "\n"; }});
  CHECK(notes == "the GPU failed (the device fell off the bus): starting again on the CPU\n");
  CHECK_THAT(log, ContainsSubstring("backend cuda") && !ContainsSubstring("starting again"));
}

TEST_CASE("a chunk that fails ends the sort although another one waits for a pipe's reader") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", random_keys<uint32_t>(1u << 20));
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  SortEnvironment environment = on_gpu(Fault::fails_to_get);
  environment.chunk_bytes = 2u << 20;  // more than the pipe holds, while the second chunk fails
  std::promise<void> over;
  auto reader = std::async(std::launch::async, [&, is_over = over.get_future()] {
    const FileDescriptor file(::open(pipe.c_str(), O_RDONLY | O_CLOEXEC));
    return is_over.wait_for(std::chrono::seconds(30));
  });
  CHECK_THAT(message_of(environment, folder / "in.u32", pipe,
                        {.where = {.threads = 2}, .result = SortResult::unique}),
             ContainsSubstring("fell off the bus"));
  over.set_value();
  CHECK(reader.get() == std::future_status::ready);
}

TEST_CASE("a chunk that fails ends the sort although the next one waits for its turn") {
  const Scene scene;
  const SortFileOptions unique{.where = {.threads = 2}, .result = SortResult::unique, .overwrite = true};
  CHECK_THAT(message_of(plain_environment(256, Fault::fails_to_get_first), scene.folder / "in.u32",
                        scene.folder / "out", unique),
             ContainsSubstring("fell off the bus"));
  scene.require_untouched();
}

TEST_CASE("a GPU that cannot do what is asked for has not failed") {
  const Scene scene;
  SortEnvironment environment = on_gpu(Fault::none);
  environment.make_cuda = [](int) {
    auto backend = std::make_unique<PlainBackend>(Fault::none, "cuda");
    backend->limit_device(Bytes{3000});  // of the 4000 bytes of keys
    return backend;
  };
  std::string notes;
  const SortReport report = sort_file_with(
      environment, scene.folder / "in.u32", scene.folder / "out",
      {.overwrite = true, .repeat = 1, .note = [&](const std::string& line) { notes += line + "\n"; }});
  CHECK(report.backend == "cpu");
  CHECK_THAT(report.backend_why, ContainsSubstring("not on the GPU: --repeat needs all keys in memory"));
  CHECK_THAT(notes, ContainsSubstring("using the CPU") && !ContainsSubstring("failed"));
}

TEST_CASE("a callback that throws ends the sort, and is no fault of the GPU") {
  const Scene scene;
  const SortEnvironment environment = on_gpu(Fault::none);
  std::string log;
  const auto sort = [&](const SortFileOptions& options) -> std::string {
    try {
      sort_file_with(environment, scene.folder / "in.u32", scene.folder / "out", options);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no exception";
  };
  std::atomic<uint32_t> calls = 0;
  CHECK(sort({.overwrite = true,
              .progress =
                  [&](Phase, uint64_t, uint64_t) {
                    if (calls++ == 0) throw std::runtime_error("cancelled");
                  },
              .log = [&](const std::string& line) { log += line + "\n"; }}) == "cancelled");
  CHECK_THAT(log, !ContainsSubstring("CPU"));
  CHECK(sort({.overwrite = true, .log = [](const std::string&) { throw std::runtime_error("full"); }}) ==
        "full");
  CHECK_THROWS_WITH(
      sort_file_with(
          on_gpu(Fault::fails_to_sort), scene.folder / "in.u32", scene.folder / "out",
          {.overwrite = true, .note = [](const std::string& line) { throw Error("no: " + line); }}),
      ContainsSubstring("no: the GPU failed"));
  scene.require_untouched();
}

TEST_CASE("what is wrong with the input is no fault of the GPU: nobody tries again") {
  const Scene scene;
  const SortEnvironment environment = on_gpu(Fault::none);
  std::string log;
  CHECK_THAT(message_of(environment, scene.folder / "in.u32", scene.folder / "out",
                        {.inputs_are_sorted = true,
                         .overwrite = true,
                         .log = [&](const std::string& line) { log += line + "\n"; }}),
             ContainsSubstring("not sorted"));
  CHECK_THAT(log, ContainsSubstring("backend cuda") && !ContainsSubstring("CPU"));
  scene.require_untouched();
}

TEST_CASE("a GPU asked for by name that is not there, or fails, is an error and never a quiet fallback") {
  const Scene scene;
  const SortFileOptions cuda{.where = {.backend = BackendChoice::cuda}, .overwrite = true};
  const std::string in = scene.folder / "in.u32";
  const std::string out = scene.folder / "out";
  CHECK_THAT(message_of(plain_environment(), in, out, cuda),
             ContainsSubstring("no NVIDIA driver | hint: install one"));
  CHECK_THAT(message_of(with_gpu(plain_environment(), Fault::fails_to_sort), in, out, cuda),
             ContainsSubstring("fell off"));
  CHECK_THAT(message_of(with_gpu(plain_environment(), Fault::doubles_key), in, out, cuda),
             ContainsSubstring("discarded"));
  scene.require_untouched();
  sort_file_with(with_gpu(plain_environment(), Fault::none), in, out, cuda);
  oracle::require_sorted<uint32_t>(scene.keys, read_keys<uint32_t>(out));
}

TEST_CASE("an input that cannot be sorted is named with its reason, and nothing changes") {
  const Scene scene;
  const TemporaryFolder other;
  write_file(other / "odd.u32", std::vector<std::byte>(4001));
  write_file(other / "bare", std::vector<std::byte>(4000));
  write_file(other / "bad.npy", std::vector<std::byte>(4000));
  write_file(other / "short_uint64", std::vector<std::byte>(4001));
  const auto reason = [&](const std::string& input, const FileOptions& file = {}) {
    return message_of(plain_environment(), input, scene.folder / "out", {.file = file, .overwrite = true});
  };
  CHECK_THAT(reason(other / "none.u32"), ContainsSubstring("none.u32: no such file"));
  CHECK_THAT(reason(other / "odd.u32/x"), ContainsSubstring("Not a directory"));
  CHECK_THAT(reason(other.path()), ContainsSubstring("is a directory"));
  CHECK_THAT(reason(other / "odd.u32"), ContainsSubstring("1 left over"));
  CHECK_THAT(reason(other / "bare"), ContainsSubstring("the key type is not known | hint: give it with -t"));
  CHECK_THAT(reason(other / "bad.npy"), ContainsSubstring("the magic number is missing"));
  CHECK_THAT(reason(other / "short_uint64", {.format = FileFormat::sosd}),
             ContainsSubstring("the SOSD count says 0 keys"));
  scene.require_untouched();
}

TEST_CASE("an input without read permission is refused to an ordinary user") {
  if (::geteuid() == 0) {
    // Root may read everything, so this runs as nobody.
    const Scene scene;
    ::chmod((scene.folder / "in.u32").c_str(), 0000);
    ::chmod(scene.folder.path().c_str(), 0755);
    const int status = in_child([&] {
      if (::setuid(65534) != 0) ::_exit(4);
      const std::string message =
          message_of(plain_environment(), scene.folder / "in.u32", scene.folder / "x");
      ::_exit(message.find("permission denied") == std::string::npos ? 5 : 0);
    });
    CHECK(status == 0);  // also no signal
    return;
  }
  const Scene scene;
  ::chmod((scene.folder / "in.u32").c_str(), 0000);
  CHECK_THAT(message_of(plain_environment(), scene.folder / "in.u32", scene.folder / "x"),
             ContainsSubstring("permission denied"));
}

TEST_CASE("an output that must not be written is refused before anything is read") {
  const Scene scene;
  const std::string in = scene.folder / "in.u32";
  bool has_read = false;
  SortEnvironment environment = plain_environment();
  environment.make_cpu = [&](uint32_t) -> std::unique_ptr<Backend> {
    has_read = true;
    return std::make_unique<PlainBackend>();
  };
  const auto reason = [&](const std::string& output, const SortFileOptions& options = {}) {
    return message_of(environment, in, output, options);
  };
  fs::create_symlink("in.u32", scene.folder / "symbolic");
  fs::create_hard_link(in, scene.folder / "hard");
  CHECK_THAT(reason(scene.folder / "out"), ContainsSubstring("already exists | hint: use -f"));
  for (const char* same : {"in.u32", "symbolic", "hard", "./in.u32"}) {
    CHECK_THAT(reason(scene.folder / same), ContainsSubstring("is the input | hint: use --in-place"));
    CHECK_THAT(reason(scene.folder / same, {.overwrite = true}),
               ContainsSubstring("is the input | hint: use --in-place"));
  }
  fs::remove(scene.folder / "symbolic");
  fs::remove(scene.folder / "hard");
  CHECK_THAT(reason(scene.folder.path(), {.overwrite = true}), ContainsSubstring("is a directory"));
  CHECK_THAT(reason(scene.folder / "none/out"), ContainsSubstring("does not exist"));
  CHECK_THAT(reason(scene.folder / "in.u32/out"), ContainsSubstring("is not a directory"));
  CHECK_THAT(reason(scene.folder / "out/"), ContainsSubstring("not a file name"));
  CHECK_FALSE(has_read);
  scene.require_untouched();
}

TEST_CASE("a directory or file that an ordinary user may not write is found before anything is read") {
  const Scene scene;
  ::chmod(scene.folder.path().c_str(), 0755);
  ::chmod((scene.folder / "in.u32").c_str(), 0644);
  ::chmod((scene.folder / "out").c_str(), 0444);
  const int status = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(4);
    const std::string in = scene.folder / "in.u32";
    const std::string file = message_of(plain_environment(), in, scene.folder / "out");
    if (file.find("out: is not writable: permission denied") == std::string::npos) ::_exit(5);
    if (::access(scene.folder.path().c_str(), W_OK) == 0) ::_exit(0);  // not root: the folder is ours
    const std::string folder = message_of(plain_environment(), in, scene.folder / "new");
    ::_exit(folder.find("its directory is not writable") == std::string::npos ? 6 : 0);
  });
  CHECK(status == 0);  // also no signal
  scene.require_untouched();
}

TEST_CASE("a full device says so") {
  const Scene scene;
  CHECK_THAT(message_of(plain_environment(), scene.folder / "in.u32", "/dev/full"),
             ContainsSubstring(
                 "/dev/full: cannot write at byte 0: No space left on device | hint: free some space"));
  scene.require_untouched();
}

TEST_CASE("a file-size limit is found before the work, and no signal ends the process") {
  const Scene scene;
  for (const bool anonymous : {true, false}) {
    const int status = in_child([&] {
      const rlimit limit{3999, 3999};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      SortEnvironment environment = plain_environment();
      environment.allow_anonymous = anonymous;
      sort_file_with(environment, scene.folder / "in.u32", scene.folder / "out", {.overwrite = true});
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 2);
    scene.require_untouched();
  }
}

TEST_CASE("an input that changes while it is read is refused") {
  for (const bool shrinks : {true, false}) {
    const Scene scene;
    const std::string in = scene.folder / "in.u32";
    SortEnvironment environment = plain_environment();
    environment.make_cpu = [&](uint32_t) -> std::unique_ptr<Backend> {
      if (shrinks)
        fs::resize_file(in, 2000);
      else
        std::ofstream(in, std::ios::app) << "more";
      return std::make_unique<PlainBackend>();
    };
    CHECK_THAT(message_of(environment, in, scene.folder / "out"),
               ContainsSubstring(shrinks ? "shrank while it was read" : "changed while it was being read"));
    CHECK(read_keys<uint32_t>(scene.folder / "out") == scene.old);
    CHECK(scene.folder.names() == std::vector<std::string>{"in.u32", "out"});
  }
}

TEST_CASE("an input that changes while it is sorted in runs, or merged, is refused") {
  for (const bool is_sorted : {false, true}) {
    const TemporaryFolder folder;
    const std::string in = folder / "in.u32";
    auto keys = random_keys<uint32_t>(1000);
    if (is_sorted) std::ranges::sort(keys);
    write_keys(in, keys);
    SortEnvironment environment = plain_environment();
    environment.min_runs = 5;
    environment.make_cpu = [&](uint32_t) -> std::unique_ptr<Backend> {
      std::ofstream(in, std::ios::app) << "more";
      return std::make_unique<PlainBackend>();
    };
    CHECK_THAT(message_of(environment, in, folder / "out", {.inputs_are_sorted = is_sorted}),
               ContainsSubstring("changed while it was being read"));
    CHECK(folder.names() == std::vector<std::string>{"in.u32"});
  }
}

TEST_CASE("what is written to an input while its replacement goes to the disk is not lost") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", random_keys(3'000));
  SortFileOptions options{.in_place = true};
  options.progress = [&](Phase phase, uint64_t, uint64_t) {
    if (phase == Phase::sync) write_keys(folder / "in.u32", std::vector<uint32_t>{1, 2, 3});
  };
  CHECK_THROWS_WITH(sort_file_with(plain_environment(), folder / "in.u32", "", options),
                    ContainsSubstring("changed while it was being read"));
  CHECK(read_keys<uint32_t>(folder / "in.u32") == std::vector<uint32_t>{1, 2, 3});
  CHECK(folder.names() == std::vector<std::string>{"in.u32"});
}

TEST_CASE(
    "what a mapping stores while its file is sorted in place is not lost, also where it has written before") {
  const TemporaryFolder folder(Medium::disk);
  if (!folder.notes_mappings()) {
    WARN("skipped: the system does not note such changes here");
    return;
  }
  const std::string in = folder / "in.u32";
  write_keys(in, random_keys(3'000));
  const FileDescriptor mapped(::open(in.c_str(), O_RDWR | O_CLOEXEC));
  void* const view = ::mmap(nullptr, 12'000, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.get(), 0);
  REQUIRE(view != MAP_FAILED);
  auto* const keys = static_cast<volatile uint32_t*>(view);
  keys[5] = 1;
  SortFileOptions options{.in_place = true};
  options.progress = [&](Phase phase, uint64_t, uint64_t) {
    if (phase == Phase::sync) keys[5] = 2;
  };
  CHECK_THROWS_WITH(sort_file_with(plain_environment(), in, "", options),
                    ContainsSubstring("changed while it was being read"));
  ::munmap(view, 12'000);
  CHECK(read_keys<uint32_t>(in)[5] == 2);
}

TEST_CASE("an output that appears while sorting is not replaced without force") {
  for (const bool anonymous : {true, false}) {
    const Scene scene;
    const std::string late = scene.folder / "late";
    SortEnvironment environment = plain_environment();
    environment.allow_anonymous = anonymous;
    environment.make_cpu = [&](uint32_t) {
      write_keys(late, scene.old);
      return std::make_unique<PlainBackend>();
    };
    CHECK_THAT(message_of(environment, scene.folder / "in.u32", late, {}),
               ContainsSubstring("was created meanwhile"));
    CHECK(read_keys<uint32_t>(late) == scene.old);
    CHECK(scene.folder.names() == std::vector<std::string>{"in.u32", "late", "out"});
  }
}

TEST_CASE("kill -9 at any moment leaves the old output or the complete new one, and nothing else") {
  for (const bool in_place : {false, true}) {
    const TemporaryFolder folder;
    const auto keys = random_keys<uint32_t>(40'000);
    auto sorted = keys;
    std::ranges::sort(sorted);
    const std::vector<uint32_t> old = in_place ? keys : std::vector<uint32_t>{3, 1, 2};
    const std::string target = folder / (in_place ? "in.u32" : "out");
    const auto sort = [&] {
      sort_file_with(plain_environment(4096), folder / "in.u32", target,
                     {.in_place = in_place, .overwrite = true});
    };
    // The moments of the kills are spread over twice the time that a sort takes here and now.
    write_keys(folder / "in.u32", keys);
    const auto start = std::chrono::steady_clock::now();
    in_child(sort);
    const auto time =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    std::mt19937_64 random(test_seed());
    int old_ones = 0;
    int new_ones = 0;
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);  // orphaned grandchildren become children
    for (int run = 0; run < 50; ++run) {
      write_keys(folder / "in.u32", keys);
      write_keys(target, old);
      const pid_t child = ::fork();
      if (child == 0) {
        sort();
        ::_exit(0);
      }
      ::usleep(static_cast<useconds_t>(random() % static_cast<uint64_t>(2 * time.count() + 1)));
      ::kill(child, SIGKILL);
      // Also waits for the grandchild that gives the output its name. It lives on and ends a moment later.
      while (::waitpid(-1, nullptr, 0) > 0) {
      }
      const auto found = read_keys<uint32_t>(target);
      old_ones += found == old;
      new_ones += found == sorted;
      CHECK((found == old || found == sorted));
      CHECK(folder.names() ==
            (in_place ? std::vector<std::string>{"in.u32"} : std::vector<std::string>{"in.u32", "out"}));
    }
    INFO(old_ones << " runs left the old output, " << new_ones << " the new one");
    CHECK(old_ones + new_ones == 50);
  }
}

TEST_CASE("remove_temporary_files takes away the hidden file of an output that was never finished") {
  const Scene scene;
  SortEnvironment environment = plain_environment();
  environment.allow_anonymous = false;
  const int status = in_child([&] {
    environment.make_cpu = [&](uint32_t) -> std::unique_ptr<Backend> {
      if (scene.folder.names().size() != 3) ::_exit(4);
      remove_temporary_files();
      ::_exit(0);
    };
    sort_file_with(environment, scene.folder / "in.u32", scene.folder / "out", {.overwrite = true});
  });
  CHECK(status == 0);  // also no signal
  scene.require_untouched();
}
