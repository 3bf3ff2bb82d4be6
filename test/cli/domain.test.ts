// The operator can begin and end the warm-up of a verified domain, and set its pace.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount } from '../support/queued.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
  const { accountId, brandId } = await insertAccount(made.database);
  await made.database.pool.query(
    `insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
     values ($1, $2, 'news.acme.test', 'verified', 'r', 't')`,
    [accountId, brandId],
  );
});
afterAll(() => made.drop());

const carillon = (...args: string[]) =>
  carillonCommand(args, { DATABASE_URL: made.url, WARM_UP_SCHEDULE: '50,100' });

describe('carillon domain', () => {
  it('begins, shows and ends the warm-up of a verified domain', async () => {
    const on = await carillon('domain', 'warmup', 'news.acme.test', 'on');
    expect(on).toMatchObject({
      code: 0,
      output: expect.stringMatching(/step +1 of 2\nemails today +0 of 50\n/),
    });
    const shown = await carillon('domain', 'warmup', 'news.acme.test', 'show', '--json');
    expect(JSON.parse(shown.output)).toMatchObject({ warm_up: { step: 1, daily_limit: 50, used_today: 0 } });
    const off = await carillon('domain', 'warmup', 'news.acme.test', 'off');
    expect(off).toMatchObject({ code: 0, output: expect.stringMatching(/warm-up +off/) });
    const unknown = await carillon('domain', 'warmup', 'other.test', 'on');
    expect(unknown).toMatchObject({ code: 1, output: expect.stringContaining('verified domain') });
  });

  it('sets the pace of a domain', async () => {
    const paceOf = async (text: string) => {
      const { code } = await carillon('domain', 'pace', 'news.acme.test', text);
      const { rows } = await made.database.pool.query('select per_minute from domain_paces');
      return [code, rows[0]?.per_minute];
    };
    expect(await paceOf('600')).toEqual([0, 600]);
    expect(await paceOf('off')).toEqual([0, 0]);
    expect(await paceOf('default')).toEqual([0, null]);
  });
});
