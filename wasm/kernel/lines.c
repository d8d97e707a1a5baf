/*
 * Lines to records, in memory of the module's own: finds the lines of an input, and writes them as records of a frame.
 * The caller lays that memory out: every input and output has at least 64 bytes behind it that may be read and
 * overwritten, which lets loads and copies go 16 bytes at a time and past their end.
 */
#include <stdint.h>
#include <wasm_simd128.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define RECORD_HEADER_BYTES 12
#define ABSENT 0xffffffff

static inline u64 newlines16(const u8 *at) {
  return (u64)wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(at), wasm_i8x16_splat('\n')));
}

/* A bit for each of 64 bytes. */
static inline u64 newlines64(const u8 *at) {
  return newlines16(at) | newlines16(at + 16) << 16 | newlines16(at + 32) << 32 | newlines16(at + 48) << 48;
}

/*
 * Writes, for each line of `input` that ends, where its first byte is and where the one behind its last; both count from
 * `input`. With `trim` a carriage return in front of a newline belongs to neither line. Returns the number of lines.
 */
__attribute__((export_name("cut"))) u32 cut(const u8 *input, u32 length, u32 trim, u32 *ranges) {
  u32 *out = ranges;
  u32 start = 0;
  for (u32 at = 0; at < length; at += 64) {
    u64 ends = newlines64(input + at);
    if (length - at < 64) ends &= (1ULL << (length - at)) - 1;
    for (; ends != 0; ends &= ends - 1) {
      u32 end = at + (u32)__builtin_ctzll(ends);
      out[0] = start;
      out[1] = trim && end > start && input[end - 1] == '\r' ? end - 1 : end;
      out += 2;
      start = end + 1;
    }
  }
  return (u32)(out - ranges) / 2;
}

/*
 * Writes `ranges` of `input` as records without keys from `out` on, each padded with zeros to a multiple of 8, as many as
 * end at `limit` or before. Returns their number; `result` gets where the last ends, and the bytes of all values.
 */
__attribute__((export_name("pack"))) u32 pack(const u8 *input, const u32 *ranges, u32 count, u32 timestamp_delta, u8 *out,
                                              u8 *limit, u32 *result) {
  u32 packed = 0;
  u32 bytes = 0;
  for (; packed < count; packed += 1, ranges += 2) {
    u32 length = ranges[1] - ranges[0];
    u32 padded = (RECORD_HEADER_BYTES + length + 7) & ~7u;
    if (padded > (u32)(limit - out)) break;
    const u32 header[3] = {length, ABSENT, timestamp_delta};
    __builtin_memcpy(out, header, sizeof header);
    u8 *to = out + RECORD_HEADER_BYTES;
    u8 *end = to + length;
    for (const u8 *from = input + ranges[0]; to < end; to += 16, from += 16) wasm_v128_store(to, wasm_v128_load(from));
    __builtin_memset(end, 0, 8);
    out += padded;
    bytes += length;
  }
  result[0] = (u32)(uintptr_t)out;
  result[1] = bytes;
  return packed;
}
