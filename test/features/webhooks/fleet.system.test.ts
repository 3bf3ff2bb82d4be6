// All senders together make about 16 attempts at once at one endpoint, however many senders run.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { registerProcess } from '../../../src/platform/processes/process.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { type Receiver, startReceiver } from '../../support/https-receiver.ts';
import { addWebhook, publishSent, type RunningLoop, startWebhookLoop } from '../../support/webhooks.ts';

const MAX_PER_ENDPOINT = 16;
const EVENTS = 240;
/** Long enough for 16 attempts to begin meanwhile on a slow machine. */
const ANSWER_MS = 500;
/** How long `eventually` waits on a busy machine. */
const PATIENCE_MS = 60_000;

let test: TestDatabase;
let tenant: TestTenant;
let receiver: Receiver;
let loops: RunningLoop[] = [];
let open = 0;
let mostOpen = 0;
let answered = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Fleet');
  receiver = await startReceiver({
    answer: (_request, response) => {
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      setTimeout(() => {
        open -= 1;
        answered += 1;
        response.writeHead(204).end();
      }, ANSWER_MS);
    },
  });
});
afterAll(async () => {
  await receiver.close();
  await test.drop();
});
afterEach(async () => {
  await Promise.all(loops.map((each) => each.stop()));
}, PATIENCE_MS);

it.each([1, 2, 3, 4])(
  'makes about 16 attempts at once at an endpoint, with senders: %i',
  async (senders) => {
    const { database } = test;
    await database.pool.query('delete from webhooks; delete from webhook_queue; delete from processes');
    const processes = await Promise.all(
      Array.from({ length: senders }, () =>
        registerProcess({ url: database.url }, 'sender', upkeep.processWork),
      ),
    );
    [mostOpen, answered] = [0, 0];
    loops = await Promise.all(processes.map((process) => startWebhookLoop(database, { process })));
    await addWebhook(database, tenant, receiver.url('/hook', '127.0.0.1'));
    await publishSent(
      database,
      tenant,
      Array.from({ length: EVENTS }, (_, index) => index + 1),
    );
    await eventually(() => expect(answered).toBe(EVENTS), PATIENCE_MS);
    expect(mostOpen).toBeLessThanOrEqual(MAX_PER_ENDPOINT * 1.1);
    expect(mostOpen).toBeGreaterThanOrEqual(MAX_PER_ENDPOINT * 0.9);
  },
  2 * PATIENCE_MS,
);
