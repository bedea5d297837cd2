// async_copies.hpp - copies between device and shared memory that go on while their thread does. A seeded
// coin says of each whether it happens at once or as late as it may.
#pragma once

#include "simt/rendezvous.hpp"

#include <cstddef>

/// Starts a copy to device memory. It reads at the latest when its thread waits for that, and writes at the
/// latest when its thread ends.
void emulated_bulk_store(void* global, const void* shared, size_t bytes,
                         simt::Where where = simt::Where::current());
/// The running thread's bulk stores up to here are what emulated_bulk_stores_have_read() waits for.
void emulated_bulk_stores_commit(simt::Where where = simt::Where::current());
void emulated_bulk_stores_have_read(simt::Where where = simt::Where::current());

/// Starts a copy of 16 bytes to shared memory. It happens at the latest when its thread waits for it.
void emulated_load_async(void* shared, const void* global, simt::Where where = simt::Where::current());
void emulated_loads_async_have_arrived(simt::Where where = simt::Where::current());

/// Starts a copy to shared memory that arrives at `barrier` when it is done. True if it is done.
bool emulated_bulk_load(void* shared, const void* global, size_t bytes, const void* barrier,
                        simt::Where where = simt::Where::current());
/// Called in vain by who waits at `barrier`: does a copy of the running block that is still to arrive there.
/// False if there is none.
bool emulated_late_bulk_load(const void* barrier, simt::Where where = simt::Where::current());
