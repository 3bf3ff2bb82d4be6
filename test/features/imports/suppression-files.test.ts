// The suppression lists of other services are imported with their reasons, and none of their addresses is lost.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { importFile, postImport } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate suppressions, imports cascade');
});

async function stored(columns = 'address_key, reason'): Promise<unknown[][]> {
  const { rows } = await api.database.pool.query<Record<string, unknown>>(
    `select ${columns} from suppressions order by address_key`,
  );
  return rows.map((row) => Object.values(row));
}

const GONE = '550 5.1.1 The email account that you tried to reach does not exist';

interface List {
  name: string;
  header: string;
  /** Each row, and why its address is suppressed; null: it is not. */
  rows: Record<string, string | null>;
}

const lists: List[] = [
  {
    name: 'SendGrid, bounces',
    header: 'status,reason,email,created',
    rows: {
      [`5.1.1,"${GONE}",a@x.org,1714557600`]: 'hard_bounce',
      '4.2.2,"452 4.2.2 The email account is over quota",b@x.org,1714557600': 'soft_bounce',
      '5.7.1,"550 5.7.1 Message rejected due to policy",c@x.org,1714557600': 'soft_bounce',
    },
  },
  {
    name: 'SendGrid, bounces without status',
    header: 'email,reason,created',
    rows: { [`a@x.org,${GONE},1714557600`]: 'hard_bounce' },
  },
  {
    name: 'SendGrid, spam reports',
    header: 'ip,email,created',
    rows: { '192.0.2.1,a@x.org,1714557600': 'complaint' },
  },
  {
    name: 'SendGrid, invalid addresses',
    header: 'reason,email,created',
    rows: { 'Mail domain mentioned in email address is unknown,a@x.org,1714557600': 'hard_bounce' },
  },
  {
    name: 'SendGrid, global unsubscribes',
    header: 'email,created',
    rows: { 'a@x.org,1714557600': 'manual' },
  },
  {
    name: 'Postmark',
    header: 'EmailAddress,SuppressionReason,Origin,CreatedAt',
    rows: {
      'a@x.org,HardBounce,Recipient,2024-05-01T10:00:00-05:00': 'hard_bounce',
      'b@x.org,SpamComplaint,Recipient,2024-05-01T10:00:00-05:00': 'complaint',
      'c@x.org,ManualSuppression,Customer,2024-05-01T10:00:00-05:00': 'manual',
    },
  },
  {
    name: 'Amazon SES',
    header: 'EmailAddress,Reason,LastUpdateTime',
    rows: {
      'a@x.org,BOUNCE,2024-05-01T10:00:00+00:00': 'hard_bounce',
      'b@x.org,COMPLAINT,2024-05-01T10:00:00+00:00': 'complaint',
    },
  },
  {
    name: 'Mailgun, bounces',
    header: 'address,code,error,created_at',
    rows: {
      [`a@x.org,550,${GONE},"Wed, 01 May 2024 10:00:00 UTC"`]: 'hard_bounce',
      'b@x.org,605,Not delivering to previously bounced address,"Wed, 01 May 2024 10:00:00 UTC"':
        'hard_bounce',
    },
  },
  {
    name: 'Mailgun, unsubscribes',
    header: 'address,tags,created_at',
    rows: { 'a@x.org,*,"Wed, 01 May 2024 10:00:00 UTC"': 'manual' },
  },
  {
    name: 'listmonk',
    header: 'uuid,email,name,attributes,status,created_at,updated_at',
    rows: {
      'u1,a@x.org,Ada,{},blocklisted,2024-05-01 10:00:00+00,2024-05-01 10:00:00+00': 'manual',
      'u2,b@x.org,Bob,{},enabled,2024-05-01 10:00:00+00,2024-05-01 10:00:00+00': null,
    },
  },
  {
    name: 'Mailchimp, cleaned',
    header:
      'Email Address,First Name,Last Name,MEMBER_RATING,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID',
    rows: { 'a@x.org,Ada,Ash,2,2024-05-01 10:00:00,Spring,1a2b': 'hard_bounce' },
  },
  {
    name: 'Mailchimp, unsubscribed',
    header: 'Email Address,First Name,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_REASON,UNSUB_REASON_OTHER',
    rows: {
      'a@x.org,Ada,2024-05-01 10:00:00,Spring,NORMAL,': 'manual',
      'b@x.org,Bob,2024-05-01 10:00:00,Spring,SPAM,': 'complaint',
      'c@x.org,Cy,2024-05-01 10:00:00,Spring,,': 'manual',
    },
  },
  {
    name: 'Mandrill',
    header: 'email,reason,detail,created_at,last_event_at,expires_at,expired,sender,subaccount',
    rows: {
      [`a@x.org,hard-bounce,${GONE},2024-05-01 10:00:00,,,false,,`]: 'hard_bounce',
      'b@x.org,spam,,2024-05-01 10:00:00,,,false,,': 'complaint',
      'c@x.org,unsub,,2024-05-01 10:00:00,,,false,,': 'manual',
    },
  },
  {
    name: 'SparkPost',
    header: 'recipient,type,source,description,created,updated',
    rows: {
      [`a@x.org,transactional,Bounce Rule,${GONE},2024-05-01T10:00:00+00:00,`]: 'hard_bounce',
      'b@x.org,non_transactional,Spam Complaint,,2024-05-01T10:00:00+00:00,': 'complaint',
      'c@x.org,non_transactional,List Unsubscribe,,2024-05-01T10:00:00+00:00,': 'manual',
    },
  },
  {
    name: 'Brevo, blocked contacts',
    header: 'email;senderEmail;reason;blockedAt',
    rows: {
      'a@x.org;s@x.org;hardBounce;2024-05-01': 'hard_bounce',
      'b@x.org;s@x.org;contactFlaggedAsSpam;2024-05-01': 'complaint',
    },
  },
  {
    name: 'words of subscriptions, in several languages',
    header: 'email,reason',
    rows: { 'a@x.org,abgemeldet': 'manual', 'b@x.org,Unzustellbar': 'hard_bounce', 'c@x.org,held': 'manual' },
  },
];

describe('a list of another service', () => {
  it.each(lists)('has its reasons: $name', async ({ header, rows }) => {
    const done = await importFile(api, {
      resource: 'suppressions',
      file: [header, ...Object.keys(rows), ''].join('\r\n'),
    });
    expect(done).toMatchObject({ status: 'completed', failed_count: 0, warnings: [] });
    const expected = Object.entries(rows).flatMap(([row, reason]) => {
      const address = /[^,;"\s]+@x\.org/.exec(row)?.[0];
      return reason === null ? [] : [[address, reason]];
    });
    expect(await stored()).toEqual(expected);
  });

  it('keeps the replies of mail servers', async () => {
    const { header, rows } = lists[0] as List;
    await importFile(api, { resource: 'suppressions', file: [header, ...Object.keys(rows)].join('\n') });
    expect((await stored('diagnostic'))[0]).toEqual([GONE]);
    await importFile(api, { resource: 'suppressions', file: `address,code,error\nz@x.org,550,${GONE}` });
    expect((await stored('diagnostic')).at(-1)).toEqual([GONE]);
  });

  it('has the reason that the client names if its rows have none', async () => {
    const file = 'email,reason\na@x.org,\nb@x.org,hard bounce\n';
    const options = { reason: 'complaint' };
    const done = await importFile(api, { resource: 'suppressions', file, options });
    expect(await stored()).toEqual([
      ['a@x.org', 'complaint'],
      ['b@x.org', 'hard_bounce'],
    ]);
    expect(done.options).toMatchObject(options);
    const { status } = await postImport(api, {
      resource: 'suppressions',
      file,
      options: { reason: 'bored' },
    });
    expect(status).toBe(422);
  });

  it('suppresses addresses whatever else its cells say', async () => {
    const file =
      'email,reason,active,expires_at\na@x.org,bored,,\nb@x.org,manual,perhaps,\nc@x.org,manual,true,soon\nd@x.org,m\0,,\n';
    const done = await importFile(api, { resource: 'suppressions', file });
    expect(await stored('address_key, reason, expires_at')).toEqual(
      ['a', 'b', 'c', 'd'].map((name) => [`${name}@x.org`, 'manual', null]),
    );
    expect(done.warnings.map(({ row, code }) => [row, code])).toEqual([
      [2, 'invalid_reason'],
      [3, 'invalid_active'],
      [4, 'invalid_time'],
      [5, 'invalid_character'],
    ]);
  });

  it('is refused if it has no addresses, such as the list of allowed senders of Mailgun', async () => {
    const file = 'type,value,reason,createdAt\naddress,a@x.org,good,2024-05-01\n';
    const done = await importFile(api, { resource: 'suppressions', file });
    expect(done.errors.map(({ code }) => code)).toEqual(['no_address_column']);
  });
});
