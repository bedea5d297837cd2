// transfer.hpp - the two loops that move keys: from a source into a backend, and from a backend into an
// output.
//
//     load    read -> host byte order -> fingerprint -> end_put          by a few threads, a chunk each
//     store   get -> order, fingerprint, referee -> file byte order -> write
//
// The fingerprint is taken right behind the read and right before the write, so that it covers everything in
// between: copies, device memory, kernels.
#pragma once

#include "backend/backend.hpp"
#include "core/fingerprint.hpp"
#include "io/output.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/key_source.hpp"

#include <cstdint>
#include <span>

namespace sweepsort {

struct Transfer {
  KeyType type = KeyType::u8;
  Order order = Order::ascending;
  bool swap_bytes = false;  // the file is big-endian
  bool verify = true;       // take fingerprints, check the order
  uint32_t workers = 1;
  ChunkGrid grid;
  uint64_t secret = 0;
  DoneFunction done;
};

/// Puts all keys of `source` into the session and returns their fingerprint (empty without verify).
Fingerprint load_keys(KeySource& source, SortSession& session, const Transfer& transfer);

struct StoreResult {
  Fingerprint fingerprint;
  bool is_ordered = true;
  bool agrees = true;  // with `expected`
};

/// Writes all keys of the session to `output`, from `data_offset` on. `expected`, if not empty, is what they
/// must be, in host byte order.
StoreResult store_keys(SortSession& session, Output& output, uint64_t data_offset,
                       std::span<const std::byte> expected, const Transfer& transfer);

}  // namespace sweepsort
