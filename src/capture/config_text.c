/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/config_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 64

/* A place that fields are appended to. */
struct level {
	struct config_field *owner; /* NULL for the outermost message */
	struct config_field **end;
	char close;		/* what ends it; 0: the text's end */
	const char *list;	/* of messages in a list: their name */
};

struct reader {
	const char *p, *end;
	unsigned line;
	char *error;
	size_t error_size;
	struct level levels[DEPTH_MOST];
	unsigned depth;
};

static bool wrong(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct reader *reader, const char *format, ...)
{
	char what[160];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	snprintf(reader->error, reader->error_size, "line %u: %s", reader->line, what);
	return false;
}

/* Over blanks and comments. The character that is there, 0 at the end (a NUL in the text is none of ours either). */
static char skip(struct reader *reader)
{
	for (; reader->p < reader->end; reader->p++) {
		if (*reader->p == '#')
			while (reader->p < reader->end && *reader->p != '\n')
				reader->p++;
		if (reader->p == reader->end || !isspace((unsigned char)*reader->p))
			break;
		reader->line += *reader->p == '\n';
	}
	return reader->p < reader->end ? *reader->p : 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

/* A word, or where that is a name, also one in brackets (an extension's). To be freed; NULL without one. */
static char *take_word(struct reader *reader, bool name)
{
	const char *start = reader->p;
	if (name && start < reader->end && *start == '[') {
		const char *close = memchr(start, ']', (size_t)(reader->end - start));
		reader->p = close ? close + 1 : start;
	} else {
		while (reader->p < reader->end && is_word(*reader->p))
			reader->p++;
	}
	return reader->p > start ? strndup(start, (size_t)(reader->p - start)) : NULL;
}

static int digit(char c, int base)
{
	const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			  c >= 'A' && c <= 'F' ? c - 'A' + 10 : base;
	return value < base ? value : -1;
}

/* What stands behind a backslash. Those of Unicode stay as they are: names of processes have none. */
static char take_escape(struct reader *reader)
{
	static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
	const char c = *reader->p++;
	const char *letter = c ? strchr(letters, c) : NULL;
	const bool hex = c == 'x' || c == 'X';
	if (letter)
		return meanings[letter - letters];
	if (!hex && digit(c, 8) < 0)
		return c;
	int value = hex ? 0 : digit(c, 8);
	for (int i = hex ? 0 : 1; i < (hex ? 2 : 3) && reader->p < reader->end && digit(*reader->p, hex ? 16 : 8) >= 0; i++)
		value = value * (hex ? 16 : 8) + digit(*reader->p++, hex ? 16 : 8);
	return (char)value;
}

/* Behind the string's end: its quote. The text's end or the line's where there is none. */
static const char *string_end(const struct reader *reader, const char *p, char quote)
{
	while (p < reader->end && *p != quote && *p != '\n')
		p += *p == '\\' && p + 1 < reader->end ? 2 : 1;
	return p;
}

/* One or more strings in a row. */
static char *take_string(struct reader *reader)
{
	char *text = NULL;
	size_t len = 0;
	while (skip(reader) == '"' || skip(reader) == '\'') {
		const char quote = *reader->p++, *close = string_end(reader, reader->p, quote);
		char *longer = realloc(text, len + (size_t)(close - reader->p) + 1);
		if (longer)
			text = longer;
		if (!longer || close == reader->end || *close != quote) {
			if (longer)
				wrong(reader, "a string does not end");
			free(text);
			return NULL;
		}
		while (reader->p < close) {
			char c = *reader->p++;
			text[len++] = c == '\\' ? take_escape(reader) : c;
		}
		reader->p++;
	}
	if (text)
		text[len] = '\0';
	return text;
}

static struct config_field *append(struct reader *reader, const char *name)
{
	struct level *level = &reader->levels[reader->depth - 1];
	struct config_field *field = calloc(1, sizeof *field);
	if (field)
		field->name = strdup(name);
	if (!field || !field->name) {
		free(field);
		wrong(reader, "out of memory");
		return NULL;
	}
	field->line = reader->line;
	*level->end = field;
	level->end = &field->next;
	return field;
}

static bool take_scalar(struct reader *reader, const char *name)
{
	struct config_field *field = append(reader, name);
	const char c = skip(reader);
	if (!field)
		return false;
	field->string = c == '"' || c == '\'';
	if (!field->string && c == '-') { /* a number may stand apart from its sign */
		reader->p++;
		skip(reader);
		char *word = take_word(reader, false);
		if (word && asprintf(&field->value, "-%s", word) < 0)
			field->value = NULL;
		free(word);
	} else {
		field->value = field->string ? take_string(reader) : take_word(reader, false);
	}
	if (!field->value && !*reader->error)
		return c ? wrong(reader, "%s: a value is missing before '%c'", name, c) : wrong(reader, "%s: a value is missing", name);
	return field->value != NULL;
}

/* Into a message, whose opening brace is next. */
static bool open_message(struct reader *reader, const char *name)
{
	struct config_field *field = append(reader, name);
	if (!field)
		return false;
	if (reader->depth == DEPTH_MOST)
		return wrong(reader, "more than %d messages in each other", DEPTH_MOST);
	field->message = true;
	reader->levels[reader->depth++] = (struct level){ .owner = field, .end = &field->first,
							  .close = *reader->p++ == '{' ? '}' : '>' };
	return true;
}

/* The rest of a list, behind its bracket or a message in it. */
static bool take_list(struct reader *reader, const char *name)
{
	for (;;) {
		char c = skip(reader);
		if (c == ']') {
			reader->p++;
			reader->levels[reader->depth - 1].list = NULL;
			return true;
		}
		if (c == ',') {
			reader->p++;
			continue;
		}
		if (c == '{' || c == '<') { /* to be gone on with when the message is over */
			reader->levels[reader->depth - 1].list = name;
			return open_message(reader, name);
		}
		if (!take_scalar(reader, name))
			return false;
	}
}

static bool take_field(struct reader *reader)
{
	char *name = take_word(reader, true);
	if (!name)
		return wrong(reader, "'%c' is not the beginning of a field", *reader->p);
	char c = skip(reader);
	bool good;
	if (c == ':') {
		reader->p++;
		c = skip(reader);
	} else if (c != '{' && c != '<') {
		good = wrong(reader, "%s: ':' or '{' is missing behind it", name);
		goto out;
	}
	if (c == '{' || c == '<') {
		good = open_message(reader, name);
	} else if (c == '[') {
		reader->p++;
		/* The name must live as long as the list: it is that of a field in it, or of none. */
		struct config_field **end = reader->levels[reader->depth - 1].end;
		good = take_list(reader, name);
		if (good && reader->depth > 1 && reader->levels[reader->depth - 2].list == name)
			reader->levels[reader->depth - 2].list = (*end)->name;
	} else {
		good = take_scalar(reader, name);
	}
out:
	free(name);
	return good;
}

struct config_field *config_read(const char *text, size_t len, char *error, size_t error_size)
{
	struct config_field *first = NULL;
	struct reader reader = { .p = text, .end = text + len, .line = 1, .error = error, .error_size = error_size, .depth = 1 };
	reader.levels[0].end = &first;
	*error = '\0';
	for (bool good = true; good;) {
		struct level *level = &reader.levels[reader.depth - 1];
		const char c = skip(&reader);
		if (level->list) {
			good = take_list(&reader, level->list);
		} else if (level->close ? c == level->close : reader.p == reader.end) {
			if (reader.depth == 1)
				break;
			reader.p++;
			reader.depth--;
		} else if (reader.p == reader.end) {
			good = wrong(&reader, "%s, of line %u, has no '%c'", level->owner->name, level->owner->line, level->close);
		} else if (c == ',' || c == ';') {
			reader.p++;
		} else {
			good = take_field(&reader);
		}
	}
	if (!*error && !first)
		wrong(&reader, "there is nothing in it");
	if (!*error)
		return first;
	config_free(first);
	return NULL;
}

/* The deepest first, without going down by calls. */
void config_free(struct config_field *fields)
{
	while (fields) {
		struct config_field *field = fields;
		if (field->first) { /* what is in it comes before it */
			struct config_field *last = field->first;
			while (last->next)
				last = last->next;
			last->next = field;
			fields = field->first;
			field->first = NULL;
			continue;
		}
		fields = field->next;
		free(field->name);
		free(field->value);
		free(field);
	}
}

bool config_bool(const struct config_field *field, bool *value)
{
	static const char *const words[] = { "false", "true", "f", "t", "False", "True", "0", "1" };
	for (unsigned i = 0; !field->message && !field->string && i < 8; i++) {
		if (!strcmp(field->value, words[i])) {
			*value = i % 2;
			return true;
		}
	}
	return false;
}

bool config_number(const struct config_field *field, uint64_t *value)
{
	char *end;
	if (field->message || field->string || !isdigit((unsigned char)*field->value))
		return false;
	errno = 0;
	*value = strtoull(field->value, &end, 0);
	return !*end && !errno;
}
