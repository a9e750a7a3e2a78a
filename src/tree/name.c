/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/name.h"

#include "hprof/mutf8.h"

static bool is_blank(uint32_t code)
{
	return code == ' ' || code == 0xa0;
}

/* Does the name end, from `i` on, as one that was cut does? */
static bool looks_cut(const struct name *name, size_t i)
{
	if (name->text[i] != '~' || name->len - i != 9)
		return false;
	for (size_t j = i + 1; j < name->len; j++)
		if (!strchr("0123456789abcdef", name->text[j]))
			return false;
	return true;
}

/* Bytes of the character at `i`, and whether it must be escaped there. */
static unsigned next(const struct name *name, size_t i, bool member, bool *escape)
{
	uint32_t code = 0;
	const unsigned used = utf8_decode((const uint8_t *)name->text + i, name->len - i, &code);
	const unsigned len = used ? used : 1;
	const bool first = i == 0, last = i + len == name->len;
	*escape = !used || code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000) ||
		  (code < 0x80 && strchr("/%\\:*?\"<>|", (int)code)) || (first && (code == '-' || is_blank(code))) ||
		  (last && (code == '.' || is_blank(code))) || (member && (code == '.' || code == '@')) || looks_cut(name, i);
	return len;
}

void name_escape(struct text *text, struct name name, size_t most, bool member)
{
	const size_t start = text->len;
	size_t cut = start; /* where the name can end so that the mark of a cut still fits */
	for (size_t i = 0; i < name.len;) {
		bool escape;
		const unsigned len = next(&name, i, member, &escape);
		for (unsigned j = 0; j < len; j++)
			if (escape)
				text_printf(text, "%%%02X", (uint8_t)name.text[i + j]);
			else
				text_putc(text, name.text[i + j]);
		i += len;
		if (text->len - start + 9 <= most)
			cut = text->len;
		if (text->len - start > most)
			break;
	}
	if (text->len == start)
		text_putc(text, '%'); /* no other name is this one */
	if (text->len - start <= most)
		return;
	uint32_t hash = 2166136261; /* FNV-1a */
	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (uint8_t)name.text[i]) * 16777619;
	text->len = cut;
	text_printf(text, "~%08x", hash);
}

bool name_parse_hex(const char *name, size_t len, uint64_t *value)
{
	if (!len || len > 16 || (name[0] == '0' && len > 1))
		return false;
	*value = 0;
	for (size_t i = 0; i < len; i++) {
		const char c = name[i];
		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
		*value = *value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

bool name_parse_id(const char *name, size_t len, uint64_t *id)
{
	return len > 2 && name[0] == '0' && name[1] == 'x' && name_parse_hex(name + 2, len - 2, id);
}

bool name_parse_decimal(const char *name, size_t len, unsigned width, uint64_t *value)
{
	if (!len || len > 19 || (width ? len != width : name[0] == '0' && len > 1))
		return false;
	*value = 0;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(name[i] - '0');
	}
	return true;
}
