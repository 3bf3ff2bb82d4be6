import type pg from 'pg';
import { z } from 'zod';
import { invalid, notFound } from '../../errors.ts';
import type { JsonResult } from '../../platform/http/reply.ts';
import { parseWith } from '../../platform/input/validation.ts';
import { clearCaptured, findCaptured, listCaptured, type CapturedSummary } from './captured.ts';
import { readMail } from './mail-content.ts';

const MAX_LIMIT = 200;

const listQuery = z.strictObject({
  to: z.string().optional(),
  q: z.string().optional(),
  channel: z.enum(['email', 'sms']).optional(),
  message_id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .default(50)
    .transform((limit) => Math.min(limit, MAX_LIMIT)),
});

function presentSummary(captured: CapturedSummary) {
  return {
    id: captured.id,
    message_id: captured.messageId,
    attempt: captured.attempt,
    channel: captured.channel,
    return_path: captured.returnPath,
    from: captured.from,
    to: captured.to,
    subject: captured.subject,
    body: captured.body,
    size_bytes: captured.sizeBytes,
    captured_at: captured.capturedAt.toISOString(),
  };
}

/** `GET /api/messages?to=…`: newest first; `X-Total-Count` is the number of matches. */
export async function apiList(pool: pg.Pool, query: URLSearchParams): Promise<JsonResult> {
  const parsed = parseWith(listQuery, Object.fromEntries(query), 'query parameter');
  if (!parsed.ok) throw invalid(parsed.errors);
  const { to, q, channel, message_id, page, limit } = parsed.value as z.output<typeof listQuery>;
  const filter = { to, search: q, channel, messageId: message_id };
  const { messages, total } = await listCaptured(pool, filter, { limit, offset: (page - 1) * limit });
  return { status: 200, body: messages.map(presentSummary), headers: { 'X-Total-Count': String(total) } };
}

/** `GET /api/messages/:id`: the message with its source, and its parts as a mail program would show them. */
export async function apiOne(pool: pg.Pool, id: number): Promise<JsonResult> {
  const captured = await findCaptured(pool, id);
  if (!captured) throw notFound('message');
  const summary = presentSummary(captured);
  if (captured.raw === null) return { status: 200, body: summary };
  const { html, text, headers, attachments, problem } = await readMail(captured.raw);
  const body = {
    ...summary,
    html,
    text,
    headers,
    attachments: attachments.map(({ filename, contentType, contentId, content }) => ({
      filename,
      content_type: contentType,
      content_id: contentId,
      size_bytes: content.length,
    })),
    problem,
    source_base64: captured.raw.toString('base64'),
  };
  return { status: 200, body };
}

/** `DELETE /api/messages` */
export async function apiClear(pool: pg.Pool): Promise<JsonResult> {
  return { status: 200, body: { cleared_count: await clearCaptured(pool) } };
}
