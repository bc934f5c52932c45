"""The exceptions that a user of the package is meant to see."""


class InputError(Exception):
    """Bad input: one line that says what was found, what was expected and what to do.

    The command line prints it on standard error and exits with code 2.
    """


class RemoteError(Exception):
    """A server failed, or cannot be reached: one line that says what happened and what to do.

    The command line prints it on standard error and exits with code 1.
    """
