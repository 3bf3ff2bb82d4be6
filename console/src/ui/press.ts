/**
 * Does something that moves the page: at once or, while a mouse button is down, after it is released. A button that moves
 * between the two is not clicked.
 */
export function afterPress(work: () => void): void {
  if (document.querySelector(':active') === null) work();
  // The click comes after this event, and before a timer.
  else document.addEventListener('mouseup', () => setTimeout(work), { once: true, capture: true });
}
