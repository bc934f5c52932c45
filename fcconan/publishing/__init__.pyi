from .publication import (
    publish as publish,
)
