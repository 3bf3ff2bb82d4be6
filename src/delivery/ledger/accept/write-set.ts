/** Writes sets of messages in one statement, all or none of them if the set is atomic, as the copies of a letter must be. */
import { type AppError, invalid } from '../../../errors.ts';
import { RANGE_IDS } from '../../../platform/db/id-ranges.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { contentSizeOf } from '../../content/templates/content-weight.ts';
import type { RecipientKind } from '../../terms/letter.ts';
import { ccIsEnvelopeSql, maxBytesSql } from '../../terms/provider-facts.ts';
import type { NewLetter } from './new-letter.ts';
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
  regions: { max_bytes: () => maxBytesSql('k.kind'), cc_is_envelope: () => ccIsEnvelopeSql('k.kind') },
});

/** A message of a set. Those of a letter have no content of their own. */
export type SetMessage = AcceptedMessage & { kind?: RecipientKind | undefined };

/** A letter, and what has to be known to choose its provider. */
export interface AddressedLetter extends NewLetter {
  /** The kind of the provider of EMAIL_PROVIDER_URL. */
  defaultKind: string;
}

export type SetOptions = Pick<WriteOptions, 'source' | 'counted' | 'tracking'> &
  Required<Pick<WriteOptions, 'limits'>> &
  ({ atomic: boolean; letter?: undefined } | { atomic: true; letter: AddressedLetter });

/** Not all messages of an atomic set can be written, so none is. */
export class SetRefusedError extends Error {
  /** What would have become of the messages, by id; null: it would be written. Those whose keys are taken are missing. */
  readonly refusals: ReadonlyMap<number, AppError | null>;

  constructor(refusals: ReadonlyMap<number, AppError | null>) {
    super('not all messages of the set can be written');
    this.refusals = refusals;
  }
}

/** A file of the letter is not stored any more. Store it again, and write the letter again. */
export class FileGoneError extends Error {
  /** In hexadecimal digits. */
  readonly hashes: readonly string[];

  constructor(hashes: readonly string[]) {
    super('a file of the letter is gone');
    this.hashes = hashes;
  }
}

const MIB = 1024 * 1024;

/** The facts of a provider that cannot take a letter, as the function reports them. */
interface Unable {
  /** Null: the provider of the setting. */
  name: string | null;
  kind: string;
  max_bytes: number | null;
}

/** Why the provider of the letter cannot take it. */
function unableError({ name, kind, max_bytes: maxBytes }: Unable, letter: NewLetter): AppError {
  const provider = name === null || name === kind ? `provider ${kind}` : `provider ${name} (${kind})`;
  if (maxBytes === null || letter.wireBytes <= maxBytes) {
    return invalid({ to: [`has several recipients: ${provider} cannot send one letter to several`] });
  }
  const size = `the message has about ${Math.ceil(letter.wireBytes / MIB)} MB when it is sent`;
  const most = `${provider} takes at most ${Math.floor(maxBytes / MIB)} MB`;
  return invalid({ attachments: [`are too large: ${size}, and ${most}`] });
}

/** The error that the SQLSTATE of a failed call stands for. */
function setErrorOf(error: unknown, letter: NewLetter | undefined): unknown {
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
    case 'CL023':
      return letter ? unableError(JSON.parse(detail) as Unable, letter) : error;
    default:
      return errorOf(error);
  }
}

/** What the copies share, as the function reads it. */
const letterJson = (
  { files, addresses, replyTo, wireBytes, defaultKind, ...content }: AddressedLetter,
  { brand_id, provider_id }: SetMessage,
): string =>
  JSON.stringify({
    ...content,
    brand_id,
    provider_id,
    default_kind: defaultKind,
    reply_to: replyTo,
    wire_bytes: wireBytes,
    files: files.map((file) => ({
      filename: file.filename,
      content_type: file.contentType,
      content_id: file.contentId,
      disposition: file.disposition,
      size: file.size,
      sha256: file.sha256.toString('hex'),
      stored: file.stored,
    })),
    addresses: addresses.map(({ kind, address, addressKey }) => ({ kind, address, address_key: addressKey })),
  });

/** The messages of a letter as its copies, by column. */
function copiesOf(messages: readonly SetMessage[], letter: NewLetter): (AcceptedMessage & LetterCopy)[] {
  const { bytes, weight } = contentSizeOf(letter);
  const shared = {
    letter_id: messages[0]?.id ?? null,
    has_html: (letter.html ?? '') !== '',
    whole_bytes: bytes,
    whole_weight: weight,
    file_bytes: letter.files.reduce((sum, { size }) => sum + size, 0),
    ...{ html: undefined, text: undefined, headers: undefined },
  };
  return messages.map(({ kind = 'to', ...message }) => ({ ...message, ...shared, recipient_kind: kind }));
}

/**
 * Writes a set of messages in one statement: takes their keys, reserves their prices and counts them in the limits, as
 * `acceptMessages` does. The messages of a letter become its copies; its provider must be able to take it.
 * @param client a pool, or a client inside the caller's transaction, which any error undoes. Wake the senders after the
 *   commit.
 * @param messages at least one, in the order in which prices are reserved. The first one of a letter names it, and only
 *   that may have a key. Their ids are from {@link takeTogether}.
 * @returns the outcome of each message, by id. All those of an atomic set are written.
 * @throws SetRefusedError if the set is atomic; FileGoneError; AppError with the code of the limit that has too little
 *   left, `rate_limited` for too many test messages, or validation_error that names `attachments` or `to` if no provider
 *   can take the letter. Then no message is written.
 */
export async function writeSet(
  client: Queryable,
  messages: readonly SetMessage[],
  options: SetOptions,
): Promise<Outcomes> {
  const { atomic, letter, ...others } = options;
  const copies = letter ? copiesOf(messages, letter) : messages.map(({ kind: _kind, ...message }) => message);
  const writing: WriteOptions = messages.every(({ test }) => test) ? others : { ...others, money: 'reserve' };
  const { only_free: _onlyFree, rendered: _rendered, ...given } = argumentsOf(copies, writing);
  const [first] = messages;
  const call = callOf(acceptSetFunction, {
    ...given,
    atomic,
    letter: letter && first ? letterJson(letter, first) : null,
  });
  const { rows } = await client.query<OutcomeRow>(call).catch((error: unknown) => {
    throw setErrorOf(error, letter);
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
  options: Omit<SetOptions, 'atomic' | 'letter'>,
): Promise<Map<number, WrittenMessage>> {
  const outcomes = await writeSet(client, messages, { ...options, atomic: true, letter }).catch(
    (error: unknown) => {
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
