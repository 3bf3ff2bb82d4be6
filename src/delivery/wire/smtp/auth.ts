import { SmtpConnectionError } from './connection-error.ts';
import type { Dialogue } from './dialogue.ts';

/** RFC 5321 §4.5.3.1.4, line end excluded. */
const MAX_COMMAND_BYTES = 510;

/**
 * Logs in with PLAIN (RFC 4616) if offered, else with LOGIN. Errors never contain the credentials.
 * @throws SmtpConnectionError with the server's reply if it refuses, or if it offers neither mechanism
 */
export async function authenticate(
  dialogue: Dialogue,
  mechanisms: ReadonlySet<string>,
  credentials: { user: string; pass: string },
): Promise<void> {
  if (mechanisms.has('PLAIN')) return plain(dialogue, credentials);
  if (mechanisms.has('LOGIN')) return login(dialogue, credentials);
  const offered = mechanisms.size > 0 ? `only ${[...mechanisms].join(', ')}` : 'no authentication';
  throw new SmtpConnectionError('auth', `the server offers ${offered}; PLAIN or LOGIN is needed`);
}

async function plain(dialogue: Dialogue, { user, pass }: { user: string; pass: string }): Promise<void> {
  const response = base64(`\0${user}\0${pass}`);
  const command = `AUTH PLAIN ${response}`;
  if (command.length <= MAX_COMMAND_BYTES) return finishLogin(dialogue, command);
  await dialogue.demand('auth', 'AUTH PLAIN', 334);
  return finishLogin(dialogue, response);
}

async function login(dialogue: Dialogue, { user, pass }: { user: string; pass: string }): Promise<void> {
  await dialogue.demand('auth', 'AUTH LOGIN', 334);
  await dialogue.demand('auth', base64(user), 334);
  return finishLogin(dialogue, base64(pass));
}

async function finishLogin(dialogue: Dialogue, response: string): Promise<void> {
  await dialogue.demand('auth', response, 235);
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
