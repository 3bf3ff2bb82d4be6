const encoder = new TextEncoder();

/**
 * Returns as much of the beginning of a text as fits, in whole characters.
 * @param maxBytes the most bytes that it may have in UTF-8
 */
export function cutToBytes(text: string, maxBytes: number): string {
  // No character has more bytes than three for each of its code units.
  if (3 * text.length <= maxBytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
