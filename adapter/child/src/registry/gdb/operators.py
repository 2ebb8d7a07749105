# Operators of GCC's C++ library that the program may have no code for: elements and smart pointers. An index is checked, and code of
# the program would not do that. GCC's own (libstdcxx/v6/xmethods.py) does not check it for a vector, and takes a wrong element of a deque.
def tandem():
    import functools, re, sys
    import gdb, gdb.xmethod

    # gdb prints what a worker raises, and answers with a text of its own.
    class Refused(Exception):
        pass
    report, evaluate, refusal = sys.excepthook, gdb.parse_and_eval, [None]

    def excepthook(kind, error, trace):
        if kind is Refused:
            refusal[0] = str(error)
        else:
            report(kind, error, trace)

    @functools.wraps(evaluate)
    def parse_and_eval(*given, **named):
        refusal[0] = None
        try:
            return evaluate(*given, **named)
        except gdb.error as error:
            if refusal[0] is None:
                raise
            raise gdb.error(refusal[0]) from error

    def find_index(subscript, count):
        index = int(subscript)
        if index >= 1 << 63:
            index -= 1 << 64
        if not 0 <= index < count:
            raise Refused('the index %d is out of range: the size is %d' % (index, count))
        return index

    def vector(value, subscript):
        held = value['_M_impl']
        start, finish = held['_M_start'], held['_M_finish']
        if start.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            return start[find_index(subscript, int(finish - start))]
        word = start['_M_p'].type.strip_typedefs().target().sizeof * 8
        count = int(finish['_M_p'] - start['_M_p']) * word + int(finish['_M_offset'])
        at = find_index(subscript, count)
        return (int(start['_M_p'][at // word]) >> at % word) & 1 == 1

    def deque(value, subscript):
        start, finish = value['_M_impl']['_M_start'], value['_M_impl']['_M_finish']
        size = start['_M_cur'].type.strip_typedefs().target().sizeof
        nodes, room = int(finish['_M_node'] - start['_M_node']), max(1, 512 // size)
        before = int(start['_M_cur'] - start['_M_first'])
        count = nodes * room + int(finish['_M_cur'] - finish['_M_first']) - before
        at = find_index(subscript, count) + before
        return start['_M_node'][at // room][at % room]

    def array(value, subscript):
        elements = value['_M_elems']
        low, high = elements.type.strip_typedefs().range()
        return elements[find_index(subscript, high - low + 1)]

    def shared(value, *_):
        return value['_M_ptr']

    # A tuple holds the pointer, as the first of its parts.
    def unique(value, *_):
        kind = value.type.strip_typedefs()
        if (kind.name or '').startswith('std::_Head_base<0'):
            return value['_M_head_impl']
        parts = [unique(value[part]) for part in kind.fields() if part.is_base_class or part.name == '_M_t']
        return next((part for part in parts if part is not None), None)

    def target(pointer):
        return lambda value, *_: pointer(value).dereference()

    found = {
        'vector': {'operator[]': vector}, 'deque': {'operator[]': deque}, 'array': {'operator[]': array},
        'shared_ptr': {'operator->': shared, 'operator*': target(shared)},
        'unique_ptr': {'operator->': unique, 'operator*': target(unique)},
    }

    class Worker(gdb.xmethod.XMethodWorker):
        def __init__(self, code, has_subscript):
            self.code, self.has_subscript = code, has_subscript

        def get_arg_types(self):
            return gdb.lookup_type('unsigned long') if self.has_subscript else None

        def __call__(self, value, *subscript):
            # That of the operator `*` is a pointer to the object.
            is_pointer = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
            return self.code(value.dereference() if is_pointer else value, *subscript)

    class Matcher(gdb.xmethod.XMethodMatcher):
        def __init__(self):
            gdb.xmethod.XMethodMatcher.__init__(self, 'tandem')
            self.methods = None

        def match(self, kind, name):
            of = re.match(r'std::(?:__\w+::)?(\w+)<', kind.tag or '')
            code = found.get(of.group(1), {}).get(name) if of else None
            return Worker(code, name == 'operator[]') if code else None

    gdb.xmethod.register_xmethod_matcher(None, Matcher())
    sys.excepthook, gdb.parse_and_eval = excepthook, parse_and_eval
try:
    tandem()
except (AttributeError, ImportError):
    pass
del tandem
