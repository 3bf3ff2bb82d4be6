// Deleting a contact expires the exports whose files contain it or one of its addresses, and no others.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { clearPage } from '../../../src/features/contacts/removal-work.ts';
import type { RemovalStep } from '../../../src/features/contacts/service.ts';
import { createExportWriter, endExportsOfContact } from '../../../src/features/exports/service.ts';
import { exportsUpkeep } from '../../../src/features/exports/upkeep.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

const PATH = '/v1/my/exports';
const turn = { progress: () => undefined, stopping: new AbortController().signal };
const log = pino({ level: 'silent' });

let home: string;
let api: TestApi;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  api = await startTestApi({ env: { CARILLON_HOME: home } });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

const pool = () => api.database.pool;
/** Parts of a few rows. */
const writer = () =>
  createExportWriter({ pool: pool(), store: createHomeStore(home), quotaBytes: 1e9, partBytes: 400 });

async function addContact(email: string): Promise<number> {
  const { body } = await api.request('POST', '/v1/my/contacts', { body: { email } });
  return Number(body.id);
}

async function begin(resource: string, filters: object = {}, token = api.apiKey): Promise<number> {
  const { body } = await api.request('POST', PATH, { body: { resource, filters }, token });
  await writer().begin(Number(body.id), new Date());
  return Number(body.id);
}

async function finish(id: number): Promise<number> {
  await writer().plan(id, new Date(), turn);
  await writer().write(id, new Date(), turn);
  return id;
}

const exported = async (resource: string, filters: object = {}, token = api.apiKey) =>
  finish(await begin(resource, filters, token));

const urlOf = async (id: number, token = api.apiKey) =>
  (await api.request('GET', `${PATH}/${id}`, { token })).body.url as unknown;
const fileOf = async (id: number) => (await api.request('GET', `${PATH}/${id}/file`)).status;

/** Does the worker's work on deleted contacts, some minutes later. @returns whether there is more to do later */
async function clear(minutes: number, further = [endExportsOfContact]): Promise<boolean> {
  const asOf = new Date(Date.now() + minutes * 60_000);
  while (await clearPage(pool(), { asOf, further, log }));
  return (await pool().query('select 1 from contact_removals')).rowCount !== 0;
}

async function erase(id: number): Promise<void> {
  expect((await api.request('DELETE', `/v1/my/contacts/${id}`)).status).toBe(200);
}

async function insertMessage(to: string, channel = 'email'): Promise<void> {
  await pool().query(
    `insert into messages (account_id, brand_id, channel, status, to_address, to_key)
     values ($1, $2, $3, 'delivered', $4, lower($4))`,
    [api.accountId, api.brandId, channel, to],
  );
}

it('expires exports of contacts and messages that contain the contact, with their files', async () => {
  const ada = await addContact('Ada@Example.com');
  await addContact('bob@example.com');
  // More rows than are read at once.
  await insertContacts(pool(), api, 300);
  for (const to of ['bob@example.com', 'Ada@Example.com', 'cat@example.com']) await insertMessage(to);
  const holding = [
    await exported('contacts'),
    await exported('contacts', { email: 'ada@example.com' }),
    await exported('messages'),
    await exported('messages', { to: 'ada@example.com' }),
  ];
  const others = [
    await exported('contacts', { email: 'bob@example.com' }),
    await exported('messages', { to: 'cat@example.com' }),
    await exported('suppressions'),
  ];
  const foreign = await exported('contacts', {}, api.other.apiKey);
  const { rows } = await pool().query('select 1 from export_parts where export_id = $1', [holding[0]]);
  expect(rows.length).toBeGreaterThan(1);

  await erase(ada);
  await clear(0);
  for (const id of holding) expect([await urlOf(id), await fileOf(id)]).toEqual([null, 404]);
  for (const id of others) expect([await urlOf(id), await fileOf(id)]).toEqual([expect.any(String), 200]);
  expect(await urlOf(foreign, api.other.apiKey)).toEqual(expect.any(String));

  const deps = { config: api.config, database: api.database, log, partitions: [], processWork: [] };
  const task = exportsUpkeep.tasks?.find(({ name }) => name === 'expired_exports');
  await task?.run(deps, new Date(), () => undefined);
  const { rows: left } = await pool().query<{ export_id: number }>(
    'select distinct export_id from export_parts',
  );
  expect(left.map(({ export_id: id }) => id).sort()).toEqual([...others, foreign].sort());
  expect(await clear(2)).toBe(false);
});

it('expires an export that was being written once it is complete', async () => {
  const fay = await addContact('fay@example.com');
  const id = await begin('contacts');
  await writer().plan(id, new Date(), turn);
  // The rows were read before the contact was deleted.
  await writer().write(id, new Date(), { ...turn, stopping: turn.stopping });
  await pool().query(`update exports set status = 'processing', expires_at = null where id = $1`, [id]);
  await erase(fay);
  expect(await clear(0)).toBe(true);
  expect(await clear(2)).toBe(true);
  await writer().write(id, new Date(), turn);
  expect(await urlOf(id)).toEqual(expect.any(String));
  expect(await clear(4)).toBe(false);
  expect(await urlOf(id)).toBeNull();
});

it('repeats only the check of an export under way, at growing intervals', async () => {
  const eve = await addContact('eve@example.com');
  const id = await begin('contacts');
  await erase(eve);
  const taken = { other: 0, exports: 0 };
  const further: RemovalStep[] = [
    () => Promise.resolve((taken.other += 1) < 0),
    (...args) => {
      taken.exports += 1;
      return endExportsOfContact(...args);
    },
  ];
  expect(await clear(0, further)).toBe(true);
  expect(await clear(2, further)).toBe(true);
  expect(taken).toEqual({ other: 2, exports: 2 });
  for (let minutes = 4; minutes <= 40; minutes += 1) await clear(minutes, further);
  expect(taken.other).toBe(2);
  expect(taken.exports).toBeGreaterThan(4);
  expect(taken.exports).toBeLessThan(15);
  await finish(id);
  expect(await clear(60, further)).toBe(false);
  expect(taken.other).toBe(2);
});

it('expires exports whose contacts are unknown', async () => {
  const gus = await addContact('gus@example.com');
  const id = await exported('contacts', { email: 'bob@example.com' });
  await pool().query('update export_parts set holds = null where export_id = $1', [id]);
  await erase(gus);
  await clear(0);
  expect(await urlOf(id)).toBeNull();
});
