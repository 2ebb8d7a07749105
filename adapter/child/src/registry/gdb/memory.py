# Memory and machine code as DAP defines the answers. gdb counts instructions forward only, fails a read or a
# write that reaches the end of memory (the write after it has changed what is before), and takes a breakpoint
# where no memory is: the program cannot resume with it.
def tandem():
    import base64, gdb, sys
    import gdb.dap.breakpoint as breakpoints
    import gdb.dap.disassemble as machine_code
    from gdb.dap.startup import DAPException

    # `gdb.dap.server` is an object by now.
    server = sys.modules['gdb.dap.server']

    # Most instructions and bytes of one answer, and the size of a function that is read from its start.
    most, most_bytes, function_size = 10_000, 1 << 20, 1 << 16
    unreadable = (gdb.error, OverflowError)

    def address_of(reference, offset):
        try:
            address = int(reference, 0) + offset
        except ValueError:
            raise DAPException('`' + reference + '` is not a memory reference') from None
        if not 0 <= address < 1 << 64:
            raise DAPException('the offset leads out of memory')
        return address

    def read(address, count):
        return bytes(gdb.selected_inferior().read_memory(address, count)) if count else b''

    def forward(architecture, start, count, end=None):
        found, at = [], start
        while len(found) < count and (end is None or at < end):
            try:
                found.extend(architecture.disassemble(at, at)[:1])
            except unreadable:
                break
            at = found[-1]['addr'] + found[-1]['length']
        return found

    def ends_at(found, end):
        return bool(found) and found[-1]['addr'] + found[-1]['length'] == end

    # The instructions before an address, from the start of their function or from where they are in step.
    def run_before(architecture, end):
        try:
            block = gdb.block_for_pc(end - 1)
        except unreadable:
            block = None
        while block is not None and block.function is None:
            block = block.superblock
        if block is not None and 0 < end - block.start <= function_size:
            found = forward(architecture, block.start, function_size, end)
            if ends_at(found, end):
                return found
        for distance in range(min(64, end), 0, -1):
            found = forward(architecture, end - distance, distance, end)
            if ends_at(found, end) and not any('(bad)' in one['asm'] for one in found):
                # The first ones may be out of step.
                return found[len(found) // 2:]
        return []

    def backward(architecture, end, count):
        found = []
        while len(found) < count and end > 0:
            run = run_before(architecture, end)
            if not run:
                break
            found, end = run + found, run[0]['addr']
        return found[-count:] if count else []

    def invalid(address):
        return {'address': hex(address), 'instruction': '??', 'presentationHint': 'invalid'}

    def disassemble(
        *, memoryReference: str, offset: int = 0, instructionOffset: int = 0, instructionCount: int, **extra
    ):
        start = address_of(memoryReference, offset)
        count = max(0, min(instructionCount, most))
        try:
            architecture = gdb.selected_frame().architecture()
        except gdb.error:
            architecture = gdb.selected_inferior().architecture()
        before = min(max(0, -instructionOffset), most)
        skipped = min(max(0, instructionOffset), most)
        found = backward(architecture, start, before)
        lowest = found[0]['addr'] if found else start
        rows = [invalid(max(0, lowest - missing)) for missing in range(before - len(found), 0, -1)]
        found += forward(architecture, start, max(0, count - before) + skipped)
        tracker = machine_code._BlockTracker()
        at = start
        for one in found:
            row = {
                'address': hex(one['addr']),
                'instruction': one['asm'],
                'instructionBytes': read(one['addr'], one['length']).hex(),
            }
            tracker.add_pc(one['addr'], row)
            rows.append(row)
            at = one['addr'] + one['length']
        rows = rows[skipped:][:count]
        return {'instructions': rows + [invalid(at + more) for more in range(count - len(rows))]}

    # The bytes up to the end of memory.
    def readable(address, count):
        try:
            return read(address, count)
        except unreadable:
            data = b''
        while len(data) < count:
            at = address + len(data)
            try:
                data += read(at, min(count - len(data), 4096 - at % 4096))
            except unreadable:
                break
        return data

    def read_memory(*, memoryReference: str, offset: int = 0, count: int, **extra):
        address = address_of(memoryReference, offset)
        count = max(0, min(count, most_bytes))
        data = readable(address, count)
        return {
            'address': hex(address),
            'data': base64.b64encode(data).decode('ASCII'),
            'unreadableBytes': count - len(data),
        }

    def write_memory(*, memoryReference: str, offset: int = 0, data: str, allowPartial: bool = False, **extra):
        address = address_of(memoryReference, offset)
        try:
            given = base64.b64decode(data, validate=True)
        except ValueError:
            raise DAPException('`data` is not in base64') from None
        count = len(readable(address, len(given)))
        if count < len(given) and not allowPartial:
            raise DAPException('there is no memory at ' + hex(address + count) + ': nothing is written')
        if count:
            gdb.selected_inferior().write_memory(address, given[:count])
        return {'bytesWritten': count}

    set_one = breakpoints._set_one_breakpoint

    def set_where_memory_is(**given):
        one = set_one(**given)
        if given.get('spec', '').startswith('*') and gdb.selected_inferior().pid:
            try:
                for location in one.locations:
                    read(location.address, 1)
            except unreadable:
                one.delete()
                raise gdb.error('there is no memory at ' + given['spec'].lstrip('*')) from None
        return one

    breakpoints._set_one_breakpoint = set_where_memory_is
    for name, function in (
        ('disassemble', disassemble), ('readMemory', read_memory), ('writeMemory', write_memory),
    ):
        own = server._commands.pop(name)
        try:
            server.request(name)(function)
        except BaseException:
            server._commands[name] = own
            raise
try:
    tandem()
except (AssertionError, AttributeError, ImportError, KeyError, TypeError):
    pass
del tandem
