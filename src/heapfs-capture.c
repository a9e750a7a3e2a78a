/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs-capture: gets heap dumps and profiles from where they are made. */
#include "capture/capture.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "open.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(FILE *out)
{
	fputs("usage: heapfs-capture [-s SERIAL] [PROCESS|PID] -o FILE [--mount DIR]\n"
	      "       heapfs-capture [-s SERIAL] --pixels-for DUMP [PROCESS|PID] -o FILE.pftrace\n"
	      "\n"
	      "Takes a heap dump, with the pictures that are in it, of an application on an Android\n"
	      "device, through adb. Without a process it lists those that can be dumped.\n"
	      "\n"
	      "  -s, --device SERIAL    the device, where there are several\n"
	      "  -o, --output FILE      what to write, which must not be there yet: an HPROF file, or\n"
	      "                         with a name that ends in .pftrace, a Perfetto trace that has\n"
	      "                         dump and pictures in one\n"
	      "      --mount DIR        mount it there when it is taken\n"
	      "      --no-gc            do not collect garbage first\n"
	      "      --bitmap-format png|jpg|webp   of the pictures, from Android 15 on (png)\n"
	      "      --no-pixels        no pictures (--pixels, with them, is how it is without)\n"
	      "      --pixels-time S    seconds for fetching pictures from Android 8 to 14 (60)\n"
	      "      --pixels-size N    bytes of them, or with K, M, G (64M)\n"
	      "      --pixels-for DUMP  only the pictures, for this dump of the same process\n"
	      "      --yes              take the device and process that fit best, do not ask\n"
	      "      --timeout S        seconds for the dump to be written, and without a byte while it\n"
	      "                         is brought here (120)\n"
	      "  -q, --quiet            show no progress\n"
	      "  -h, --help             this text\n"
	      "  -V, --version          version of heapfs\n",
	      out);
}

enum { OPT_MOUNT = 256, OPT_NO_GC, OPT_FORMAT, OPT_PIXELS, OPT_NO_PIXELS, OPT_PIXELS_TIME, OPT_PIXELS_SIZE, OPT_PIXELS_FOR, OPT_YES,
       OPT_TIMEOUT };

static const struct option option_list[] = { { "device", required_argument, NULL, 's' },
					     { "output", required_argument, NULL, 'o' },
					     { "quiet", no_argument, NULL, 'q' },
					     { "help", no_argument, NULL, 'h' },
					     { "version", no_argument, NULL, 'V' },
					     { "mount", required_argument, NULL, OPT_MOUNT },
					     { "no-gc", no_argument, NULL, OPT_NO_GC },
					     { "bitmap-format", required_argument, NULL, OPT_FORMAT },
					     { "pixels", no_argument, NULL, OPT_PIXELS },
					     { "no-pixels", no_argument, NULL, OPT_NO_PIXELS },
					     { "pixels-time", required_argument, NULL, OPT_PIXELS_TIME },
					     { "pixels-size", required_argument, NULL, OPT_PIXELS_SIZE },
					     { "pixels-for", required_argument, NULL, OPT_PIXELS_FOR },
					     { "yes", no_argument, NULL, OPT_YES },
					     { "timeout", required_argument, NULL, OPT_TIMEOUT },
					     { NULL, 0, NULL, 0 } };

/* A number of seconds above 0. */
static bool parse_seconds(const char *option, const char *value, unsigned *seconds)
{
	char *end;
	errno = 0;
	const unsigned long number = strtoul(value, &end, 10);
	*seconds = (unsigned)number;
	if (*value >= '0' && *value <= '9' && !*end && !errno && number && number <= INT_MAX / 1000)
		return true;
	say("%s %s: must be a number of seconds, 1 or more", option, value);
	return false;
}

/* A number of bytes, with K, M or G of those. */
static bool parse_size(const char *option, const char *value, uint64_t *bytes)
{
	static const char units[] = "KMG";
	char *end;
	errno = 0;
	const unsigned long long number = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	*bytes = (uint64_t)number << shift;
	if (*value >= '0' && *value <= '9' && !errno && number && !end[unit != NULL] && *bytes >> shift == number)
		return true;
	say("%s %s: must be a number of bytes, which may have K, M or G behind it", option, value);
	return false;
}

static bool parse_format(const char *value)
{
	if (!strcmp(value, "png") || !strcmp(value, "jpg") || !strcmp(value, "webp"))
		return true;
	say("--bitmap-format %s: must be png, jpg or webp", value);
	return false;
}

/* 0 to go on, else exit with this status less one. */
static int parse(int argc, char **argv, struct capture_options *options)
{
	int option;
	bool right = true;
	while (right && (option = getopt_long(argc, argv, "s:o:qhV", option_list, NULL)) >= 0) {
		switch (option) {
		case 's':
			options->serial = optarg;
			break;
		case 'o':
			options->output = optarg;
			break;
		case 'q':
			say_quietly(true);
			break;
		case 'h':
			print_help(stdout);
			return 1 + CAPTURE_DONE;
		case 'V':
			printf("heapfs-capture %s\n", PACKAGE_VERSION);
			return 1 + CAPTURE_DONE;
		case OPT_MOUNT:
			options->mount = optarg;
			break;
		case OPT_NO_GC:
			options->no_gc = true;
			break;
		case OPT_FORMAT:
			options->bitmap_format = optarg;
			right = parse_format(optarg);
			break;
		case OPT_PIXELS:
		case OPT_NO_PIXELS:
			options->no_pixels = option == OPT_NO_PIXELS;
			break;
		case OPT_PIXELS_TIME:
			right = parse_seconds("--pixels-time", optarg, &options->pixels_seconds);
			break;
		case OPT_PIXELS_SIZE:
			right = parse_size("--pixels-size", optarg, &options->pixels_bytes);
			break;
		case OPT_PIXELS_FOR:
			options->pixels_for = optarg;
			break;
		case OPT_YES:
			options->yes = true;
			break;
		case OPT_TIMEOUT:
			right = parse_seconds("--timeout", optarg, &options->timeout);
			break;
		default:
			say("see heapfs-capture --help");
			return 1 + CAPTURE_USAGE;
		}
	}
	if (right && optind + 1 < argc) {
		say("too many arguments; see heapfs-capture --help");
		right = false;
	}
	if (right && options->pixels_for && (options->mount || options->no_gc || options->no_pixels)) {
		say("--pixels-for goes without --mount, --no-gc and --no-pixels");
		right = false;
	}
	options->target = optind < argc ? argv[optind] : NULL;
	return right ? 0 : 1 + CAPTURE_USAGE;
}

int main(int argc, char **argv)
{
	struct capture_options options = { .bitmap_format = "png", .pixels_seconds = 60, .pixels_bytes = UINT64_C(64) << 20,
					   .timeout = 120 };
	guard_standard_descriptors();
	const int parsed = parse(argc, argv, &options);
	if (parsed)
		return parsed - 1;
	if (stop_install()) {
		say("signals: %s", strerror(errno));
		return CAPTURE_FAILED;
	}
	const int status = options.pixels_for ? capture_pixels(&options) : capture_app(&options);
	const int number = stop_signal();
	undo_all();
	step_end();
	if (!number || status == CAPTURE_DONE)
		return status;
	/* As the shell and make expect of a program that a signal ended. */
	say("stopped by signal %d (%s)", number, strsignal(number));
	signal(number, SIG_DFL);
	raise(number);
	return CAPTURE_FAILED;
}
