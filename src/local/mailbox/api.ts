import type pg from 'pg';
import { z } from 'zod';
import { clearCaptured, findCaptured, listCaptured, type CapturedSummary } from './captured.ts';
import { readMail } from './mail-content.ts';
import { json, type Answer } from './responses.ts';

const MOST_AT_ONCE = 200;

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
    .transform((limit) => Math.min(limit, MOST_AT_ONCE)),
});

/** The service's own error shape, so that one reader does for both. */
export function apiError(
  status: number,
  code: string,
  message: string,
  issues: Record<string, string[]> = {},
): Answer {
  return json(status, { error: true, code, message, validation_errors: issues });
}

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

function issuesByField(error: z.ZodError): Record<string, string[]> {
  const issues: Record<string, string[]> = {};
  for (const issue of error.issues) {
    const fields = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.join('.')];
    for (const field of fields) (issues[field] ??= []).push(issue.message);
  }
  return issues;
}

/** `GET /api/messages?to=…`: newest first, matches in all in `X-Total-Count`. */
export async function apiList(pool: pg.Pool, query: URLSearchParams): Promise<Answer> {
  const parsed = listQuery.safeParse(Object.fromEntries(query));
  if (!parsed.success) {
    return apiError(422, 'validation_error', 'the query is not valid', issuesByField(parsed.error));
  }
  const { to, q, channel, message_id, page, limit } = parsed.data;
  const filter = { to, search: q, channel, messageId: message_id };
  const { messages, total } = await listCaptured(pool, filter, { limit, offset: (page - 1) * limit });
  return json(200, messages.map(presentSummary), { 'X-Total-Count': String(total) });
}

/** `GET /api/messages/:id`: with its source, and what a mail program would make of it. */
export async function apiOne(pool: pg.Pool, id: number): Promise<Answer> {
  const captured = await findCaptured(pool, id);
  if (!captured) return apiError(404, 'not_found', 'message not found');
  const summary = presentSummary(captured);
  if (captured.raw === null) return json(200, summary);
  const { html, text, headers, attachments, problem } = await readMail(captured.raw);
  return json(200, {
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
  });
}

/** `DELETE /api/messages` */
export async function apiClear(pool: pg.Pool): Promise<Answer> {
  return json(200, { cleared_count: await clearCaptured(pool) });
}
