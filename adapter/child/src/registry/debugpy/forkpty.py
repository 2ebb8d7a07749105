# Makes pydevd follow os.forkpty, which pty.fork calls, as it follows os.fork: otherwise the child has the connection of
# its parent and waits forever at its first breakpoint.


def tandem():
    import os
    from _pydev_bundle import pydev_monkey
    from _pydevd_bundle import pydevd_constants
    from _pydevd_bundle.pydevd_defaults import PydevdCustomization
    original = os.forkpty
    if hasattr(original, 'tandem'):
        # Installed by the parent process before a fork, or by an earlier session.
        return
    follows, begin, report = [
        getattr(pydev_monkey, name)
        for name in ('_get_apply_arg_patching', '_on_forked_process', 'send_process_created_message')
    ]

    def forkpty():
        setup_tracing, protocol, mode = follows(), pydevd_constants.get_protocol(), PydevdCustomization.DEBUG_MODE
        pid, descriptor = original()
        if pid:
            report()
            return pid, descriptor
        PydevdCustomization.DEFAULT_PROTOCOL, PydevdCustomization.DEBUG_MODE = protocol, mode
        try:
            begin(setup_tracing=setup_tracing)
        except Exception:
            # pty.fork would fork once more. The child runs on without a debugger.
            begin(setup_tracing=False)
        return pid, descriptor

    forkpty.tandem = True
    os.forkpty = forkpty


tandem()
