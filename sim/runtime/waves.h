/* Waveforms, for the host and its simulators: MACAH_WAVE has their names, a line each, all in one directory. */
#ifndef MACAH_WAVES_H
#define MACAH_WAVES_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Whether a file that is written from its begin to its end ends where no room was left: with a block, and no other is
   free. */
static inline int macah_was_cut(int fd) {
  struct statvfs room;
  struct stat is;
  if (fstatvfs(fd, &room) || fstat(fd, &is) || !S_ISREG(is.st_mode) || !room.f_blocks || room.f_bavail) return 0;
  return is.st_size % (room.f_frsize < 4096 ? (off_t)room.f_frsize : 4096) == 0;
}

/* The bytes of a path, up to the end of the first name, that are its directory. */
static inline int macah_wave_folder(const char *waves) {
  size_t name = strcspn(waves, "\n");
  while (name > 1 && waves[name - 1] != '/') name--;
  return (int)(name > 1 ? name - 1 : name);
}

/* waves.c: whether all waveforms that the run has written have all of it. */
int macah_waves_are_whole(const char *waves);

#endif
