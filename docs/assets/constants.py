"""An extension of griffe for the reference: constants that are assigned together, as in `LOW, HIGH = 1, 5`."""

import ast
from typing import Any

from griffe import Attribute, Extension, Visitor, safe_get_expression


class Constants(Extension):
    """Adds each name of such an assignment of a module; griffe itself reads assignments of one name only."""

    def on_attribute_node(self, *, node: Any, agent: Visitor, **others: Any) -> None:
        """Adds the names of an assignment of several names to as many values."""
        if not (agent.current.is_module and isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
            return
        several = [each for targets in node.targets if isinstance(targets, ast.Tuple) for each in targets.elts]
        for target, value in zip(several, node.value.elts if several else (), strict=True):
            if isinstance(target, ast.Name):
                found = safe_get_expression(value, parent=agent.current, parse_strings=False)
                attribute = Attribute(target.id, value=found, lineno=node.lineno, endlineno=node.end_lineno)
                attribute.labels.add("module-attribute")
                agent.current.set_member(target.id, attribute)
