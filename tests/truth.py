# SPDX-License-Identifier: Apache-2.0
#
# truth.py MOUNT MANIFEST: looks up in a mounted dump what the program that was dumped knew of its own objects (the
# manifest, and the shapes that Gen.java of the corpus always builds). Prints a line a fact: what it is, seen,
# expected; as ASCII literals, between tabs. Nothing here reads the dump: every fact comes from the tree's files.
#
# Out of reach until the tree has threads/: stacks. heap.target_mb is an argument that the heap does not hold.

import os
import re
import struct
import sys
import zlib

mount, manifest_file = sys.argv[1:]


def fact(name, seen, expected):
    """A function that tells what is seen; whatever it raises is what was seen, too."""
    try:
        seen = seen()
    except (OSError, KeyError, IndexError, ValueError, AttributeError, TypeError, struct.error) as error:
        seen = repr(error)
    seen, expected = in_order(seen), in_order(expected)
    print("\t".join([ascii(name)[1:-1], short(seen, expected), short(expected, seen)]))


def in_order(value):
    """Dictionaries sorted: JVMs write fields forward or backward."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    if isinstance(value, (list, set)):
        return [in_order(one) for one in (sorted(value) if isinstance(value, set) else value)]
    return value


def short(value, other):
    """Long values: what differs and where."""
    text = ascii(value)
    if len(text) <= 300:
        return text
    different = ascii(other)
    where = ""
    if text != different:
        at = len(os.path.commonprefix([text, different]))
        where = ", other from %d: %s" % (at, text[max(0, at - 40):at + 80])
    return "%s (%d characters, crc %08x%s)" % (text[:80], len(text), zlib.crc32(text.encode()), where)


### Files

def data(path):
    with open(path, "rb") as file:
        return file.read()


def text(path):
    return data(path).decode("utf-8")  # strict: no text of the tree may be anything else


def unescape(string):
    def one(match):
        escape = match.group(1)
        return {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0"}.get(escape) or chr(int(escape[1:], 16))
    return re.sub(r"\\(u[0-9a-f]{4}|.)", one, string)


def table(path):
    """Rows of a TSV file as dictionaries, still escaped. A field called as one of heapfs's columns is: name'."""
    lines = text(path).split("\n")
    if lines.pop() != "":
        raise ValueError("no line end at the end of " + path)
    head = []
    for name in lines[0].split("\t"):
        head.append(re.sub("^(id|shallow|heap)@0x[0-9a-f]+$", r"\1'", name))
    if len(set(head)) != len(head):
        raise ValueError("two columns of one name in " + path)
    return [dict(zip(head, line.split("\t"), strict=True)) for line in lines[1:]]


def file_name(string):
    """The file name for a text, as the manual tells it, uncut; of a very long one, its beginning."""
    out = ""
    for n, char in enumerate(string[:300]):
        edge = (n == 0 and char in "- ") or (n + 1 == len(string) and char in ". ")
        if char in '/%\\:*?"<>|' or ord(char) < 32 or ord(char) == 127 or edge:
            char = "".join("%%%02X" % byte for byte in char.encode())
        out += char
    return out


def class_folders(string, below="classes"):
    """Folders of classes of that name: one, or several of name@id; a long name is cut and ends in a hash."""
    name = file_name(string)
    if len(name.encode()) > 255:
        return [os.path.join(mount, below, entry) for entry in os.listdir(os.path.join(mount, below))
                if re.fullmatch("~[0-9a-f]{8}", entry[-9:]) and name.startswith(entry[:-9])
                and 250 < len(entry.encode()) <= 255]
    if os.path.isdir(os.path.join(mount, below, name)):
        return [os.path.join(mount, below, name)]
    return [os.path.join(mount, below, entry) for entry in sorted(os.listdir(os.path.join(mount, below)))
            if re.fullmatch(re.escape(name) + "@0x[0-9a-f]+", entry)]


def class_folder(string, below="classes"):
    folders = class_folders(string, below)
    if len(folders) != 1:
        raise ValueError("%d folders for %s: %s" % (len(folders), string[:80], folders[:3]))
    return folders[0]


class Texts:
    """class.txt or object.txt: head lines, then sections of "name: rest"."""

    def __init__(self, path):
        self.head, self.sections, section = {}, {}, None
        for line in text(path).split("\n"):
            if line == "":
                section = None
            elif re.fullmatch("fields of .*:|statics:", line):
                section = self.sections.setdefault(unescape(line[:-1].removeprefix("fields of ")), {})
            elif not line.startswith("\u2026"):  # … N more
                name, rest = line.split(": ", 1)
                (self.head if section is None else section)[unescape(name)] = rest

    def value(self, name, section=None):
        """What stands behind "name: type = "; without a section, of the most derived class that has it."""
        places = [self.sections[section]] if section else self.sections.values()
        return next(place[name] for place in places if name in place).split(" = ", 1)[1]


class Object:
    def __init__(self, folder):
        self.folder = folder

    def go(self, *names):
        here = self
        for name in names:
            link = os.path.join(here.folder, str(name))
            here = Object(os.path.normpath(os.path.join(here.folder, os.readlink(link))))
        return here

    def __eq__(self, other):
        return self.folder == other.folder

    def __repr__(self):
        return os.path.basename(self.folder)

    def graph(self, name):
        return text(os.path.join(self.folder, "graph.d", name))

    def retained(self):
        """The lines of retained.txt, by what stands before the colon."""
        return dict(line.split(": ", 1) for line in self.graph("retained.txt").splitlines())

    def texts(self):
        return Texts(os.path.join(self.folder, "object.txt"))

    def value(self, name, section=None):
        return self.texts().value(name, section)

    def kind(self):
        return unescape(self.texts().head["class"])

    def length(self):
        return int(self.texts().head["length"])

    def string(self):
        return data(os.path.join(self.folder, "value.txt")).decode("utf-8", "surrogatepass")

    def bytes(self):
        return data(os.path.join(self.folder, "data.bin"))

    def elements(self):
        """Of an object array: element or None, by number."""
        names = os.listdir(self.folder)
        return [self.go(n) if str(n) in names else None for n in range(self.length())]

    def items(self):
        """Of an ArrayList."""
        return self.go("elementData").elements()[:int(self.value("size"))]


def char(literal):
    """The number of a char: 'x' in object.txt, x in a table."""
    return ord(unescape(literal.removeprefix("'").removesuffix("'") or "'"))


def static(class_name, name):
    folder = os.path.join(class_folder(class_name), "statics")
    return Object(os.path.normpath(os.path.join(folder, os.readlink(os.path.join(folder, name)))))


### What the program knew

manifest = dict(line.split("\t", 1) for line in data(manifest_file).decode().rstrip("\n").split("\n"))
info = dict(line.split(": ", 1) for line in text(os.path.join(mount, "info.txt")).split("\n") if ": " in line)
classes = {}
for row in table(os.path.join(mount, "classes.tsv")):
    classes.setdefault(unescape(row["class"]), []).append(row)
strings, by_string = {}, {}
for row in table(os.path.join(mount, "strings/strings.tsv")):
    strings.setdefault(row["text"], []).append(row)
    by_string.setdefault(row["id"], []).append(row)

fact("java.version", lambda: info["vm version"], manifest["java.version"])
fact("java.vendor is on the heap", lambda: manifest["java.vendor"] in strings, True)

named = {}
entry = static("gen.Gen", "NAMED").go("head")
while True:
    named[entry.go("key").string()] = entry.go("value")
    if not os.path.islink(os.path.join(entry.folder, "after")):
        break
    entry = entry.go("after")
fact("objects by name, in the order they were put", lambda: list(named), (
    "derived statics l4 empty colours const strings dups primarrays selfarray nested emptyobj strings2d points hashmap "
    "treemap chm ihm whm enummap deque linked hashset bitset direct wasteful emptylist refs oddclasses hidden lambdas "
    "proxy contended-lock").split())

### Fields

derived = named["derived"]
fact("fields.Derived.same", lambda: "own 0x%x, inherited 0x%x" % (
    int(derived.value("same", "gen.Gen$Derived")), int(derived.value("same", "gen.Gen$Base"))),
    manifest["fields.Derived.same"])
row = table(os.path.join(class_folder("gen.Gen$Derived"), "instances.tsv"))[0]
base_id = classes["gen.Gen$Base"][0]["id"]
for where, value in (("object.txt", derived.value), ("instances.tsv", lambda name: row[name])):
    for name, expected in {"z": "true", "b": "-128", "s": "-32768", "i": "-2147483648", "j": "-9223372036854775808",
                           "f": "-0.0", "d": "NaN", "nothing": "null", "inf": "-Infinity", "nan": "NaN"}.items():
        fact("field %s of Derived in %s" % (name, where), lambda v=value, n=name: v(n), expected)
    fact("field c of Derived in " + where, lambda v=value: char(v("c")), 0xffff)
fact("same and same@id of Derived in instances.tsv", lambda: [row["same"], row["same@" + base_id]],
     [str(0x22222222), str(0x11111111)])
fact("self of Derived is itself", lambda: [derived.go("self"), row["self"]], [derived, repr(derived)])
fact("no link for null", lambda: os.path.lexists(os.path.join(derived.folder, "nothing")), False)
fact("its classes, the derived first", lambda: list(derived.texts().sections), ["gen.Gen$Derived", "gen.Gen$Base"])

l4 = named["l4"]
fact("fields.L4", lambda: "f0=%s f1=%s f2=%s f3=%s f4=%d o3=%s" % (
    *(l4.value("f%d" % n, "gen.Gen$L%d" % n) for n in range(4)), char(l4.value("f4", "gen.Gen$L4")),
    l4.go("o3").string()), manifest["fields.L4"])

statics = Texts(os.path.join(class_folder("gen.Gen$Statics"), "class.txt"))
for name, expected in {"z": "boolean = true", "b": "byte = -1", "c": "char = 'Z'", "s": "short = -2", "i": "int = -3",
                       "j": "long = -4", "f": "float = 1.5", "d": "double = 2.5"}.items():
    fact("static %s of Statics" % name, lambda n=name: statics.sections["statics"][n], expected)
fact("static o of Statics", lambda: static("gen.Gen$Statics", "o").kind(), "java.lang.Object")
fact("static arr of Statics", lambda: static("gen.Gen$Statics", "arr").bytes(), struct.pack(">3i", 1, 2, 3))
fact("static ANSWER of an interface", lambda: Texts(os.path.join(
    class_folder("gen.Gen$Constants"), "class.txt")).value("ANSWER"), "42")
fact("static WORD of an interface", lambda: [static("gen.Gen$Constants", "WORD"), named["const"].string()],
     [named["const"], "const42"])
fact("the enum's constants", lambda: [[one.go("name").string(), one.value("ordinal"), one.kind()]
                                      for one in named["colours"].elements()],
     [["RED", "0", "gen.Gen$Colour"], ["GREEN", "1", "gen.Gen$Colour$1"], ["BLUE", "2", "gen.Gen$Colour"]])
fact("an object without fields", lambda: [named["empty"].kind(), named["empty"].texts().sections],
     ["gen.Gen$Empty", {}])

### Strings

listed = named["strings"].items()
fact("strings.list.size", lambda: len(listed), int(manifest["strings.list.size"]))
latin1, utf16 = int(manifest["strings.big.latin1.chars"]), int(manifest["strings.big.utf16.chars"])
for string, expected in zip(listed, [
        "", "latin1-only", "caf\u00e9", "\u65e5\u672c\u8a9e", "emoji \U0001f600 end", "lone \ud800 surrogate",
        "nul\0inside", "line\nbreak\ttab\r\"quote\"\\slash/", "x" * latin1, "\u0416" * utf16]):
    fact("value.txt of the string " + expected[:30], string.string, expected)
    units = len(expected.encode("utf-16-be", "surrogatepass")) // 2  # chars, as Java counts
    fact("strings.tsv, length and text of " + expected[:30], lambda: [
        [r["length"], unescape(r["text"])[:1000]] for r in by_string[repr(string)]], [[str(units), expected[:1000]]])
dups = named["dups"].elements()
fact("strings.duplicates.value", lambda: {one.string() for one in dups}, {manifest["strings.duplicates.value"]})
fact("strings.duplicates.separate_instances", lambda: len({repr(one) for one in dups}),
     int(manifest["strings.duplicates.separate_instances"]))
# and one more: the literal in the program
fact("strings.duplicates.* in strings.tsv", lambda: len(strings[manifest["strings.duplicates.value"]]),
     int(manifest["strings.duplicates.separate_instances"]) + 1)
fact("strings in info.txt and classes.tsv", lambda: [
    int(info["strings"]), int(classes["java.lang.String"][0]["instances"])], [sum(map(len, strings.values()))] * 2)

### Arrays

lengths = [int(n) for n in manifest["arrays.primitive.lengths"].strip("[]").split(", ")]
arrays = named["primarrays"].items()
fact("arrays.primitive.count", lambda: len(arrays), int(manifest["arrays.primitive.count"]))
rules = {
    "boolean": ("?", lambda i: i & 1), "char": ("H", lambda i: i * 31 & 0xffff), "float": ("f", lambda i: i / 3),
    "double": ("d", lambda i: i / 7), "byte": ("B", lambda i: i & 0xff), "short": ("H", lambda i: i * 7 & 0xffff),
    "int": ("I", lambda i: i * 2654435 & 0xffffffff), "long": ("Q", lambda i: i * 0x9E3779B97F4A7C15 & (1 << 64) - 1)}
wanted = [(kind, length) for kind in rules for length in lengths]
fact("arrays.primitive.lengths", lambda: [(a.kind(), a.length()) for a in arrays],
     [(kind + "[]", length) for kind, length in wanted])
for array, (kind, length) in zip(arrays, wanted):
    letter, rule = rules[kind]
    fact("data.bin of %s[%d]" % (kind, length), array.bytes,
         struct.pack(">%d%s" % (length, letter), *map(rule, range(length))))
self = named["selfarray"]
fact("an array that holds itself", lambda: [self.go(0), self.elements()[1], self.go(2).string()], [self, None, "tail"])
fact("nested arrays", lambda: [named["nested"].kind()] + [[n and n.bytes() for n in inner.elements()]
                                                          for inner in named["nested"].elements()],
     ["int[][][]", [struct.pack(">i", 1), struct.pack(">2i", 2, 3)], [], [None, struct.pack(">i", 4)]])
fact("an array of no objects", lambda: [named["emptyobj"].kind(), named["emptyobj"].elements()],
     ["java.lang.Object[]", []])
fact("String[3][4]", lambda: [named["strings2d"].kind()] + [
    inner.elements() for inner in named["strings2d"].elements()], ["java.lang.String[][]"] + [[None] * 4] * 3)
fact("records", lambda: [
    p and [p.value("x"), p.value("y"), p.go("label").string()] for p in named["points"].elements()],
    [["1", "2", "a"], None, ["3", "4", "b"]])

### Collections


def chained(map_object):
    """Entries of a HashMap."""
    for node in map_object.go("table").elements():
        while node:
            yield node
            node = node.go("next") if os.path.islink(os.path.join(node.folder, "next")) else None


size = int(manifest["collections.hashmap.size"])
fact("collections.hashmap.size", lambda: int(named["hashmap"].value("size")), size)
fact("entries of the hashmap", lambda: sorted((n.go("key").string(), n.go("value").value("value"))
                                              for n in chained(named["hashmap"])),
     sorted(("key%d" % n, str(n)) for n in range(size)))
fact("collections.treemap.size", lambda: int(named["treemap"].value("size")), int(manifest["collections.treemap.size"]))
fact("collections.chm.size", lambda: int(named["chm"].value("baseCount")), int(manifest["collections.chm.size"]))
for name, field, expected in [
        ("ihm", "size", "100"), ("whm", "size", "100"), ("enummap", "size", "3"), ("linked", "size", "2"),
        ("wasteful", "size", "1"), ("emptylist", "size", "0"), ("direct", "capacity", "4096")]:
    fact("%s of %s" % (field, name), lambda n=name, f=field: named[n].value(f), expected)
fact("size of hashset", lambda: named["hashset"].go("map").value("size"), "2")
fact("the deque", lambda: [one.value("value") for one in named["deque"].go("elements").elements() if one],
     ["1", "2", "3"])
fact("the linked list", lambda: [named["linked"].go(end, "item").string() for end in ("first", "last")], ["a", "b"])
fact("the bit set", lambda: named["bitset"].go("words").bytes()[-8:], struct.pack(">Q", 1 << 1000 % 64))
fact("room in wasteful", lambda: named["wasteful"].go("table").length(), 1024)
fact("room in emptylist", lambda: named["emptylist"].go("elementData").length(), 10000)

### References

references = named["refs"].items()
fact("references", lambda: [one.kind() for one in references],
     ["java.lang.ref." + kind + "Reference" for kind in ("Weak", "Soft", "Phantom", "Weak", "Soft")])
fact("referents", lambda: [references[n].go("referent") == references[0].go("referent") for n in (1, 2)], [True, True])
fact("a referent that is gone", lambda: references[3].value("referent"), "null")
fact("refs.soft_only_referent_class", lambda: references[4].go("referent").kind(),
     manifest["refs.soft_only_referent_class"])

### Classes


def counted(name, folder):
    """The instances of a class, by class.txt, instances.tsv, the folder of its instances and classes.tsv."""
    texts = Texts(os.path.join(folder, "class.txt"))
    below = os.path.join(mount, "instances", os.path.basename(folder))
    entries = os.listdir(below)
    links = [one for one in entries if os.path.islink(os.path.join(below, one))]
    rows = table(os.path.join(folder, "instances.tsv"))
    if sorted(links) != sorted(r["id"] for r in rows) or sorted(entries) != sorted(links + [n + ".txt" for n in links]):
        raise ValueError("instances/ is not instances.tsv")
    return [unescape(texts.head["class"]), int(texts.head["instances"]), len(rows), len(links),
            *[int(r["instances"]) for r in classes[name] if r["id"] == texts.head["id"]]]


odd_fields = {"plain": "int", "\u00fcml\u00e4ut": "long", "\u5b57\u6bb5": "object", "emoji\U0001f600": "boolean",
              "sp ace": "object"}
odd = [key for key in manifest if key.startswith("classes.odd.")]
fact("odd classes in the manifest", lambda: len(odd), 26)
for key in odd:
    name, number = manifest[key].rsplit(" instances=", 1)
    name, number = unescape(name).replace("/", "."), int(number)
    fact(key, lambda: counted(name, class_folder(name)), [name] + [number] * 4)
    fact(key + ", fields", lambda: Texts(os.path.join(class_folder(name), "class.txt")).sections[name], odd_fields)

same = class_folders("dup.Same")
fact("classes.dup.Same.loaders", lambda: len({os.path.realpath(os.path.join(one, "loader")) for one in same}),
     int(manifest["classes.dup.Same.loaders"]))
fact("classes.dup.Same.instances", lambda: ",".join(map(str, sorted(counted("dup.Same", one)[1] for one in same))),
     manifest["classes.dup.Same.instances"])
fact("dup.Same by its loader's tag: instances, fields", lambda: sorted(
    [Object(os.path.realpath(os.path.join(one, "loader"))).go("tag").string(), counted("dup.Same", one)[1:],
     Texts(os.path.join(one, "class.txt")).sections.get("dup.Same")] for one in same),
    [["loader-0", [10] * 4, {"v": "int"}], ["loader-1", [20] * 4, {"v": "long", "w": "object"}],
     ["loader-2", [30] * 4, None]])
fact("folders of dup.Same end in the class id", lambda: [one.rsplit("@")[1] for one in same],
     [Texts(os.path.join(one, "class.txt")).head["id"] for one in same])

many = int(manifest["classes.wide.ManyFields.fields"])
kinds = ["int", "object", "byte"]
fact("classes.wide.ManyFields.fields in class.txt", lambda: Texts(os.path.join(
    class_folder("wide.ManyFields"), "class.txt")).sections["wide.ManyFields"],
    {"f%d" % n: kinds[n % 3] for n in range(many)})
wide = table(os.path.join(class_folder("wide.ManyFields"), "instances.tsv"))
fact("... in instances.tsv", lambda: [{k: v for k, v in r.items() if k not in ("id", "shallow", "heap")} for r in wide],
     [{"f%d" % n: "null" if n % 3 == 1 else "0" for n in range(many)}])
fact("... in the instance's text", lambda: Texts(os.path.join(
    class_folder("wide.ManyFields", "instances"), wide[0]["id"] + ".txt")).sections["wide.ManyFields"],
    {"f%d" % n: kinds[n % 3] + (" = null" if n % 3 == 1 else " = 0") for n in range(many)})


def ancestors(folder):
    while os.path.islink(os.path.join(folder, "super")):
        yield os.path.basename(folder)
        folder = os.path.normpath(os.path.join(folder, os.readlink(os.path.join(folder, "super"))))
    yield os.path.basename(folder)


depth = int(manifest["classes.tall.depth"])
tall = "tall.C%d" % (depth - 1)
fact("classes.tall.depth, by links super", lambda: list(ancestors(class_folder(tall))),
     ["tall.C%d" % n for n in reversed(range(depth))] + ["java.lang.Object"])
fact("classes.tall.C199.instances", lambda: counted(tall, class_folder(tall)),
     [tall] + [int(manifest["classes.tall.C199.instances"])] * 4)
talls = table(os.path.join(class_folder(tall), "instances.tsv"))
fact("fields of an instance of it", lambda: list(Texts(os.path.join(
    class_folder(tall, "instances"), talls[0]["id"] + ".txt")).sections.items()),
    [("tall.C%d" % n, {"f": "object = null" if n % 2 else "int = 0"}) for n in reversed(range(depth))])
fact("... and its columns in instances.tsv", lambda: list(talls[0])[3:],
     ["f"] + ["f@" + classes["tall.C%d" % n][0]["id"] for n in reversed(range(depth - 1))])

for n in (1, 2):
    name, number = manifest["classes.hidden.%d" % n].rsplit(" instances=", 1)
    fact("classes.hidden.%d" % n, lambda: counted(name.replace("/", "+"), class_folder(name.replace("/", "+"))),
         [name.replace("/", "+")] + [int(number)] * 4)
fact("hidden ones, by the list", lambda: [one.kind() for one in named["hidden"].items()],
     [manifest["classes.hidden.%d" % n].rsplit(" ", 1)[0].replace("/", "+") for n in [1] * 7 + [2] * 9])
lambdas = named["lambdas"].go("elements").elements()
for n in (1, 2, 3):
    fact("classes.lambda.%d" % n, lambda: lambdas[n - 1].kind(), manifest["classes.lambda.%d" % n].replace("/", "+"))
fact("classes.proxy", named["proxy"].kind, manifest["classes.proxy"])

### Graphs: of each, the objects themselves

rows = table(os.path.join(class_folder("gen.Gen$G"), "instances.tsv"))
numbers = sorted(int(r["id'"]) for r in rows)
fact("graph.live", lambda: len(rows), int(manifest["graph.live"]))
# Every live node's dominator and the objects it retains, against the program's brute force.
number_of = {row["id"]: row.get("id'") for row in rows}


def held(row):
    lines = Object(os.path.realpath(os.path.join(mount, "objects", row["id"]))).retained()
    dominator = lines["dominator"].split(" ")[0]
    return "%s:%s:%s" % (number_of[row["id"]], number_of.get(dominator, "-1"), lines["retained objects"])


fact("graph.id:idom:retained_objects", lambda: {held(row) for row in rows},
     set(manifest["graph.id:idom:retained_objects"].split()))
fact("graph.nodes is above all of their numbers", lambda: numbers[-1] < int(manifest["graph.nodes"]), True)
fact("the live ones of the graph", lambda: numbers,
     sorted(int(n.split(":")[0]) for n in manifest["graph.id:idom:retained_objects"].split()))


def reached(start, edges):
    seen, todo = {start}, [start]
    while todo:
        for to in edges[todo.pop()]:
            if to != "null" and to not in seen:
                seen.add(to)
                todo.append(to)
    return len(seen)


fact("... are reached from its root", lambda: reached(
    repr(static("gen.Gen$G", "root")), {r["id"]: [r["a"], r["b"], r["c"]] for r in rows}), int(manifest["graph.live"]))
trees = table(os.path.join(class_folder("gen.Gen$Tree"), "instances.tsv"))
fact("tree.root.retained_objects", lambda: static("gen.Gen$Tree", "root").retained()["retained objects"],
     manifest["tree.root.retained_objects"])
fact("tree.root.retained_objects: as many are reached", lambda: reached(
    repr(static("gen.Gen$Tree", "root")), {r["id"]: [r["left"], r["right"]] for r in trees}),
    int(manifest["tree.root.retained_objects"]))
nodes = {r["id"]: r for r in table(os.path.join(class_folder("gen.Gen$Node"), "instances.tsv"))}


def chain():
    at = repr(static("gen.Gen", "chain"))
    while at != "null":
        yield int(nodes[at]["id'"])
        at = nodes[at]["next"]


fact("chain.nodes, in their order", lambda: list(chain()), list(range(int(manifest["chain.nodes"]))))
hub = static("gen.Gen", "hub")
hub_refs = static("gen.Gen", "hubRefs")
fact("chain.head.retained_objects", lambda: static("gen.Gen", "chain").retained()["retained objects"],
     manifest["chain.head.retained_objects"])
fact("hub.referrer_array_length", hub_refs.length, int(manifest["hub.referrer_array_length"]))
fact("the referrers of the hub: every element, and the static", lambda: sorted(
    tuple(line.split("\t")[1:]) for line in hub.graph("referrers.tsv").splitlines()[1:]), sorted(
    [("java.lang.Object[]", "[%d]" % n) for n in range(int(manifest["hub.referrer_array_length"]))]
    + [("class gen.Gen", "hub")]))
fact("... all of it the hub", lambda: {repr(one) for one in hub_refs.elements()}, {repr(hub)})

### Bitmaps: their fields and buffers

bitmaps = static("android.graphics.Bitmap", "keep").items()
wanted = [one.rsplit(":", 1) for one in manifest["bitmaps"].split(" ")]
fact("bitmaps", lambda: [b.value("mWidth") + "x" + b.value("mHeight") for b in bitmaps], [size for size, _ in wanted])
fact("their pointers", lambda: [int(b.value("mNativePtr")) for b in bitmaps],
     [0x7000000000 + 0x1000 * n for n in range(1, 6)] + [0x7fffff000])
for bitmap, (size, layout) in zip(bitmaps, wanted):
    w, h = map(int, size.split("x"))
    if layout == "RGBA_8888-buffer":
        fact("buffer of " + size, lambda: bitmap.go("mBuffer").bytes(),
             b"".join(bytes((x & 255, y & 255, (x ^ y) & 255, 255)) for y in range(h) for x in range(w)))
    else:
        fact("no buffer of " + size, lambda: bitmap.value("mBuffer"), "null")
dumped = static("android.graphics.Bitmap", "dumpData")
fact("pointers in dumpData", lambda: dumped.go("natives").bytes(), struct.pack(">3Q", *(
    [0x7000000000 + 0x1000 * (n + 1) for n, (_, layout) in enumerate(wanted) if layout == "png-in-dumpData"] + [0])))


def picture(png):
    """Size and colours of an 8-bit RGBA picture whose rows are not filtered."""
    w, h = struct.unpack(">2I", png[16:24])
    at = png.index(b"IDAT")
    raw = zlib.decompress(png[at + 4:at + 4 + struct.unpack(">I", png[at - 4:at])[0]])
    stride = 4 * w + 1
    rows = [raw[y * stride:(y + 1) * stride] for y in range(h)]
    return [png[:8], "%dx%d" % (w, h), len(raw), {row[n:n + 4].hex() for row in rows for n in range(1, stride, 4)}]


def expected_picture(size):
    w, h = map(int, size.split("x"))
    return [b"\x89PNG\r\n\x1a\n", size, h * (4 * w + 1), {"3366ccff"}]


fact("pictures in dumpData", lambda: [b and picture(b.bytes()) for b in dumped.go("buffers").elements()],
     [expected_picture(size) for size, layout in wanted if layout == "png-in-dumpData"] + [None])

### Threads

threads = static("gen.Gen", "THREADS").items()
platform, virtual = int(manifest["threads.platform"]), int(manifest["threads.virtual"])
fact("threads.platform, threads.virtual", lambda: [
    sum(t.kind() == kind for t in threads) for kind in ("java.lang.Thread", "java.lang.VirtualThread")],
    [platform, virtual])
fact("their names", lambda: [t.go("name").string() for t in threads],
     ["worker \u65e5\u672c \U0001f600", "worker-1", "worker-2", "worker-3", "locker-0", "locker-1", "deep-stack"]
     + ["virt-%d" % n for n in range(virtual)])
# each frame of the deep stack holds one gen.Gen$Empty; named[empty] is one more
fact("threads.deep-stack.frames_at_least: so many locals", lambda: int(classes["gen.Gen$Empty"][0]["instances"])
     > int(manifest["threads.deep-stack.frames_at_least"]), True)


def by_id(number):
    """By the path computed from the id."""
    n = int(number, 16)
    return Object(os.path.join(mount, "objects/%x/%x/%s" % (n >> 28, n >> 16 & 0xfff, number)))


fact("what their locals hold", lambda: sorted(by_id(r["v"]).string() for r in table(
    os.path.join(class_folder("gen.Gen$Deep1"), "instances.tsv")) if r["v"] != "null"),
    sorted(["local-of-worker-%d" % n for n in range(4)] + ["local-of-virtual-%d" % n for n in range(virtual)]))
