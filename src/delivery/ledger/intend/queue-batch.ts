import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql, type SqlStatement } from '../../../platform/db/sql/define.ts';
import { messageClasses } from '../../terms/message.ts';
import { furtherCtes } from '../../terms/sql-parts.ts';
import { giveBackCtes, limits, type Limits, PROVIDER_CANNOT_TAKE, verdictSql } from '../limits/authority.ts';
import type { Claim } from '../ownership/claims.ts';
import type { BatchMessage, BatchRequest } from './batch.ts';
import { type CheckedRow, withoutOptedOut } from './opted-out.ts';
import { ccIsEnvelopeSql, maxBytesSql, takesMimeSql } from '../../terms/provider-facts.ts';
import { rerouteLetters } from './reroute-letters.ts';
import { contactValuesSql, eventSql, noPriceInQueueCase, recipientCases } from './recipient-sql.ts';

/** Claims of rows of the queue, all of one class, and all of letters or none. */
export interface QueueBatchRequest extends BatchRequest {
  claims: readonly Pick<Claim, 'messageId' | 'epoch' | 'class' | 'letter'>[];
}

const product: Limits = limits;

const verdict = (table: Limits) => verdictSql(table);

const ofRecipients = {
  verdict,
  recipient: () => recipientCases,
  no_price: () => noPriceInQueueCase,
  contact_values: () => contactValuesSql('v.paths'),
};

export const intendMessagesSql = defineSql(import.meta.url, './intend_messages.sql', {
  table: product,
  regions: { verdict },
});

export const intendOfFlowsSql = defineSql(import.meta.url, './intend_of_flows.sql', {
  table: product,
  regions: {
    ...ofRecipients,
    event: () => eventSql,
    give_back: (table) =>
      furtherCtes(giveBackCtes('(select * from stopped where not uncertain) stopped', table)),
  },
});

export const intendRetriesSql = defineSql(import.meta.url, './intend_retries.sql', {
  table: product,
  regions: ofRecipients,
});

export const intendLettersSql = defineSql(import.meta.url, './intend_letters.sql', {
  table: product,
  regions: {
    verdict,
    max_bytes: () => maxBytesSql('p.kind'),
    cc_is_envelope: () => ccIsEnvelopeSql('p.kind'),
    takes_mime: () => takesMimeSql('p.kind'),
  },
});

/**
 * They have the same parameters and results. One statement for all classes would take a tenth longer for a transactional
 * message or a retry, because each part costs time even if no message needs it.
 */
const statements: Readonly<Record<number, SqlStatement<Limits>>> = {
  [messageClasses.transactional]: intendMessagesSql,
  [messageClasses.flow]: intendOfFlowsSql,
  [messageClasses.campaign]: intendRetriesSql,
};

/** @throws Error if the class has no statement, or if one statement cannot cover all claims */
function statementOf([first, ...others]: QueueBatchRequest['claims']): SqlStatement<Limits> | null {
  if (!first) return null;
  const statement = statements[first.class];
  const differs = (claim: typeof first) => claim.class !== first.class || !claim.letter !== !first.letter;
  if (!statement || others.some(differs)) throw new Error('a batch needs claims of one class');
  if (!first.letter) return statement;
  if (first.class !== messageClasses.transactional) throw new Error('letters are transactional');
  return intendLettersSql;
}

/** Has no provider in the setting. */
const NO_ROUTES: NonNullable<BatchRequest['routes']> = { repeatableKinds: [], defaultKind: null };

type LetterRow = Omit<CheckedRow, 'verdict'> & {
  verdict: CheckedRow['verdict'] | typeof PROVIDER_CANNOT_TAKE;
};

/** Moves or holds letters that their provider cannot take. They lose their claims. @returns the others */
async function withoutUnfit(
  client: Queryable,
  rows: readonly LetterRow[],
  { owner, routes = NO_ROUTES }: QueueBatchRequest,
): Promise<CheckedRow[]> {
  const isFit = (row: LetterRow): row is CheckedRow => row.verdict !== PROVIDER_CANNOT_TAKE;
  const unfit = rows.filter((row) => !isFit(row));
  // Letters of one batch may be of several accounts.
  for (const [accountId, letters] of Map.groupBy(unfit, (row) => row.accountId)) {
    const [{ class: priority, providerId }] = letters as [LetterRow];
    const ids = letters.map(({ messageId }) => messageId);
    const claimed = { owner, ids };
    await rerouteLetters(client, { class: priority, accountId, providerId }, { ...routes, claimed });
  }
  return rows.filter(isFit);
}

/**
 * Checks a batch of claims of the queue and writes the intent for the messages that may leave, in one statement. The
 * owner's row in `processes` is the fence: a process that was taken for dead cannot write one. Accounts, flows and
 * campaigns are read under shared locks that a pause waits for, so that once a pause is confirmed, no later intent can
 * miss it. Consent of contacts is read once more: they may have unsubscribed since the message was written.
 * Letters that their provider cannot take move to another one, or are held.
 * @returns the messages whose claims are still valid, with their verdicts; the intent covers those with `send`
 */
export async function intendMessages(client: Queryable, request: QueueBatchRequest): Promise<BatchMessage[]> {
  const statement = statementOf(request.claims);
  if (!statement) return [];
  const ids = request.claims.map(({ messageId }) => messageId);
  const isOfLetters = statement === intendLettersSql;
  const { rows } = await client.query<LetterRow>({
    ...statement,
    values: [
      request.owner,
      request.seq,
      request.provider,
      ids,
      request.claims.map(({ epoch }) => epoch),
      Math.min(...ids),
      Math.max(...ids),
      request.plusAddresses ?? false,
      request.reportSeconds ?? 0,
      ...(isOfLetters ? [request.routes?.defaultKind ?? null] : []),
    ],
  });
  const fit = isOfLetters ? await withoutUnfit(client, rows, request) : (rows as CheckedRow[]);
  return withoutOptedOut(fit, request);
}
