"""Copy and export from a screen: the text of a pane, a line of it, a picture."""

from __future__ import annotations

from asyncio import sleep
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from screens.render.formatting import pluralize
from screens.shell.messages import CopyText, ExportText, TakePicture
from screens.widgets.line_view import LineView


class ExportableScreen(Screen[None]):
    """Hands over what was asked for; where it goes is the app's business."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", show=False, tooltip="Copy the pane", id="app.copy"),
        Binding(
            "Y", "copy_line", "Copy line", show=False, tooltip="Copy the line under the cursor", id="app.copy_line"
        ),
        Binding("f2", "export", "Export", show=False, tooltip="Write the pane to a file", id="app.export"),
        Binding("f3", "picture", "Picture", show=False, tooltip="A picture of the screen (SVG)", id="app.picture"),
    ]

    def pane(self) -> LineView | None:
        """The pane that is copied and exported: the one with the focus, or what it is about."""
        focused = self.focused
        if isinstance(focused, LineView) and focused.EXPORTED:
            return focused
        around = focused.ancestors if focused is not None else [self]
        found = (view for node in around for view in node.query(LineView) if view.display)
        return next((view for view in found if view.EXPORTED), None)

    async def copy_text(self) -> str:
        """The text of that pane, all of its lines. Gives way to other work, for there may be many."""
        pane = self.pane()
        found: list[str] = []
        for line in pane.plain_lines() if pane is not None else ():
            found.append(line)
            if len(found) % 500 == 0:
                await sleep(0)
        return "\n".join(found).rstrip("\n")

    @property
    def _pane_name(self) -> str:
        pane = self.pane()
        return "-".join(filter(None, (type(self).__name__.removesuffix("Screen").lower(), pane.id if pane else "")))

    async def action_copy(self) -> None:
        text = await self.copy_text()
        self.post_message(CopyText(text, pluralize(text.count("\n") + 1, "line"), f"{self._pane_name}.txt"))

    def action_copy_line(self) -> None:
        pane = self.pane()
        if pane is not None:
            self.post_message(CopyText(pane.plain_line(pane.cursor_line).strip(), "the line", "line.txt"))

    async def action_export(self) -> None:
        self.post_message(ExportText(await self.copy_text(), f"{self._pane_name}.txt"))

    def action_picture(self) -> None:
        self.post_message(TakePicture())
