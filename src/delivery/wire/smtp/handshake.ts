import net, { type LookupFunction, type Socket } from 'node:net';
import { authenticate } from './auth.ts';
import { SmtpConnectionError, SmtpInputError } from './connection-error.ts';
import type { SmtpCapabilities, SmtpTarget } from './contract.ts';
import { Dialogue } from './dialogue.ts';
import type { SmtpReply } from './reply-parser.ts';
import { openSocket, secureSocket } from './sockets.ts';
import { Wire } from './wire.ts';

/** The capabilities from EHLO, including those that only the handshake needs. */
interface Offer extends SmtpCapabilities {
  startTls: boolean;
  /** SASL mechanisms in capitals. */
  auth: ReadonlySet<string>;
}

const REPLY_TIMEOUT_MS = 300_000;

/** A connection after its handshake, and what the server offers. */
interface Greeted {
  wire: Wire;
  offer: Offer;
}

/**
 * Connects, reads the greeting, sends EHLO, secures the connection and sends EHLO again (RFC 3207 §4.2), and
 * authenticates.
 * @throws SmtpConnectionError
 */
export async function shakeHands(target: SmtpTarget, lookup?: LookupFunction): Promise<Greeted> {
  if (!/^[!-~]{1,255}$/.test(target.clientName))
    throw new SmtpInputError('ehlo', 'the client name is not a host name');
  const dialogue = new Dialogue(target.replyTimeoutMs ?? REPLY_TIMEOUT_MS);
  let wire = useSocket(await openSocket(target, lookup), dialogue);
  try {
    await dialogue.demand('banner', null, 220);
    let offer = await sendEhlo(dialogue, target);
    let secure = target.security === 'implicit';
    if (wantsStartTls(target, offer)) {
      wire = await startTls(wire, dialogue, target);
      offer = await sendEhlo(dialogue, target);
      secure = true;
    }
    if (target.auth) {
      if (!secure) permitPlaintext(target, wire);
      await authenticate(dialogue, offer.auth, target.auth);
    }
    return { wire, offer };
  } catch (error) {
    wire.end(error as SmtpConnectionError);
    throw error;
  }
}

function useSocket(socket: Socket, dialogue: Dialogue): Wire {
  const wire = new Wire(socket, dialogue);
  dialogue.use(wire);
  return wire;
}

async function sendEhlo(dialogue: Dialogue, target: SmtpTarget): Promise<Offer> {
  return readOffer(await dialogue.demand('ehlo', `EHLO ${target.clientName}`, 250));
}

/** Reads the reply to EHLO (RFC 5321 §4.1.1.1): a greeting, then one keyword with parameters per line. */
function readOffer(reply: SmtpReply): Offer {
  const keywords = new Map<string, string>();
  const auth = new Set<string>();
  for (const line of reply.text.split('\n').slice(1)) {
    // Some servers send the obsolete `AUTH=PLAIN`, often in addition to the proper form.
    const [keyword = '', ...parameters] = line.trim().toUpperCase().split(/[ =]+/);
    keywords.set(keyword, parameters[0] ?? '');
    if (keyword === 'AUTH') for (const mechanism of parameters) auth.add(mechanism);
  }
  const size = keywords.get('SIZE');
  return {
    pipelining: keywords.has('PIPELINING'),
    size: size === undefined ? null : /^\d{1,15}$/.test(size) ? Number(size) : 0,
    smtpUtf8: keywords.has('SMTPUTF8'),
    eightBitMime: keywords.has('8BITMIME'),
    dsn: keywords.has('DSN'),
    startTls: keywords.has('STARTTLS'),
    auth,
  };
}

function wantsStartTls(target: SmtpTarget, offer: Offer): boolean {
  if (target.security === 'opportunistic') return offer.startTls;
  if (target.security !== 'starttls') return false;
  if (!offer.startTls) throw new SmtpConnectionError('starttls', 'the server does not offer STARTTLS');
  return true;
}

/**
 * Clear-text bytes after the reply to STARTTLS must not be read as part of the secured connection. The wire fails on
 * bytes that arrive with the reply; TLS fails on bytes that arrive later, because they are not TLS records.
 */
async function startTls(wire: Wire, dialogue: Dialogue, target: SmtpTarget): Promise<Wire> {
  await dialogue.demand('starttls', 'STARTTLS', 220);
  return useSocket(await secureSocket(wire.release(), target, 'starttls'), dialogue);
}

function permitPlaintext(target: SmtpTarget, wire: Wire): void {
  const loopback = new net.BlockList();
  loopback.addSubnet('127.0.0.0', 8, 'ipv4');
  loopback.addAddress('::1', 'ipv6');
  const address = wire.remoteAddress;
  const family = net.isIPv6(address) ? 'ipv6' : 'ipv4';
  if (target.allowPlaintextAuth && address && loopback.check(address, family)) return;
  throw new SmtpConnectionError('auth', 'credentials are not sent without TLS');
}
