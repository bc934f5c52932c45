"""The one exception that a user of the package is meant to see."""


class InputError(Exception):
    """Bad input: one line that says what was found, what was expected and what to do.

    The command line prints it on standard error and exits with code 2.
    """
