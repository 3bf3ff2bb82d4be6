import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { z } from 'zod';

/**
 * Calibrates accepted requests: a Koa server that only parses a JSON body, validates it with zod and responds. A GET
 * calibrates redirects.
 */
const schema = z.strictObject({
  channel: z.enum(['email', 'sms']),
  to: z.string().min(1).max(1_000),
  subject: z.string().max(998).optional(),
  html: z.string().optional(),
  body: z.string().optional(),
});

async function readJson(request: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

const app = new Koa();
let id = 0;
app.use(async (ctx) => {
  if (ctx.method === 'GET') {
    ctx.status = 302;
    ctx.set('Location', 'https://a.test/1?x=1&y=%20#z');
    ctx.body = '';
    return;
  }
  const parsed = schema.safeParse(await readJson(ctx.req));
  ctx.status = parsed.success ? 201 : 422;
  ctx.body = { id: ++id, status: 'queued', ...parsed.data };
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
