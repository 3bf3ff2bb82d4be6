// Deleting a contact removes its address from validations, even while an operation takes candidates.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { clearPage } from '../../../src/features/contacts/removal-work.ts';
import { advanceValidation, type ValidationRunDeps } from '../../../src/features/validation/run.ts';
import type { Operation } from '../../../src/features/validation/schema.ts';
import { forgetValidatedContact } from '../../../src/features/validation/service.ts';
import { collectPage } from '../../../src/features/validation/snapshot.ts';
import { onClient } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import {
  addContacts as insert,
  attendance,
  emptyWallets,
  giveFunds,
  itemsOf,
  PATH,
  runToEnd,
  startValidation,
  validationDeps,
} from '../../support/validation.ts';
import { countWaiting } from '../../support/waiting.ts';

let api: TestApi;
let dns: TestDnsServer;
let deps: ValidationRunDeps;
beforeAll(async () => {
  dns = await startDnsServer({});
  api = await startTestApi({ env: { DNS_SERVERS: dns.address } });
  deps = validationDeps(api, dns);
});
afterAll(async () => {
  await api.close();
  dns.close();
});
beforeEach(async () => {
  await pool().query('truncate validation_operations, contacts, outbox cascade');
  await emptyWallets(pool());
  await giveFunds(pool(), api.accountId, { price: 400, millicents: 1_000_000 });
});

const pool = () => api.database.pool;
const addContacts = (emails: string[]) => insert(api, emails);

/** Clears the remaining data of deleted contacts, like a worker does. */
async function clearRemoved(): Promise<void> {
  const asOf = new Date(Date.now() + 1_000);
  const log = pino({ level: 'silent' });
  while (await clearPage(pool(), { asOf, further: [forgetValidatedContact], log }));
}

describe('the contact of an item', () => {
  it('removes the address when it is deleted, and an unchecked item becomes unknown', async () => {
    const ids = await addContacts(['a@gone.test', 'b@gnail.com', 'c@gone.test']);
    const { body } = await startValidation(api, { contact_ids: ids });
    await advanceValidation(deps, body.id, new Date(), attendance);
    await advanceValidation(deps, body.id, new Date(), attendance);
    const remove = async (id: number | undefined) => {
      expect((await api.request('DELETE', `/v1/my/contacts/${id}`)).status).toBe(200);
      await clearRemoved();
    };
    await remove(ids[2]);
    await runToEnd(deps, body.id);
    await remove(ids[0]);
    const items = await itemsOf(api, body.id);
    expect(items.map(({ email, verdict }) => [email, verdict])).toEqual([
      [null, 'undeliverable'],
      ['b@gnail.com', 'undeliverable'],
      [null, 'unknown'],
    ]);
    const { body: done } = await api.request<Operation>('GET', `${PATH}/${body.id}`);
    expect(done.charged_cents).toBe(0.8);
  });
});

describe('a contact that is deleted while its operation takes candidates', () => {
  it('leaves no address, although the page commits after the remaining data was cleared', async () => {
    const [first, last] = await addContacts(['first@gone.test', 'last@gone.test']);
    const { body } = await startValidation(api, { contact_ids: [first, last] as number[] });
    await advanceValidation(deps, body.id, new Date(), attendance);
    await onClient(pool(), async (other) => {
      // The page has read the first contact, and waits for this transaction to insert the last one.
      await other.query('begin');
      // It must not lock the operation, as the check of its foreign key would.
      await other.query('set local session_replication_role = replica');
      await other.query(
        'insert into validation_items (operation_id, contact_id, chargeable) values ($1, $2, false)',
        [body.id, last],
      );
      const page = collectPage(pool(), body.id, 1);
      await eventually(async () => expect(await countWaiting(pool())).toBe(1));
      expect((await api.request('DELETE', `/v1/my/contacts/${first}`)).status).toBe(200);
      const state = { isCleared: false };
      const clearing = clearRemoved().then(() => (state.isCleared = true));
      await eventually(async () => expect(state.isCleared || (await countWaiting(pool())) === 2).toBe(true));
      await other.query('rollback');
      await Promise.all([page, clearing]);
    });
    expect((await itemsOf(api, body.id)).map(({ email }) => email)).toEqual([null, 'last@gone.test']);
  });
});
