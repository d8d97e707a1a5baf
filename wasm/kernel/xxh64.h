/* XXH64 of bytes that already lie in WebAssembly memory. */
#include <stdint.h>

#define PRIME_1 0x9E3779B185EBCA87ULL
#define PRIME_2 0xC2B2AE3D27D4EB4FULL
#define PRIME_3 0x165667B19E3779F9ULL
#define PRIME_4 0x85EBCA77C2B2AE63ULL
#define PRIME_5 0x27D4EB2F165667C5ULL

static inline uint64_t load64(const uint8_t *at) {
  uint64_t value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

static inline uint32_t load32(const uint8_t *at) {
  uint32_t value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

static inline uint64_t rotate(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }

static inline uint64_t lane(uint64_t sum, uint64_t word) { return rotate(sum + word * PRIME_2, 31) * PRIME_1; }

static inline uint64_t fold(uint64_t hash, uint64_t sum) { return (hash ^ lane(0, sum)) * PRIME_1 + PRIME_4; }

/* Four independent sums over words of 8 bytes keep the multipliers busy; the rest of less than 32 bytes goes one by one. */
__attribute__((export_name("xxh64"))) uint64_t xxh64(const uint8_t *at, uint32_t length, uint64_t seed) {
  const uint8_t *end = at + length;
  uint64_t hash;
  if (length >= 32) {
    const uint8_t *last = end - 32;
    uint64_t a = seed + PRIME_1 + PRIME_2, b = seed + PRIME_2, c = seed, d = seed - PRIME_1;
    do {
      a = lane(a, load64(at));
      b = lane(b, load64(at + 8));
      c = lane(c, load64(at + 16));
      d = lane(d, load64(at + 24));
      at += 32;
    } while (at <= last);
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = fold(fold(fold(fold(hash, a), b), c), d);
  } else {
    hash = seed + PRIME_5;
  }
  hash += length;
  for (; at + 8 <= end; at += 8) hash = rotate(hash ^ lane(0, load64(at)), 27) * PRIME_1 + PRIME_4;
  if (at + 4 <= end) {
    hash = rotate(hash ^ load32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    at += 4;
  }
  for (; at < end; at += 1) hash = rotate(hash ^ *at * PRIME_5, 11) * PRIME_1;
  hash = (hash ^ (hash >> 33)) * PRIME_2;
  hash = (hash ^ (hash >> 29)) * PRIME_3;
  return hash ^ (hash >> 32);
}
