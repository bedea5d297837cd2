// report_file.cpp - the common beginning of results files and tables, and writing of results files.
#include "bench/report_file.hpp"

#include "bench/machine.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace sweepsort::bench {

void print_place(const Place& place) {
  if (place.backend == "cuda")
    fmt::print("# {}, driver {}, CUDA {}, CUB {}\n", place.gpu, place.driver, place.cuda, place.cub);
  else
    fmt::print("# {}, {} threads\n", cpu_name(), place.threads);
}

nlohmann::ordered_json report_head(std::string_view command, const RunOptions& options, const Place& place) {
  nlohmann::ordered_json head{
      {"schema", "sweepsort.bench/1"},
      {"command", command},
      {"revision", options.revision.empty() ? built_revision() : options.revision},
      {"date", utc_date()},
      {"backend", place.backend},
      {"gpu", place.gpu},
      {"driver", place.driver},
      {"cuda", place.cuda},
      {"cub", place.cub},
      {"cpu", cpu_name()},
      {"threads", place.threads},
      {"seed", options.seed},
  };
  for (const auto& [peer, version] : place.other_peers) head[peer] = version;
  return head;
}

void write_report(const std::string& path, const nlohmann::ordered_json& report) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary);
  file << report.dump(1) << '\n';
  file.close();
  std::error_code failure;
  if (file) std::filesystem::rename(temporary, path, failure);
  if (!file || failure) throw Error(path + ": cannot be written", "is there such a folder, and space in it?");
}

}  // namespace sweepsort::bench
