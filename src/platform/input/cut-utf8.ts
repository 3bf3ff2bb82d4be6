const encoder = new TextEncoder();

/**
 * Cuts a text to a number of bytes of UTF-8, between characters.
 * @returns the text itself if it is short enough
 */
export function cutUtf8(text: string, maxBytes: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
