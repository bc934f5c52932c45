"""The entry of one upstream file in a recipe, and the strict base class of all parts of a recipe."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Model(BaseModel):
    """A part of a recipe: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Model):
    """One upstream file: a raw file of a public repository at a commit, or a local file."""

    repository: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$", description="owner/name on GitHub")
    commit: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    path: str = Field(description="Path in the repository; without a repository, relative to the recipe file.")
    sha256: Sha256 | None = None
    max_bytes: int = Field(100_000_000, ge=1, description="Largest download that is accepted, in bytes.")
    optional: bool = False
    note: str | None = Field(None, description="Why a file is optional, or what is odd about it.")
    empty_texts: int = Field(0, ge=0, description="Empty cells among the texts that upstream is known to have.")
    path_names_people: bool = Field(False, description="The path is then kept out of the manifest.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Our column name: the file's, or a shell pattern that only it matches."
    )
    ignore: list[str] = Field(
        default_factory=list, description="Columns deliberately not read; shell patterns are allowed."
    )

    @model_validator(mode="after")
    def _pinned(self) -> "Source":
        if (self.repository is None) != (self.commit is None):
            raise ValueError("repository and commit go together")
        if self.repository is not None and (self.path.startswith("/") or ".." in self.path.split("/")):
            raise ValueError("path must lead down from the top of the repository")
        if self.sha256 is None and not (self.optional and self.note):
            raise ValueError(
                "sha256 is missing: every file is pinned (an optional one may say in `note` why it is not)"
            )
        return self
