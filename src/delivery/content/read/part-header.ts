/** What the header of a part says about its body. */
import { parseParameterized, readableParameter, type Parameterized } from './parameters.ts';

export type TransferEncoding = 'plain' | 'base64' | 'quoted-printable' | 'uuencode';

export interface PartHeader {
  /** In lower case, such as `image/png`; empty if what the header says is no type. */
  type: string;
  /** Of the type, in lower case. */
  charset: string | null;
  /** `format=flowed`, and whether with `delsp=yes`. */
  flowed: 'no' | 'yes' | 'delsp';
  encoding: TransferEncoding;
  /** In lower case; empty if there is none. */
  disposition: string;
  filename: string | null;
  /** As in the field. */
  contentId: string | null;
}

/** The content fields that count, by name in lower case; the first of each name. One character for each byte. */
export type ContentFields = ReadonlyMap<string, string>;

export const CONTENT_NAMES: ReadonlySet<string> = new Set([
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
  'content-location',
]);

/** A type and a subtype, both tokens of RFC 2045. */
const TYPE = /^[\w!#$%&'*+.^`{|}~-]+\/[\w!#$%&'*+.^`{|}~-]+$/;
/** Types without a subtype, as in RFC 1049 and by mistake. */
const SHORT_TYPES = new Map([
  ['text', 'text/plain'],
  ['plain', 'text/plain'],
  ['html', 'text/html'],
  ['text/', 'text/plain'],
  ['multipart', 'multipart/mixed'],
  ['multipart/', 'multipart/mixed'],
  ['message', 'message/rfc822'],
]);

function encodingOf(field: string | undefined): TransferEncoding {
  if (field === undefined) return 'plain';
  const encoding = field.replace(/\([^()]*\)/g, '').toLowerCase();
  if (/base-?64/.test(encoding)) return 'base64';
  if (/quoted[- _]?printable/.test(encoding)) return 'quoted-printable';
  return /uuencode|x-uue?\b/.test(encoding) ? 'uuencode' : 'plain';
}

function flowedIn({ parameters }: Parameterized): PartHeader['flowed'] {
  if (parameters.get('format')?.toLowerCase() !== 'flowed') return 'no';
  return parameters.get('delsp')?.toLowerCase() === 'yes' ? 'delsp' : 'yes';
}

/** HTML under other names. */
const HTML = /^(?:text|application)\/x?html?(?:\+xml)?$/;

/** A type that a program wrote without a subtype, or followed by other words. */
function typeOf(value: string, standard: string): string {
  if (value === '') return standard;
  if (HTML.test(value)) return 'text/html';
  if (TYPE.test(value)) return value;
  return SHORT_TYPES.get(value) ?? '';
}

/** Extensions for files without a name. */
const EXTENSIONS = new Map([
  ['text/plain', 'txt'],
  ['text/html', 'html'],
  ['text/calendar', 'ics'],
  ['text/csv', 'csv'],
  ['message/rfc822', 'eml'],
  ['message/global', 'eml'],
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['application/pdf', 'pdf'],
  ['application/zip', 'zip'],
]);

/** The name of a part as a file: its own, or one with the extension of its type. */
export function filenameOf({ filename, type }: Pick<PartHeader, 'filename' | 'type'>): string {
  if (filename !== null) return filename;
  const extension = EXTENSIONS.get(type);
  return extension === undefined ? 'attachment' : `attachment.${extension}`;
}

/** The boundary of a multipart body, one character for each byte; empty if it has none. */
export function boundaryOf(fields: ContentFields): string {
  return (
    parseParameterized(fields.get('content-type') ?? '')
      .parameters.get('boundary')
      ?.trimEnd() ?? ''
  );
}

/**
 * Reads the content fields of a part.
 * @param standard the type of a part that names none
 */
export function readPartHeader(fields: ContentFields, standard: string): PartHeader {
  const type = parseParameterized(fields.get('content-type') ?? '');
  const disposition = parseParameterized(fields.get('content-disposition') ?? '');
  return {
    type: typeOf(type.value, standard),
    charset: type.parameters.get('charset') ?? null,
    flowed: flowedIn(type),
    encoding: encodingOf(fields.get('content-transfer-encoding')),
    disposition: disposition.value,
    filename: readableParameter(disposition, 'filename') ?? readableParameter(type, 'name'),
    contentId: fields.get('content-id')?.trim() || null,
  };
}
