/* Stops a mounted ext4 or XFS as a power cut would: what is not durable is lost. Argument: the mount point. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

#define SHUTDOWN _IOR('X', 125, uint32_t)
#define WITHOUT_FLUSHING_THE_LOG 2

int main(int count, char **arguments) {
  uint32_t how = WITHOUT_FLUSHING_THE_LOG;
  int directory = count == 2 ? open(arguments[1], O_RDONLY) : -1;
  if (directory < 0 || ioctl(directory, SHUTDOWN, &how) != 0) {
    perror("power cut");
    return 1;
  }
  return 0;
}
