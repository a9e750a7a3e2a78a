/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jdwp: a small client of the Java Debug Wire Protocol: what it takes to call methods in a running application.
 *
 * A connection is a TCP socket to 127.0.0.1, which for an Android application is what `adb forward tcp:0 jdwp:PID` made.
 * Everything has a deadline, and fails within a fifth of a second once *cancel is set (a signal handler may do that).
 * What comes is foreign: a packet's length is checked before it is read, memory grows with the bytes that did come, and
 * no field is read past the packet's end.
 *
 * Functions give 0, or -1 with a sentence for people in `error`. A command that the VM refused leaves its number in
 * `code`, and the connection as it was. After anything else (`lost` says what) it can only be closed.
 *
 * Sources: the Java Debug Wire Protocol of the Java platform's specifications; ART's runtime/jdwp/ (up to Android 9) and
 * OpenJDK's libjdwp (which Android has used since, on ART's JVMTI).
 */
#ifndef HEAPFS_JDWP_H
#define HEAPFS_JDWP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Error codes that decide what is done. */
enum jdwp_code {
	JDWP_INVALID_THREAD = 10,
	JDWP_THREAD_NOT_SUSPENDED = 13,
	JDWP_INVALID_OBJECT = 20,
	JDWP_NOT_IMPLEMENTED = 99,
	JDWP_VM_DEAD = 112,
	JDWP_ALREADY_INVOKING = 502,
};

enum jdwp_lost {
	JDWP_CONNECTED,
	JDWP_REFUSED,		/* nothing there, or the handshake failed */
	JDWP_GONE,		/* closed by the other side, or the VM is dead */
	JDWP_SILENT,		/* no answer in time */
	JDWP_NONSENSE,		/* what came is not JDWP */
	JDWP_CANCELLED,
	JDWP_NO_MEMORY,
};

/* A value with its tag: B, C, D, F, I, J, S, V, Z as in signatures; L, s, t, g, l, c and [ are objects. */
struct jdwp_value {
	uint8_t tag;
	uint64_t bits;		/* as wide as its type, zero-extended; an object's id */
};

/* The first METHOD_ENTRY of a set of events, else its first event. */
struct jdwp_event {
	uint8_t kind, policy;	/* policy: what the VM stopped: nothing, the thread, all */
	uint32_t request;
	uint64_t thread;
};
#define JDWP_METHOD_ENTRY 40

#define JDWP_EVENTS_MOST 32
#define JDWP_ERROR_MOST 320

struct jdwp {
	char error[JDWP_ERROR_MOST];
	uint16_t code;		/* of the last command, where the VM refused it, else 0 */
	enum jdwp_lost lost;
	/* Bytes of ids, 1 to 8, as the VM says. */
	uint8_t field_size, method_size, object_size, type_size;
	char vm[128];		/* what the VM calls itself, and its version, printable */
	bool instance_info;	/* it can list a class's instances */
	/* Internal. */
	int fd;
	const _Atomic bool *cancel;
	unsigned command_ms;
	uint32_t last_id;	/* of the last command that was sent */
	bool calling;		/* which was a call, and has no answer yet */
	bool midway;		/* a packet's first bytes were read, its last were not */
	struct jdwp_event events[JDWP_EVENTS_MOST]; /* that came between replies, the oldest first */
	unsigned event_count;
	uint8_t *packet;	/* the packet that came last */
	size_t packet_capacity;
};

/*
 * Connects to 127.0.0.1:port, shakes hands, and asks for the sizes of ids, the version and what the VM can. All that
 * within `connect_ms`; each command later within `command_ms`. `cancel` may be NULL. Must be followed by jdwp_close(),
 * also where it fails.
 */
int jdwp_connect(struct jdwp *jdwp, unsigned port, unsigned connect_ms, unsigned command_ms, const _Atomic bool *cancel);

/*
 * Sends VM.Dispose, if there is still somebody to send it to, also when cancelled: then the application runs on and another
 * debugger can come. Waits up to three seconds for a call that is under way, and two for the answer (command_ms, where
 * that is less). Closes, and frees; `error`, `code` and `lost` stay.
 */
void jdwp_close(struct jdwp *jdwp);

/* --- classes and their members --- */

/* The first loaded class of a signature ("Ljava/lang/Class;"); 0 in *class if none is. `initialized` may be NULL. */
int jdwp_class(struct jdwp *jdwp, const char *signature, uint64_t *class, bool *initialized);
/* Its loader; 0 for the system's own. */
int jdwp_class_loader(struct jdwp *jdwp, uint64_t class, uint64_t *loader);
/* A method that the class itself declares. One that is not there is an error. */
int jdwp_method(struct jdwp *jdwp, uint64_t class, const char *name, const char *signature, uint64_t *method);
/* Fields that the class itself declares: ids in the order of the names, and in present[] which are there. */
int jdwp_fields(struct jdwp *jdwp, uint64_t class, const char *const *names, unsigned count, uint64_t *ids, bool *present);
int jdwp_static_value(struct jdwp *jdwp, uint64_t class, uint64_t field, struct jdwp_value *value);
/* All instances of exactly this class; *objects is the caller's to free(). */
int jdwp_instances(struct jdwp *jdwp, uint64_t class, uint64_t **objects, size_t *count);

/* --- objects --- */

int jdwp_string(struct jdwp *jdwp, const char *text, uint64_t *string);
int jdwp_values(struct jdwp *jdwp, uint64_t object, const uint64_t *fields, unsigned count, struct jdwp_value *values);
int jdwp_array_length(struct jdwp *jdwp, uint64_t array, uint32_t *length);
/* Bytes [first, first + count) of a byte[]. */
int jdwp_array_bytes(struct jdwp *jdwp, uint64_t array, uint32_t first, uint32_t count, uint8_t *bytes);
/* May the object be collected while nobody but the debugger holds it? It may unless this said otherwise. */
int jdwp_collectable(struct jdwp *jdwp, uint64_t object, bool may);

/* --- calls --- */

#define JDWP_ARGUMENTS_MOST 4

struct jdwp_call {
	uint64_t thread;	/* one that stands at an event */
	uint64_t class, method;	/* of the class that declares it */
	uint64_t object;	/* 0: a static method, or with `construct` a new object of the class */
	bool construct;
	unsigned count;
	struct jdwp_value arguments[JDWP_ARGUMENTS_MOST];
};

/*
 * Calls, while all other threads run (what is called may need them). An exception is an error, which names its class; then
 * `code` is 0 and `lost` JDWP_CONNECTED. `value` may be NULL.
 */
int jdwp_invoke(struct jdwp *jdwp, const struct jdwp_call *call, struct jdwp_value *value);

/* --- events --- */

/* Asks for the next entry of any thread into any method, once; all threads stop at it. */
int jdwp_request_entry(struct jdwp *jdwp, uint32_t *request);
int jdwp_clear_entry(struct jdwp *jdwp, uint32_t request);
/* The next event within `ms`: 1, 0 if none came, or -1. */
int jdwp_event(struct jdwp *jdwp, unsigned ms, struct jdwp_event *event);
/* Lets run what stopped at an event. */
int jdwp_resume(struct jdwp *jdwp, const struct jdwp_event *event);

#endif
