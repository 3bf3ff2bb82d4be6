const MAX_BYTES = 200;
const MAX_EXTENSION = 16;

/** Control characters, and those that turn the direction of text so that `gpj.exe` reads `exe.jpg`. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu;

function shortened(name: string, maxBytes: number): string {
  let kept = '';
  let bytes = 0;
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}

/**
 * The name a client gave a file, fit to be shown and to be offered for saving: no folders, nothing unseen,
 * at most 200 bytes of UTF-8 with its extension kept.
 */
export function safeFilename(given: string): string {
  const last = given.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const seen = last
    .replace(UNSEEN, '')
    .replace(/[<>:"|?*]/g, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  if (seen === '') return 'file';
  if (Buffer.byteLength(seen) <= MAX_BYTES) return seen;
  const dot = seen.lastIndexOf('.');
  const extension = dot > 0 && seen.length - dot <= MAX_EXTENSION ? seen.slice(dot) : '';
  const stem = extension === '' ? seen : seen.slice(0, dot);
  return shortened(stem, MAX_BYTES - Buffer.byteLength(extension)) + extension;
}

function percentEncoded(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The value of a Content-Disposition header (RFC 6266), with the name in ASCII and, where that is not all of it,
 * in UTF-8 as well.
 * @param filename from {@link safeFilename}
 */
export function contentDisposition(disposition: 'inline' | 'attachment', filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]/g, '_').replace(/[\\"]/g, '_');
  const encoded = ascii === filename ? '' : `; filename*=UTF-8''${percentEncoded(filename)}`;
  return `${disposition}; filename="${ascii}"${encoded}`;
}
