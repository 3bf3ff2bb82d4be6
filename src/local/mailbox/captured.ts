import type pg from 'pg';

/** A captured message as the list shows it. */
export interface CapturedSummary {
  id: number;
  messageId: number;
  attempt: number;
  channel: 'email' | 'sms';
  returnPath: string | null;
  from: string | null;
  to: string;
  subject: string | null;
  /** The text of an SMS. */
  body: string | null;
  sizeBytes: number;
  capturedAt: Date;
}

/** A captured message with the whole email; `raw` is null for an SMS. */
export interface Captured extends CapturedSummary {
  raw: Buffer | null;
}

export interface CapturedFilter {
  /** The exact recipient, ignoring case. */
  to?: string | undefined;
  /** Part of the recipient, sender, subject or SMS text, ignoring case. */
  search?: string | undefined;
  channel?: 'email' | 'sms' | undefined;
  messageId?: number | undefined;
}

export interface CapturedPage {
  messages: CapturedSummary[];
  /** Number of matches on all pages. */
  total: number;
}

const SUMMARY = `id, message_id as "messageId", attempt, channel, return_path as "returnPath", from_address as "from",
  to_address as "to", subject, body, size_bytes as "sizeBytes", captured_at as "capturedAt"`;

const MATCHES = `($1::text is null or lower(to_address) = lower($1))
  and ($2::text is null or position(lower($2) in lower(concat_ws(' ', to_address, from_address, subject, body))) > 0)
  and ($3::text is null or channel = $3)
  and ($4::bigint is null or message_id = $4)`;

/** Replaces NUL, which PostgreSQL refuses and no stored text contains. */
function storable(text: string | undefined): string | null {
  return text?.replaceAll('\0', '�') || null;
}

function parameters(filter: CapturedFilter): unknown[] {
  const { to, search, channel, messageId } = filter;
  return [storable(to), storable(search), channel ?? null, messageId ?? null];
}

/** Matches, newest first. */
export async function listCaptured(
  pool: pg.Pool,
  filter: CapturedFilter,
  page: { limit: number; offset: number },
): Promise<CapturedPage> {
  const values = parameters(filter);
  const [counted, found] = await Promise.all([
    pool.query<{ total: number }>(`select count(*) as total from captured_messages where ${MATCHES}`, values),
    pool.query<CapturedSummary>(
      `select ${SUMMARY} from captured_messages where ${MATCHES} order by id desc limit $5 offset $6`,
      [...values, page.limit, page.offset],
    ),
  ]);
  return { messages: found.rows, total: counted.rows[0]?.total ?? 0 };
}

/** @returns null if the message does not exist or was cleared */
export async function findCaptured(pool: pg.Pool, id: number): Promise<Captured | null> {
  const { rows } = await pool.query<Captured>(`select ${SUMMARY}, raw from captured_messages where id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** Deletes all captured messages. @returns their number */
export async function clearCaptured(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query('delete from captured_messages');
  return rowCount ?? 0;
}
