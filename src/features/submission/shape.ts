/**
 * Decides whether a mail is rebuilt from its texts and files, so that it is tracked and signed like all mail, or passes byte
 * for byte, because rebuilding would lose something.
 */
import { parseMediaType } from '../../delivery/content/mime/parameters.ts';
import { exactTextOf } from '../../delivery/content/read/leaf-text.ts';
import { parseParameterized } from '../../delivery/content/read/parameters.ts';
import { filenameOf } from '../../delivery/content/read/part-header.ts';
import type { Leaf, Structure } from '../../delivery/content/read/structure.ts';
import type { Disposition } from '../../delivery/terms/letter.ts';

/** A part that becomes a file. */
export interface ShapedFile {
  leaf: Leaf;
  /** If the part has no name, one with the extension of its type. */
  filename: string;
  /** With its parameters, without its name. */
  contentType: string;
  /** Without angle brackets. */
  contentId: string | null;
  disposition: Disposition;
}

export type Shape =
  | {
      kind: 'rebuilt';
      text: string | null;
      html: string | null;
      files: ShapedFile[];
      /** Names in lower case of fields of its parts that are left out, because no reader shows them. */
      leftOut: string[];
    }
  /** The MIME body passes as it is. The reason is what could not be rebuilt. `files` are its parts with content. */
  | { kind: 'opaque'; reason: string; files: ShapedFile[] }
  | { kind: 'refused'; reason: string };

const MAX_TEXT_BYTES = 2 * 1024 * 1024;
const MAX_FILES = 20;

const REBUILT_MULTIPARTS: ReadonlySet<string> = new Set(['mixed', 'alternative', 'related']);
/** Types whose bytes a signature covers, or that only their own programs read. */
const CRYPTOGRAPHIC = /^application\/(?:x-)?(?:pkcs7-(?:mime|signature)|pgp-(?:encrypted|signature))$/;
/** What RFC 2045, section 6, names. */
const ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary', 'quoted-printable', 'base64']);
const CONTENT_ID = /^<([!-;=?-~]{1,400})>$/;
const TOKEN = /^[!#$%&'*+.^_`{|}~0-9A-Za-z-]+$/;
const PRINTABLE = /^[ -~]*$/;
const ARMOR = /^-----BEGIN PGP /m;

/** A text that people read. With a name, it is a file, unless it is one of several alternatives. */
function isText({ header, alternative }: Leaf): boolean {
  if (header.type !== 'text/plain' && header.type !== 'text/html') return false;
  return header.disposition !== 'attachment' && (header.filename === null || alternative?.direct === true);
}

const isType = (leaf: Leaf, type: string) => leaf.header.type === type;

const parametersOf = ({ fields }: Leaf) => parseParameterized(fields.get('content-type') ?? '').parameters;

const hasLocation = ({ fields }: Leaf) => fields.has('content-location');

const isInvitation = (leaf: Leaf) => isType(leaf, 'text/calendar') && parametersOf(leaf).has('method');

/** @returns the type with its parameters; null if it cannot be written so */
function contentTypeOf(leaf: Leaf): string | null {
  const parameters = [...parametersOf(leaf)].filter(([name]) => name !== 'name');
  if (parameters.some(([name, value]) => !TOKEN.test(name) || !PRINTABLE.test(value))) return null;
  const written = parameters.map(
    ([name, value]) => `; ${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`,
  );
  const contentType = leaf.header.type + written.join('');
  return parseMediaType(contentType) && contentType;
}

function fileOf(leaf: Leaf): ShapedFile {
  const { contentId, disposition } = leaf.header;
  const isInline = disposition === '' ? contentId !== null : disposition === 'inline';
  return {
    leaf,
    filename: filenameOf(leaf.header),
    contentType: contentTypeOf(leaf) ?? '',
    contentId: contentId === null ? null : (CONTENT_ID.exec(contentId)?.[1] ?? ''),
    disposition: isInline ? 'inline' : 'attachment',
  };
}

function encodingOf({ fields }: Leaf): string {
  return (fields.get('content-transfer-encoding') ?? '7bit')
    .replace(/\([^()]*\)/g, '')
    .trim()
    .toLowerCase();
}

/** The parts of a mail, sorted. */
interface Sorted {
  multiparts: readonly string[];
  leaves: readonly Leaf[];
  plain: Leaf[];
  html: Leaf[];
  files: ShapedFile[];
}

/** Each says what of a mail cannot be rebuilt; null: nothing. In this order, the first reason counts. */
const obstacles: readonly ((mail: Sorted) => string | null)[] = [
  function otherMultipart({ multiparts }) {
    const other = multiparts.find((subtype) => !REBUILT_MULTIPARTS.has(subtype));
    return other === undefined ? null : `multipart/${other}`;
  },
  function severalAlternatives({ multiparts }) {
    const count = multiparts.filter((subtype) => subtype === 'alternative').length;
    return count > 1 ? 'alternatives inside each other, or several times' : null;
  },
  function noParts({ leaves }) {
    const isMultipart = ({ fields }: Leaf) => /^\s*multipart\b/i.test(fields.get('content-type') ?? '');
    return leaves.some(isMultipart) ? 'a multipart without parts' : null;
  },
  function signedOrEncrypted({ leaves }) {
    return leaves.find(({ header }) => CRYPTOGRAPHIC.test(header.type))?.header.type ?? null;
  },
  function attachedMail({ leaves }) {
    return leaves.find(({ header }) => header.type.startsWith('message/'))?.header.type ?? null;
  },
  function unknownEncoding({ leaves }) {
    const other = leaves.map(encodingOf).find((encoding) => !ENCODINGS.has(encoding));
    return other === undefined ? null : `the encoding ${other.slice(0, 40)}`;
  },
  function severalTexts({ plain, html }) {
    return plain.length > 1 || html.length > 1 ? 'several texts' : null;
  },
  function textsThatAreNoAlternatives({ plain: [plain], html: [html] }) {
    if (!plain || !html) return null;
    const isOrdered = plain.start < html.start && plain.alternative?.index === html.alternative?.index;
    return isOrdered && plain.alternative ? null : 'text and HTML that are no alternatives';
  },
  function otherAlternative({ files }) {
    const other = files.find(({ leaf }) => leaf.alternative?.direct && !isInvitation(leaf));
    return other ? `the alternative ${other.leaf.header.type}` : null;
  },
  function severalInvitations({ files }) {
    return files.filter(({ leaf }) => isInvitation(leaf)).length > 1 ? 'several invitations' : null;
  },
  function namedByLocation({ leaves, html }) {
    const isOnlyName = (leaf: Leaf) => leaf.related && leaf.header.contentId === null && hasLocation(leaf);
    // That of HTML is what its links begin with.
    return leaves.some(isOnlyName) || html.some(hasLocation) ? 'Content-Location' : null;
  },
  function oddContentIds({ files }) {
    const ids = files.flatMap(({ contentId }) => (contentId === null ? [] : [contentId]));
    return ids.includes('') || new Set(ids).size < ids.length ? 'a Content-ID that is not valid' : null;
  },
  function oddTypes({ files }) {
    return files.some(({ contentType }) => contentType === '') ? 'a part whose type is not valid' : null;
  },
  function manyFiles({ files }) {
    return files.length > MAX_FILES ? `more than ${MAX_FILES} files` : null;
  },
  function emptyFile({ files }) {
    return files.some(({ leaf }) => leaf.start === leaf.end) ? 'an empty file' : null;
  },
];

/** Whether HTML shows a part by its Content-Location, although it has a Content-ID, too. */
function showsByLocation(html: string | null, leaves: readonly Leaf[]): boolean {
  if (html === null) return false;
  return leaves.some(({ fields }) => {
    const location = fields.get('content-location')?.trim() ?? '';
    return (
      location !== '' &&
      [`"${location}`, `'${location}`, `=${location}`, `(${location}`].some((each) => html.includes(each))
    );
  });
}

/** @returns the text, or why it is not rebuilt */
function readText(bytes: Buffer, leaf: Leaf | undefined): { text: string | null } | { reason: string } {
  if (!leaf) return { text: null };
  const text = exactTextOf(bytes, leaf);
  if (text === null || text.includes('\0')) return { reason: 'a text that is not in its character set' };
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) return { reason: 'a text of more than 2 MB' };
  return ARMOR.test(text) ? { reason: 'a PGP text' } : { text };
}

/**
 * @param bytes the mail
 * @param structure of the same mail
 */
export function shapeOf(bytes: Buffer, { problem, leaves, multiparts, unread }: Structure): Shape {
  if (problem !== null) return { kind: 'refused', reason: problem };
  const texts = leaves.filter(isText);
  const plain = texts.filter((leaf) => isType(leaf, 'text/plain'));
  const html = texts.filter((leaf) => isType(leaf, 'text/html'));
  const files = leaves.filter((leaf) => !texts.includes(leaf)).map(fileOf);
  const opaque = (reason: string): Shape => ({ kind: 'opaque', reason, files });
  for (const obstacle of obstacles) {
    const reason = obstacle({ multiparts, leaves, plain, html, files });
    if (reason !== null) return opaque(reason);
  }
  const readPlain = readText(bytes, plain[0]);
  const readHtml = readText(bytes, html[0]);
  if ('reason' in readPlain) return opaque(readPlain.reason);
  if ('reason' in readHtml) return opaque(readHtml.reason);
  if (showsByLocation(readHtml.text, leaves)) return opaque('Content-Location');
  const isOfPart = multiparts.length > 0 && leaves.some(hasLocation);
  const leftOut = isOfPart ? [...unread, 'content-location'] : unread;
  return { kind: 'rebuilt', text: readPlain.text, html: readHtml.text, files, leftOut };
}
