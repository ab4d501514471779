// The keys go to the terminal at once, and again whenever the window is gone back to.
function focusTerminal() {
  document.querySelector(".xterm-helper-textarea")?.focus();
}
window.addEventListener("load", focusTerminal);
window.addEventListener("focus", focusTerminal);
