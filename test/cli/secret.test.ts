// Resealing seals every stored value with the new secret, so that nothing stored needs the previous one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { upkeep } from '../../src/features/upkeep.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { countSealed } from '../../src/platform/secrets/sealed-columns.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../support/api.ts';
import { carillonCommand } from '../support/commands.ts';
import { insertVerifiedDomain } from '../support/domains.ts';

const NEW = 'the new secret of at least thirty-two characters';
const STRANGE = 'a secret of another installation of Carillon';

let api: TestApi;
let home: string;
beforeAll(async () => {
  api = await startTestApi({ env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  home = mkdtempSync(join(tmpdir(), 'carillon-secret-'));
});
afterAll(async () => {
  await api.close();
  rmSync(home, { recursive: true, force: true });
});

function carillon(args: string[], secret: string, previous = '') {
  return carillonCommand(args, {
    DATABASE_URL: api.database.url,
    CARILLON_HOME: join(home, 'none'),
    APP_SECRET: secret,
    APP_SECRET_PREVIOUS: previous,
    EGRESS_ALLOW: '127.0.0.0/8',
  });
}

const idOf = (secret: string) => createKeyring(secret).subkey('at-rest').id;
const counts = () => countSealed(api.database.pool, upkeep.sealed);
const names = (columns: readonly { table: string; column: string }[]) =>
  columns.map(({ table, column }) => `${table}.${column}`).toSorted();

/** Makes a value in every sealed column, and returns the secret of a webhook. */
async function sealEverything(): Promise<string> {
  const webhook = await api.request('POST', '/v1/my/webhooks', {
    body: { url: 'https://127.0.0.1/hook', events: ['email.sent'] },
  });
  const path = `/v1/my/webhooks/${String(webhook.body.id)}`;
  const rotated = await api.request('POST', `${path}/rotate_secret`);
  expect(rotated.status).toBe(200);
  const call = { type: 'webhook', url: 'https://api.acme.test/', headers: { 'X-Token': 'a token of Acme' } };
  const flow = await api.request('POST', '/v1/my/flows', {
    body: { name: 'Calls', trigger: { event: 'signed_up' }, steps: [call] },
  });
  expect(flow.status).toBe(201);
  const keyring = createKeyring(TEST_SECRET);
  await insertVerifiedDomain(api.database, api, 'acme.test', { keyring });
  const added = await carillon(
    ['provider', 'add', 'acme', '--kind', 'smtp', '--set', 'url=smtp://127.0.0.1:25'],
    TEST_SECRET,
  );
  expect(added).toMatchObject({ code: 0 });
  expect(await carillon(['dkim', 'show'], TEST_SECRET)).toMatchObject({ code: 0 });
  const factor = await api.request('POST', '/v1/my/user/second_factor', { token: api.userJwt });
  expect(factor.status).toBe(201);
  return String(rotated.body.secret);
}

it('knows every column of the schema that is sealed', async () => {
  const { rows } = await api.database.pool.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public' and column_name like '%\\_sealed'`,
  );
  expect(names(upkeep.sealed)).toEqual(names(rows));
});

it('seals everything with the new secret, and changes nothing if it is repeated', async () => {
  const secret = await sealEverything();
  const before = await counts();
  expect([...new Set(names(before))]).toEqual(names(upkeep.sealed));
  expect(new Set(before.map((each) => each.secret))).toEqual(new Set([idOf(TEST_SECRET)]));

  const resealed = await carillon(['secret', 'reseal'], NEW, TEST_SECRET);
  expect(resealed).toMatchObject({
    code: 0,
    output: expect.stringContaining('dkim_keys.private_key_sealed  4 '),
  });
  expect(await counts()).toEqual(before.map((each) => ({ ...each, secret: idOf(NEW) })));

  const { rows } = await api.database.pool.query<{ id: number; sealed: string; previous: string }>(
    'select id, secret_sealed as sealed, previous_secret_sealed as previous from webhooks',
  );
  const place = {
    table: 'webhooks',
    column: 'secret_sealed',
    row: rows[0]?.id ?? 0,
    accountId: api.accountId,
  };
  expect(createKeyring(NEW).open(rows[0]?.sealed ?? '', place)).toBe(secret);
  expect(createKeyring(NEW).open(rows[0]?.previous ?? '', place)).toMatch(/^whsec_/);
  const listed = await carillon(['provider', 'list', '--reveal'], NEW);
  expect(listed).toMatchObject({ code: 0, output: expect.stringContaining('acme') });
  expect(listed.output).not.toContain('sealed');

  const again = await carillon(['secret', 'reseal', '--json'], NEW);
  expect(again).toMatchObject({ code: 0 });
  for (const each of JSON.parse(again.output) as object[]) {
    expect(each).toMatchObject({ resealed: 0, unopened: [] });
  }
  const after = await api.database.pool.query('select secret_sealed as sealed from webhooks');
  expect(after.rows).toEqual([{ sealed: rows[0]?.sealed }]);
});

it('lists the setting of each secret, and leaves a value of an unknown one as it is', async () => {
  const sealed = createKeyring(STRANGE).seal('x', {
    table: 'second_factors',
    column: 'secret_sealed',
    row: api.userId,
    accountId: null,
  });
  await api.database.pool.query('update second_factors set secret_sealed = $1', [sealed]);
  const { output } = await carillon(['secret', 'list'], NEW);
  expect(output).toContain(`${idOf(NEW)}  APP_SECRET           webhooks.secret_sealed  1\n`);
  expect(output).toContain(`${idOf(STRANGE)}  not set              second_factors.secret_sealed  1`);
  const resealed = await carillon(['secret', 'reseal'], NEW);
  expect(resealed).toMatchObject({
    code: 1,
    output: expect.stringContaining(
      `second_factors.secret_sealed of row ${api.userId} was sealed with another`,
    ),
  });
  expect(resealed.output).toMatch(/\ncarillon: 1 sealed value cannot be opened [^\n]*\n$/);
  const { rows } = await api.database.pool.query('select secret_sealed as sealed from second_factors');
  expect(rows).toEqual([{ sealed }]);
});
