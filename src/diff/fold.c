/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of classes that a VM makes while it runs. Left out is
 *   - the address of a hidden class, which HotSpot puts behind its name: "Foo$$Lambda+0x00007f2a64000a08" (JDK 21),
 *     "Foo$$Lambda$14+0x0000000800c03000" (JDK 17), with '/' or '.' for the '+' in other places; and the number that stood
 *     there before, "Foo$$Lambda$14/1234567" (JDK 8, unsafe anonymous classes). No identifier of Java begins with a digit,
 *     so that this is never a part of a name that somebody wrote;
 *   - the number of a lambda's class, "$$Lambda$14": they are numbered as they are first used (JDK up to 20);
 *   - a loader's address, "Foo@0x7f2a64000a08".
 * "$Proxy12" stays as it is: those are numbered as they are made, too, and what is called so in another process may
 * implement other interfaces, of which the dump does not tell.
 */
#include "diff/parts.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How long the name is without an address, or a number, of the VM's. */
static uint32_t without_address(const char *text, uint32_t len)
{
	uint32_t at = len;
	while (at && is_hex(text[at - 1]))
		at--;
	if (at < len && at > 3 && text[at - 1] == 'x' && text[at - 2] == '0' && strchr("+/.@", text[at - 3]))
		return at - 3;
	at = len;
	while (at && is_digit(text[at - 1]))
		at--;
	return at < len && at > 1 && strchr("+/.", text[at - 1]) ? at - 1 : len;
}

static uint32_t without_number(const char *text, uint32_t len)
{
	static const char lambda[] = "$$Lambda$";
	const uint32_t most = sizeof lambda - 1;
	uint32_t at = len;
	while (at && is_digit(text[at - 1]))
		at--;
	return at < len && at > most && !memcmp(text + at - most, lambda, most) ? at - 1 : len;
}

uint32_t fold_name(struct name name, char *folded)
{
	uint32_t len = name.len;
	while (len > 2 && name.text[len - 1] == ']' && name.text[len - 2] == '[')
		len -= 2;
	const uint32_t brackets = name.len - len;
	const uint32_t kept = without_number(name.text, without_address(name.text, len));
	memcpy(folded, name.text, kept);
	memcpy(folded + kept, name.text + len, brackets);
	return kept + brackets;
}
