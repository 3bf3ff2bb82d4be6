/** Writes sets of messages in one statement, all or none of them if the set is atomic, as the copies of a letter must be. */
import type { AppError } from '../../../errors.ts';
import { RANGE_IDS } from '../../../platform/db/id-ranges.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { contentSizeOf } from '../../content/templates/content-weight.ts';
import type { RecipientKind } from '../../terms/letter.ts';
import { ccIsEnvelopeSql, maxBytesSql, takesMimeSql } from '../../terms/provider-facts.ts';
import { type Unable, unableError } from './letter-refused.ts';
import type { NewAttachment, NewLetter, OpaqueBody } from './new-letter.ts';
import type { LetterCopy, WrittenMessage } from './new-message.ts';
import {
  type AcceptedMessage,
  addUnwritten,
  argumentsOf,
  callOf,
  errorOf,
  outcomeOf,
  type OutcomeRow,
  type Outcomes,
  unpaidOf,
  type WriteOptions,
} from './write-messages.ts';

export const acceptSetFunction = defineFunction(import.meta.url, './accept_set.sql', {
  table: undefined,
  regions: {
    max_bytes: () => maxBytesSql('k.kind'),
    cc_is_envelope: () => ccIsEnvelopeSql('k.kind'),
    takes_mime: () => takesMimeSql('k.kind'),
  },
});

/** A letter of a set, and the messages that are its copies. */
export interface SetLetter<Letter extends NewLetter = NewLetter> {
  /** The index of the first of its copies among the messages of the set. The others follow. */
  first: number;
  /** Of its copies. */
  count: number;
  letter: Letter;
}

/** A message of a set. Those of a letter have no content of their own. */
export type SetMessage = AcceptedMessage & { kind?: RecipientKind | undefined };

/** A letter, and what has to be known to choose its provider. */
export interface AddressedLetter extends NewLetter {
  /** The kind of the provider of EMAIL_PROVIDER_URL. */
  defaultKind: string;
}

export type SetOptions = Pick<WriteOptions, 'source' | 'counted' | 'tracking'> &
  Required<Pick<WriteOptions, 'limits'>> &
  (
    | { atomic: boolean; letters?: undefined }
    | { atomic: true; letters: readonly SetLetter<AddressedLetter>[] }
  );

/** Not all messages of an atomic set can be written, so none is. */
export class SetRefusedError extends Error {
  /** What would have become of the messages, by id; null: it would be written. Those whose keys are taken are missing. */
  readonly refusals: ReadonlyMap<number, AppError | null>;

  constructor(refusals: ReadonlyMap<number, AppError | null>) {
    super('not all messages of the set can be written');
    this.refusals = refusals;
  }
}

/** No provider of the account can take a letter of the set, so nothing is written. Its error is a validation_error. */
export class LetterRefusedError extends Error {
  /** The copies of the letter. */
  readonly ids: ReadonlySet<number>;
  readonly error: AppError;

  constructor(ids: ReadonlySet<number>, error: AppError) {
    super(error.message);
    this.ids = ids;
    this.error = error;
  }
}

/** A file of a letter is not stored any more. Store it again, and write the letter again. */
export class FileGoneError extends Error {
  /** In hexadecimal digits. */
  readonly hashes: readonly string[];

  constructor(hashes: readonly string[]) {
    super('a file of a letter is gone');
    this.hashes = hashes;
  }
}

/** The error that the SQLSTATE of a failed call stands for. */
function setErrorOf(error: unknown, messages: readonly SetMessage[], letters: readonly SetLetter[]): unknown {
  const { code, detail = '' } = error as { code?: string; detail?: string };
  switch (code) {
    case 'CL021': {
      const outcomes = Object.entries(JSON.parse(detail) as Record<string, string>);
      const isWritten = (outcome: string) => outcome === 'written' || outcome === 'charged';
      return new SetRefusedError(
        new Map(outcomes.map(([id, outcome]) => [Number(id), isWritten(outcome) ? null : unpaidOf(outcome)])),
      );
    }
    case 'CL022':
      return new FileGoneError(JSON.parse(detail) as string[]);
    case 'CL023': {
      const { id, provider } = JSON.parse(detail) as { id: number; provider: Unable };
      const refused = letters.find(({ first }) => messages[first]?.id === id);
      if (!refused) return error;
      const copies = messages.slice(refused.first, refused.first + refused.count);
      return new LetterRefusedError(
        new Set(copies.map((copy) => copy.id)),
        unableError(provider, refused.letter, refused.count),
      );
    }
    default:
      return errorOf(error);
  }
}

/** How the body of an opaque letter is listed among its files. */
const opaqueFile = ({ size, sha256, stored }: OpaqueBody) => ({
  ...{ n: 0, filename: 'body', content_type: 'application/octet-stream' },
  ...{ content_id: null, disposition: 'attachment', size, sha256: sha256.toString('hex'), stored },
});

const fileRow = (file: NewAttachment, index: number) => ({
  n: index + 1,
  filename: file.filename,
  content_type: file.contentType,
  content_id: file.contentId,
  disposition: file.disposition,
  size: file.size,
  sha256: file.sha256.toString('hex'),
  stored: file.stored,
});

/** Whether providers that send to everyone in the header cannot take a letter. */
const showsOthers = ({ letter, count }: SetLetter, lead: SetMessage): boolean =>
  count > 1 || letter.addresses.length > 0 || lead.kind === 'bcc';

/** What the copies of a letter share. */
function letterRow(of: SetLetter<AddressedLetter>, lead: SetMessage): object {
  const { html, text, headers, places, replyTo, wireBytes, defaultKind, opaque } = of.letter;
  return {
    ...{ html, text, headers, places },
    first: of.first + 1,
    count: of.count,
    brand_id: lead.brand_id,
    provider_id: lead.provider_id,
    default_kind: defaultKind,
    reply_to: replyTo,
    wire_bytes: wireBytes,
    shows_others: showsOthers(of, lead),
    is_raw: opaque !== undefined,
    is_scheduled: (lead.scheduled_at ?? null) !== null,
    ...(opaque && { opaque: { fields: opaque.fields } }),
  };
}

/** JSON for a parameter of the function; null if there is nothing. */
const listed = (rows: readonly object[]): string | null => (rows.length === 0 ? null : JSON.stringify(rows));

/** What the function is given of letters. */
function letterArguments(messages: readonly SetMessage[], letters: readonly SetLetter<AddressedLetter>[]) {
  return {
    letters: listed(letters.map((each) => letterRow(each, messages[each.first] as SetMessage))),
    files: listed(
      letters.flatMap(({ first, letter: { files, opaque } }) =>
        [...(opaque ? [opaqueFile(opaque)] : []), ...files.map(fileRow)].map((file) => ({
          first: first + 1,
          ...file,
        })),
      ),
    ),
    addresses: listed(
      letters.flatMap(({ first, letter: { addresses } }) =>
        addresses.map(({ kind, address, addressKey, place }, index) => ({
          ...{ first: first + 1, n: place ?? index + 1, brand_id: messages[first]?.brand_id },
          ...{ kind, address, address_key: addressKey },
        })),
      ),
    ),
  };
}

/** The columns that the copies of a letter share. */
function sharedColumns(letter: NewLetter, lead: SetMessage | undefined) {
  const { bytes, weight } = contentSizeOf(letter);
  return {
    letter_id: lead?.id ?? null,
    has_html: (letter.html ?? '') !== '',
    whole_bytes: bytes,
    whole_weight: weight,
    file_bytes: letter.files.reduce((sum, { size }) => sum + size, letter.opaque?.size ?? 0),
    ...(letter.opaque && { is_raw: true }),
    ...{ html: undefined, text: undefined, headers: undefined },
  };
}

/** The messages as they are written, those of letters as their copies, by column. */
function rowsOf(
  messages: readonly SetMessage[],
  letters: readonly SetLetter[],
): (AcceptedMessage & Partial<LetterCopy>)[] {
  const rows: (AcceptedMessage & Partial<LetterCopy>)[] = messages.map(
    ({ kind: _kind, ...message }) => message,
  );
  for (const { first, count, letter } of letters) {
    const shared = sharedColumns(letter, messages[first]);
    for (let n = first; n < first + count; n += 1) {
      rows[n] = { ...(rows[n] as AcceptedMessage), ...shared, recipient_kind: messages[n]?.kind ?? 'to' };
    }
  }
  return rows;
}

/**
 * Writes a set of messages in one statement: takes their keys, reserves their prices and counts them in the limits, as
 * `acceptMessages` does. The messages of letters become their copies; the provider of a letter must be able to take it.
 * @param client a pool, or a client inside the caller's transaction, which any error undoes. Wake the senders after the
 *   commit.
 * @param messages at least one, in the order in which prices are reserved; all of one account if there are letters. The
 *   first one of a letter names it, and only that may have a key and an alias. The ids of a letter are from
 *   {@link takeTogether}.
 * @returns the outcome of each message, by id. All those of an atomic set are written.
 * @throws SetRefusedError if the set is atomic; FileGoneError; LetterRefusedError; AppError with the code of the limit
 *   that has too little left, or `rate_limited` for too many test messages. Then no message is written.
 */
export async function writeSet(
  client: Queryable,
  messages: readonly SetMessage[],
  options: SetOptions,
): Promise<Outcomes> {
  const { atomic, letters = [], ...others } = options;
  // Tests cost nothing.
  const writing: WriteOptions = messages.every(({ test }) => test) ? others : { ...others, money: 'reserve' };
  const {
    only_free: _onlyFree,
    rendered: _rendered,
    ...given
  } = argumentsOf(rowsOf(messages, letters), writing);
  const call = callOf(acceptSetFunction, {
    ...given,
    atomic,
    ...letterArguments(messages, letters),
  });
  const { rows } = await client.query<OutcomeRow>(call).catch((error: unknown) => {
    throw setErrorOf(error, messages, letters);
  });
  const outcomes = new Map(rows.map((row) => [row.id, outcomeOf(row)]));
  if (outcomes.size < messages.length) await addUnwritten(outcomes, client, messages, writing);
  return outcomes;
}

/**
 * Writes a letter without a key, all its copies or none.
 * @param client inside the caller's transaction
 * @returns the written messages by id
 * @throws FileGoneError; AppError as {@link writeSet}, and the error of the first copy that its account cannot pay
 */
export async function writeLetter(
  client: Queryable,
  messages: readonly SetMessage[],
  letter: AddressedLetter,
  options: Omit<SetOptions, 'atomic' | 'letters'>,
): Promise<Map<number, WrittenMessage>> {
  const letters = [{ first: 0, count: messages.length, letter }];
  const outcomes = await writeSet(client, messages, { ...options, atomic: true, letters }).catch(
    (error: unknown) => {
      if (error instanceof LetterRefusedError) throw error.error;
      const refusal = error instanceof SetRefusedError ? [...error.refusals.values()].find(Boolean) : null;
      throw refusal ?? error;
    },
  );
  return new Map(
    [...outcomes].map(([id, outcome]) => {
      if (outcome.kind !== 'written') throw new Error(`message ${id} was not written`);
      return [id, outcome.message];
    }),
  );
}

/**
 * Takes ids for messages that belong together. Partitions are ranges of ids, and a letter must not outlive its copies.
 * @param take from an id allocator
 */
export async function takeTogether(
  take: (count: number) => Promise<number[]>,
  count: number,
): Promise<number[]> {
  for (;;) {
    const ids = await take(count);
    if (new Set(ids.map((id) => Math.floor(id / RANGE_IDS))).size === 1) return ids;
  }
}
