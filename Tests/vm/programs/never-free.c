/* BlueZ's emulator of adapters (btvirt) frees the timer of an inquiry when the inquiry ends, and uses it once more if it has
 * expired in the same turn of its loop. With this loaded before it, memory is never freed. */

void free(void *memory)
{
	(void)memory;
}
