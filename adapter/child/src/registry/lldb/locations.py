# One location of a breakpoint for each line of a function. lldb has one for each block of the line, so a line with a
# macro stops several times. A location is disabled if the program reaches it only from the first one without leaving
# the line. One iteration of a loop in one line is a stop of its own.
import re

MAX_LOCATIONS = 64
MAX_INSTRUCTIONS = 20000
# The number of locations of each breakpoint, by its id, when they were looked at.
known = {}


def place(address):
    """The function of an address, or the call that is inlined there."""
    function, block = address.GetFunction(), address.GetBlock()
    if not function.IsValid():
        return None
    inlined = block.GetContainingInlinedBlock()
    start = inlined.GetRangeStartAddress(0).GetFileAddress() if inlined.IsValid() else None
    return address.GetModule().GetFileSpec().fullpath, function.GetStartAddress().GetFileAddress(), start


class Line:
    """The instructions of a line in a function, and how the program gets from one to the next."""

    def __init__(self, target, first):
        entry = first.GetLineEntry()
        self.line, self.file = entry.GetLine(), entry.GetFileSpec().fullpath
        self.module, self.first = first.GetModule(), first.GetFileAddress()
        # Addresses of the line, with those that follow each; and those to which the program gets from other lines.
        self.following, self.entries = {}, set()
        self.is_known = self.read(target, first.GetFunction())

    def read(self, target, function):
        instructions = function.GetInstructions(target)
        if instructions.GetSize() > MAX_INSTRUCTIONS:
            return False
        edges, own, end, is_own, before, is_indirect = [], set(), 0, False, None, False
        starts = set()
        for one in instructions:
            at = one.GetAddress().GetFileAddress()
            if at >= end:
                entry = one.GetAddress().GetLineEntry()
                end = entry.GetEndAddress().GetFileAddress() if entry.IsValid() else at + 1
                was_own, is_own = is_own, self.is_part(entry)
                if is_own and not was_own:
                    starts.add(at)
            if is_own:
                own.add(at)
            if before is not None:
                edges.append((before, at))
            mnemonic = one.GetMnemonic(target)
            jumps = one.DoesBranch() and not re.match('call|blr?$', mnemonic)
            if jumps:
                to = self.target_of(target, one)
                is_indirect |= to is None and not mnemonic.startswith('ret')
                if to is not None:
                    edges.append((at, to))
            before = None if re.match('jmp|ret|ud2|b$|br$|brk|udf', mnemonic) else at
        for before, at in edges:
            if at in own and before in own:
                self.following.setdefault(before, set()).add(at)
            elif at in own:
                self.entries.add(at)
        if is_indirect:
            self.entries |= starts
        self.entries.discard(self.first)
        return True

    def is_part(self, entry):
        """Code without a line, and that of other files, which is inlined, belongs to each line that reaches it."""
        is_other = entry.IsValid() and entry.GetFileSpec().fullpath == self.file
        return not is_other or entry.GetLine() in (0, self.line)

    def target_of(self, target, instruction):
        digits = re.match('0x([0-9a-f]+)', instruction.GetOperands(target).strip())
        if not digits:
            return None
        address = target.ResolveLoadAddress(int(digits.group(1), 16))
        return address.GetFileAddress() if address.GetModule().IsValid() else int(digits.group(1), 16)

    def reached(self, starts):
        """The addresses of the line that the program reaches without passing the first one again."""
        found, left = set(), [at for at in starts if at != self.first]
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left.extend(self.following.get(at, set()) - {self.first})
        return found

    def continues(self, at):
        """Whether the program reaches an address once, and only from the first one."""
        after = self.following.get
        return (at in self.reached(after(self.first, ())) and at not in self.reached(self.entries)
                and at not in self.reached(after(at, ())))


def keep_first(debugger):
    target = debugger.GetSelectedTarget()
    for breakpoint in target.breakpoint_iter():
        count = breakpoint.GetNumLocations()
        if not 1 < count <= MAX_LOCATIONS or known.get(breakpoint.GetID()) == count:
            continue
        known[breakpoint.GetID()] = count
        places = {}
        for location in breakpoint:
            key = place(location.GetAddress()) if location.IsEnabled() else None
            if key:
                places.setdefault(key, []).append(location)
        for locations in places.values():
            if len(locations) == 1:
                continue
            locations.sort(key=lambda location: location.GetAddress().GetFileAddress())
            line = Line(target, locations[0].GetAddress())
            for location in locations[1:]:
                if line.is_known and line.continues(location.GetAddress().GetFileAddress()):
                    location.SetEnabled(False)
