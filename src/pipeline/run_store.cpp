// run_store.cpp - runs in anonymous memory and in nameless files.
#include "pipeline/run_store.hpp"

#include "core/error.hpp"
#include "io/growing_buffer.hpp"
#include "io/parallel_chunks.hpp"
#include "io/spill_file.hpp"

#include <cstring>
#include <span>
#include <utility>

namespace sweepsort {
namespace {

/// Both columns behind each other, each from a page's beginning.
struct RunLayout {
  RunLayout(RecordShape shape, uint64_t count)
      : values_at((count * shape.column_bytes(Column::keys) + io_alignment - 1) / io_alignment *
                  io_alignment),
        bytes(values_at + count * shape.value_bytes) {}
  uint64_t at(Column column, uint64_t first_byte) const {
    return column == Column::keys ? first_byte : values_at + first_byte;
  }
  uint64_t values_at;
  uint64_t bytes;
};

class MemoryRun : public StoredRun {
 public:
  MemoryRun(RecordShape shape, uint64_t count, std::shared_ptr<std::atomic<uint64_t>> left)
      : layout_(shape, count), count_(count), left_(std::move(left)) {
    (void)buffer_.room(layout_.bytes);
    buffer_.commit(layout_.bytes);
    *left_ -= layout_.bytes;
  }
  ~MemoryRun() override { *left_ += layout_.bytes; }

  uint64_t count() const override { return count_; }
  void read(Column column, uint64_t first_byte, std::span<std::byte> to) const override {
    std::memcpy(to.data(), buffer_.bytes().data() + layout_.at(column, first_byte), to.size());
  }
  void write(Column column, uint64_t first_byte, std::span<const std::byte> from) override {
    std::memcpy(buffer_.bytes().data() + layout_.at(column, first_byte), from.data(), from.size());
  }

 private:
  RunLayout layout_;
  uint64_t count_;
  std::shared_ptr<std::atomic<uint64_t>> left_;
  GrowingBuffer buffer_;
};

class SpilledRun : public StoredRun {
 public:
  SpilledRun(RecordShape shape, uint64_t count, std::shared_ptr<SpillFile> file)
      : layout_(shape, count),
        count_(count),
        file_(std::move(file)),
        offset_(file_->allocate(layout_.bytes)) {}
  ~SpilledRun() override { file_->release(offset_, layout_.bytes); }

  uint64_t count() const override { return count_; }
  void read(Column column, uint64_t first_byte, std::span<std::byte> to) const override {
    file_->read_at(offset_ + layout_.at(column, first_byte), to);
  }
  void write(Column column, uint64_t first_byte, std::span<const std::byte> from) override {
    file_->write_at(offset_ + layout_.at(column, first_byte), from);
  }

 private:
  RunLayout layout_;
  uint64_t count_;
  std::shared_ptr<SpillFile> file_;
  uint64_t offset_;
};

}  // namespace

RunStore::RunStore(RunStoreOptions options)
    : options_(std::move(options)),
      memory_left_(std::make_shared<std::atomic<uint64_t>>(options_.memory.value)),
      files_(options_.directories.size()) {}

RunStore::~RunStore() = default;

std::unique_ptr<StoredRun> RunStore::make_run(uint64_t count) {
  const uint64_t bytes = RunLayout(options_.shape, count).bytes;
  if (bytes <= *memory_left_) return std::make_unique<MemoryRun>(options_.shape, count, memory_left_);
  return spill(bytes, count);
}

std::unique_ptr<StoredRun> RunStore::spill(uint64_t bytes, uint64_t count) {
  if (files_.empty()) throw Error("internal: there is no directory for temporary files");
  const size_t turn = turn_++ % files_.size();
  if (!files_[turn])
    files_[turn] = std::make_shared<SpillFile>(options_.directories[turn], options_.allow_anonymous);
  spilled_ += bytes;
  return std::make_unique<SpilledRun>(options_.shape, count, files_[turn]);
}

}  // namespace sweepsort
