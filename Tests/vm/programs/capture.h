/* What is read from a device once it is open. */
#ifndef CAPTURE_H
#define CAPTURE_H

/* Each reads something real from the descriptor and says what it was in one line; 0 when it worked. */
int capture_frame(int fd);
int capture_samples(int fd);
int capture_sentence(int fd);

/* Plays a tone on the node until the process is ended. */
int play_tone(const char *node);

#endif
