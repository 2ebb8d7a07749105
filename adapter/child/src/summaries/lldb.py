# Summaries in lldb; install adds them.
import lldb

AGGREGATES = lldb.eTypeClassStruct | lldb.eTypeClassClass | lldb.eTypeClassUnion | lldb.eTypeClassArray
POINTERS = lldb.eTypeClassPointer | lldb.eTypeClassReference
TEXTS = {'String', 'OsString', 'PathBuf', '&str', '&mut str', '&std::path::Path', '&mut std::path::Path'}
BYTES = [lldb.eBasicTypeChar, lldb.eBasicTypeSignedChar, lldb.eBasicTypeUnsignedChar]
MEMBERS = {'array': '_M_elems', 'stack': 'c', 'queue': 'c', 'priority_queue': 'c', 'shared_ptr': '_M_ptr', 'weak_ptr': '_M_ptr'}
# lldb itself has formatters for LLVM's library.
LIBCPP = 'std::__1::'
RUST, DEBUGGER = False, None


def get_plain_type(kind):
    return kind.GetCanonicalType().GetUnqualifiedType()


def is_text(kind):
    name = get_plain_type(kind).GetName() or ''
    return name.startswith(LIBRARIES + ('&',)) and get_base_name(name) in (TEXTS if RUST else {'basic_string'})


def get_member(value, name):
    return value.GetNonSyntheticValue().GetChildMemberWithName(name)


def has_niche(value, at):
    """Whether the address belongs to a number whose highest bit is never set, such as a capacity."""
    for _ in range(20):
        value = value.GetNonSyntheticValue()
        if re.search(r'(NoHighBit|::Cap)$', value.GetTypeName() or ''):
            return True
        parts = [value.GetChildAtIndex(index) for index in range(value.GetNumChildren(50))]
        parts = [part for part in parts if part.GetLoadAddress() <= at < part.GetLoadAddress() + part.GetByteSize()]
        plain_parts = [part for part in parts if not part.GetChildMemberWithName('$discr$').IsValid()]
        if not parts or value.GetType().IsPointerType():
            return False
        value = (plain_parts or parts)[-1]
    return False


def find_current_variant(variants):
    """Finds the index of the current variant. lldb knows only 32 bits of a discriminant, so that rustc's own search may find a wrong one."""
    fallback, found = None, None
    for at in range(variants.GetNumChildren()):
        variant = variants.GetChildAtIndex(at)
        discriminant = variant.GetChildMemberWithName('$discr$')
        if not discriminant.IsValid():
            fallback = at
            continue
        name = re.fullmatch(r'\$variant\$(-?\d+)', variant.GetName() or '')
        size, number = discriminant.GetByteSize(), discriminant.GetValueAsUnsigned()
        low = 1 << min(8 * size, 32)
        if name and int(name.group(1)) % low == number % low:
            found = at, discriminant, size, number
    if found is None:
        return fallback or 0
    at, discriminant, size, number = found
    if fallback is not None and size == 8 and number != 1 << 63 | number % (1 << 32):
        held = variants.GetChildAtIndex(fallback).GetChildMemberWithName('value')
        if number >> 32 or has_niche(held, discriminant.GetLoadAddress()):
            return fallback
    return at


class Node:
    def __init__(self, value, followed=False):
        self.raw = value.GetNonSyntheticValue()
        if self.raw.GetType().IsReferenceType():
            self.raw = self.raw.Dereference()
        self.value, self.followed, self.has_more, self.is_string = self.raw.GetSyntheticValue(), followed, False, False
        if not self.value.IsValid():
            self.value = self.raw
        self.type = get_plain_type(self.raw.GetType())
        self.kind, self.rust = self.type.GetTypeClass(), RUST
        self.is_array = self.kind == lldb.eTypeClassArray
        # rustc's formatters copy the members of structs, so that these have no address.
        name = self.type_name()
        if self.rust and not name.startswith(LIBRARIES + ('&[', '&mut [')):
            self.value = self.raw

    def type_name(self):
        return self.type.GetName() or ''

    def text(self):
        if is_text(self.type):
            self.is_string = True
            if self.rust:
                return '"%s"' % escape(rust_summary(self.value)[1:-1])
            return self.value.GetSummary() or '""'
        if LIBCPP in self.type_name() and self.value.GetSummary():
            return self.value.GetSummary()
        name = get_base_name(self.type_name())
        if name == 'basic_string_view' and not self.rust:
            size, at = get_member(self.raw, '_M_len').GetValueAsUnsigned(), get_member(self.raw, '_M_str').GetValueAsUnsigned()
            self.is_string = True
            return '"%s"' % escape(self.memory(at, size))
        if name == 'path' and get_member(self.raw, '_M_pathname').IsValid():
            return Node(get_member(self.raw, '_M_pathname')).text()
        if self.rust and self.type_name().startswith('core::num::') and name.startswith('NonZero'):
            held = self.raw
            for _ in range(4):
                held = held.GetNonSyntheticValue().GetChildAtIndex(0) if held.GetNumChildren() else held
            return held.GetValue()
        if name == 'atomic' and get_member(self.raw, '_M_i').IsValid():
            return get_member(self.raw, '_M_i').GetValue()
        if self.kind & lldb.eTypeClassPointer:
            return self.pointer()
        if self.is_array:
            summary = self.raw.GetSummary() if self.type.GetArrayElementType().GetByteSize() == 1 and not self.rust else None
            self.is_string = bool(summary) and summary[0] == '"'
            return summary if self.is_string else None
        if self.kind & AGGREGATES:
            return None
        if self.rust and self.type.GetByteSize() == 1 and self.type.GetBasicType() in BYTES:
            return str(self.raw.GetValueAsSigned() if self.type.GetBasicType() != lldb.eBasicTypeUnsignedChar else self.raw.GetValueAsUnsigned())
        summary = self.value.GetSummary() or ''
        return summary if summary[:1] == "'" else self.value.GetValue() or summary or ('()' if self.rust else '?')

    def is_known(self, kind):
        if self.rust:
            return kind in ('BTreeMap', 'BTreeSet', 'Mutex', 'RwLock') or self.value.IsSynthetic()
        if kind in MEMBERS:
            return get_member(self.raw, MEMBERS[kind]).IsValid()
        if kind == 'tuple':
            return (get_plain_type(self.raw.GetChildAtIndex(0).GetType()).GetName() or '').startswith('std::_Tuple_impl<')
        return kind == 'pair' or self.value.IsSynthetic()

    def memory(self, at, size):
        if size == 0:
            return ''
        error = lldb.SBError()
        read = self.raw.GetProcess().ReadMemory(at, min(size, 4096), error)
        return read.decode('utf-8', 'replace') if error.Success() and read else ''

    def pointer(self):
        target, number = get_plain_type(self.type.GetPointeeType()), self.raw.GetValueAsUnsigned()
        summary = None if self.rust else self.raw.GetSummary()
        if summary and summary[0] == '"':
            self.is_string = True
            return summary
        text = self.pointee(target, number, MAX_LENGTH - 20)
        return self.raw.GetValue() + (' ' + text if text else '')

    def pointee(self, target, number, room):
        followable = target.GetTypeClass() & AGGREGATES or self.rust and target.GetTypeClass() & ~lldb.eTypeClassFunction
        if self.followed or number == 0 or not followable or not target.GetByteSize():
            return ''
        held = self.raw.Dereference()
        if not held.IsValid() or not held.GetData().IsValid():
            return ''
        return show(Node(held, True), room, 2)

    def list_children(self, most):
        count = self.value.GetNumChildren(most + 1)
        self.has_more = count > most
        found = [self.value.GetChildAtIndex(at) for at in range(min(count, most))]
        return [value for value in found if value.IsValid()]

    def fields(self, most):
        name = get_base_name(self.type_name())
        if name in ('stack', 'queue', 'priority_queue') and get_member(self.raw, 'c').IsValid():
            inner = Node(get_member(self.raw, 'c'), self.followed)
            found, self.has_more = inner.fields(most), inner.has_more
            return found
        if name == 'tuple' and not self.rust:
            return [('', Node(value, self.followed)) for value in self.tuple(self.raw)]
        if name in ('BTreeSet', 'BTreeMap') and self.rust:
            found = tree(self.raw, most + 1)
            self.has_more = len(found) > most
            return [('', Node(key, self.followed)) for key, _ in found[:most]]
        return [(value.GetName() or '', Node(value, self.followed)) for value in self.members(self.list_children(most), 0)]

    def members(self, kids, depth):
        for value in kids:
            name = value.GetName() or ''
            if name.startswith('_vptr'):
                continue
            # Replace a base class by its members.
            if not self.rust and depth < 5 and name and name == value.GetType().GetName():
                inner = value.GetNonSyntheticValue()
                yield from self.members([inner.GetChildAtIndex(at) for at in range(inner.GetNumChildren(MAX_PARTS))], depth + 1)
            else:
                yield value

    def tuple(self, value, depth=0):
        head, rest = [], []
        for at in range(value.GetNumChildren(8)):
            part = value.GetChildAtIndex(at).GetNonSyntheticValue()
            kind = get_plain_type(part.GetType()).GetName() or ''
            if kind.startswith('std::_Head_base<'):
                held = part.GetChildMemberWithName('_M_head_impl')
                head.append(held if held.IsValid() else part)
            elif kind.startswith('std::_Tuple_impl<') and depth < MAX_PARTS:
                rest += self.tuple(part, depth + 1)
        return (rest if depth == 0 else head + rest)

    def entries(self, most):
        if get_base_name(self.type_name()) == 'BTreeMap':
            found = tree(self.raw, most + 1)
            self.has_more = len(found) > most
            return [(Node(key, self.followed), Node(value, self.followed)) for key, value in found[:most]]
        pairs = []
        for entry in self.list_children(most):
            entry = entry.GetNonSyntheticValue()
            pairs.append((Node(entry.GetChildAtIndex(0), self.followed), Node(entry.GetChildAtIndex(1), self.followed)))
        return pairs

    def elements(self):
        return Node(get_member(self.raw, '_M_elems'), self.followed)

    def count(self):
        name = get_base_name(self.type_name())
        if name in ('stack', 'queue', 'priority_queue') and get_member(self.raw, 'c').IsValid():
            return Node(get_member(self.raw, 'c')).count()
        if name in ('BTreeSet', 'BTreeMap') and self.rust:
            return length(self.raw)
        return self.value.GetNumChildren()

    def variant(self):
        variants = self.raw.GetChildAtIndex(0)
        if variants.GetName() != '$variants$':
            return None
        variant = variants.GetChildAtIndex(find_current_variant(variants))
        held = variant.GetChildMemberWithName('value')
        node = Node(held, self.followed)
        node.value = node.raw
        return get_base_name(node.type_name()), node

    def child(self, *names):
        for value in self.list_children(8):
            if value.GetName() in names:
                return Node(value, self.followed)
        return None

    def inner(self, kind):
        if self.rust:
            if kind in ('Rc', 'Arc', 'RefCell', 'Ref', 'RefMut', 'Cell'):
                summary = rust_summary(self.value)
                return kind + ('(%s)' % summary if summary else ''), self.child('value', '*value', 'data')
            if kind in ('Mutex', 'RwLock'):
                held = get_member(get_member(self.raw, 'data'), 'value')
                return (kind, Node(held, self.followed)) if held.IsValid() else None
            return None
        if kind not in HOLDERS or kind == 'any':
            return None
        if kind.endswith('_ptr'):
            held = self.value.GetChildAtIndex(0) if kind == 'unique_ptr' else get_member(self.raw, '_M_ptr')
            if not held.IsValid() or held.GetValueAsUnsigned() == 0:
                return kind + '(nullptr)', None
            if self.followed:
                return '%s(%s)' % (kind, hex(held.GetValueAsUnsigned())), None
            return kind, Node(held.Dereference(), True)
        if self.value.GetNumChildren() == 0:
            return ('nullopt' if kind == 'optional' else kind + '()'), None
        return kind, Node(self.value.GetChildAtIndex(0), self.followed)


def rust_summary(value):
    """What rustc's own formatters say."""
    import lldb_lookup
    return lldb_lookup.summary_lookup(value, {})


def length(value):
    inner = get_member(value, 'map')
    return get_member(inner if inner.IsValid() else value, 'length').GetValueAsUnsigned()


def unwrapped(value):
    """What a MaybeUninit has."""
    for _ in range(4):
        inner = value.GetNonSyntheticValue()
        held = inner.GetChildMemberWithName('value')
        if not held.IsValid() and 'MaybeDangling<' in (inner.GetTypeName() or ''):
            held = inner.GetChildMemberWithName('__0')
        if not held.IsValid():
            return value
        value = held
    return value


def tree(value, most):
    """Keys and values of a B-tree in their order, at most so many."""
    inner = get_member(value, 'map')
    root = get_member(inner if inner.IsValid() else value, 'root')
    name, held = Node(root).variant() or ('', None)
    if name != 'Some':
        return []
    root = held.raw.GetChildAtIndex(0)
    pointer = get_member(get_member(root, 'node'), 'pointer')
    kind, process, error, found = pointer.GetType().GetPointeeType(), value.GetProcess(), lldb.SBError(), []

    def walk(at, height):
        leaf = value.CreateValueFromAddress('node', at, kind).GetNonSyntheticValue()
        keys, values = leaf.GetChildMemberWithName('keys'), leaf.GetChildMemberWithName('vals')
        count = min(leaf.GetChildMemberWithName('len').GetValueAsUnsigned(), 11)
        for index in range(count + 1):
            if height > 0:
                # A node that is not a leaf is followed by its edges.
                edge = process.ReadPointerFromMemory(at + kind.GetByteSize() + index * process.GetAddressByteSize(), error)
                if not error.Success():
                    return
                walk(edge, height - 1)
            if index == count or len(found) >= most:
                return
            # Of a set the values have no size.
            held = values.GetChildAtIndex(index)
            found.append((unwrapped(keys.GetChildAtIndex(index)), unwrapped(held) if held.IsValid() else held))
    walk(pointer.GetValueAsUnsigned(), min(get_member(root, 'height').GetValueAsUnsigned(), 20))
    return found


def is_swifts():
    # Its formatters know more of its types.
    modules = DEBUGGER.GetSelectedTarget().module_iter() if DEBUGGER else []
    return any('swiftCore' in (module.file.basename or '') for module in modules)


def recognizes(kind, _):
    try:
        if is_swifts():
            return False
        if is_text(kind):
            return RUST
        if LIBCPP in (get_plain_type(kind).GetName() or ''):
            return False
        if kind.GetTypeClass() & lldb.eTypeClassArray and not RUST:
            return get_plain_type(kind.GetArrayElementType()).GetBasicType() not in BYTES
        if kind.GetTypeClass() & AGGREGATES:
            return True
        if kind.GetTypeClass() & POINTERS:
            target = get_plain_type(kind.GetPointeeType())
            return bool(target.GetTypeClass() & AGGREGATES or RUST and target.GetByteSize())
    except Exception:
        pass
    return False


def summary(value, _):
    try:
        node = Node(value)
        if node.kind & lldb.eTypeClassPointer:
            return node.pointee(get_plain_type(node.type.GetPointeeType()), node.raw.GetValueAsUnsigned(), MAX_LENGTH - 20)
        return node.text() or show(node)
    except Exception:
        return ''


class Unordered:
    """The elements of libstdc++'s hash tables, of which lldb shows none."""

    def __init__(self, value, _):
        self.value = value
        self.update()

    def update(self):
        self.table = self.value.GetNonSyntheticValue().GetChildMemberWithName('_M_h')
        self.kind = get_plain_type(self.table.GetType()).GetTemplateArgumentType(1)
        self.known = [self.table.GetChildMemberWithName('_M_before_begin').GetChildMemberWithName('_M_nxt').GetValueAsUnsigned()]
        return False

    def num_children(self):
        # In a map that is not constructed yet the number is arbitrary.
        return min(self.table.GetChildMemberWithName('_M_element_count').GetValueAsUnsigned(), 1 << 30)

    def has_children(self):
        return True

    def get_child_index(self, name):
        return int(name.strip('[]')) if name.strip('[]').isdigit() else -1

    def get_child_at_index(self, at):
        process, error = self.value.GetProcess(), lldb.SBError()
        while len(self.known) <= at and self.known[-1]:
            further = process.ReadPointerFromMemory(self.known[-1], error)
            self.known.append(further if error.Success() else 0)
        if at >= len(self.known) or not self.known[at]:
            return None
        align = max(process.GetAddressByteSize(), self.kind.GetByteAlign() if hasattr(self.kind, 'GetByteAlign') else 0)
        return self.value.CreateValueFromAddress('[%d]' % at, self.known[at] + align, self.kind)


def recognizes_unordered(kind, _):
    try:
        kind = get_plain_type(kind)
        return get_base_name(kind.GetName() or '').startswith('unordered_') and kind.GetFieldAtIndex(0).GetName() == '_M_h'
    except Exception:
        return False


def install(debugger, rust):
    global RUST, DEBUGGER
    RUST, DEBUGGER = rust, debugger
    if rust:
        try:
            import lldb_providers
            lldb_providers.ClangEncodedEnumProvider._getCurrentVariantIndex = lambda self, variants: find_current_variant(variants)
        except (AttributeError, ImportError):
            pass
    debugger.HandleCommand('type synthetic add -w tandem -l tandem_summaries.Unordered --recognizer-function tandem_summaries.recognizes_unordered')
    debugger.HandleCommand('type summary add -w tandem -e -F tandem_summaries.summary --recognizer-function tandem_summaries.recognizes')
    debugger.HandleCommand('type category enable tandem')
    debugger.HandleCommand('command script add -f tandem_summaries.answer_find_expression tandem-elements')
    debugger.HandleCommand('command script add -f tandem_summaries.answer_is_copy tandem-is-copy')
