/*
 * Writes one record after the other, each durable before the next, and tells of each when the system said so. Ends at
 * the first error. Arguments: "append" (a growing file, fdatasync) or "overwrite" (a written file, O_DIRECT|O_DSYNC),
 * and the path of a file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORD_BYTES 4096
#define RECORDS 4096

int main(int count, char **arguments) {
  int overwrite = count == 3 && strcmp(arguments[1], "overwrite") == 0;
  int file = open(arguments[2], O_RDWR | O_CREAT | (overwrite ? O_DIRECT | O_DSYNC : 0), 0644);
  uint64_t *record, *zeros;
  if (file < 0 || posix_memalign((void **)&record, 4096, RECORD_BYTES) != 0) return 1;
  if (posix_memalign((void **)&zeros, 4096, RECORDS * RECORD_BYTES) != 0) return 1;
  memset(zeros, 0, RECORDS * RECORD_BYTES);
  if (overwrite && pwrite(file, zeros, RECORDS * RECORD_BYTES, 0) != RECORDS * RECORD_BYTES) return 1;
  fsync(file);
  dprintf(1, "ready\n");
  for (uint64_t index = 0; index < RECORDS; index += 1) {
    struct timespec now;
    for (int word = 0; word < RECORD_BYTES / 8; word += 1) record[word] = index + 1;
    if (pwrite(file, record, RECORD_BYTES, index * RECORD_BYTES) != RECORD_BYTES) return 0;
    if (!overwrite && fdatasync(file) != 0) return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    dprintf(1, "%lu %.4f\n", (unsigned long)index, now.tv_sec * 1e3 + now.tv_nsec / 1e6);
  }
  return 0;
}
