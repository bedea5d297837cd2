// temporary_folder.hpp - a folder of its own for a test, removed with everything in it.
#pragma once

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace sweepsort::test {

/// In memory (tmpfs), an fsync costs nothing. On disk, O_DIRECT works as in real use.
enum class Medium { memory, disk };

class TemporaryFolder {
 public:
  explicit TemporaryFolder(Medium medium = Medium::memory) {
    const bool in_memory = medium == Medium::memory && ::access("/dev/shm", W_OK) == 0;
    const std::filesystem::path parent = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "sweepsort-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  /// Whether file times change when a mapping is written.
  bool notes_mappings() const {
    struct statfs system {};
    return ::statfs(path_.c_str(), &system) == 0 && system.f_type != TMPFS_MAGIC;
  }

  /// The names in the folder, sorted and including hidden files, for comparison with what should be there.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

template <class Key>
void write_keys(const std::string& path, const std::vector<Key>& keys) {
  write_file(path, std::as_bytes(std::span(keys)));
}

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  // Reading byte by byte would be half of a test's time under sanitizers.
  std::vector<std::byte> bytes;
  size_t size = 0;
  do {
    bytes.resize(size + (1u << 20));
    file.read(reinterpret_cast<char*>(bytes.data()) + size, 1 << 20);
    size += static_cast<size_t>(file.gcount());
  } while (file);
  bytes.resize(size);
  return bytes;
}

template <class Key>
std::vector<Key> read_keys(const std::string& path, size_t header_bytes = 0) {
  const std::vector<std::byte> bytes = read_file(path);
  std::vector<Key> keys((bytes.size() - header_bytes) / sizeof(Key));
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(header_bytes), keys.size() * sizeof(Key),
              std::as_writable_bytes(std::span(keys)).begin());
  return keys;
}

}  // namespace sweepsort::test
