import { invalid } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { ReadFile } from '../attachments/service.ts';
import { isOpaqueBody, type LetterFileRow } from './letter-model.ts';
import type { StoredMessage } from './rendered.ts';
import type { SendMessageBody } from './schema.ts';

/** Why a message cannot be resent; null: it can. */
function refusalOf(tenant: Tenant, row: StoredMessage, files: readonly LetterFileRow[]): string | null {
  if (typeof row.campaign_id === 'number' || typeof row.flow_id === 'number')
    return 'is a message of a campaign or flow; only transactional messages can be resent';
  if (row.test && !isTestCaller(tenant.actor)) return 'is a test message';
  if (row.to_address === null) return 'has no recipient any more: the contact was removed';
  if (files.some(isOpaqueBody))
    return 'is sent as a program wrote it, such as signed; only that program can send it again';
  if (row.html === null && row.text === null) return 'has no content any more';
  return null;
}

/** Only what was turned off: the brand may have turned tracking off since. */
function trackingOf({ tracking }: StoredMessage): SendMessageBody['tracking'] {
  return {
    ...(tracking?.opens === false ? { opens: false } : {}),
    ...(tracking?.clicks === false ? { clicks: false } : {}),
  };
}

/**
 * The request that would send a message once more, with its content as it was sent.
 * @param files of its letter
 * @throws AppError validation_error that names `id` if the message cannot be resent
 */
export function bodyOf(tenant: Tenant, row: StoredMessage, files: readonly LetterFileRow[]): SendMessageBody {
  const refusal = refusalOf(tenant, row, files);
  if (refusal !== null) throw invalid({ id: [refusal] });
  const common = { channel: row.channel, to: row.to_address ?? '', body: row.text ?? undefined };
  if (row.channel === 'sms') return common;
  return {
    ...common,
    subject: row.subject ?? undefined,
    html: row.html ?? undefined,
    from: row.from_address ?? undefined,
    reply_to: row.several_reply_to ?? row.reply_to ?? undefined,
    headers: row.headers ?? undefined,
    tags: row.tags ?? undefined,
    tracking: trackingOf(row),
  };
}

/** The files of a letter, for another one. Their bytes are stored already. */
export const filesOf = (rows: readonly LetterFileRow[]): ReadFile[] =>
  rows.map((row, index) => ({
    filename: row.filename,
    contentType: row.content_type,
    contentId: row.content_id,
    disposition: row.disposition,
    size: row.size,
    sha256: row.sha256,
    folded: null,
    field: `attachments.${index}`,
  }));
