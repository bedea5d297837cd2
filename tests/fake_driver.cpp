// fake_driver.cpp - a libcuda.so.1 that has no GPU: the driver's version is $FAKE_VERSION, and cuInit() fails
// with $FAKE_INIT. This is enough for the CUDA runtime to say why it does not start.

#include <cstdlib>
#include <cstring>

namespace {

using Entry = int (*)();

constexpr int not_supported = 801;  // CUDA_ERROR_NOT_SUPPORTED

int number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : not_supported;
}

int refuse() { return not_supported; }

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = number("FAKE_VERSION");
  return 0;
}

int cuInit(unsigned) { return number("FAKE_INIT"); }

int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return not_supported;
}

/// The runtime uses this to ask for all functions that it may ever call. The last argument exists since CUDA
/// 12.
int cuGetProcAddress_v2(const char* name, void** entry, int, unsigned long long, int*) {
  const auto is = [&](const char* known) { return std::strcmp(name, known) == 0; };
  *entry = reinterpret_cast<void*>(&refuse);
  if (is("cuDriverGetVersion")) *entry = reinterpret_cast<void*>(&cuDriverGetVersion);
  if (is("cuInit")) *entry = reinterpret_cast<void*>(&cuInit);
  if (is("cuGetExportTable")) *entry = reinterpret_cast<void*>(&cuGetExportTable);
  if (is("cuGetProcAddress")) *entry = reinterpret_cast<void*>(&cuGetProcAddress_v2);
  return 0;
}

int cuGetProcAddress(const char* name, void** entry, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, entry, version, flags, nullptr);
}
}
