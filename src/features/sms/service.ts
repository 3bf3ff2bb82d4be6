import { parsePhone } from '../../delivery/terms/addresses/phone.ts';
import { countSegments } from '../../delivery/terms/texts/sms-segments.ts';
import { AppError, invalid, notFound, type ValidationErrors } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  findSenders,
  findSmsProviderId,
  insertSender,
  removeSenderOfBrand,
  type SmsSenderRow,
} from './model.ts';

export { handleInboundSms, type InboundSmsDeps, type InboundSmsOutcome } from './inbound.ts';
export type { SmsSenderRow };

const MAX_HELP_SEGMENTS = 2;
const MAX_KEYWORDS_CHARACTERS = 200;
/** A short code, which works only within its country. */
const SHORT_CODE = /^\d{3,8}$/;
/** GSM 03.40, section 9.1.2.5: at most 11 characters. A name without a letter would look like a number. */
const ALPHANUMERIC = /^(?=.*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9 &.-]{0,9}[A-Za-z0-9])?$/;
/** A Messaging Service of Twilio, which chooses one of its numbers for each message. */
const TWILIO_POOL = /^MG[0-9a-f]{32}$/;

export interface SmsSenderInput {
  brandId: number;
  /** A named provider; null: that of SMS_PROVIDER_URL. */
  provider: string | null;
  from: string;
  /** Words that mean STOP, in addition to the usual ones, separated by commas. */
  keywords: string | null;
  helpText: string | null;
}

/** @returns null if the text cannot be a sender */
function senderKind(from: string): { takesReplies: boolean } | null {
  if (!('error' in parsePhone(from)) || SHORT_CODE.test(from) || TWILIO_POOL.test(from)) {
    return { takesReplies: true };
  }
  return ALPHANUMERIC.test(from) ? { takesReplies: false } : null;
}

function errorsOf({ keywords, helpText }: SmsSenderInput, isSender: boolean): ValidationErrors {
  const errors: ValidationErrors = {};
  if (!isSender) {
    errors.from = [
      'must be a number such as +14155550123, a short code, a name of at most 11 letters and digits, or the id of a Twilio Messaging Service',
    ];
  }
  if (keywords !== null && keywords.length > MAX_KEYWORDS_CHARACTERS) {
    errors.keywords = [`must have at most ${MAX_KEYWORDS_CHARACTERS} characters`];
  }
  if (helpText !== null && countSegments(helpText).segments > MAX_HELP_SEGMENTS) {
    errors.help_text = [`must fit into ${MAX_HELP_SEGMENTS} segments`];
  }
  return errors;
}

/**
 * Sets the SMS sender of a brand. Sending processes use it within a second.
 * @throws AppError validation_error; not_found if there is no such brand, or no such provider for its account; conflict
 *   if the brand already has a sender, or another brand has the number, because replies could then belong to either
 *   brand
 */
export async function addSmsSender(db: Queryable, input: SmsSenderInput): Promise<SmsSenderRow> {
  const kind = senderKind(input.from);
  const errors = errorsOf(input, kind !== null);
  if (kind === null || Object.keys(errors).length > 0) throw invalid(errors);
  const providerId =
    input.provider === null ? null : await findSmsProviderId(db, input.provider, input.brandId);
  if (input.provider !== null && providerId === null) throw notFound('SMS provider');
  try {
    const row = await insertSender(db, { ...input, ...kind, sender: input.from, providerId });
    if (!row) throw notFound('brand');
    return row;
  } catch (error) {
    throw conflictOf(error) ?? error;
  }
}

function conflictOf(error: unknown): AppError | null {
  switch ((error as { constraint?: string }).constraint) {
    case 'sms_senders_brand':
      return new AppError('conflict', 'the brand has a sender; remove it first');
    case 'sms_senders_number':
      return new AppError('conflict', 'another brand sends from this number');
    default:
      return null;
  }
}

/** @param brandId null: of all brands */
export function listSmsSenders(db: Queryable, brandId: number | null): Promise<SmsSenderRow[]> {
  return findSenders(db, brandId);
}

/**
 * Removes the sender of a brand. Its SMS then go through the provider of SMS_PROVIDER_URL.
 * @throws AppError not_found if the brand has none
 */
export async function removeSmsSender(db: Queryable, brandId: number): Promise<SmsSenderRow> {
  const row = await removeSenderOfBrand(db, brandId);
  if (!row) throw notFound('SMS sender');
  return row;
}
