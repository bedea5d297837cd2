// async_copies.cpp - when asynchronous copies happen. Sanitizers watch this file, as it touches the kernels'
// memory.
#include "async_copies.hpp"

#include "engine.hpp"
#include "simt/async_copies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace simt {

namespace {

void perform(const AsyncCopy& copy) { std::memcpy(copy.to, copy.from, copy.bytes); }

Thread& running_thread(const char* what, Where where) {
  if (!engine().running()) fault((std::string(what) + " outside a kernel").c_str(), where);
  return engine().current();
}

ThreadCopies& copies_of(Thread& thread) {
  if (!thread.copies) thread.copies = std::make_unique<ThreadCopies>();
  return *thread.copies;
}

AsyncCopy checked(void* to, const void* from, size_t bytes, Where where) {
  constexpr size_t unit = 16;
  if (reinterpret_cast<uintptr_t>(to) % unit != 0 || reinterpret_cast<uintptr_t>(from) % unit != 0 ||
      bytes % unit != 0)
    fault("an asynchronous copy whose ends or size are no multiples of 16 bytes", where);
  return {to, from, bytes};
}

}  // namespace

void ThreadCopies::store(const AsyncCopy& copy, Where where) {
  where_ = where;
  ++stores_;
  if (chance(2))
    read(copy);
  else
    late_stores_.push_back(copy);
}

void ThreadCopies::commit_stores() {
  committed_stores_ = stores_;
  late_committed_ = late_stores_.size();
}

void ThreadCopies::wait_for_reads() {
  const auto end = late_stores_.begin() + static_cast<ptrdiff_t>(std::exchange(late_committed_, 0));
  std::for_each(late_stores_.begin(), end, [&](const AsyncCopy& store) { read(store); });
  late_stores_.erase(late_stores_.begin(), end);
  stores_ -= std::exchange(committed_stores_, 0);
}

void ThreadCopies::read(const AsyncCopy& store) {
  if (chance(2)) return perform(store);
  const auto* const from = static_cast<const std::byte*>(store.from);
  late_writes_.push_back({store.to, bytes_.size(), store.bytes});
  bytes_.insert(bytes_.end(), from, from + store.bytes);
}

void ThreadCopies::load(const AsyncCopy& copy, Where where) {
  where_ = where;
  ++loads_;
  if (chance(2))
    perform(copy);
  else
    late_loads_.push_back(copy);
}

void ThreadCopies::wait_for_loads() {
  for (const AsyncCopy& load : late_loads_) perform(load);
  late_loads_.clear();
  loads_ = 0;
}

const char* ThreadCopies::unfinished() const {
  if (stores_ != committed_stores_) return "a thread ends with bulk stores that it did not commit";
  if (stores_ != 0) return "a thread ends before its bulk stores have read their shared memory";
  if (loads_ != 0) return "a thread ends before its asynchronous loads have arrived";
  return nullptr;
}

void ThreadCopies::finish() {
  for (const Write& write : late_writes_) std::memcpy(write.to, bytes_.data() + write.first, write.bytes);
  drop();
}

void ThreadCopies::drop() {
  late_stores_.clear();
  late_loads_.clear();
  late_writes_.clear();
  bytes_.clear();
  stores_ = committed_stores_ = loads_ = 0;
  late_committed_ = 0;
}

}  // namespace simt

using simt::copies_of;
using simt::running_thread;

void emulated_bulk_store(void* global, const void* shared, size_t bytes, simt::Where where) {
  copies_of(running_thread("a bulk store", where)).store(simt::checked(global, shared, bytes, where), where);
}

void emulated_bulk_stores_commit(simt::Where where) {
  simt::Thread& thread = running_thread("a bulk store", where);
  if (thread.copies) thread.copies->commit_stores();
}

void emulated_bulk_stores_have_read(simt::Where where) {
  simt::Thread& thread = running_thread("a bulk store", where);
  if (thread.copies) thread.copies->wait_for_reads();
}

void emulated_load_async(void* shared, const void* global, simt::Where where) {
  copies_of(running_thread("an asynchronous load", where))
      .load(simt::checked(shared, global, 16, where), where);
}

void emulated_loads_async_have_arrived(simt::Where where) {
  simt::Thread& thread = running_thread("an asynchronous load", where);
  if (thread.copies) thread.copies->wait_for_loads();
}

bool emulated_bulk_load(void* shared, const void* global, size_t bytes, const void* barrier,
                        simt::Where where) {
  simt::Block& block = *running_thread("a bulk load", where).block;
  const simt::AsyncCopy copy = simt::checked(shared, global, bytes, where);
  if (simt::chance(2)) {
    simt::perform(copy);
    return true;
  }
  block.late_loads.push_back({copy, barrier, where});
  return false;
}

bool emulated_late_bulk_load(const void* barrier, simt::Where where) {
  auto& late = running_thread("a bulk load", where).block->late_loads;
  const auto found =
      std::ranges::find_if(late, [&](const simt::BulkLoad& load) { return load.barrier == barrier; });
  if (found == late.end()) return false;
  simt::perform(found->copy);
  late.erase(found);
  return true;
}
