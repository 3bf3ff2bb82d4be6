// Mail that cannot be rebuilt arrives with the bytes of its body as they were, signed by us, or is refused by name.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { relaxedBodyHash } from '../../../src/delivery/content/dkim/canonical.ts';
import type { DkimKey } from '../../../src/delivery/content/dkim/sign.ts';
import { scanBody } from '../../../src/delivery/content/mime/opaque.ts';
import { randomFrom } from '../../support/random.ts';
import { verify } from '../../delivery/content/mime/wire.ts';
import { startTestSubmission, type TestSubmission } from '../../support/submitted-mails.ts';

let stage: TestSubmission;
beforeAll(async () => {
  stage = await startTestSubmission();
});
afterAll(() => stage.close());

const TYPE = 'multipart/signed; protocol="application/pgp-signature";\r\n\tmicalg=pgp-sha256; boundary="=_b"';
const BODY = [
  ...[
    'This is a signed mail.',
    '--=_b',
    'Content-Type: text/plain',
    '',
    '.',
    '..a  dot \t',
    'trailing   ',
    '',
    '--=_b',
  ],
  ...[
    'Content-Type: application/pgp-signature',
    '',
    '-----BEGIN PGP SIGNATURE-----',
    '=abcd',
    '--=_b--',
    '',
    '',
    '',
  ],
].join('\r\n');
const HEAD =
  'From: Shop <shop@own.test>\r\nTo: Ada <ada@example.com>, eve@example.net\r\nSubject: Signed\r\nX-Mailer: Mutt\r\n';
const RAW = Buffer.from(
  `${HEAD}MIME-Version: 1.0\r\nContent-Type: ${TYPE}\r\nContent-Language: en\r\n\r\n${BODY}`,
);

const bodyOf = (raw: string) => raw.slice(raw.indexOf('\r\n\r\n') + 4);

/** The keys of `own.test`. */
async function findKeys(): Promise<DkimKey[]> {
  const { rows } = await stage.api.database.pool.query<DkimKey>(
    `select domain, selector, algorithm, public_key as "publicKeyBase64" from dkim_keys where domain = 'own.test'`,
  );
  return rows;
}

describe('mail that cannot be rebuilt', () => {
  it('arrives with the bytes of its body, in our header', async () => {
    const mails = await stage.deliver(RAW, ['ada@example.com', 'bcc@example.org']);
    for (const mail of mails) {
      expect(bodyOf(mail)).toBe(BODY);
      expect(mail).toContain(`\r\nContent-Type: ${TYPE}\r\nContent-Language: en\r\n`);
      expect(mail).toContain('\r\nTo: Ada <ada@example.com>,\r\n eve@example.net\r\n');
      expect(mail).toContain('\r\nX-Mailer: Mutt\r\n');
      expect(mail.match(/^MIME-Version/gim)).toHaveLength(1);
    }
  });

  it('is signed as it is', async () => {
    const [mail = ''] = await stage.deliver(RAW, ['ada@example.com']);
    const results = await verify(Buffer.from(mail), await findKeys());
    expect(results.map(({ status }) => status.result)).toEqual(['pass']);
  });

  it('waits in a queue that senders of the version before do not know, and shows what it is', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const raw = RAW.toString('latin1').replace('X-Mailer: Mutt', `X-Carillon-Send-At: ${at}`);
    const reply = await stage.submit(Buffer.from(raw, 'latin1'), ['ada@example.com']);
    const id = Number(/queued as (\d+)/.exec(reply)?.[1]);
    const { rows } = await stage.api.database.pool.query(
      'select channel, file_bytes from send_queue where message_id = $1',
      [id],
    );
    expect(rows).toEqual([{ channel: 'email_raw', file_bytes: BODY.length }]);
    const { body } = await stage.api.request('GET', `/v1/my/messages/${id}`);
    expect(body).toMatchObject({
      html: null,
      text: null,
      opaque: true,
      tracking: { opens: false, clicks: false },
    });
    expect(body.attachments).toBeUndefined();
    expect((await stage.api.request('GET', `/v1/my/messages/${id}/attachments/0`)).status).not.toBe(200);
  });

  it('is spooled and stored if it is large, and says that it has eight bits', async () => {
    const eight = `${'Gr\xc3\xbc\xc3\x9fe '.repeat(10)}\r\n`.repeat(6_000);
    const body = BODY.replace('trailing   ', eight);
    const raw = Buffer.from(RAW.toString('latin1').replace(BODY, body), 'latin1');
    const reply = await stage.submit(raw, ['ada@example.com'], { spooled: true });
    expect(reply).toContain('queued as');
  });

  it('cannot be sent through a provider that builds its own', async () => {
    const { pool } = stage.api.database;
    const { rows } = await pool.query<{ id: number }>(
      "insert into providers (name, channel, kind, settings_sealed, callback_token_sealed, callback_digest) values ('post', 'email', 'postmark', 'x', 'x', 'x') returning id",
    );
    await pool.query('update domains set provider_id = $1', [rows[0]?.id]);
    await pool.query('update accounts set email_provider_ids = $1', [[rows[0]?.id]]);
    await expect(
      stage.submit(RAW.toString('latin1').replace(', eve@example.net', ''), ['ada@example.com']),
    ).rejects.toThrow(/takes no signed or encrypted mail/);
  });
});

it('hashes a body piece by piece as a whole', async () => {
  const random = randomFrom(7);
  const words = ['a', ' ', '\t', '\r\n', '\r\n\r\n', '  ', 'b.', '\xe9'];
  for (let round = 0; round < 300; round += 1) {
    const text = `${Array.from({ length: random(20) }, () => words[random(words.length)]).join('')}\r\n`;
    const bytes = Buffer.from(text, 'latin1');
    const cut = random(bytes.length);
    async function* pieces() {
      yield bytes.subarray(0, cut);
      yield bytes.subarray(cut);
    }
    expect({ text, hash: (await scanBody(pieces())).bodyHash }).toEqual({
      text,
      hash: relaxedBodyHash(bytes),
    });
  }
});
