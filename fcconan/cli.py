"""The command line: `fcconan` and `python -m fcconan`."""

from fcconan.oldcli import main as main
