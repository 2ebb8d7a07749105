# Summaries in gdb's DAP server. RUST is true for programs of rustc.


def tandem():
    import itertools, gdb, gdb.dap.varref as varref
    CODES = [gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY]
    POINTERS = [gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, getattr(gdb, 'TYPE_CODE_RVALUE_REF', gdb.TYPE_CODE_REF)]

    def read_text(address, length):
        if length <= 0:
            return ''
        read = gdb.selected_inferior().read_memory(address, min(length, 4096))
        return bytes(read).decode('utf-8', 'replace') + ('\u2026' if length > 4096 else '')

    class Node:
        rust = RUST

        def __init__(self, value, followed=False):
            if not isinstance(value, gdb.Value):
                value = gdb.Value(value)
            if value.type.code in POINTERS[1:]:
                value = value.referenced_value()
            self.value, self.followed, self.has_more, self.is_string = value, followed, False, False
            self.type = value.type.strip_typedefs().unqualified()
            self.printer = gdb.default_visualizer(value)
            self.header = None
            if self.printer is not None and hasattr(self.printer, 'to_string'):
                self.header = self.printer.to_string()
                if isinstance(self.header, gdb.Value):
                    self.header = self.header.format_string()
                elif self.rust and isinstance(self.header, gdb.LazyString):
                    self.header = read_text(self.header.address, self.header.length)
                elif isinstance(self.header, gdb.LazyString):
                    self.header = self.header.value().format_string()
            hint = self.printer is not None and hasattr(self.printer, 'display_hint') and self.printer.display_hint()
            self.hint = hint or None
            self.is_array = self.type.code == gdb.TYPE_CODE_ARRAY
            self.children = None

        def type_name(self):
            return str(self.type)

        def is_known(self, kind):
            return self.printer is not None or kind in ('array', 'Mutex', 'RwLock')

        def quoted(self, text):
            self.is_string = True
            return '"%s"' % escape(text) if self.rust else str(text)

        def text(self):
            if self.hint == 'string':
                return self.quoted(self.header)
            kind, name = self.type.code, self.type_name()
            if self.printer is None or self.header is None and not hasattr(self.printer, 'children'):
                if kind == gdb.TYPE_CODE_ENUM:
                    return str(self.value).rsplit('::', 1)[-1]
                if kind == gdb.TYPE_CODE_PTR:
                    return self.pointer()
                if self.is_array and self.type.target().strip_typedefs().sizeof == 1 and 'char' in self.type_name():
                    self.is_string = True
                    return self.value.format_string()
                if self.rust and kind == gdb.TYPE_CODE_CHAR and 0 <= int(self.value) < 0x110000:
                    return "'%s'" % escape(chr(int(self.value)))
                if kind not in CODES:
                    return self.value.format_string()
                if self.rust and name == '&std::path::Path':
                    return self.quoted(read_text(*[int(self.value[field]) for field in self.type.fields()]))
                if self.rust and name == 'std::path::PathBuf':
                    return Node(self.value[self.type.fields()[0]]).text()
                return None
            if not hasattr(self.printer, 'children') and not self.is_array:
                text = str(self.header)
                self.is_string = text[:1] == '"'
                if name.startswith('std::atomic') and '{' in text:
                    text = text.split('{')[-1].strip(' }')
                return text
            if get_base_name(name) == 'path' and '"' in str(self.header):
                self.is_string = True
                return str(self.header)[str(self.header).index('"'):]
            return None

        def pointer(self):
            target = self.type.target().strip_typedefs().unqualified()
            if not self.rust and 'char' in str(target) and target.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR):
                text = self.value.format_string(styling=False)
                self.is_string = '"' in text
                return text[text.index('"'):] if self.is_string else text
            plain = hex(int(self.value))
            followable = target.code in CODES or self.rust and target.code not in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_VOID)
            if self.followed or int(self.value) == 0 or not followable:
                return plain
            held = Node(self.value.dereference(), True)
            try:
                held.value.fetch_lazy()
                return plain + ' ' + show(held, MAX_LENGTH - len(plain) - 1, 2)
            except gdb.error:
                return plain

        def elements(self):
            """Returns the elements of a std::array."""
            return Node(self.value[self.type.fields()[0]], self.followed)

        def list_children(self):
            """Returns the children that gdb shows, up to a limit."""
            if self.children is None:
                if self.printer is not None and hasattr(self.printer, 'children'):
                    self.children = list(itertools.islice(iter(self.printer.children()), 2 * MAX_PARTS + 1))
                elif self.is_array:
                    low, high = self.type.range()
                    self.children = [(str(index), self.value[index]) for index in range(low, min(high, low + MAX_PARTS) + 1)]
                else:
                    self.children = list(self.members(self.value, 0))
            return self.children

        def members(self, value, depth):
            for field in value.type.strip_typedefs().fields():
                if not hasattr(field, 'bitpos') or field.artificial or (field.name or '').startswith('_vptr'):
                    continue
                if field.is_base_class and depth < 5:
                    yield from self.members(value[field], depth + 1)
                elif field.name is None and depth < 5:
                    yield from self.members(value[field], depth + 1)
                else:
                    yield field.name, value[field]

        def fields(self, most):
            found = self.list_children()
            self.has_more = len(found) > most
            return [(str(name), Node(value, self.followed)) for name, value in found[:most]]

        def entries(self, most):
            found = self.list_children()
            if self.hint == 'map':
                found = list(zip(found[::2], found[1::2]))
                self.has_more = len(found) > most
                return [(Node(key[1], self.followed), Node(value[1], self.followed)) for key, value in found[:most]]
            return []

        def count(self):
            found = re.search(r'(?:size=|of length |with |of size )(\d+)', str(self.header))
            if found:
                return int(found.group(1))
            if 'wrapping' in str(self.header) or len(self.list_children()) <= 2 * MAX_PARTS:
                return len(self.list_children())
            return None

        def variant(self):
            if self.printer is not None or self.type.code != gdb.TYPE_CODE_STRUCT:
                return None
            found = [field for field in self.type.fields() if field.name and hasattr(field, 'bitpos') and not field.artificial]
            if len(found) != 1 or str(found[0].type) != '%s::%s' % (self.type, found[0].name):
                return None
            return found[0].name, Node(self.value[found[0]], self.followed)

        def child(self, *names):
            return next((Node(value, self.followed) for name, value in self.list_children() if name in names), None)

        def inner(self, kind):
            if self.rust:
                if kind in ('Rc', 'Arc', 'Cell', 'RefCell', 'Ref', 'RefMut'):
                    return str(self.header), self.child('value', '*value', 'borrowed')
                if kind in ('Mutex', 'RwLock'):
                    held = self.child('data')
                    return (kind, held and (held.child('value', '__0') or held)) if held else None
                return None
            if kind not in HOLDERS:
                return None
            found = self.list_children()
            if 'no contained value' in str(self.header) or not found:
                return ('nullopt' if kind == 'optional' else kind + '()'), None
            held = Node(found[0][1], self.followed)
            if kind.endswith('_ptr') and held.type.code == gdb.TYPE_CODE_PTR:
                if int(held.value) == 0:
                    return kind + '(nullptr)', None
                if self.followed:
                    return '%s(%s)' % (kind, hex(int(held.value))), None
                held = Node(held.value.dereference(), True)
            return kind, held

    original = varref.VariableReference.to_object
    # gdb itself formats plain numbers: a response may contain ten thousand of them.
    summarized = CODES + POINTERS + [gdb.TYPE_CODE_ENUM] + ([gdb.TYPE_CODE_CHAR] if Node.rust else [])

    def to_object(self):
        variable = original(self)
        try:
            if self._value.type.strip_typedefs().code in summarized:
                node = Node(self._value)
                # A string is not shortened.
                variable[self._result_name] = node.text() or show(node)
        except Exception:
            # Keep gdb's own text.
            pass
        return variable
    varref.VariableReference.to_object = to_object


try:
    tandem()
except (AttributeError, ImportError):
    pass
