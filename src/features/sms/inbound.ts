import type pg from 'pg';
import { parsePhone } from '../../delivery/terms/addresses/phone.ts';
import { backlogName, DEFAULT_PROVIDER } from '../../delivery/terms/backlog.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { type FailureCode, messageClasses } from '../../delivery/terms/message.ts';
import type { NewMessage } from '../../delivery/ledger/accept/new-message.ts';
import { optOutHashes } from '../../delivery/ledger/consent/opt-outs.ts';
import type { InboundSms } from '../../delivery/wire/adapters/kind.ts';
import type { RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import { countSegments } from '../../delivery/terms/texts/sms-segments.ts';
import {
  acceptMessages,
  allocateMessageIds,
  writeMessages,
} from '../../delivery/ledger/accept/write-messages.ts';
import type { AppError } from '../../errors.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { setSubscription } from '../contacts/service.ts';
import { readKeyword, type SmsKeyword } from './keywords.ts';
import { type AddressedSender, claimHelpAnswer, findAddressedSender, insertKeyword } from './model.ts';

export interface InboundSmsDeps {
  pool: pg.Pool;
  keyring: Keyring;
  waker: Pick<Waker, 'wake'>;
  fence: RecipientFence;
  limits: LimitSettings;
}

/** The outcome of an inbound SMS. */
export type InboundSmsOutcome =
  | 'opted_out'
  | 'opted_in'
  /** HELP is answered. */
  | 'answered'
  /**
   * HELP is not answered: the provider has already answered, the last answer was less than a minute ago, or the account
   * cannot pay.
   */
  | 'no_answer'
  /** The SMS was already handled. */
  | 'repeated'
  | 'no_keyword'
  /** No brand has the number, or the SMS does not come from a phone number. */
  | 'unknown_number';

/** An inbound SMS with a keyword, and the sender to which it was sent. */
interface Request {
  deps: InboundSmsDeps;
  providerId: number | null;
  sender: AddressedSender;
  from: string;
}

const addressOf = ({ sender, from }: Request) =>
  ({ brandId: sender.brand_id, channel: 'sms', address: from }) as const;

/** Returns the failure of an answer for which the account cannot pay. */
function failureOf({ code, message }: AppError): { code: FailureCode; message: string } {
  switch (code) {
    case 'insufficient_funds':
    case 'spend_cap_reached':
      return { code, message };
    default:
      return { code: 'no_price', message: 'the number is in a country that the account has no price for' };
  }
}

/**
 * Writes the answer to HELP and reserves its price. If the account cannot pay for it, the message is written as
 * `failed`, with the reason, and is not sent.
 * @returns whether it is sent
 */
async function writeHelp(
  trx: Queryable,
  { deps, providerId, sender, from }: Request,
  text: string,
): Promise<boolean> {
  const [id = 0] = await allocateMessageIds(trx, 1);
  const message: NewMessage = {
    id,
    account_id: sender.account_id,
    brand_id: sender.brand_id,
    channel: 'sms',
    status: 'queued',
    test: false,
    segments: countSegments(text).segments,
    to_address: from,
    to_key: from,
    from_address: sender.sender,
    provider_id: providerId,
    text,
  };
  const source = { class: messageClasses.transactional };
  const { limits } = deps;
  const outcomes = await acceptMessages(trx, [message], { source, limits, money: 'reserve' });
  const outcome = outcomes.get(id);
  if (outcome?.kind !== 'refused') return true;
  const failed = { status: 'failed' as const, failure: failureOf(outcome.error), events: ['failed'] };
  await writeMessages(trx, [{ ...message, ...failed }], { source, limits });
  return false;
}

/** Answers HELP with the brand's text, at most once a minute for each number. */
async function answerHelp(trx: Queryable, request: Request): Promise<InboundSmsOutcome> {
  const { help_text: text, brand_id: brandId } = request.sender;
  const [hash] = optOutHashes(request.deps.keyring, addressOf(request));
  if (text === null || hash === undefined || !(await claimHelpAnswer(trx, brandId, hash))) return 'no_answer';
  return (await writeHelp(trx, request, text)) ? 'answered' : 'no_answer';
}

/** Changes the opt-out ledger, and the contact that has the number. */
async function subscribe(trx: Queryable, request: Request, subscribed: boolean): Promise<void> {
  const { account_id: accountId, brand_id: brandId } = request.sender;
  const change = { accountId, brandId, channel: 'sms', of: { key: request.from } } as const;
  await setSubscription(
    trx,
    { keyring: request.deps.keyring, plusAddresses: false },
    subscribed
      ? { ...change, subscribed, source: 'sms_start' }
      : { ...change, subscribed, source: 'sms_stop' },
  );
}

async function obey(trx: Queryable, request: Request, keyword: SmsKeyword): Promise<InboundSmsOutcome> {
  switch (keyword) {
    case 'stop':
      await subscribe(trx, request, false);
      return 'opted_out';
    case 'start':
      await subscribe(trx, request, true);
      return 'opted_in';
    case 'help':
      return answerHelp(trx, request);
  }
}

/**
 * Handles an SMS from a recipient. STOP records an opt-out from the brand of the number, START ends it, and HELP is
 * answered with the brand's help text, unless the provider has answered it or the account cannot pay for it. Any other
 * text changes nothing, and no text is stored. An SMS that the provider delivers again changes nothing.
 * @param provider the named provider whose callback, already verified, delivered the SMS
 * @throws the database's error if it is unavailable; the provider then repeats the callback
 */
export async function handleInboundSms(
  deps: InboundSmsDeps,
  provider: { id: number | null },
  sms: InboundSms,
): Promise<InboundSmsOutcome> {
  const senders = sms.pool === null ? [sms.to] : [sms.to, sms.pool];
  const sender = await findAddressedSender(deps.pool, provider.id, senders);
  const from = parsePhone(sms.from);
  if (!sender || 'error' in from) return 'unknown_number';
  const keyword = sms.answered ?? readKeyword(sms.text, sender.keywords);
  if (keyword === null) return 'no_keyword';
  const request = { deps, providerId: provider.id, sender, from: from.e164 };
  const outcome = await inTransaction(deps.pool, async (trx): Promise<InboundSmsOutcome> => {
    const { providerMessageId } = sms;
    const given = { providerId: provider.id, brandId: sender.brand_id, keyword };
    if (providerMessageId !== null && !(await insertKeyword(trx, { ...given, providerMessageId })))
      return 'repeated';
    if (sms.answered === 'help') return 'no_answer';
    return obey(trx, request, keyword);
  });
  // A repeated STOP also waits: its first delivery may have failed before the wait.
  if (keyword === 'stop') await deps.fence.wait(sender.account_id);
  if (outcome === 'answered') {
    const backlog = {
      channel: 'sms',
      class: messageClasses.transactional,
      accountId: sender.account_id,
      providerId: provider.id ?? DEFAULT_PROVIDER,
    } as const;
    deps.waker.wake('send', [backlogName(backlog)]);
  }
  return outcome;
}
