// A mailbox probe finds whether a mailbox exists, sends no message, and limits the load on every mail host.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import { shakeHands } from '../../../../src/delivery/wire/smtp/handshake.ts';
import {
  createMailboxProbe,
  type MailboxFinding,
  type ProbeDeps,
} from '../../../../src/features/validation/checks/mailbox-probe.ts';
import { createAddressPolicy } from '../../../../src/platform/egress/addresses.ts';
import { eventually } from '../../../support/eventually.ts';
import { startMailHost, type MailHost, type MailHostBehaviour } from '../../../support/smtp/mail-host.ts';

const UNKNOWN = '550 5.1.1 No such user';
const FIRST = '93.184.216.1';
const SECOND = '93.184.217.2';
/** For servers that never reply. */
const SHORT = { connectMs: 10_000, replyMs: 500, recipientMs: 10_000 };

let servers: MailHost[];
/** Ports of servers on loopback, by the public address that they stand for. */
let ports: Map<string, number>;
let contacted: string[];
let now: number;
beforeEach(() => {
  servers = [];
  ports = new Map();
  contacted = [];
  now = 1_000_000;
});
afterEach(() => Promise.all(servers.map((server) => server.close())));

async function serve(behaviour: MailHostBehaviour, address = FIRST): Promise<MailHost> {
  const server = await startMailHost(behaviour);
  servers.push(server);
  ports.set(address, server.port);
  return server;
}

/** A server with only these mailboxes. */
const having = (...locals: string[]): MailHostBehaviour => ({
  rcpt: (address) => (locals.includes(address.split('@', 1)[0] ?? '') ? '250 Ok' : UNKNOWN),
});

function prober(options: Partial<ProbeDeps> = {}) {
  return createMailboxProbe({
    clientName: 'probe.carillon.test',
    perMinute: 60,
    isReachable: createAddressPolicy([]).isReachable,
    addressesOf: () => Promise.resolve([]),
    clock: {
      now: () => now,
      delay: (ms) => {
        now += ms;
        return Promise.resolve();
      },
    },
    connect: (target) => {
      contacted.push(`${target.host}:${target.port}`);
      const port = ports.get(target.host) ?? 1;
      return shakeHands({ ...target, host: '127.0.0.1', port });
    },
    timeouts: { connectMs: 10_000, replyMs: 10_000, recipientMs: 10_000 },
    ...options,
  });
}

type Prober = ReturnType<typeof prober>;
interface Where {
  addresses?: string[];
  host?: string;
  accountId?: string;
  operationId?: string;
  signal?: AbortSignal;
}

function ask(probe: Prober, email: string, where: Where = {}): Promise<MailboxFinding> {
  const { addresses = [FIRST], host = 'mx.acme.com', ...rest } = where;
  const recipient = parseEmailAddress(email);
  if ('error' in recipient) throw new Error(recipient.error);
  return probe.ask({
    recipient,
    hosts: [{ name: host, addresses }],
    accountId: '1',
    operationId: '1',
    ...rest,
  });
}

describe('a probe', () => {
  it('asks about the recipient and about one that does not exist, and sends no message', async () => {
    const server = await serve(having('ann'));
    expect(await ask(prober(), 'ann@acme.com')).toBe('accepted');
    const unused = server.recipients[1]?.split('@')[0] ?? '';
    expect(unused).toMatch(/^[a-z]{20}$/);
    const transaction = (local: string) => ['MAIL FROM:<>', `RCPT TO:<${local}@acme.com>`, 'RSET'];
    const expected = ['EHLO probe.carillon.test', ...transaction('ann'), ...transaction(unused), 'QUIT'];
    await eventually(() => expect(server.commands).toEqual(expected));
    expect(contacted).toEqual([`${FIRST}:25`]);
  });

  it.each<[string, string, MailboxFinding]>([
    ['an unknown user', UNKNOWN, 'missing'],
    ['a code in the text', '550 sorry, no mailbox here by that name. (#5.1.1)', 'missing'],
    ['a disabled mailbox', '550 5.2.1 Mailbox disabled', 'missing'],
    ["Microsoft's reply", '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)', 'missing'],
    ['a full mailbox', '552 5.2.2 Over quota', 'full'],
    ['a mailbox that is full for now', '452 4.2.2 Mailbox full', 'full'],
    ['greylisting', '450 4.7.1 Greylisted, try again later', 'greylisted'],
    ['a bare 550', '550 Rejected', 'refused'],
    ['a block list', '550 5.7.1 Listed by zen.spamhaus.org', 'refused'],
    ['a block list with the code of a recipient', '550 5.1.1 Blocked by our policy', 'refused'],
    ['a rate', '550 5.2.1 Receiving mail at too high a rate', 'refused'],
    ['252', '252 Cannot verify, but try', 'not_checked'],
    ['a lost connection', 'drop', 'timeout'],
    ['no SMTP', 'HTTP/1.1 400 Bad Request', 'refused'],
  ])('judges %s in reply to RCPT', async (_what, reply, finding) => {
    await serve({ rcpt: () => reply });
    expect(await ask(prober(), 'ann@acme.com')).toBe(finding);
  });

  it.each<[string, MailHostBehaviour, MailboxFinding]>([
    ['a refusing banner', { banner: '554 5.7.1 No' }, 'refused'],
    ['a busy server', { banner: '421 4.3.2 Try later' }, 'greylisted'],
    ['a refused null sender', { mail: '550 5.7.1 No null sender' }, 'refused'],
    ['a hanging banner', { banner: 'hang' }, 'timeout'],
    ['a hanging recipient', { rcpt: () => 'hang' }, 'timeout'],
  ])('judges %s', async (_what, behaviour, finding) => {
    await serve(behaviour);
    expect(await ask(prober({ timeouts: SHORT }), 'ann@acme.com')).toBe(finding);
  });

  it('reads at most 64 KiB of a reply that never ends', async () => {
    let written = 0;
    await serve({
      rcpt: () => (socket) => {
        const more = (): void => {
          if (socket.destroyed) return;
          written += 10_000;
          socket.write(`${'250-endless\r\n'.repeat(769)}`, () => setImmediate(more));
        };
        more();
      },
    });
    expect(await ask(prober(), 'ann@acme.com')).toBe('refused');
    expect(written).toBeLessThan(50_000_000);
  });

  it('allows no more time for a reply that comes byte by byte', async () => {
    await serve({
      banner: (socket) => {
        const timer = setInterval(() => socket.write('2'), 50);
        socket.on('close', () => clearInterval(timer));
      },
    });
    expect(await ask(prober({ timeouts: SHORT }), 'ann@acme.com')).toBe('timeout');
  });

  it('finds that a domain accepts everything, and does not ask about it again', async () => {
    const server = await serve({});
    const probe = prober();
    expect(await ask(probe, 'ann@acme.com')).toBe('catch_all');
    expect(await ask(probe, 'ben@acme.com')).toBe('catch_all');
    expect(server.recipients).toEqual(['ann@acme.com', expect.not.stringContaining('ben')]);
  });

  it('concludes nothing if the recipient that does not exist is greylisted', async () => {
    await serve({ rcpt: (address) => (address.startsWith('ann') ? '250 Ok' : '451 4.7.1 Later') });
    expect(await ask(prober(), 'ann@acme.com')).toBe('greylisted');
  });

  it('passes a server that greylists each recipient by asking about both again', async () => {
    await serve({
      rcpt: (address, nth) =>
        nth === 1 ? '450 4.7.1 Later' : address.startsWith('ann') ? '250 Ok' : UNKNOWN,
    });
    expect(await ask(prober(), 'ann@acme.com')).toBe('greylisted');
    // Another worker asks about the same address.
    expect(await ask(prober(), 'ann@acme.com')).toBe('accepted');
  });

  it('does not send an address that needs SMTPUTF8 to a server without it', async () => {
    const server = await serve({});
    expect(await ask(prober(), 'jörg@acme.com')).toBe('not_checked');
    expect(server.recipients).toEqual([]);
  });
});

describe('mail hosts', () => {
  it('are never contacted at private addresses', async () => {
    const server = await serve({}, '127.0.0.1');
    ports.set('10.0.0.1', server.port);
    for (const addresses of [['127.0.0.1'], ['10.0.0.1', '::1'], ['169.254.169.254']]) {
      expect(await ask(prober(), 'ann@acme.com', { addresses })).toBe('timeout');
    }
    expect(contacted).toEqual([]);
    expect(server.connections).toBe(0);
  });

  it('are tried in order until one answers', async () => {
    const server = await serve(having('ann'), SECOND);
    const recipient = { address: 'ann@acme.com', domain: 'acme.com', smtpUtf8: false };
    const hosts = [
      { name: 'mx1.acme.com', addresses: [FIRST] },
      { name: 'mx2.acme.com', addresses: [] },
      { name: 'mx3.acme.com', addresses: [FIRST] },
    ];
    const probe = prober({ addressesOf: (name) => Promise.resolve(name === 'mx2.acme.com' ? [SECOND] : []) });
    expect(await probe.ask({ recipient, hosts, accountId: '1', operationId: '1' })).toBe('accepted');
    expect(contacted).toEqual([`${FIRST}:25`, `${SECOND}:25`]);
    expect(server.connections).toBe(1);
  });

  it('are not contacted for ten minutes after three failed connections', async () => {
    await serve({ banner: '554 5.7.1 No' });
    const probe = prober();
    const findings = await Promise.all(
      Array.from({ length: 10 }, (_, index) => ask(probe, `n${index}@acme.com`)),
    );
    expect(findings).toEqual(findings.map(() => 'refused'));
    expect(contacted).toHaveLength(3);
    now += 600_001;
    await ask(probe, 'late@acme.com');
    expect(contacted).toHaveLength(4);
  });

  it('may close the connection after a recipient', async () => {
    const server = await serve({ ...having(), rset: (socket) => void socket.end('250 Ok\r\n') });
    const probe = prober();
    const asked = ['ann@acme.com', 'ben@acme.com', 'cat@acme.com'].map((name) => ask(probe, name));
    expect(await Promise.all(asked)).toEqual(['missing', 'missing', 'missing']);
    expect(server.connections).toBe(3);
  });

  it('answer for other domains although one domain is refused', async () => {
    const server = await serve({
      rcpt: (address) => (address.endsWith('@evil.com') ? '550 5.7.1 Relaying denied' : UNKNOWN),
    });
    const probe = prober();
    for (let n = 0; n < 10; n += 1) await ask(probe, `n${n}@evil.com`, { accountId: '2' });
    expect(await ask(probe, 'ann@acme.com')).toBe('missing');
    expect(server.recipients).toHaveLength(11);
  });
});

describe('limits', () => {
  it('allow one connection per host, which asks about several recipients', async () => {
    const server = await serve(having());
    const probe = prober();
    const names = Array.from({ length: 30 }, (_, index) => `n${index}@acme.com`);
    await Promise.all(names.map((name) => ask(probe, name)));
    expect(server.mostAtOnce).toBe(1);
    expect(server.connections).toBe(2);
    expect(server.recipients).toEqual(names);
  });

  it('allow one connection to an address that has many names', async () => {
    const server = await serve(having());
    const probe = prober();
    const asked = Array.from({ length: 10 }, (_, index) =>
      ask(probe, `ann@d${index}.com`, { host: `mx.d${index}.com` }),
    );
    await Promise.all(asked);
    expect(server.mostAtOnce).toBe(1);
  });

  it('space the questions to one operator, across its hosts and all accounts', async () => {
    const times: number[] = [];
    const note = { rcpt: () => (times.push(now), UNKNOWN) };
    await serve(note, FIRST);
    await serve(note, SECOND);
    const probe = prober({ perMinute: 60 });
    const asked = Array.from({ length: 10 }, (_, index) => {
      const odd = index % 2 === 1;
      const host = odd ? 'mx1.big.net' : 'mx2.big.net';
      const accountId = String(index);
      return ask(probe, `n${index}@acme.com`, { host, accountId, addresses: [odd ? FIRST : SECOND] });
    });
    await Promise.all(asked);
    expect(times).toHaveLength(10);
    expect(Math.max(...times) - 1_000_000).toBeGreaterThanOrEqual(9_000);
  });

  it('space the questions to one network under many names', async () => {
    const times: number[] = [];
    const addresses = Array.from({ length: 20 }, (_, index) => `93.184.216.${index + 1}`);
    const server = await serve({ rcpt: () => (times.push(now), UNKNOWN) });
    for (const address of addresses) ports.set(address, server.port);
    const probe = prober({ perMinute: 60 });
    const asked = addresses.map((address, index) =>
      ask(probe, `ann@d${index}.com`, { host: `mx.d${index}.com`, addresses: [address] }),
    );
    await Promise.all(asked);
    expect(times).toHaveLength(20);
    expect(Math.max(...times) - 1_000_000).toBeGreaterThanOrEqual(19 * 250);
  });

  it('let accounts take turns at a host', async () => {
    const server = await serve(having());
    const probe = prober();
    const many = Array.from({ length: 10 }, (_, index) => ask(probe, `a${index}@acme.com`));
    await Promise.all([...many, ask(probe, 'b0@acme.com', { accountId: '2' })]);
    expect(server.recipients.indexOf('b0@acme.com')).toBeLessThanOrEqual(2);
  });

  it('count a recipient’s wait across withdrawn questions', async () => {
    const server = await serve(having());
    const probe = prober();
    const withdrawn = { signal: AbortSignal.abort(new Error('the turn is over')) };
    for (const waited of [300_000, 300_001]) {
      await expect(ask(probe, 'ann@acme.com', withdrawn)).rejects.toThrow('the turn is over');
      now += waited;
    }
    expect(await ask(probe, 'ann@acme.com')).toBe('not_checked');
    expect(server.recipients).toEqual([]);
    expect(await ask(probe, 'ann@acme.com')).toBe('missing');
  });

  it('leave connections to other accounts while one account waits for tarpits', async () => {
    const tarpit = await serve({ rcpt: () => 'hang' });
    await serve(having(), SECOND);
    const addresses = Array.from({ length: 60 }, (_, index) => `93.184.216.${index + 1}`);
    for (const address of addresses) ports.set(address, tarpit.port);
    const timeouts = { connectMs: 60_000, replyMs: 60_000, recipientMs: 60_000 };
    const probe = prober({ timeouts });
    const slow = addresses.map((address, index) =>
      ask(probe, `ann@d${index}.com`, { host: `mx.d${index}.com`, addresses: [address] }).catch(
        () => 'closed',
      ),
    );
    await eventually(() => expect(tarpit.recipients).toHaveLength(10));
    const other = { host: 'mx.other.com', addresses: [SECOND], accountId: '2', operationId: '2' };
    expect(await ask(probe, 'ann@other.com', other)).toBe('missing');
    expect(tarpit.mostAtOnce).toBe(10);
    probe.close();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['closed']));
  });

  it('end the wait of a recipient after ten minutes even if no connection becomes free', async () => {
    const server = await serve({ rcpt: () => 'hang' });
    const timeouts = { connectMs: 60_000, replyMs: 60_000, recipientMs: 60_000 };
    const probe = prober({ timeouts });
    const busy = ask(probe, 'ann@acme.com').catch(() => 'closed');
    await eventually(() => expect(server.recipients).toHaveLength(1));
    const withdrawn = { signal: AbortSignal.abort(new Error('the turn is over')) };
    const first = ask(probe, 'ben@acme.com', withdrawn).catch(() => 'closed');
    now += 600_001;
    expect(await ask(probe, 'ben@acme.com')).toBe('not_checked');
    probe.close();
    expect(await Promise.all([busy, first])).toEqual(['closed', 'closed']);
  });

  it('limit the time for all replies about a recipient', async () => {
    await serve({ rcpt: () => 'hang' });
    const timeouts = { connectMs: 60_000, replyMs: 60_000, recipientMs: 200 };
    expect(await ask(prober({ timeouts }), 'ann@acme.com')).toBe('timeout');
  });

  it('stop an operation from asking a mail server after five recipients without an answer', async () => {
    const server = await serve({ rcpt: (address) => (address.startsWith('slow') ? 'drop' : UNKNOWN) });
    const probe = prober();
    const findings = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(probe, `slow${index}@acme.com`)),
    );
    expect(findings).toEqual(findings.map(() => 'timeout'));
    expect(server.recipients).toHaveLength(5);
    // Neither under another name of the same address nor at another address of the same operator.
    expect(await ask(probe, 'ann@other.com', { host: 'mx.other.com' })).toBe('timeout');
    expect(await ask(probe, 'ann@acme.com', { host: 'mx2.acme.com', addresses: [SECOND] })).toBe('timeout');
    expect(server.recipients).toHaveLength(5);
    expect(await ask(probe, 'ann@acme.com', { operationId: '2' })).toBe('missing');
    probe.forget('1');
    expect(await ask(probe, 'ann@acme.com')).toBe('missing');
  });

  it('forget earlier recipients without an answer when the server answers', async () => {
    const server = await serve({ rcpt: (address) => (address.startsWith('slow') ? 'drop' : UNKNOWN) });
    const probe = prober();
    for (const name of ['slow0', 'slow1', 'slow2', 'slow3', 'ann', 'slow4', 'slow5', 'ben']) {
      await ask(probe, `${name}@acme.com`);
    }
    expect(server.recipients.at(-1)).toBe('ben@acme.com');
  });

  it('do not let a recipient wait for more than ten minutes', async () => {
    const server = await serve(having());
    const probe = prober({ perMinute: 1 });
    const findings = await Promise.all(
      Array.from({ length: 30 }, (_, index) => ask(probe, `n${index}@acme.com`)),
    );
    expect(findings.filter((finding) => finding === 'missing').length).toBeLessThanOrEqual(12);
    expect(findings.at(-1)).toBe('not_checked');
    expect(server.recipients.length).toBeLessThanOrEqual(12);
  });

  it('do not ask about recipients of a canceled operation', async () => {
    const server = await serve(having());
    const signal = AbortSignal.abort(new Error('canceled'));
    await expect(ask(prober(), 'ann@acme.com', { signal })).rejects.toThrow('canceled');
    expect(server.recipients).toEqual([]);
  });

  it('conclude nothing from a probe that is closed meanwhile', async () => {
    const server = await serve({ rcpt: () => 'hang' });
    const probe = prober();
    const asked = [ask(probe, 'ann@acme.com'), ask(probe, 'ben@acme.com')];
    while (server.recipients.length === 0) await new Promise((resolve) => setImmediate(resolve));
    probe.close();
    const ended = await Promise.allSettled([...asked, ask(probe, 'cat@acme.com')]);
    const reason: unknown = expect.objectContaining({ message: 'the probe is closed' });
    expect(ended).toEqual(ended.map(() => ({ status: 'rejected', reason })));
  });
});
