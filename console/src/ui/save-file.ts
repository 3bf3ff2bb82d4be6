/** Saves contents that were fetched as a file of the viewer. */
export function saveFile(contents: Blob, filename: string): void {
  const url = URL.createObjectURL(contents);
  const link = document.createElement('a');
  link.href = url;
  link.download = filename;
  link.click();
  // The browser has taken the contents by the next task.
  setTimeout(() => URL.revokeObjectURL(url));
}
