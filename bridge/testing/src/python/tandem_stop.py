"""Stops debugpy at the exception that failed a test, after the framework has caught it: its frames have ended, but can be inspected.
debugpy's own filter also stops at exceptions that a `with` block expects."""
import sys
import threading


def skip_block_frames(trace):
    """Skips the frames that an exception passed at the end of a `with` block (`subTest`): the block and its caller share a frame, which
    debugpy would show at the line of the `with`."""
    callers = set()
    frame = trace.tb_frame.f_back
    while frame is not None:
        callers.add(frame)
        frame = frame.f_back
    start = trace
    while trace is not None:
        if trace.tb_frame in callers:
            start = trace
        trace = trace.tb_next
    return start


def stop_at(exception):
    """Stops where an exception (type, value, traceback) was raised. Does nothing without a debugger."""
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd and pydevd.get_global_debugger()
    if debugger is None or exception[2] is None:
        return
    exception = (*exception[:2], skip_block_frames(exception[2]))
    try:
        trigger = getattr(debugger, "trigger_exception_handler", None)
        if trigger is not None:
            trigger(exception)
            return
        # debugpy before 1.8.22 has no such method.
        from _pydevd_bundle.pydevd_breakpoints import stop_on_unhandled_exception

        thread = threading.current_thread()
        info = debugger.set_additional_thread_info(thread)
        info.is_tracing += 1
        try:
            stop_on_unhandled_exception(debugger, thread, info, exception)
        finally:
            info.is_tracing -= 1
    except Exception:
        pass
