import type { LookupFunction } from 'node:net';
import type { SmtpConnection, SmtpTarget } from './contract.ts';
import { shakeHands } from './handshake.ts';
import { SmtpSession } from './session.ts';

const REPLY_TIMEOUT_MS = 300_000;
const FINAL_DOT_TIMEOUT_MS = 600_000;

/**
 * Connects to an SMTP server (RFC 5321), secures the connection and logs in, as the target says.
 * @param options.lookup resolves the target's host, like `dns.lookup`
 * @throws SmtpConnectionError for any failure of server or network before the first message
 */
export async function connectSmtp(
  target: SmtpTarget,
  options: { lookup?: LookupFunction } = {},
): Promise<SmtpConnection> {
  const { wire, offer } = await shakeHands(target, options.lookup);
  const { startTls: _startTls, auth: _auth, ...capabilities } = offer;
  return new SmtpSession(wire, capabilities, {
    replyMs: target.replyTimeoutMs ?? REPLY_TIMEOUT_MS,
    finalDotMs: target.finalDotTimeoutMs ?? FINAL_DOT_TIMEOUT_MS,
  });
}
