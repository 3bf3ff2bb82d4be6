// The operator can add, list and remove the SMS sender of a brand.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount } from '../support/queued.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

const carillon = (...args: string[]) => carillonCommand(args, { DATABASE_URL: made.url });

describe('carillon sms-sender', () => {
  it('adds, lists and removes the sender of a brand', async () => {
    const { brandId } = await insertAccount(made.database);
    const brand = ['--brand', String(brandId)];
    const added = await carillon(
      'sms-sender',
      'add',
      ...brand,
      '--from',
      '+14155550123',
      '--help-text',
      'Call us',
    );
    expect(added).toMatchObject({ code: 0, output: expect.stringContaining('+14155550123') });
    const listed = await carillon('sms-sender', 'list', '--json');
    expect(JSON.parse(listed.output)).toEqual([
      expect.objectContaining({
        brand_id: brandId,
        sender: '+14155550123',
        help_text: 'Call us',
        provider: null,
      }),
    ]);
    const second = await carillon('sms-sender', 'add', ...brand, '--from', 'Acme');
    expect(second).toMatchObject({ code: 1, output: expect.stringContaining('has a sender') });
    expect(await carillon('sms-sender', 'remove', ...brand)).toMatchObject({ code: 0 });
    expect(await carillon('sms-sender', 'list')).toMatchObject({ code: 0, output: 'no SMS senders\n' });
  });
});
