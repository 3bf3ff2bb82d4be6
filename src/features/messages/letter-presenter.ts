/** Letters as clients see them, with the message that they ask for. */
import type { CheckProblem } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { RouteInput } from '../../platform/http/input.ts';
import {
  type CopyRow,
  findCopies,
  findLetterFiles,
  isOpaqueBody,
  type LetterFileRow,
} from './letter-model.ts';
import { warningsOf } from './letter-warnings.ts';
import type { FoundMessage } from './model.ts';
import { type MessageDetail, type MessageRow, shownStatus } from './presenter.ts';

/** Who reads. */
export interface Reader {
  /** Whether it is an assistant, which does not learn who is in Bcc of what. */
  isAssistant: boolean;
}

export const readerOf = ({ ctx }: Pick<RouteInput, 'ctx'>): Reader => ({
  isAssistant: (ctx.state.principal?.grant ?? null) !== null,
});

export type LetterFields = Pick<MessageDetail, 'attachments' | 'recipients' | 'opaque'>;

/** A copy in Bcc does not lead an assistant to its letter. */
const isHidden = ({ isAssistant }: Reader, { recipient_kind: kind }: MessageRow) =>
  isAssistant && kind === 'bcc';

/** A message as the reader sees it. */
export const withoutHiddenLetter = <Row extends MessageRow>(reader: Reader, row: Row): Row =>
  isHidden(reader, row) ? { ...row, letter_id: null } : row;

const presentFile = (row: LetterFileRow) => ({
  n: row.n,
  filename: row.filename,
  content_type: row.content_type,
  size: row.size,
  sha256: row.sha256.toString('hex'),
  content_id: row.content_id,
  disposition: row.disposition,
});

const presentCopy = (row: CopyRow) => ({
  message_id: row.id,
  kind: row.recipient_kind,
  address: row.to_address,
  status: shownStatus(row),
});

/** The files and the copies of a letter, the lead first. File 0 is the body of an opaque letter. */
export interface ReadLetter {
  files: LetterFileRow[];
  copies: CopyRow[];
}

async function readLetter(
  db: Queryable,
  tenant: Tenant,
  { letter_id: letterId, message_ids: ids }: FoundMessage,
  plusAddresses: boolean,
): Promise<ReadLetter | null> {
  if (typeof letterId !== 'number') return null;
  const [files, copies] = await Promise.all([
    findLetterFiles(db, letterId),
    ids === null ? [] : findCopies(db, tenant, ids, plusAddresses),
  ]);
  return { files, copies };
}

const shownCopies = ({ copies }: ReadLetter, { isAssistant }: Reader) =>
  copies.filter(({ recipient_kind: kind }) => !isAssistant || kind !== 'bcc');

function presentLetter(letter: ReadLetter, reader: Reader, row: MessageRow): LetterFields {
  const { files, copies } = letter;
  const shown = shownCopies(letter, reader);
  const named = files.filter((file) => !isOpaqueBody(file));
  return {
    ...(named.length < files.length ? { opaque: true as const } : {}),
    ...(named.length > 0 ? { attachments: named.map(presentFile) } : {}),
    ...(copies.length > 1 && !isHidden(reader, row) ? { recipients: shown.map(presentCopy) } : {}),
  };
}

export type AcceptedLetterFields = LetterFields & { warnings?: CheckProblem[] };

/** What the sender of a letter sees of it, with the message `row`. */
export function presentAcceptedLetter(
  letter: ReadLetter,
  reader: Reader,
  row: MessageRow & { html: string | null },
): AcceptedLetterFields {
  const warnings = warningsOf(row.html, letter.files, shownCopies(letter, reader));
  return { ...presentLetter(letter, reader, row), ...(warnings.length > 0 ? { warnings } : {}) };
}

export interface LetterReader {
  /** @returns no fields for a message without a letter */
  fieldsOf(tenant: Tenant, reader: Reader, row: FoundMessage): Promise<LetterFields>;
  /** The same, with the warnings of a letter that is accepted. */
  acceptedFieldsOf(tenant: Tenant, reader: Reader, row: FoundMessage): Promise<AcceptedLetterFields>;
}

/** @param plusAddresses the setting SUPPRESS_PLUS_ADDRESSES */
export function createLetterReader(db: Queryable, plusAddresses: boolean): LetterReader {
  return {
    async fieldsOf(tenant, reader, row) {
      const letter = await readLetter(db, tenant, row, plusAddresses);
      return letter ? presentLetter(letter, reader, row) : {};
    },
    async acceptedFieldsOf(tenant, reader, row) {
      const letter = await readLetter(db, tenant, row, plusAddresses);
      return letter ? presentAcceptedLetter(letter, reader, row) : {};
    },
  };
}
