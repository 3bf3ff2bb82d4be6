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

/** One with the whole email; `raw` is null for an SMS. */
export interface Captured extends CapturedSummary {
  raw: Buffer | null;
}

export interface CapturedFilter {
  /** A recipient, exactly, whatever its case. */
  to?: string | undefined;
  /** Part of a recipient, sender, subject or SMS, whatever its case. */
  search?: string | undefined;
  channel?: 'email' | 'sms' | undefined;
  messageId?: number | undefined;
}

export interface CapturedPage {
  messages: CapturedSummary[];
  /** Matches in all. */
  total: number;
}

const SUMMARY = `id, message_id as "messageId", attempt, channel, return_path as "returnPath", from_address as "from",
  to_address as "to", subject, body, size_bytes as "sizeBytes", captured_at as "capturedAt"`;

const MATCHES = `($1::text is null or lower(to_address) = lower($1))
  and ($2::text is null or position(lower($2) in lower(concat_ws(' ', to_address, from_address, subject, body))) > 0)
  and ($3::text is null or channel = $3)
  and ($4::bigint is null or message_id = $4)`;

/** Text that PostgreSQL can take: nothing stored holds a NUL. */
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

/** @returns null where there is none, or it was cleared */
export async function findCaptured(pool: pg.Pool, id: number): Promise<Captured | null> {
  const { rows } = await pool.query<Captured>(`select ${SUMMARY}, raw from captured_messages where id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** Forget all that is kept. @returns how many there were */
export async function clearCaptured(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query('delete from captured_messages');
  return rowCount ?? 0;
}
