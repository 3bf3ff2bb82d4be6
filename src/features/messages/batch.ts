/** Sends many messages by one request: each is created, replayed or refused for its own reason, or all or none are. */
import { findKept, keptOutcome } from '../../delivery/ledger/accept/kept-keys.ts';
import { requireTestCapacity } from '../../delivery/ledger/accept/test-messages.ts';
import { latestSchedule } from '../../delivery/terms/message.ts';
import { AppError, invalid, MAX_REPORTED } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import {
  fingerprintOf,
  foreignKeyConflict,
  type IdempotentRequest,
  keyConflict,
  keySpace,
} from '../../platform/db/idempotency.ts';
import type { RequestCount } from '../../platform/http/context.ts';
import { mapInTurns, mapSeveral } from '../../platform/processes/map-in-turns.ts';
import type { ReadAttachments } from '../attachments/service.ts';
import { bytesOf } from './accept.ts';
import { acceptEach, acceptTogether, type BatchWish, type Fate } from './batch-accept.ts';
import { createBatchPresenter, keptResult } from './batch-answer.ts';
import {
  BATCH_ENDPOINT,
  findBatch,
  ITEMS_ENDPOINT,
  itemKeyOf,
  keepBatch,
  type KeptResult,
} from './batch-record.ts';
import {
  type BatchItem,
  type BatchResource,
  checkBatch,
  readItem,
  type SendBatchBody,
} from './batch-schema.ts';
import { waitingKindOf } from './held-bound.ts';
import type { Reader } from './letter-presenter.ts';
import { messageKeyOf, MESSAGES_ENDPOINT } from './message-key.ts';
import { findForeignKeys } from './sent-by.ts';
import { NO_FILES, payloadOf, type SendDeps, type SendParts } from './send.ts';

/** Number of messages that count as one request. */
const MESSAGES_PER_REQUEST = 10;
/**
 * Maximum size of the contents of a batch. Those of `default` and of templates count for each message, because each is
 * written with its own. The statement of an atomic batch has all of them; for any other batch, they are in memory until
 * they are written.
 */
const MAX_MEGABYTES = { atomic: 32, other: 128 };
const MEGABYTE = 1024 * 1024;
/** Number of templates that are rendered, and requests with files that are read, at the same time. */
const DRAFTS_AT_ONCE = 4;

export interface BatchOptions {
  /** Whether all messages are accepted, or none. */
  atomic: boolean;
  idempotencyKey: string | null;
  /** Counts the batch against the caller's rate limit. */
  requests: RequestCount | undefined;
}

/**
 * Sends a batch. What is accepted is committed when this resolves.
 * @throws AppError that concerns the batch as a whole: validation_error, rate_limited, idempotency_conflict,
 *   unavailable. If it is atomic, any error of `Sending.send`, with the message that it concerns
 */
export type SendBatch = (
  tenant: Tenant,
  reader: Reader,
  body: SendBatchBody,
  options: BatchOptions,
) => Promise<{ answer: BatchResource; replayed: boolean }>;

/** A batch that is being sent. `fates` has what became of its messages, by their places. */
interface Batch {
  tenant: Tenant;
  reader: Reader;
  body: SendBatchBody;
  atomic: boolean;
  /** Null: without a key. */
  request: IdempotentRequest | null;
  fates: Map<number, Fate>;
  /** Whether one of its messages was rendered, and perhaps written. */
  begun: boolean;
}

const costOf = ({ messages }: SendBatchBody) => Math.ceil(messages.length / MESSAGES_PER_REQUEST);

function requireAffordable(cost: number, most: number | null): void {
  if (most === null || cost <= most) return;
  const messages = [
    `costs ${cost} requests, and the burst of this key is ${most}: send at most ` +
      `${most * MESSAGES_PER_REQUEST} messages at once`,
  ];
  throw invalid({ messages });
}

async function requestOf(
  { brandId, actor }: Tenant,
  { messages, default: given }: SendBatchBody,
  { atomic, idempotencyKey: key }: BatchOptions,
): Promise<IdempotentRequest | null> {
  if (key === null) return null;
  // Hashing each message on its own keeps the turns of the event loop short.
  const hashes = await mapInTurns(messages, (message) => fingerprintOf(message).toString('base64'));
  const fingerprint = fingerprintOf({ atomic, default: given, messages: hashes });
  return { brandId, endpoint: keySpace(BATCH_ENDPOINT, isTestCaller(actor)), key, fingerprint };
}

const refused = (error: AppError): Fate => ({ kind: 'refused', error });

/** Runs a step for the messages that have no fate yet. An error that a client can fix is the message's own. */
async function stepForEach<Item extends { place: number }, Result>(
  { fates }: Batch,
  items: readonly Item[],
  step: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const left = items.filter(({ place }) => !fates.has(place));
  const results = await mapSeveral(left, DRAFTS_AT_ONCE, async (item) => {
    try {
      return [await step(item)];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      fates.set(item.place, refused(error));
      return [];
    }
  });
  return results.flat();
}

async function readItems({ body, reader, fates }: Batch): Promise<BatchItem[]> {
  const places = body.messages.map((_message, place) => place);
  const found = await mapInTurns(places, (place) =>
    readItem(body, body.messages[place], place, reader.isAssistant),
  );
  return found.flatMap((item, place) => {
    if (!(item instanceof AppError)) return [item];
    fates.set(place, refused(item));
    return [];
  });
}

/** A message whose files are read, with its key. */
type ReadItem = BatchItem & { read: ReadAttachments } & Pick<BatchWish, 'keyed'>;

/** Creates the function that reads the files of a message. Those of `default` are read once. */
function createReadFiles({ attachments }: SendDeps, tenant: Tenant) {
  const known = new Map<unknown, Promise<ReadAttachments>>();
  return async (item: BatchItem): Promise<ReadAttachments> => {
    const { body, attachments: given } = item;
    if ((body.attachments ?? []).length === 0) return NO_FILES;
    let reading = known.get(given);
    if (!reading) known.set(given, (reading = attachments.readAttachments(tenant, body.attachments ?? [])));
    return reading;
  };
}

function keyedOf({ key, body, place }: BatchItem, read: ReadAttachments, batchKey: string | null) {
  if (key === null && batchKey === null) return { idempotencyKey: null, fingerprint: null };
  const fingerprint = fingerprintOf(payloadOf(body, read));
  if (key !== null) return { idempotencyKey: key, fingerprint };
  return { idempotencyKey: null, fingerprint, hiddenKey: itemKeyOf(batchKey ?? '', place) };
}

/** Finds the messages that earlier requests with their keys have written. */
async function findEarlier({ pool }: SendDeps, { tenant, fates }: Batch, items: readonly ReadItem[]) {
  const test = isTestCaller(tenant.actor);
  const asked = items
    .filter(({ place }) => !fates.has(place))
    .map((item) => ({
      ...{ brand_id: tenant.brandId, place: item.place, fingerprint: item.keyed.fingerprint },
      key: messageKeyOf({ ...item.keyed, draft: { test } }),
    }));
  for (const [{ place, fingerprint, key }, kept] of await findKept(pool, asked)) {
    const outcome = keptOutcome(kept, fingerprint);
    const replayed = key?.shown !== false;
    fates.set(
      place,
      outcome.kind === 'conflict' ? refused(keyConflict()) : { kind: 'there', id: outcome.id, replayed },
    );
  }
}

/** Refuses messages whose keys other callers have used, if this caller must not see their messages. */
async function refuseForeign(
  { pool }: SendDeps,
  { tenant, fates }: Batch,
  items: readonly ReadItem[],
): Promise<void> {
  const own = items.flatMap(({ keyed }) => keyed.idempotencyKey ?? []);
  const hidden = items.flatMap(({ keyed }) => keyed.hiddenKey?.key ?? []);
  const foreignOwn = await findForeignKeys(pool, tenant, MESSAGES_ENDPOINT, own);
  const foreignHidden = await findForeignKeys(pool, tenant, ITEMS_ENDPOINT, hidden);
  for (const { place, keyed } of items) {
    if (foreignOwn.has(keyed.idempotencyKey ?? '') || foreignHidden.has(keyed.hiddenKey?.key ?? ''))
      fates.set(place, refused(foreignKeyConflict()));
  }
}

/** @throws AppError rate_limited, if the account may have no further messages */
async function requireRoom(
  { pool }: SendDeps,
  { held }: SendParts,
  tenant: Tenant,
  wishes: readonly BatchWish[],
) {
  const count = { held: 0, scheduled: 0 };
  for (const { wish } of wishes) count[waitingKindOf(wish.message)] += wish.letter?.copies.length ?? 1;
  const all = count.held + count.scheduled;
  if (all === 0) return;
  if (isTestCaller(tenant.actor)) {
    await requireTestCapacity(pool, tenant.accountId, () => Promise.resolve(false), all);
    return;
  }
  for (const kind of ['held', 'scheduled'] as const) {
    const refusal = count[kind] > 0 ? held.refusal(tenant.accountId, kind, count[kind]) : null;
    if (refusal) throw refusal;
  }
}

/** The error of a message, which is that of the whole batch. */
function atPlace(error: AppError, place: number): AppError {
  const errors = Object.entries(error.validationErrors).map(
    ([field, messages]) => [`messages.${place}.${field}`, messages] as const,
  );
  return new AppError(error.code, `messages.${place}: ${error.message}`, {
    validationErrors: Object.fromEntries(errors),
    headers: error.headers,
    cause: error,
  });
}

/** @throws AppError with the errors of all messages of an atomic batch that are wrong, or else the first refusal */
function requireAll({ atomic, fates }: Batch): void {
  if (!atomic) return;
  const errors = [...fates]
    .sort(([one], [other]) => one - other)
    .flatMap(([place, fate]) => (fate.kind === 'refused' ? [atPlace(fate.error, place)] : []));
  const wrong = errors.filter(({ validationErrors }) => Object.keys(validationErrors).length > 0);
  const [first] = errors;
  if (!first) return;
  const [firstWrong] = wrong;
  if (!firstWrong) throw first;
  const isOrdinary = ({ code }: AppError) => code === 'validation_error';
  const all = wrong.flatMap(({ validationErrors }) => Object.entries(validationErrors));
  const { code } = wrong.find(isOrdinary) ?? firstWrong;
  throw invalid(Object.fromEntries(all.slice(0, MAX_REPORTED)), code);
}

/** @throws AppError validation_error if contents of so many bytes are too large together */
function requireFit({ atomic }: Batch, bytes: number): void {
  const most = atomic ? MAX_MEGABYTES.atomic : MAX_MEGABYTES.other;
  if (bytes <= most * MEGABYTE) return;
  throw invalid({ messages: [`have more than ${most} MB together; send fewer at once`] });
}

/** The size of the contents in the request, at least: if it is too large, the contents need not be hashed. */
const givenBytes = (items: readonly BatchItem[]) =>
  items.reduce((sum, { body: { html = '', body = '' } }) => sum + html.length + body.length, 0);

/** @throws AppError validation_error if the contents of the messages are too large together */
async function draftEach(
  { draftOf }: SendParts,
  batch: Batch,
  items: readonly ReadItem[],
): Promise<BatchWish[]> {
  let bytes = 0;
  const wishes = await stepForEach(batch, items, async ({ place, body, read, keyed }) => {
    requireFit(batch, bytes);
    batch.begun = true;
    const drafted = await draftOf(batch.tenant, body, read);
    bytes += bytesOf(drafted.message);
    return { place, keyed, wish: { ...drafted, files: read.files } };
  });
  requireFit(batch, bytes);
  return wishes;
}

/** Decides what becomes of each message, and accepts those that may be sent. */
async function decide(deps: SendDeps, parts: SendParts, batch: Batch): Promise<BatchItem[]> {
  const { tenant, reader, body, request } = batch;
  checkBatch(body, reader.isAssistant);
  const items = await readItems(batch);
  requireFit(batch, givenBytes(items));
  const readFiles = createReadFiles(deps, tenant);
  const read = await stepForEach(batch, items, async (item) => {
    const files = await readFiles(item);
    return { ...item, read: files, keyed: keyedOf(item, files, request?.key ?? null) };
  });
  await refuseForeign(deps, batch, read);
  await findEarlier(deps, batch, read);
  const wishes = await draftEach(parts, batch, read);
  requireAll(batch);
  await requireRoom(deps, parts, tenant, wishes);
  const accept = batch.atomic ? acceptTogether : acceptEach;
  for (const [place, fate] of await accept(deps, parts, tenant, wishes)) batch.fates.set(place, fate);
  // Other callers may have used the keys in the meantime.
  await refuseForeign(deps, batch, read);
  requireAll(batch);
  return items;
}

/**
 * Until when one of the messages that are there may be scheduled: a client may move it, and does not name the batch then;
 * null: all are sent at once.
 */
function latestOf({ fates }: Batch, items: readonly BatchItem[]): Date | null {
  const isScheduled = items.some(
    ({ place, body }) => body.scheduled_at !== undefined && fates.get(place)?.kind !== 'refused',
  );
  return isScheduled ? latestSchedule() : null;
}

/** Whether a message is refused for a reason that ends by itself. */
const isPassing = ({ code }: AppError): boolean => code === 'unavailable' || code === 'rate_limited';

/**
 * Keeps the outcomes of the batch.
 * @throws AppError unavailable or rate_limited if a message was refused with it: then nothing is kept, so that the client
 *   can repeat the batch
 */
async function keep(
  { pool }: SendDeps,
  batch: Batch,
  items: readonly BatchItem[],
): Promise<readonly KeptResult[]> {
  const { tenant, request, fates } = batch;
  const inOrder = [...fates].sort(([one], [other]) => one - other).map(([, fate]) => fate);
  const results = inOrder.map(keptResult);
  if (request === null) return results;
  for (const fate of inOrder) if (fate.kind === 'refused' && isPassing(fate.error)) throw fate.error;
  return keepBatch(pool, tenant, request, results, latestOf(batch, items));
}

/** @param parts shared with the function that sends single messages */
export function createBatch(deps: SendDeps, parts: SendParts): SendBatch {
  const present = createBatchPresenter(deps);
  return async (tenant, reader, body, options) => {
    const { atomic, requests } = options;
    const request = await requestOf(tenant, body, options);
    const known = request && (await findBatch(deps.pool, tenant, request));
    if (known) return { answer: await present(tenant, reader, known.outcomes), replayed: true };
    const cost = costOf(body);
    requireAffordable(cost, requests?.most ?? null);
    await requests?.countAs(cost);
    const batch: Batch = { tenant, reader, body, atomic, request, fates: new Map(), begun: false };
    try {
      const items = await decide(deps, parts, batch);
      const kept = await keep(deps, batch, items);
      return { answer: await present(tenant, reader, kept, batch.fates), replayed: false };
    } catch (error) {
      // A batch that is refused after that costs as much as one that is accepted.
      if (!batch.begun) await requests?.giveBack();
      throw error;
    }
  };
}
