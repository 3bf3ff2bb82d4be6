import { Pool } from 'undici';
import {
  createSecret,
  keyOfSecret,
  signatureHeaders,
  webhookIdOf,
} from '../../src/features/webhooks/signature.ts';
import { testCa } from '../support/https-receiver.ts';
import { rounded } from './machine.ts';

/**
 * Calibrates webhook deliveries: only signed POST requests with the same body, over keep-alive connections.
 * @param options.requests total over all connections
 */
export async function runSignedPosts(options: { port: number; connections: number; requests: number }) {
  const { port, connections, requests } = options;
  const pool = new Pool(`https://127.0.0.1:${port}`, { connections, connect: { ca: testCa } });
  const key = keyOfSecret(createSecret());
  const id = webhookIdOf('7d9f2c3a-0f58-4f0e-9b38-0c6b9d1a2e4f');
  const data = { message_id: 1, to: 'ann@example.com', subject: 'Your receipt', provider: 'smtp', tags: {} };
  let left = requests;
  const run = async () => {
    while (left-- > 0) {
      const body = JSON.stringify({ type: 'email.sent', timestamp: new Date().toISOString(), data });
      const headers = {
        'content-type': 'application/json',
        ...signatureHeaders([key], id, new Date(), body),
      };
      const { statusCode, body: answer } = await pool.request({ method: 'POST', path: '/ok', headers, body });
      await answer.dump();
      if (statusCode !== 200) throw new Error(`the subscriber responded with ${statusCode}`);
    }
  };
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, run));
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  await pool.close();
  return {
    posts_per_second: rounded(requests / seconds),
    client_cpu_us_per_post: rounded((user + system) / requests),
  };
}
