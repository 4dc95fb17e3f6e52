/* Reading from opened devices. */
#ifndef CAPTURE_H
#define CAPTURE_H

/* Each reads data from the descriptor and prints a line that describes it; returns 0 on success. */
int capture_frame(int fd);
int capture_samples(int fd);
int capture_sentence(int fd);

/* Plays a tone on the node until the process is killed. */
int play_tone(const char *node);

#endif
