// Old template versions stay until no message, campaign, flow or template uses them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { findVersionOf } from '../../../src/features/templates/template-versions.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import type { HousekeepingDependencies } from '../../../src/platform/housekeeping/task.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 40;
/** Partitions of messages have eight weeks. */
const GONE_AFTER_DAYS = RETENTION_DAYS + 57;
const now = new Date('2026-03-10T12:00:00Z');
const afterDays = (days: number) => new Date(now.getTime() + days * DAY_MS);

let db: TestDatabase;
let account: QueuedAccount;

beforeAll(async () => {
  db = await createTestDatabase();
}, 60_000);
beforeEach(async () => {
  await query('truncate templates, template_versions, drafts');
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await db.database.pool.query<Row>(text, values)).rows;

function removeOld(asOf: Date): Promise<number> {
  const config = loadConfig({ MESSAGE_RETENTION_DAYS: String(RETENTION_DAYS) });
  const log = pino({ level: 'silent' });
  const deps: HousekeepingDependencies = { config, database: db.database, log, ...upkeep };
  const task = upkeep.tasks.find(({ name }) => name === 'old_template_versions');
  if (!task) throw new Error('no such task');
  return task.run(deps, asOf, () => undefined);
}

const idOf = async (text: string, values: unknown[]): Promise<number> =>
  (await query<{ id: number }>(text, values))[0]?.id ?? 0;

const insertTemplate = (owner: { campaignId?: number; flowId?: number } = {}) =>
  idOf(
    'insert into templates (account_id, brand_id, campaign_id, flow_id) values ($1, $2, $3, $4) returning id',
    [account.accountId, account.brandId, owner.campaignId ?? null, owner.flowId ?? null],
  );

const hashOf = (content: string) => Buffer.from(content);
const insertVersion = (templateId: number, content: string) =>
  idOf(
    `insert into template_versions (template_id, account_id, brand_id, channel, content_hash, created_at)
     values ($1, $2, $3, 'email', $4, '2020-01-01') returning id`,
    [templateId, account.accountId, account.brandId, hashOf(content)],
  );

const left = async () =>
  (await query<{ id: number }>('select id from template_versions order by id')).map(({ id }) => id);

/** A template with two versions, of which the second is the present one. */
async function editedTemplate() {
  const templateId = await insertTemplate();
  const old = await insertVersion(templateId, 'old');
  const present = await insertVersion(templateId, 'present');
  await query('update templates set version_id = $2 where id = $1', [templateId, present]);
  return { templateId, old, present };
}

describe('old versions of templates', () => {
  it('stay until none of their messages can be left', async () => {
    const { old, present } = await editedTemplate();
    expect(await removeOld(now)).toBe(0);
    expect(await removeOld(afterDays(GONE_AFTER_DAYS - 0.1))).toBe(0);
    expect(await left()).toEqual([old, present]);
    expect(await removeOld(afterDays(GONE_AFTER_DAYS + 0.1))).toBe(1);
    expect(await left()).toEqual([present]);
  });

  it('stay while a campaign or a flow sends them', async () => {
    const campaignId = await idOf(
      `insert into campaigns (account_id, brand_id, name, version_ids) values ($1, $2, 'Sale', '{}') returning id`,
      [account.accountId, account.brandId],
    );
    const flowId = await idOf(
      `insert into flows (account_id, brand_id, name) values ($1, $2, 'Welcome') returning id`,
      [account.accountId, account.brandId],
    );
    const ofCampaign = await insertVersion(await insertTemplate({ campaignId }), 'campaign');
    const flowTemplate = await insertTemplate({ flowId });
    const ofFlow = await insertVersion(flowTemplate, 'flow');
    await query('update campaigns set version_ids = array[$2::bigint] where id = $1', [
      campaignId,
      ofCampaign,
    ]);
    await query('insert into flow_contents values ($1, 1, $2, $3)', [flowId, flowTemplate, ofFlow]);
    await removeOld(now);
    expect(await removeOld(afterDays(500))).toBe(0);
    await query(`update campaigns set version_ids = '{}' where id = $1`, [campaignId]);
    await removeOld(afterDays(500));
    expect(await removeOld(afterDays(600))).toBe(1);
    expect(await left()).toEqual([ofFlow]);
  });

  it('stay if the template gets their content again', async () => {
    const { templateId, old, present } = await editedTemplate();
    await removeOld(now);
    const again = await findVersionOf(db.database.pool, templateId, hashOf('old'));
    expect(again?.id).toBe(old);
    expect(await removeOld(afterDays(500))).toBe(0);
    expect(await left()).toEqual([old, present]);
  });

  it('are checked page by page', async () => {
    const templateId = await insertTemplate();
    await query(
      `insert into template_versions (template_id, account_id, brand_id, channel, content_hash)
       select $1, $2, $3, 'email', int4send(n) from generate_series(1, 2500) n`,
      [templateId, account.accountId, account.brandId],
    );
    const [kept] = (await left()).slice(-1);
    await query('update templates set version_id = $2 where id = $1', [templateId, kept]);
    await removeOld(now);
    expect(await removeOld(afterDays(500))).toBe(2_499);
    expect(await left()).toEqual([kept]);
  });
});
