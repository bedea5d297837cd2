// option_groups.hpp - options that several commands share, each defined once.
#pragma once

#include "cli/arguments.hpp"

#include <array>

namespace sweepsort::cli {

inline constexpr OptionSpec output_option{"output", 'o', Takes::value, "FILE",
                                          "write here; '-' or nothing: standard output"};
inline constexpr OptionSpec output_format_option{
    "output-format", 0, Takes::value, "FORMAT", "raw npy sosd (default: the input's)", "raw npy sosd"};
inline constexpr OptionSpec force_option{"force", 'f', Takes::nothing, "", "replace an existing output file"};
inline constexpr OptionSpec in_place_option{"in-place", 0, Takes::nothing, "",
                                            "the output replaces the input"};
inline constexpr OptionSpec threads_option{"threads", 0, Takes::value, "N", "CPU threads (default: all)"};
inline constexpr OptionSpec reverse_option{"reverse", 'r', Takes::nothing, "", "descending order"};
inline constexpr OptionSpec json_option{"json", 0, Takes::optional_value, "FILE",
                                        "report as JSON, on standard output or to FILE"};

inline constexpr std::string_view type_words = "u8 i8 u16 i16 u32 i32 u64 i64 f32 f64";
inline constexpr OptionSpec format_option{"format", 0, Takes::value, "FORMAT", "", "auto raw npy sosd"};
inline constexpr OptionSpec endian_option{"endian", 0, Takes::value, "ORDER", "", "little big"};

/// How to read the bytes of an input (read_file_options).
inline constexpr std::array file_group{
    OptionSpec{"type", 't', Takes::value, "TYPE",
               "u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 (bits), uint32..., <u4 >i8... (bytes)", type_words},
    format_option,
    endian_option,
    OptionSpec{"skip-bytes", 'j', Takes::value, "BYTES",
               "raw: skip this many bytes at the start: 4096, or 4K (4 * 1024)"},
    OptionSpec{"read-bytes", 'N', Takes::value, "BYTES", "raw: read at most this many bytes"},
    OptionSpec{"flatten", 0, Takes::nothing, "",
               ".npy of several dimensions: read it as one, in memory order"}};

inline constexpr OptionSpec backend_option{"backend", 0, Takes::value, "NAME", "", "auto cuda cpu"};

/// Where a command that uses one device runs (read_where_options).
inline constexpr std::array where_group{
    backend_option, OptionSpec{"device", 0, Takes::value, "N", "which CUDA device (default: 0)"},
    threads_option};

inline constexpr OptionSpec progress_option{
    "progress",         0, Takes::value, "WHEN", "auto (on a terminal), always or never; SIGUSR1 prints it",
    "auto always never"};

/// How much is printed, and where.
inline constexpr std::array talk_group{
    OptionSpec{"quiet", 'q', Takes::nothing, "", "print no notes, reports or tables"},
    OptionSpec{"verbose", 'v', Takes::nothing, "", "say what was inferred, chosen and measured"},
    progress_option, json_option, OptionSpec{"help", 'h', Takes::nothing, "", "this text"}};

}  // namespace sweepsort::cli
