import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { MAX_WEIGHT_AT_ONCE } from '../../content/templates/content-weight.ts';
import { limits, type Limits, type LimitSettings } from '../limits/authority.ts';
import { plainRegions } from '../limits/plain.ts';
import { messageClasses } from '../../terms/message.ts';
import { isNotPlain } from '../../terms/plain-message.ts';
import type { BatchMessage } from '../intend/batch.ts';
import type { Claim } from '../ownership/claims.ts';

/** Maximum bytes of the contents that one call takes. */
export const MAX_TAKEN_BYTES = 1_048_576;

export interface TakeRequest {
  owner: number;
  /** As in {@link BatchRequest}. */
  seq: number;
  provider: string;
  reportSeconds: number;
  accountId: number;
  providerId: number;
  /** Maximum number of messages. */
  messages: number;
}

/** Messages that are claimed, and whose intent is committed. */
export interface Taken {
  claims: Claim[];
  messages: BatchMessage[];
}

/** What the function returns about a message; all else is the same for each. */
type TakenRow = Omit<
  BatchMessage,
  'attempt' | 'uncertain' | 'verdict' | 'accountId' | 'channel' | 'class' | 'providerId' | 'campaign'
> &
  Pick<Claim, 'bytes' | 'weight'>;

function takenOf({ accountId, providerId }: TakeRequest, rows: readonly TakenRow[]): Taken {
  const shared = { accountId, class: messageClasses.transactional };
  return {
    claims: rows.map(({ messageId, epoch, bytes, weight }) => ({
      ...shared,
      messageId,
      epoch,
      bytes,
      weight,
      losses: 0,
    })),
    messages: rows.map(({ bytes: _, weight: __, ...row }) => ({
      ...row,
      ...shared,
      attempt: 1,
      uncertain: false,
      verdict: 'send',
      channel: 'email',
      providerId,
      campaign: null,
    })),
  };
}

export const takePlain = defineFunction<Limits>(import.meta.url, './take_plain_messages.sql', {
  table: limits,
  regions: plainRegions,
});

/** The call of the function. @param table of which it is made */
function callOf(table: Limits): { name: string; text: string } {
  const name = table === limits ? takePlain.name : takePlain.filled(table).name;
  return { name, text: `select * from ${name}($1, $2, $3, $4, $5, $6, $7, $8, $9)` };
}

/**
 * Claims the due transactional emails of an account and writes their intent, in one short transaction, if all of them
 * are plain: at their first attempt, light, and held or refused by no limit. What one claim and one intent would do
 * takes half the time this way.
 * @param table tests have their own, and install the function of it
 * @returns null if no message is due, or if one of them is not plain: a claim decides on them
 */
export async function takePlainMessages(
  client: Queryable,
  request: TakeRequest,
  settings: LimitSettings,
  table: Limits = limits,
): Promise<Taken | null> {
  const { owner, seq, provider, accountId, providerId, messages, reportSeconds } = request;
  try {
    const { rows } = await client.query<TakenRow>({
      ...callOf(table),
      values: [
        ...[owner, seq, provider, accountId, providerId, messages, MAX_TAKEN_BYTES],
        JSON.stringify({ ...settings, max_weight: MAX_WEIGHT_AT_ONCE }),
        reportSeconds,
      ],
    });
    return rows.length === 0 ? null : takenOf(request, rows);
  } catch (error) {
    if (isNotPlain(error)) return null;
    throw error;
  }
}
