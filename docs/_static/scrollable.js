// Make code and tables that scroll sideways reachable by the keyboard, and only those.
function markScrollable() {
  for (const box of document.querySelectorAll("pre, .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}
addEventListener("load", markScrollable);
addEventListener("resize", markScrollable);
