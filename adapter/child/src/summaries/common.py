# One-line summaries of values with parts, from nodes of gdb and lldb: at most 80 characters, a few levels.
# Runs in the
# debugger, reads memory, and calls nothing of the program.
import re

LONGEST, LEVELS, PARTS = 80, 4, 30
SEQUENCES = {'Vec', 'VecDeque', 'LinkedList', 'HashSet', 'BTreeSet', 'vector', 'deque', 'list', 'forward_list', 'set', 'multiset',
             'unordered_set', 'unordered_multiset', 'stack', 'queue', 'priority_queue', 'span'}
MAPS = {'HashMap', 'BTreeMap', 'map', 'multimap', 'unordered_map', 'unordered_multimap'}
HOLDERS = {'optional', 'variant', 'any', 'unique_ptr', 'shared_ptr', 'weak_ptr'}
LIBRARIES = ('std::', 'alloc::', 'core::', 'hashbrown::')


def base(name):
    """Vec of alloc::vec::Vec<i32, alloc::alloc::Global>; the name of a tuple or a slice as it is."""
    name = re.sub(r'^(const|struct|class|enum|volatile) ', '', name)
    if not name or name[0] in '([&*':
        return name
    name, before = name.replace('->', ''), None
    while name != before:
        name, before = re.sub(r'<[^<>]*>', '', name), name
    return name.rsplit('::', 1)[-1].strip()


def escaped(text):
    marks = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r', '\0': '\\0'}
    return ''.join(marks.get(mark, mark) for mark in text)


def cut(text, room):
    if len(text) <= room:
        return text
    if len(text) > 1 and text[-1] in '"\'' and text[0] != '<':
        return text[:max(room - 2, 1)] + '\u2026' + text[-1]
    return text[:max(room - 1, 0)] + '\u2026'


def joined(opening, parts, closing, room):
    """Parts are pairs of a prefix and a function that renders the value in the room given; None means further parts."""
    left = room - len(opening) - len(closing)
    texts, parts = [], list(parts)
    for at, part in enumerate(parts):
        space = left - (3 if at + 1 < len(parts) else 0)
        text = part and part[0] + part[1](space - len(part[0]))
        if not text or len(text) > space:
            texts.append('\u2026')
            break
        texts.append(text)
        left -= len(text) + 2
    return opening + ', '.join(texts) + closing


def fields(node, level, equals):
    def part(name, value):
        return (name + equals if name else '', lambda room: show(value, room, level + 1))
    return [part(name, value) for name, value in node.fields(PARTS)] + ([None] if node.has_more else [])


def unnamed(parts):
    return [part and ('', part[1]) for part in parts]


def numbered(node):
    names = [name for name, _ in node.fields(1)]
    return bool(names) and re.fullmatch(r'(__)?\d+', names[0]) is not None


def struct(name, node, room, level):
    parts = fields(node, level, ': ')
    if not parts:
        return name
    if numbered(node):
        return joined(name + '(', unnamed(parts), ')', room)
    return joined(name + ' {', parts, '}', room)


def sized(node, name, count):
    return name if count is None else '%s(size=%d)' % (name, count)


def show(node, room=LONGEST, level=0):
    """The text of a node; longer than the room only where it has no shorter one."""
    text = node.text()
    if text is not None:
        return cut(text, room) if node.is_string else text
    if level >= LEVELS:
        return '{\u2026}'
    name = node.type_name()
    kind = base(name)
    library = name.startswith(LIBRARIES) and node.is_known(kind)
    if node.is_array:
        return joined('[' if node.rust else '{', unnamed(fields(node, level, '')), ']' if node.rust else '}', room)
    if node.rust:
        variant = node.variant()
        if variant is not None:
            return struct(variant[0], variant[1], room, level)
        if kind.startswith(('&[', '&mut [')) and node.is_known(kind):
            return joined(sized(node, kind, node.count()) + ' {', unnamed(fields(node, level, '')), '}', room)
    if library and kind == 'array':
        node = node.elements()
        return joined('array(size=%d) {' % len(node.fields(PARTS)), unnamed(fields(node, level, '')), '}', room)
    if library and kind in SEQUENCES:
        return joined(sized(node, kind, node.count()) + ' {', unnamed(fields(node, level, '')), '}', room)
    if library and kind in MAPS:
        pairs = [pair and ('', pair) for pair in entries(node, level)]
        return joined(sized(node, kind, node.count()) + ' {', pairs, '}', room)
    if library and kind in ('pair', 'tuple') or node.rust and name.startswith('('):
        return joined('(', unnamed(fields(node, level, '')), ')', room)
    inner = node.inner(kind) if library else None
    if inner is not None:
        header, held = inner
        if held is None:
            return header
        opening, closing = (' {', '}') if node.rust else ('(', ')')
        return joined(header + opening, [('', lambda room: show(held, room, level + 1))], closing, room)
    if node.rust:
        return struct(kind, node, room, level)
    return joined('{', fields(node, level, ' = '), '}', room)


def entries(node, level):
    def entry(key, value):
        def make(room):
            before = show(key, room, level + 1) + ': '
            return before + show(value, room - len(before), level + 1)
        return make
    return [entry(key, value) for key, value in node.entries(PARTS // 2)] + ([None] if node.has_more else [])
