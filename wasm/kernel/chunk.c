/*
 * LZ4 blocks and their checksums, in memory of the module's own. The caller lays that memory out: every input and output
 * has at least 64 bytes behind it that may be read and overwritten, which lets copies go 16 bytes at a time and past
 * their end.
 */
#include <wasm_simd128.h>
#include "xxh64.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define MATCH_BYTES_MIN 4
/* The format ends every block with literals: the last match ends 5 bytes before the end, and starts 12 before it. */
#define TAIL_LITERALS 5
#define TAIL_MATCH_START 12
#define LENGTH_IN_TOKEN 15
/* A search without a match takes wider steps after each 2^SKIP_BITS tries: noise costs little. */
#define SKIP_BITS 6
/*
 * A search begins with the step of its input. Small inputs take two bytes at once: a merge compresses them anew, as
 * part of something larger. Large ones start at one, and go on at three where their first bytes became a third or less:
 * what repeats that much has long matches, which are found from wherever they are met and then followed back.
 * (3 * out <= in says the same, and V8 makes code of it for the whole search that is 4 % slower.)
 */
#define STEP_SMALL_INPUT 2
#define STEP_FIRST 1
#define STEP_REPETITIVE 3
#define TRIAL_BYTES 8192
#define REPETITIVE(in, out) (6 * (out) <= 2 * (in) + 1)
/*
 * Of a position the table keeps the lowest 16 bits: no match lies further back. An entry that is older than that names
 * some other byte, which the comparison refuses, or which happens to match. At half the size the table stays in the
 * first cache, though two threads may share that. Clearing it costs more than compressing a small input: those use less.
 */
#define HASH_BITS 13
#define HASH_BITS_SMALL 10
#define SMALL_INPUT_BYTES 8192

static u16 table[1 << HASH_BITS];

static inline u16 load16(const u8 *at) {
  u16 value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

static inline void store16(u8 *at, u16 value) { __builtin_memcpy(at, &value, sizeof value); }

/* Copies up to 15 bytes too many. */
static inline void copy_wide(u8 *to, const u8 *from, const u8 *end) {
  do {
    wasm_v128_store(to, wasm_v128_load(from));
    to += 16;
    from += 16;
  } while (to < end);
}

static inline u8 *put_length(u8 *out, u32 rest) {
  for (; rest >= 255; rest -= 255) *out++ = 255;
  *out++ = (u8)rest;
  return out;
}

/* Of the next 6 bytes: more than a match needs, but a table of shorter hashes finds too many that end at once. */
static inline u32 hash_of(u64 word, u32 bits) { return (u32)(((word << 16) * 227718039650203ULL) >> (64 - bits)); }

/* Most matches end in the first 8 bytes that are compared: a branch of their own, which is predicted better. */
static inline const u8 *match_end(const u8 *at, const u8 *match, const u8 *limit) {
  if (at + 8 <= limit) {
    u64 difference = load64(at) ^ load64(match);
    if (difference != 0) return at + (__builtin_ctzll(difference) >> 3);
    at += 8;
    match += 8;
  }
  while (at + 8 <= limit) {
    u64 difference = load64(at) ^ load64(match);
    if (difference != 0) return at + (__builtin_ctzll(difference) >> 3);
    at += 8;
    match += 8;
  }
  while (at < limit && *at == *match) at++, match++;
  return at;
}

/* Puts `position` into the table, and returns how far back the one lies that was there. */
static inline u32 exchange(u32 hash, u32 position) {
  u32 distance = (u16)(position - table[hash]);
  table[hash] = (u16)position;
  return distance;
}

static inline int is_match(const u8 *at, u32 distance, u32 position, u64 word) {
  return distance - 1 < position && load32(at - distance) == (u32)word;
}

/*
 * How many bytes in front of both, at most `most` and 7, are alike: without a branch, for each answer is as likely as
 * the next. What lies in front of the input may be read, and counts for nothing.
 */
static inline u32 alike_before(const u8 *at, const u8 *match, u32 most) {
  u64 difference = load64(at - 8) ^ load64(match - 8);
  u32 alike = (u32)__builtin_clzll(difference | 1) >> 3;
  return alike < most ? alike : most;
}

static inline u8 *put_literals(u8 *out, u8 **token, const u8 *from, u32 length) {
  *token = out++;
  if (length < LENGTH_IN_TOKEN) {
    **token = (u8)(length << 4);
    wasm_v128_store(out, wasm_v128_load(from));
  } else {
    **token = LENGTH_IN_TOKEN << 4;
    out = put_length(out, length - LENGTH_IN_TOKEN);
    copy_wide(out, from, out + length);
  }
  return out + length;
}

static inline __attribute__((always_inline)) u32 compress_with(u32 bits, int small, const u8 *input, u32 length,
                                                               u8 *output) {
  const u8 *at = input, *literals = input, *end = input + length, *trial_end = input + TRIAL_BYTES;
  u8 *out = output, *token;
  u32 step = small ? STEP_SMALL_INPUT : STEP_FIRST;
  __builtin_memset(table, 0, sizeof(u16) << bits);
  if (length > TAIL_MATCH_START) {
    const u8 *last_start = end - TAIL_MATCH_START, *last_end = end - TAIL_LITERALS;
    at++;
    while (at <= last_start) {
      const u8 *match, *next = at;
      u32 distance;
      u64 word = load64(at);
      u32 tries = step << SKIP_BITS;
      for (;;) {
        at = next;
        next = at + (tries++ >> SKIP_BITS);
        if (next > last_start) goto tail;
        u32 position = (u32)(at - input);
        distance = exchange(hash_of(word, bits), position);
        if (is_match(at, distance, position, word)) break;
        if (small) table[hash_of(load64(at + 1), bits)] = (u16)(position + 1);
        word = load64(next);
      }
      match = at - distance;
      u32 literal_bytes = (u32)(at - literals), before = (u32)(match - input);
      u32 back = alike_before(at, match, literal_bytes < before ? literal_bytes : before);
      at -= back;
      match -= back;
      out = put_literals(out, &token, literals, (u32)(at - literals));
      for (;;) {
        store16(out, (u16)(at - match));
        out += 2;
        const u8 *start = at + MATCH_BYTES_MIN;
        at = match_end(start, match + MATCH_BYTES_MIN, last_end);
        u32 more = (u32)(at - start);
        if (more < LENGTH_IN_TOKEN) {
          *token |= (u8)more;
        } else {
          *token |= LENGTH_IN_TOKEN;
          out = put_length(out, more - LENGTH_IN_TOKEN);
        }
        literals = at;
        if (at > last_start) goto tail;
        u32 position = (u32)(at - input);
        word = load64(at);
        distance = exchange(hash_of(word, bits), position);
        match = at - distance;
        if (!is_match(at, distance, position, word)) break;
        token = out++;
        *token = 0;
      }
      if (!small && at >= trial_end) {
        trial_end = end;
        if (REPETITIVE((u32)(at - input), (u32)(out - output))) step = STEP_REPETITIVE;
      }
      at += step;
    }
  }
tail:
  out = put_literals(out, &token, literals, (u32)(end - literals));
  return (u32)(out - output);
}

/* Returns the bytes of the block; `output` has room for length + length / 255 + 16. */
__attribute__((export_name("compress"))) u32 compress(const u8 *input, u32 length, u8 *output) {
  if (length <= SMALL_INPUT_BYTES) return compress_with(HASH_BITS_SMALL, 1, input, length, output);
  return compress_with(HASH_BITS, 0, input, length, output);
}

/* A match that overlaps itself repeats its first bytes: the shuffle that spreads them over 16, by distance. */
static const u8 SPREAD[16][16] = {
    {0},
    {0},
    {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
    {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0},
    {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3},
    {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0},
    {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3},
    {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 2},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0},
};
/* The largest multiple of the distance that 16 bytes hold. */
static const u8 STRIDE[16] = {0, 16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15};

static inline void repeat(u8 *to, u32 distance, const u8 *end) {
  v128_t pattern = wasm_i8x16_swizzle(wasm_v128_load(to - distance), wasm_v128_load(SPREAD[distance]));
  u32 stride = STRIDE[distance];
  do {
    wasm_v128_store(to, pattern);
    to += stride;
  } while (to < end);
}

/* Far above any block, far below where a sum of 32 bits wraps. */
#define LENGTH_MAX 0x7FFFFFFF

/* Adds the bytes of a long length to it; 0, which no valid length is, when the input ends inside or it is absurd. */
static inline u32 long_length(u32 length, const u8 **at, const u8 *end) {
  u32 byte;
  do {
    if (*at >= end || length > LENGTH_MAX) return 0;
    byte = *(*at)++;
    length += byte;
  } while (byte == 255);
  return length;
}

/* Returns the bytes restored, at most `capacity`; -1 when the block is malformed. Nothing outside is read or written. */
__attribute__((export_name("decompress"))) int32_t decompress(const u8 *input, u32 length, u8 *output, u32 capacity) {
  const u8 *at = input, *end = input + length;
  u8 *out = output, *limit = output + capacity;
  while (at < end) {
    u32 token = *at++;
    u32 literals = token >> 4;
    if (literals == LENGTH_IN_TOKEN && (literals = long_length(literals, &at, end)) == 0) return -1;
    if (literals > (u32)(end - at) || literals > (u32)(limit - out)) return -1;
    wasm_v128_store(out, wasm_v128_load(at));
    if (literals > 16) copy_wide(out + 16, at + 16, out + literals);
    out += literals;
    at += literals;
    if (at == end) return (int32_t)(out - output);
    if (end - at < 2) return -1;
    u32 distance = load16(at);
    at += 2;
    if (distance == 0 || distance > (u32)(out - output)) return -1;
    u32 matched = token & LENGTH_IN_TOKEN;
    if (matched == LENGTH_IN_TOKEN && (matched = long_length(matched, &at, end)) == 0) return -1;
    matched += MATCH_BYTES_MIN;
    if (matched > (u32)(limit - out)) return -1;
    if (distance >= 16) copy_wide(out, out - distance, out + matched);
    else repeat(out, distance, out + matched);
    out += matched;
  }
  return -1;
}
