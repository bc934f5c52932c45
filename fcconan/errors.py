"""Exceptions whose messages are written for users."""


class InputError(Exception):
    """Bad input. The message is one line: the value found, the expected value, and advice.

    The command line prints it on standard error and exits with code 2.
    """


class RemoteError(Exception):
    """A server failed, or cannot be reached. The message is one line with the failure and advice.

    The command line prints it on standard error and exits with code 1.
    """
