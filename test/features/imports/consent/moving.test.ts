// The page docs/moving.md says what becomes of each column of an export; a file with those columns shows it for each tool.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { importFile } from '../../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate lists, contacts, opt_outs, suppressions, imports cascade');
});

/** The page's tables: by heading of the section, what each column is used as. */
function documented(): Map<string, Map<string, string>> {
  const page = readFileSync(new URL('../../../../docs/moving.md', import.meta.url), 'utf8');
  return new Map(
    page.split(/^## /m).map((section) => {
      const rows = [...section.matchAll(/^\| `([^`]+)` +\| (?:`([^`]+)`|(ignored))/gm)];
      const title = section.slice(0, section.indexOf('\n'));
      return [title, new Map(rows.map(([, column = '', use, ignored]) => [column, ignored ?? use ?? '']))];
    }),
  );
}

interface Export {
  tool: string;
  file: readonly string[];
  options?: object;
  resource?: string;
  /** By the first letters of the address: whether its email is subscribed. */
  people: Record<string, boolean>;
  suppressed?: string[];
}

const exports: Export[] = [
  {
    tool: 'listmonk',
    file: [
      'uuid,email,name,attributes,status,created_at,updated_at',
      '4f2c0000-0000-4000-8000-000000000001,in@a.test,Ada Ash,"{""city"": ""Pune""}",enabled,2024-05-01 10:00:00+00,2024-05-01 10:00:00+00',
      '4f2c0000-0000-4000-8000-000000000002,out@a.test,Grace Hill,{},blocklisted,2024-05-01 10:00:00+00,2024-05-01 10:00:00+00',
    ],
    people: { in: true, out: false },
  },
  {
    tool: 'Mailchimp',
    file: [
      'Email Address,First Name,Last Name,Phone Number,Marketing Permissions,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,' +
        'LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,' +
        'UNSUB_REASON_OTHER,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID,LAST_CHANGED,LEID,EUID,NOTES,TAGS',
      'in@a.test,Ada,Ash,,Email,2,2023-01-02 03:04:05,,2023-01-02 03:04:05,,,,,,,US,CA,,,,,,,,,2024-03-02 09:15:44,1,a,,"""vip"""',
      'out@a.test,Bo,Bay,,,2,,,2023-01-02 03:04:05,,,,,,,US,CA,2024-03-02 09:15:44,Spring,1,NORMAL,,,,,2024-03-02 09:15:44,2,b,,',
      'cleaned@a.test,Cy,Cho,,,2,,,2023-01-02 03:04:05,,,,,,,US,CA,,,,,,2024-03-02 09:15:44,Spring,1,2024-03-02 09:15:44,3,c,,',
    ],
    people: { in: true, out: false, cleaned: false },
    suppressed: ['cleaned@a.test'],
  },
  {
    tool: 'Brevo',
    file: [
      'CONTACT ID;EMAIL;LASTNAME;FIRSTNAME;SMS;EMAIL_BLACKLISTED;SMS_BLACKLISTED;DOUBLE_OPT-IN;ADDED_TIME;MODIFIED_TIME',
      '1;in@a.test;Ash;Ada;33612345678;No;Yes;Yes;2024-01-01 10:00;2024-01-01 10:00',
      '2;out@a.test;Hill;Grace;;Yes;No;Yes;2024-01-01 10:00;2024-01-01 10:00',
      '3;pending@a.test;Poe;Pat;;No;No;No;2024-01-01 10:00;2024-01-01 10:00',
    ],
    options: { mapping: { SMS: 'data.SMS' } },
    people: { in: true, out: false, pending: false },
  },
  {
    tool: 'HubSpot',
    file: [
      'Record ID,First Name,Last Name,Email,Mobile Phone Number,Contact owner,Lead Status,Marketing contact status,' +
        'Unsubscribed from all email,Opted out of email: Marketing Information,Email hard bounce reason,Invalid email address,Create Date',
      '101,Ada,Ash,in@a.test,,Bo,NEW,Marketing contact,No,,,No,2024-01-01 10:00',
      '102,Bo,Bay,out@a.test,,Bo,NEW,Marketing contact,Yes,,,No,2024-01-01 10:00',
      '103,Cy,Cho,type@a.test,,Bo,NEW,Marketing contact,No,Yes,,No,2024-01-01 10:00',
      '104,Di,Dow,bounced@a.test,,Bo,NEW,Marketing contact,No,,UNKNOWN_USER,No,2024-01-01 10:00',
      '105,Ed,Eco,never@a.test,,Bo,NEW,Non-marketing contact,No,,,No,2024-01-01 10:00',
    ],
    people: { in: true, out: false, type: false, bounced: false, never: false },
    suppressed: ['bounced@a.test'],
  },
  {
    tool: 'Klaviyo',
    file: [
      'Email,Klaviyo ID,First Name,Last Name,Organization,Title,Phone Number,Address,City,State / Region,Zip Code,Source,' +
        'Email Marketing Consent,Email Marketing Consent Timestamp,SMS Marketing Consent,SMS Marketing Consent Timestamp,' +
        'First Active,Last Active,Profile Created On,Email Suppressions,Email Suppressions Timestamp',
      'in@a.test,A,Ada,Ash,,,,,,,,form,SUBSCRIBED,2024-01-01T10:00:00+00:00,NEVER_SUBSCRIBED,,,,,[],',
      'out@a.test,B,Bo,Bay,,,,,,,,form,UNSUBSCRIBED,2024-02-01T10:00:00+00:00,,,,,,[],',
      'never@a.test,C,Cy,Cho,,,,,,,,form,NEVER_SUBSCRIBED,,,,,,,[],',
      `bounced@a.test,D,Di,Dow,,,,,,,,form,SUBSCRIBED,2024-01-01T10:00:00+00:00,,,,,,['HARD_BOUNCE'],2024-02-01T10:00:00+00:00`,
    ],
    people: { in: true, out: false, never: false, bounced: false },
    suppressed: ['bounced@a.test'],
  },
  {
    tool: 'SendGrid',
    file: [
      'EMAIL,FIRST_NAME,LAST_NAME,ADDRESS_LINE_1,CITY,STATE_PROVINCE_REGION,POSTAL_CODE,PHONE_NUMBER,CONTACT_ID,CREATED_AT,UPDATED_AT',
      'in@a.test,Ada,Ash,,,,,,1,2024-01-01T10:00:00Z,2024-01-01T10:00:00Z',
    ],
    people: { in: true },
  },
  {
    tool: 'SendGrid: unsubscribed',
    file: ['email,created', 'out@a.test,1714557600'],
    options: { status: 'unsubscribed', mapping: { created: 'opted_out_at' } },
    people: { out: false },
  },
  {
    tool: 'Postmark',
    file: [
      'EmailAddress,SuppressionReason,Origin,CreatedAt',
      'out@a.test,ManualSuppression,Recipient,2024-01-01T10:00:00Z',
      'bounced@a.test,HardBounce,Recipient,2024-01-01T10:00:00Z',
      'spam@a.test,SpamComplaint,Recipient,2024-01-01T10:00:00Z',
    ],
    people: { bounced: false, out: false, spam: false },
    suppressed: ['bounced@a.test', 'spam@a.test'],
  },
];

it.each(exports)('an export of $tool', async ({ tool, file, options = {}, people, suppressed = [] }) => {
  const done = await importFile(api, { file: file.join('\n'), options });
  expect(done).toMatchObject({ status: 'completed', created_count: file.length - 1, errors: [] });
  const { rows } = await api.database.pool.query<{ name: string; is: boolean }>(
    `select split_part(email, '@', 1) as name, email_subscribed as is from contacts`,
  );
  expect(Object.fromEntries(rows.map(({ name, is }) => [name, is]))).toEqual(people);
  const { rows: found } = await api.database.pool.query<{ email: string }>(
    'select email from suppressions order by email',
  );
  expect(found.map(({ email }) => email)).toEqual(suppressed);
  const used = done.columns?.map(({ name, used_as: use }) => [name, use ?? 'ignored']);
  expect(Object.fromEntries(used ?? [])).toEqual(Object.fromEntries(documented().get(tool) ?? []));
});

it('has no other tables', () => {
  const tables = [...documented()].filter(([, columns]) => columns.size > 0).map(([title]) => title);
  expect(tables).toEqual(exports.map(({ tool }) => tool));
});
