// run_store.cpp - runs in device memory, in anonymous memory and in nameless files.
#include "pipeline/run_store.hpp"

#include "backend/backend.hpp"
#include "core/error.hpp"
#include "io/growing_buffer.hpp"
#include "io/parallel_chunks.hpp"
#include "io/spill_space.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

namespace sweepsort {
namespace {

/// Both columns behind each other, each from a page's beginning.
struct RunLayout {
  RunLayout(RecordShape shape, uint64_t count)
      : values_at((count * shape.column_bytes(Column::keys) + io_alignment - 1) / io_alignment *
                  io_alignment),
        bytes(shape.value_bytes == 0 ? count * shape.column_bytes(Column::keys)
                                     : values_at + count * shape.value_bytes) {}
  uint64_t at(Column column, uint64_t first_byte) const {
    return column == Column::keys ? first_byte : values_at + first_byte;
  }
  uint64_t values_at;
  uint64_t bytes;
};

/// A part of a budget, for as long as it lives.
class Share {
 public:
  Share(std::shared_ptr<std::atomic<uint64_t>> left, uint64_t bytes) : left_(std::move(left)), bytes_(bytes) {
    *left_ -= bytes_;
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { *left_ += bytes_; }

 private:
  std::shared_ptr<std::atomic<uint64_t>> left_;
  uint64_t bytes_;
};

class DeviceRun : public StoredRun {
 public:
  DeviceRun(RecordShape shape, uint64_t count, Backend& device, std::shared_ptr<std::atomic<uint64_t>> left)
      : layout_(shape, count),
        count_(count),
        share_(std::move(left), layout_.bytes),
        storage_(device.make_storage(layout_.bytes)) {}

  uint64_t count() const override { return count_; }
  void read(Column column, uint64_t first_byte, std::span<std::byte> to) const override {
    storage_->read(layout_.at(column, first_byte), to);
  }
  void write(Column column, uint64_t first_byte, std::span<const std::byte> from) override {
    storage_->write(layout_.at(column, first_byte), from);
  }

 private:
  RunLayout layout_;
  uint64_t count_;
  Share share_;
  std::unique_ptr<DeviceStorage> storage_;
};

class MemoryRun : public StoredRun {
 public:
  MemoryRun(RecordShape shape, uint64_t count, std::shared_ptr<std::atomic<uint64_t>> left)
      : layout_(shape, count), count_(count), share_(std::move(left), layout_.bytes) {
    (void)buffer_.room(layout_.bytes);
    buffer_.commit(layout_.bytes);
  }

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
  Share share_;
  GrowingBuffer buffer_;
};

class SpilledRun : public StoredRun {
 public:
  SpilledRun(RecordShape shape, uint64_t count, std::shared_ptr<SpillSpace> space, uint64_t offset)
      : layout_(shape, count), count_(count), space_(std::move(space)), offset_(offset) {}

  uint64_t count() const override { return count_; }
  void read(Column column, uint64_t first_byte, std::span<std::byte> to) const override {
    space_->read_at(offset_ + layout_.at(column, first_byte), to);
  }
  void write(Column column, uint64_t first_byte, std::span<const std::byte> from) override {
    space_->write_at(offset_ + layout_.at(column, first_byte), from);
  }

 private:
  RunLayout layout_;
  uint64_t count_;
  std::shared_ptr<SpillSpace> space_;
  uint64_t offset_;
};

uint64_t whole_pages(uint64_t bytes) { return (bytes + io_alignment - 1) / io_alignment * io_alignment; }

}  // namespace

uint64_t run_bytes(RecordShape shape, uint64_t count) { return RunLayout(shape, count).bytes; }

uint64_t spilled_run_bytes(RecordShape shape, uint64_t count) { return whole_pages(run_bytes(shape, count)); }

RunStore::RunStore(RunStoreOptions options)
    : options_(std::move(options)),
      gpu_memory_left_(std::make_shared<std::atomic<uint64_t>>(options_.gpu_memory.value)),
      memory_left_(std::make_shared<std::atomic<uint64_t>>(options_.memory.value)),
      space_(std::make_shared<SpillSpace>(options_.directories,
                                          spilled_run_bytes(options_.shape, options_.run_records),
                                          options_.allow_anonymous)) {}

RunStore::~RunStore() = default;

void RunStore::reserve(uint64_t area_bytes, uint32_t areas) {
  area_bytes_ = std::max(area_bytes_, area_bytes);
  areas_ = std::max(areas_, areas);
  space_->reserve(area_bytes_ * areas_);
}

std::unique_ptr<StoredRun> RunStore::make_run(uint64_t count) {
  const uint64_t bytes = run_bytes(options_.shape, count);
  if (bytes <= *gpu_memory_left_) {
    try {
      return std::make_unique<DeviceRun>(options_.shape, count, *options_.device, gpu_memory_left_);
    } catch (const std::exception&) {
      *gpu_memory_left_ = 0;  // somebody else has taken it: there are other places
    }
  }
  if (bytes <= *memory_left_) return std::make_unique<MemoryRun>(options_.shape, count, memory_left_);
  const uint64_t at = used_;
  used_ += spilled_run_bytes(options_.shape, count);
  if (used_ > area_bytes_ && areas_ > 1) throw Error("internal: a run beyond the space that was reserved");
  reserve(used_, areas_);
  return std::make_unique<SpilledRun>(options_.shape, count, space_, area_ * area_bytes_ + at);
}

void RunStore::next_pass() {
  area_ = 1 - area_;
  used_ = 0;
}

Bytes RunStore::spilled() const { return Bytes{space_->bytes()}; }

}  // namespace sweepsort
