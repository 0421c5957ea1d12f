"""The commands of the front, one file each; each has a click command named `command`."""
