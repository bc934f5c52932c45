"""Older commands import from here what is in `fcconan.services.file_checks` now; deleted with the last of them."""

from fcconan.services import check_files, files_of_models

__all__ = ["check_files", "files_of_models"]
