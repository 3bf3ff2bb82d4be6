/** Says which parts of a mail are its texts, and which are files. */
import { escapeHtml } from '../../../delivery/content/mime/escape-html.ts';
import { textFromHtml } from '../../../delivery/content/mime/text-from-html.ts';
import { type DecodedText, textOf } from '../../../delivery/content/read/leaf-text.ts';
import type { Leaf, Structure } from '../../../delivery/content/read/structure.ts';
import { BINARY, decodeTextBody } from '../../../delivery/content/read/transfer-encoding.ts';
import { storableText } from '../../../delivery/content/read/visible-text.ts';
import { cutUtf8 } from '../../../platform/input/cut-utf8.ts';

/** Bytes of UTF-8, for `text` and for `html`. */
const MAX_TEXT_BYTES = 512 * 1024;
/** Of the body of one text, encoded: still longer than what is kept of it. */
const MAX_BODY_BYTES = 1536 * 1024;
const SAMPLE_BYTES = 4_096;

/** Types of text that programs read. */
const DATA_TYPES: ReadonlySet<string> = new Set([
  'text/calendar',
  'text/css',
  'text/csv',
  'text/directory',
  'text/javascript',
  'text/rfc822-headers',
  'text/rtf',
  'text/tab-separated-values',
  'text/vcard',
  'text/x-amp-html',
  'text/x-vcalendar',
  'text/x-vcard',
]);
const MEDIA = /^(?:application|audio|font|image|message|model|multipart|video|chemical)\//;

export interface BodyTexts {
  text: string | null;
  html: string | null;
  /** One of them is incomplete. */
  truncated: boolean;
  /** The other parts. A text that is sent with a name may also be shown. */
  files: Leaf[];
}

export type Parts = Pick<Structure, 'leaves' | 'outside'>;

type TextKind = 'plain' | 'html';

/** Alternative texts, or a single one. */
type TextGroup = Record<TextKind, string[]>;

function kindOf({ header }: Leaf): TextKind {
  return header.type === 'text/html' ? 'html' : 'plain';
}

function looksLikeText(bytes: Buffer, leaf: Leaf): boolean {
  const sample = bytes.subarray(leaf.start, Math.min(leaf.end, leaf.start + SAMPLE_BYTES));
  const decoded = decodeTextBody(sample, leaf.header);
  return !BINARY.test(decoded.toString('latin1'));
}

/** Whether people read the part as a text, whatever it is called. */
function isReadable(bytes: Buffer, leaf: Leaf): boolean {
  const { type, disposition } = leaf.header;
  if (disposition === 'attachment') return false;
  if (type === 'text/plain' || type === 'text/html') return true;
  if (DATA_TYPES.has(type) || MEDIA.test(type)) return false;
  // In an alternative, such as text/watch-html, it repeats what the others say.
  if (type.startsWith('text/')) return leaf.alternative === null;
  return looksLikeText(bytes, leaf);
}

/** Whether a part is one of the texts. With a name, it is a file, unless it is one of several alternatives. */
function isText(bytes: Buffer, leaf: Leaf): boolean {
  const isNamed = leaf.header.filename !== null && leaf.alternative?.direct !== true;
  return !isNamed && isReadable(bytes, leaf);
}

/** What programs write before the parts of a mail, for programs that know only text. */
const MIME_NOTE = /^.{0,400}\bmime\b.{0,400}$/is;

/** A mail without a text may have one that is also a file, of a type that is not known as text, or outside of its parts. */
function substitute(bytes: Buffer, { leaves, outside }: Parts): Leaf | undefined {
  const found =
    leaves.find((leaf) => hasWords(bytes, leaf) && isReadable(bytes, leaf)) ?? onlyPart(bytes, leaves);
  return (
    found ?? outside.find(({ start, end }) => !MIME_NOTE.test(bytes.toString('latin1', start, end).trim()))
  );
}

function hasWords(bytes: Buffer, { start, end }: Leaf): boolean {
  return bytes.toString('latin1', start, Math.min(end, start + SAMPLE_BYTES)).trim() !== '';
}

function onlyPart(bytes: Buffer, leaves: readonly Leaf[]): Leaf | undefined {
  const [only] = leaves;
  if (leaves.length !== 1 || !only) return undefined;
  const { type, disposition, filename } = only.header;
  const isUnusual = disposition !== 'attachment' && filename === null && type.startsWith('application/');
  return isUnusual && looksLikeText(bytes, only) ? only : undefined;
}

function htmlFromText(text: string): string {
  return `<div>${escapeHtml(text.trim()).replaceAll('\n', '<br />')}</div>`;
}

/** The texts of one kind. Where there is only the other kind, it is converted. */
function joined(groups: Iterable<TextGroup>, kind: TextKind): string {
  const other = kind === 'html' ? 'plain' : 'html';
  const convert = kind === 'html' ? htmlFromText : (html: string) => textFromHtml(html);
  return [...groups]
    .flatMap((group) => (group[kind].length > 0 ? group[kind] : group[other].map(convert)))
    .join('\n');
}

/** Cleans and cuts a text. */
function storedText(text: string): DecodedText {
  const tooLong = text.length > 2 * MAX_TEXT_BYTES;
  const clean = storableText(tooLong ? text.slice(0, 2 * MAX_TEXT_BYTES) : text);
  const kept = cutUtf8(clean, MAX_TEXT_BYTES);
  return { text: kept, cut: tooLong || kept.length < clean.length };
}

/** Collects texts, as many as are kept. */
class Texts {
  readonly #groups = new Map<number | Leaf, TextGroup>();
  readonly #lengths: Record<TextKind, number> = { plain: 0, html: 0 };
  #cut = false;

  add(bytes: Buffer, leaf: Leaf): void {
    const kind = kindOf(leaf);
    if (this.#lengths[kind] > 2 * MAX_TEXT_BYTES) {
      this.#cut = true;
      return;
    }
    const { text, cut } = textOf(bytes, leaf, MAX_BODY_BYTES);
    this.#cut ||= cut;
    this.#lengths[kind] += text.length;
    const key = leaf.alternative?.index ?? leaf;
    const group = this.#groups.get(key) ?? { plain: [], html: [] };
    group[kind].push(text);
    this.#groups.set(key, group);
  }

  end(files: Leaf[]): BodyTexts {
    const groups = [...this.#groups.values()];
    const has = (kind: TextKind) => groups.some((group) => group[kind].length > 0);
    const text = has('plain') ? storedText(joined(groups, 'plain')) : null;
    const html = has('html') ? storedText(joined(groups, 'html')) : null;
    return {
      text: text && text.text,
      html: html && html.text,
      truncated: this.#cut || (text?.cut ?? false) || (html?.cut ?? false),
      files,
    };
  }
}

/** Reads the texts of a mail. */
export function readTexts(bytes: Buffer, parts: Parts): BodyTexts {
  const { leaves } = parts;
  const shown = leaves.filter((leaf) => isText(bytes, leaf));
  const files = leaves.filter((leaf) => !shown.includes(leaf));
  const only = shown.length === 0 ? substitute(bytes, parts) : undefined;
  const texts = new Texts();
  for (const leaf of only ? [only] : shown) texts.add(bytes, leaf);
  return texts.end(files);
}
