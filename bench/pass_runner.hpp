// pass_runner.hpp - where scans and searches are measured: on a GPU or on the CPU.
#pragma once

#include "bench/pass_case.hpp"
#include "bench/pass_options.hpp"
#include "bench/place.hpp"

#include <memory>
#include <vector>

namespace sweepsort::bench {

class PassRunner {
 public:
  virtual ~PassRunner() = default;
  virtual const Place& place() const = 0;
  /// One row for every algorithm and peer that supports the case, ours first. A case's elements are the first
  /// elements of the largest case of its type.
  virtual std::vector<PassRow> run(const PassCase& what) = 0;
};

/// Both allocate all memory that the largest case needs.
std::unique_ptr<PassRunner> make_cpu_pass_runner(const PassOptions& options,
                                                 const std::vector<PassCase>& cases);
/// Throws Error in a build without CUDA.
std::unique_ptr<PassRunner> make_cuda_pass_runner(const PassOptions& options,
                                                  const std::vector<PassCase>& cases);

/// The bytes of the largest case of a type. Shorter arrays are the beginning of it.
inline uint64_t max_bytes(const std::vector<PassCase>& cases, KeyType type) {
  uint64_t most = 0;
  for (const PassCase& what : cases)
    if (what.type == type && what.bytes() > most) most = what.bytes();
  return most;
}

inline uint64_t max_bytes(const std::vector<PassCase>& cases) {
  uint64_t most = 0;
  for (const PassCase& what : cases) most = what.bytes() > most ? what.bytes() : most;
  return most;
}

}  // namespace sweepsort::bench
