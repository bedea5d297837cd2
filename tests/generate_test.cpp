// generate_test.cpp - generated files hold exactly the distribution's keys, in every format and by any number
// of threads.
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "seed.hpp"
#include "sweepsort.hpp"
#include "temporary_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace sweepsort {
namespace {

using Contents = std::vector<std::byte>;

Contents distribution_bytes(const std::string& name, KeyType type, uint64_t n) {
  Contents bytes(n * key_bytes(type));
  fill_all(*find_distribution(name), type, test_seed(), bytes);
  return bytes;
}

GenerateOptions options_for(const std::string& name, KeyType type, uint64_t n) {
  return {.distribution = name, .type = type, .count = n, .seed = test_seed()};
}

TEST_CASE(
    "a generated raw file holds the distribution's keys, whatever the type, the count and the threads") {
  const test::TemporaryFolder folder;
  const uint32_t threads = GENERATE(1u, 3u);
  for (const KeyType type : all_key_types) {
    // No key, one key, around a page, and several chunks of 4 MiB with a remainder.
    for (const uint64_t n :
         {uint64_t{0}, uint64_t{1}, 4096 / key_bytes(type) + 1, (9u << 20) / key_bytes(type) + 3}) {
      INFO(name(type) << ' ' << n << ' ' << threads << " threads");
      auto options = options_for("nearly-sorted", type, n);
      options.threads = threads;
      options.overwrite = true;
      const GenerateReport report = generate_file(folder / "keys.bin", options);
      CHECK(report.count == n);
      CHECK(report.bytes == n * key_bytes(type));
      CHECK((test::read_file(folder / "keys.bin") == distribution_bytes("nearly-sorted", type, n)));
    }
  }
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a big-endian file has the bytes of each key reversed") {
  const test::TemporaryFolder folder;
  auto options = options_for("uniform", KeyType::u32, 1000);
  options.endian = Endian::big;
  generate_file(folder / "keys.u32", options);
  Contents expected = distribution_bytes("uniform", KeyType::u32, 1000);
  for (size_t i = 0; i < expected.size(); i += 4) std::reverse(expected.data() + i, expected.data() + i + 4);
  CHECK((test::read_file(folder / "keys.u32") == expected));
}

TEST_CASE("the name decides the format: .npy has numpy's header, _uint64 the count in front") {
  const test::TemporaryFolder folder;
  const Contents keys = distribution_bytes("zipf", KeyType::u64, 5000);

  generate_file(folder / "keys.npy", options_for("zipf", KeyType::u64, 5000));
  const Contents npy = test::read_file(folder / "keys.npy");
  REQUIRE(npy.size() > keys.size());
  const size_t header_bytes = npy.size() - keys.size();
  const std::string header(reinterpret_cast<const char*>(npy.data()), header_bytes);
  CHECK(header_bytes % 64 == 0);
  CHECK(header.starts_with("\x93NUMPY"));
  CHECK(header.find("'<u8'") != std::string::npos);
  CHECK(header.find("(5000,)") != std::string::npos);
  CHECK(std::memcmp(npy.data() + header_bytes, keys.data(), keys.size()) == 0);

  generate_file(folder / "keys_uint64", options_for("zipf", KeyType::u64, 5000));
  const Contents sosd = test::read_file(folder / "keys_uint64");
  REQUIRE(sosd.size() == keys.size() + 8);
  uint64_t count = 0;
  std::memcpy(&count, sosd.data(), sizeof count);
  CHECK(count == 5000);
  CHECK(std::memcmp(sosd.data() + 8, keys.data(), keys.size()) == 0);
}

TEST_CASE("an existing file stays as it is unless overwriting was asked for") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "keys.u8";
  generate_file(path, options_for("uniform", KeyType::u8, 100));
  const Contents before = test::read_file(path);
  CHECK_THROWS_AS(generate_file(path, options_for("zipf", KeyType::u8, 200)), Error);
  CHECK((test::read_file(path) == before));
  auto options = options_for("zipf", KeyType::u8, 200);
  options.overwrite = true;
  generate_file(path, options);
  CHECK((test::read_file(path) == distribution_bytes("zipf", KeyType::u8, 200)));
}

TEST_CASE("more keys than any file holds are refused, not wrapped around") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(generate_file(folder / "out", {.type = KeyType::u64, .count = uint64_t{1} << 61}),
                    Catch::Matchers::ContainsSubstring("more than any file holds"));
  CHECK(folder.names().empty());
}

TEST_CASE("an unknown or unsuitable distribution is an error that leaves no file") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_AS(generate_file(folder / "a", options_for("no-such", KeyType::u8, 10)), Error);
  CHECK_THROWS_AS(generate_file(folder / "a", options_for("timestamps", KeyType::u8, 10)), Error);
  CHECK(folder.names().size() == 0);
}

TEST_CASE("a pipe gets the same bytes in order, although several threads were offered") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  constexpr uint64_t n = 2'000'000;
  Contents received;
  std::jthread reader([&] {
    std::ifstream pipe(path, std::ios::binary);
    std::array<char, 65536> block;
    while (pipe.read(block.data(), block.size()) || pipe.gcount() > 0) {
      const auto* const first = reinterpret_cast<const std::byte*>(block.data());
      received.insert(received.end(), first, first + pipe.gcount());
    }
  });
  auto options = options_for("gaussian", KeyType::f64, n);
  options.threads = 3;
  options.overwrite = true;
  generate_file(path, options);
  reader.join();
  CHECK((received == distribution_bytes("gaussian", KeyType::f64, n)));
}

TEST_CASE("progress counts up to the size of the data") {
  const test::TemporaryFolder folder;
  auto options = options_for("uniform", KeyType::u64, 2'000'000);
  uint64_t last = 0;
  options.progress = [&](Phase phase, uint64_t done, uint64_t total) {
    if (phase != Phase::write) return;
    CHECK(done >= last);
    CHECK(total == 16'000'000);
    last = done;
  };
  generate_file(folder / "keys.u64", options);
  CHECK(last == 16'000'000);
}

}  // namespace
}  // namespace sweepsort
