// async_copies.hpp - the asynchronous copies that a thread or a block has started, and nobody has waited for.
#pragma once

#include "simt/rendezvous.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {

struct AsyncCopy {
  void* to;
  const void* from;
  size_t bytes;
};

/// A bulk load that arrives at a barrier when it is done.
struct BulkLoad {
  AsyncCopy copy;
  const void* barrier;
  Where where;
};

/// The bulk stores and asynchronous loads of one thread.
class ThreadCopies {
 public:
  void store(const AsyncCopy& copy, Where where);
  void commit_stores();
  void wait_for_reads();
  void load(const AsyncCopy& copy, Where where);
  void wait_for_loads();

  /// What the thread has not waited for; null if there is nothing.
  const char* unfinished() const;
  /// Where the last copy was started.
  Where where() const { return where_; }
  /// The thread ends: what its stores have read is written.
  void finish();
  void drop();

 private:
  // What a store has read: a part of bytes_.
  struct Write {
    void* to;
    size_t first;
    size_t bytes;
  };

  void read(const AsyncCopy& store);

  std::vector<AsyncCopy> late_stores_;
  std::vector<AsyncCopy> late_loads_;
  std::vector<Write> late_writes_;
  std::vector<std::byte> bytes_;
  // All that were not waited for, late or not; and how many of the late stores are committed.
  uint64_t stores_ = 0;
  uint64_t committed_stores_ = 0;
  uint64_t loads_ = 0;
  size_t late_committed_ = 0;
  Where where_;
};

}  // namespace simt
