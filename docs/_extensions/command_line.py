"""The directive `rankwise-commands`: the reference of the command line, made from the commands themselves."""

from command_texts import every_command
from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(every_command(), allow_section_headings=True)


def setup(app):
    app.add_directive("rankwise-commands", Commands)
    return {"parallel_read_safe": True}
