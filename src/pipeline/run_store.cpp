// run_store.cpp - runs in device memory, in anonymous memory and in nameless files.
#include "pipeline/run_store.hpp"

#include "backend/backend.hpp"
#include "core/error.hpp"
#include "core/growing_buffer.hpp"
#include "core/pages.hpp"
#include "core/rounding.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// Both columns one after another, each beginning with a page.
struct RunLayout {
  RunLayout(RecordShape shape, uint64_t count)
      : values_at(round_up(count * shape.column_bytes(Column::keys), io_alignment)),
        bytes(shape.value_bytes == 0 ? count * shape.column_bytes(Column::keys)
                                     : values_at + count * shape.value_bytes) {}
  uint64_t at(Column column, uint64_t first_byte) const {
    return column == Column::keys ? first_byte : values_at + first_byte;
  }
  uint64_t values_at;
  uint64_t bytes;
};

/// A part of a budget, held for the lifetime of this object.
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

struct DevicePlace {
  DevicePlace(uint64_t bytes, Backend& on, std::shared_ptr<std::atomic<uint64_t>> memory_left)
      : left(std::move(memory_left)), share(left, bytes), storage(on.make_storage(bytes)) {}
  void read(uint64_t at, std::span<std::byte> to) const { storage->read(at, to); }
  void write(uint64_t at, std::span<const std::byte> from) { storage->write(at, from); }

  std::shared_ptr<std::atomic<uint64_t>> left;
  Share share;
  std::unique_ptr<DeviceStorage> storage;
};

struct MemoryPlace {
  MemoryPlace(uint64_t bytes, std::shared_ptr<std::atomic<uint64_t>> left) : share(std::move(left), bytes) {
    (void)buffer.room(bytes);
    buffer.commit(bytes);
  }
  void read(uint64_t at, std::span<std::byte> to) const {
    std::memcpy(to.data(), buffer.bytes().data() + at, to.size());
  }
  void write(uint64_t at, std::span<const std::byte> from) {
    std::memcpy(buffer.bytes().data() + at, from.data(), from.size());
  }

  Share share;
  GrowingBuffer buffer;
};

struct SpilledPlace {
  SpilledPlace(uint64_t, std::shared_ptr<SpillSpace> on, uint64_t begins, bool may_wait)
      : space(std::move(on)), offset(begins), waits(may_wait) {}
  void read(uint64_t at, std::span<std::byte> to) const { space->read_at(offset + at, to); }
  void will_read(uint64_t at, size_t bytes) const { space->will_read(offset + at, bytes); }
  void write(uint64_t at, std::span<const std::byte> from) { space->write_at(offset + at, from); }

  std::shared_ptr<SpillSpace> space;
  uint64_t offset;
  bool waits;
};

template <class Place>
class RunIn : public StoredRun {
 public:
  template <class... Arguments>
  RunIn(RecordShape shape, uint64_t count, Arguments&&... of_place)
      : layout_(shape, count), count_(count), place_(layout_.bytes, std::forward<Arguments>(of_place)...) {}

  uint64_t count() const override { return count_; }
  void read(Column column, uint64_t first_byte, std::span<std::byte> to) const override {
    place_.read(layout_.at(column, first_byte), to);
  }
  bool may_wait() const override {
    if constexpr (std::is_same_v<Place, SpilledPlace>) return place_.waits;
    return false;
  }
  void will_read(Column column, uint64_t first_byte, size_t bytes) const override {
    if constexpr (std::is_same_v<Place, SpilledPlace>)
      place_.will_read(layout_.at(column, first_byte), bytes);
  }
  void write(Column column, uint64_t first_byte, std::span<const std::byte> from) override {
    place_.write(layout_.at(column, first_byte), from);
  }

 private:
  RunLayout layout_;
  uint64_t count_;
  Place place_;
};

}  // namespace

uint64_t run_bytes(RecordShape shape, uint64_t count) { return RunLayout(shape, count).bytes; }

uint64_t spilled_run_bytes(RecordShape shape, uint64_t count) {
  return round_up(run_bytes(shape, count), io_alignment);
}

RunStore::RunStore(RunStoreOptions options)
    : options_(std::move(options)),
      memory_left_(std::make_shared<std::atomic<uint64_t>>(options_.memory.value)),
      space_(std::make_shared<SpillSpace>(options_.directories,
                                          spilled_run_bytes(options_.shape, options_.run_records),
                                          options_.caching, options_.allow_anonymous)) {
  for (const auto& [device, memory] : options_.devices)
    devices_.push_back({device, std::make_shared<std::atomic<uint64_t>>(memory.value)});
}

RunStore::~RunStore() = default;

void RunStore::reserve(uint64_t area_bytes, uint32_t areas) {
  area_bytes_ = std::max(area_bytes_, area_bytes);
  areas_ = std::max(areas_, areas);
  space_->reserve(area_bytes_ * areas_);
}

std::unique_ptr<StoredRun> RunStore::make_run(RecordShape shape, uint64_t count) {
  const uint64_t bytes = run_bytes(shape, count);
  for (size_t tries = 0; tries < devices_.size(); ++tries) {
    // Use the device with the most room, so that a merge reads from all devices at once.
    const Device& device = *std::ranges::max_element(
        devices_, {}, [](const Device& candidate) { return candidate.memory_left->load(); });
    if (bytes > *device.memory_left) break;
    try {
      return std::make_unique<RunIn<DevicePlace>>(shape, count, *device.backend, device.memory_left);
    } catch (const std::exception&) {
      *device.memory_left = 0;  // somebody else has taken the memory: use another place
    }
  }
  if (bytes <= *memory_left_) return std::make_unique<RunIn<MemoryPlace>>(shape, count, memory_left_);
  const uint64_t at = used_;
  used_ += spilled_run_bytes(shape, count);
  if (used_ > area_bytes_ && areas_ > 1) throw Error("internal: a run beyond the space that was reserved");
  reserve(used_, areas_);
  return std::make_unique<RunIn<SpilledPlace>>(shape, count, space_, area_ * area_bytes_ + at,
                                               options_.may_wait);
}

void RunStore::next_pass() {
  area_ = 1 - area_;
  used_ = 0;
}

Bytes RunStore::spilled() const { return Bytes{space_->bytes()}; }

}  // namespace sweepsort
