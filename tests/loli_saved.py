# SPDX-License-Identifier: Apache-2.0
#
# What was saved of a capture, against what LoliProfiler saved of the same one. Profiles are decoded by the corpus's own
# reader.
#
#   loli_saved.py TOOLS smaps PROFILE        prints a text like /proc/PID/smaps that has the profile's mappings
#   loli_saved.py TOOLS compare PROFILE OURS prints what differs, then how many things were compared
#   loli_saved.py TOOLS all STREAM OURS      likewise, of a capture that keeps freed records, against the agent's stream
#   loli_saved.py TOOLS cut STREAM REPLAY SMAPS FOLDER
#                                            runs REPLAY on the stream cut behind every packet, and inside each
import os
import struct
import subprocess
import sys

tools, what, name = sys.argv[1:4]
sys.path.insert(0, tools)
sys.argv = sys.argv[:1] + sys.argv[4:]
import agent_decode
import loli_decode

SIZES = ('Size', 'Rss', 'Pss', 'Private_Clean', 'Private_Dirty', 'Shared_Clean', 'Shared_Dirty')
compared = 0
different = 0


def read(path):
    profile, _, tail = loli_decode.decode(open(path, 'rb').read())
    assert tail == 0, path
    return profile


def same(what, seen, expected):
    global compared, different
    compared += 1
    if seen != expected:
        different += 1
        print('%s: %.300s instead of %.300s' % (what, seen, expected))


def smaps(profile):
    """The sizes of a name go to its first range. Folders are made up: they are not kept."""
    lines = []
    for section, ranges, sizes in profile['smaps']:
        for i, (start, end, offset) in enumerate(ranges):
            path = '' if section == 'anonymous' else section if section[0] == '[' else '/data/app/~~x==/lib dir/' + section
            lines.append((start, '%x-%x r-xp %08x fd:01 1234%s' % (start, end, offset, ('    ' + path) if path else ' ')))
            for size, word in zip(sizes, SIZES):
                lines.append((start, '%s %15d kB' % (word + ':', size if i == 0 else 0)))
            lines.append((start, 'VmFlags: rd ex mr mw me'))
    lines.sort(key=lambda line: line[0])
    return ''.join(line + '\n' for _, line in lines)


def records(profile):
    """As a reader sees them: names, not keys."""
    strings = dict(reversed(profile['strings']))
    stacks = {name: [(strings.get(key), address) for key, address in frames] for name, frames in profile['stacks']}
    nostack = not stacks
    return [(seq, time, size, address, 0 if nostack else function, strings.get(library), stacks.get(name))
            for name, seq, time, size, address, function, library in profile['records']]


def compare(theirs, ours):
    same('records', records(ours), records(theirs))
    same('distinct names', len({record[0] for record in ours['records']}), len(ours['records']))
    same('frees', dict(ours['frees']), dict(theirs['frees']))
    same('entries of frees', len(ours['frees']), len(theirs['frees']))
    same('smaps', {name: rest for name, *rest in ours['smaps']}, {name: rest for name, *rest in theirs['smaps']})
    same('places', {library: sorted(address for address, _ in places) for library, places in ours['symbols']},
         {library: sorted(address for address, _ in places) for library, places in theirs['symbols']})
    keys = {text: key for key, text in ours['strings']}
    same('keys', {text: keys.get(text) for key, text in theirs['strings'] if text and text != 'unknown'},
         {text: key for key, text in theirs['strings'] if text and text != 'unknown'})


def compare_all(stream, ours):
    packets, tail = agent_decode.decode(stream)
    messages = [message for packet in packets for message in packet[3]]
    same('rest of the stream', tail, 0)
    same('all records', [record[1:5] for record in ours['records']],
         [(message[2], message[3], message[4], message[5]) for message in messages if message[0] == 'alloc'])
    latest = {}
    for message in messages:
        if message[0] == 'free':
            latest[message[2]] = max(latest.get(message[2], 0), message[1])
    same('all frees', dict(ours['frees']), latest)


def borders(stream):
    at = [0]
    while at[-1] < len(stream):
        at.append(at[-1] + 4 + struct.unpack_from('<I', stream, at[-1])[0])
    return at


def compare_cut(stream, replay, smaps, folder):
    packets, _ = agent_decode.decode(stream)
    part, saved = os.path.join(folder, 'cut.agentstream'), os.path.join(folder, 'cut.loli')
    records, latest, freed = [], {}, 0
    ends = borders(stream)
    same('borders', len(ends), len(packets) + 1)
    for k, end in enumerate(ends):
        if k:
            for message in packets[k - 1][3]:
                if message[0] == 'free':
                    latest[message[2]] = max(latest.get(message[2], 0), message[1])
                    freed += 1
                else:
                    records.append((message[2], message[3], message[4], message[5]))
        live = [record for record in records if record[0] >= latest.get(record[3], 0)]
        # Also inside the next packet: in its size, behind it, or one byte before its end.
        inside = [end + (2, 9, ends[k + 1] - end - 1)[k % 3]] if k < len(packets) else []
        for size in [end] + inside:
            with open(part, 'wb') as file:
                file.write(stream[:size])
            said = subprocess.run([replay, part, smaps, saved], check=True, stdout=subprocess.PIPE, text=True).stdout
            told = dict(line.split(' ', 1) for line in said.splitlines())
            same('cut at %d' % size, [int(told[key]) for key in ('packets', 'allocs', 'frees', 'damaged', 'repeated', 'cut')],
                 [k, len(records), freed, 0, 0, int(size != end)])
            profile = read(saved)
            same('records, cut at %d' % size, [record[1:5] for record in profile['records']], live)
            same('frees, cut at %d' % size, dict(profile['frees']), latest)


if what == 'smaps':
    sys.stdout.write(smaps(read(name)))
    sys.exit()
if what == 'compare':
    compare(read(name), read(sys.argv[1]))
elif what == 'all':
    compare_all(open(name, 'rb').read(), read(sys.argv[1]))
else:
    compare_cut(open(name, 'rb').read(), *sys.argv[1:4])
print('%d compared' % compared)
sys.exit(different > 0)
